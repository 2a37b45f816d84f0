"""Every place that has to know a client's rule knows it; a sentence says which place lacks which rule.

"A new client's profile" in CONTRIBUTING.md has the places in the order in which they are filled.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest

from copartition.migrate.clients import CLIENTS as MIGRATED
from copartition.simulation.group.clients import BEHAVIOURS as SIMULATED
from copartition.simulation.inputs.events import SimulatedClient
from partitioning.profiles import PROFILES
from tools.oracle.clients import golden

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
CLIENTS = "partitioning/clients.json"
PAGE = "docs/why-another-partition.md"
ANSWERS = "tests/golden/clients/README.md"


def text_of(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def of_asked_clients() -> set[str]:
    """Profiles that say that a real client was asked."""
    return {name for name, profile in PROFILES.items() if profile.checked}


def in_programs() -> set[str]:
    """Profiles that some program of the oracle writes into its answers, by their name in quotes."""
    files = [path for path in (ROOT / "tools/oracle/clients").rglob("*") if "node_modules" not in path.parts]
    programs = [
        path.read_text(encoding="utf-8") for path in files if path.suffix in {".py", ".go", ".mjs", ".java"}
    ]
    quoted = {name for program in programs for name in re.findall(r"""["']([\w-]+)["']""", program)}
    return quoted & PROFILES.keys()


def golden_profiles() -> set[str]:
    """Profiles with a golden file."""
    return set(golden.names("profiles"))


def in_table_of_answers() -> set[str]:
    """Profiles in the first column of the table that says how each was asked, and those that were not."""
    table = text_of(ANSWERS).partition("| profile | asked by |")[2].partition("\n\n")[0]
    named = {name for line in table.splitlines()[2:] for name in line.split("|")[1].strip().split(", ")}
    return named | set(re.findall(r"No golden file: \*\*([\w-]+)\*\*", text_of(ANSWERS)))


def clients() -> list[dict[str, Any]]:
    """The rows of clients, without those of tools that place keys by a rule that nobody has here."""
    return [row for row in json.loads(text_of(CLIENTS)) if row["client"]]


def set_by_check() -> set[str]:
    """Profiles that some setting of a client leads to."""
    rules = {row["profile"] for client in clients() for row in (client, *client["ways"])}
    return rules - {None}


def defaults() -> set[str]:
    """Each client's default, in backticks if it is a profile; the client's name if it does not hash keys."""
    return {f"`{row['profile']}`" if row["profile"] else row["client"] for row in clients()}


def on_the_page() -> set[str]:
    """Words in the table of the setting to change, with their backticks if they have some."""
    table = text_of(PAGE).partition("| client | by default as |")[2].partition("\n\n")[0]
    return set(re.findall(r"`[\w-]+`|[\w-]+", table))


PLACES: dict[str, tuple[Callable[[], set[str]], Callable[[], set[str]], dict[str, str]]] = {
    "partitioning/profiles.json": (lambda: set(PROFILES), lambda: set_by_check() | golden_profiles(), {}),
    "tools/oracle/clients": (in_programs, of_asked_clients, {}),
    "tests/golden/clients/profiles": (golden_profiles, of_asked_clients, {}),
    ANSWERS: (in_table_of_answers, lambda: set(PROFILES), {}),
    CLIENTS: (
        set_by_check,
        lambda: set(PROFILES),
        {
            "clickhouse": "a function of a database, not a producer",
            "sarama-crc32": "a hash function given in code, not a value of a setting",
        },
    ),
    PAGE: (
        on_the_page,
        defaults,
        {
            "`pulsar-java`": "Pulsar's own client, on a page of Kafka's",
            "`pulsar-cpp`": "Pulsar's own client, on a page of Kafka's",
        },
    ),
}
"""What each place has, what it needs, and what it may lack with the reason."""


def test_a_client_that_can_be_simulated_can_be_migrated() -> None:
    # A worker of Kafka Connect has no strategy of consumers to migrate from.
    assert {*MIGRATED} == SIMULATED.keys() - {"connect"}
    assert SIMULATED.keys() == {*get_args(SimulatedClient)}
    assert {*MIGRATED} <= {row["client"] for row in clients()}


@pytest.mark.parametrize("place", PLACES)
def test_a_place_knows_every_client(place: str) -> None:
    has, needs, may_lack = PLACES[place]
    lacks = needs() - has() - may_lack.keys()
    assert not lacks, (
        f'{place} lacks {", ".join(sorted(lacks))}; "A new client\'s profile" in CONTRIBUTING.md says '
        "what belongs there."
    )


@pytest.mark.parametrize("place", PLACES)
def test_nothing_may_be_lacking_that_is_there(place: str) -> None:
    has, needs, may_lack = PLACES[place]
    assert not may_lack.keys() & has()
    assert may_lack.keys() <= needs()


def test_no_answer_is_kept_of_a_profile_that_is_gone_or_says_that_nobody_was_asked() -> None:
    assert golden_profiles() == of_asked_clients()
    assert in_table_of_answers() <= PROFILES.keys()


def test_pages_count_the_clients_that_answered_and_their_configurations() -> None:
    answered = {name: next(iter(golden.read(f"profiles/{name}")))["client"] for name in golden_profiles()}
    clients = len({client.rpartition(" ")[0] for client in answered.values()})
    counted = {f"{clients} clients", f"{len(answered)} configurations"}
    for page in ("README.md", "docs/vectors.md", "tests/golden/README.md"):
        assert {*re.findall(r"[0-9]+ (?:clients|configurations)\b", text_of(page))} == counted, page
