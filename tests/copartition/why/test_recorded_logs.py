"""Logs of a real broker and of four real clients: each rebalance has the cause that was made happen."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from copartition.simulation import Scenario, simulate
from copartition.simulation.inputs.file import scenario_yaml
from copartition.why.cures import logged_scenario
from copartition.why.history import REPLACED, Cause, returns
from copartition.why.rebalances import histories
from copartition.why.statements import read_statements
from partitioning.errors import SourceError
from tests.support.tiers import sample

if TYPE_CHECKING:
    from copartition.why.history import GroupHistory

    Pair = tuple[Cause, str | None]

SET = {"session.timeout.ms": "6000", "heartbeat.interval.ms": "2000", "max.poll.interval.ms": "7000"}
GOLDEN = Path(__file__).parents[2] / "golden" / "logs"
GROUPS = sorted(path.name for path in GOLDEN.iterdir())
CLASSIC = [name for name in GROUPS if not name.endswith("-consumer")]
STATIC = [name for name in GROUPS if name.endswith("-static")]

# What a client does not write into its log at INFO, so that nobody can read it there.
SILENT = {("kafka-python-range", Cause.TOPICS): Cause.UNKNOWN, ("aiokafka-range", Cause.POLL): Cause.LEFT}


@cache
def history(group: str, part: str = "*") -> GroupHistory:
    paths = sorted(map(str, (GOLDEN / group).glob(f"{part}.log.gz")))
    (found,) = histories(read_statements(paths))
    return found


def steps(group: str) -> list[tuple[float, list[str]]]:
    """What was done, up to the coordinator's restart, which is the last."""
    rows = json.loads((GOLDEN / group / "events.json").read_text())["steps"]
    return [(row["at"], row["what"].split()) for row in rows]


def expected_causes(group: str) -> list[Pair]:
    """The causes that were made; which member sees first that a topic grew is the clients' matter."""
    done = [words for _, words in steps(group)]
    causes: list[Pair] = []
    for place, (verb, *rest) in enumerate(done[:-1]):
        name = f"i-{rest[0]}" if group in STATIC else next(iter(rest), None)
        replaced = group in STATIC and ["start", *rest] in done[place + 1 :]
        returns = group in STATIC and any(words[1:] == rest for words in done[:place])
        if verb == "busy":
            causes += [(Cause.POLL, name), (Cause.JOINED, name)]
        elif verb == "grow":
            causes.append((Cause.TOPICS, None))
        elif verb == "start" and not returns:
            causes.append((Cause.JOINED, name))
        elif verb in {"close", "kill"} and not replaced:
            causes.append((Cause.LEFT if verb == "close" else Cause.EXPIRED, name))
    return [(SILENT.get((group, cause), cause), name) for cause, name in causes]


def causes_named(found: GroupHistory, until: float) -> list[Pair]:
    """The causes that logs show before a time, follow-ups apart."""
    return [
        (cause, None if cause in {Cause.TOPICS, Cause.UNKNOWN} else name)
        for rebalance in found.rebalances
        if rebalance.began is not None and rebalance.began < until and rebalance.cause is not Cause.FOLLOW_UP
        for cause, name in ((rebalance.cause, rebalance.member), *rebalance.also)
    ]


@pytest.mark.parametrize("group", sample(GROUPS, 2))
def test_every_cause_is_the_one_that_was_made(group: str) -> None:
    expected, found = expected_causes(group), causes_named(history(group), steps(group)[-1][0])
    assert len(expected) >= 3
    assert Counter(found[:2]) == Counter(expected[:2])  # two start at once, and join in either order
    assert found[2:] == expected[2:]


@pytest.mark.parametrize("group", sample(CLASSIC, 2))
def test_a_brokers_log_alone_shows_the_same_rebalances_and_phases(group: str) -> None:
    alone, together = history(group, "broker").rebalances, history(group).rebalances
    assert [rebalance.generation for rebalance in alone] == [rebalance.generation for rebalance in together]
    assert [(rebalance.join_s, rebalance.sync_s) for rebalance in alone] == [
        (rebalance.join_s, rebalance.sync_s) for rebalance in together
    ]
    vague = {Cause.LEFT, Cause.UNKNOWN}
    assert all(one.cause is two.cause or one.cause in vague for one, two in zip(alone, together, strict=True))


def test_a_broker_that_is_given_no_reason_says_unknown() -> None:
    (grown,) = [
        rebalance
        for rebalance in history("librdkafka-range", "broker").rebalances
        if "re-joining" in rebalance.reason
    ]
    assert grown.cause is Cause.UNKNOWN


@pytest.mark.parametrize("group", ["java-range", "java-cooperative"])
def test_clients_logs_alone_show_the_generations_that_they_joined(group: str) -> None:
    alone = {
        rebalance.generation: rebalance
        for rebalance in history(group, "c*").rebalances
        if rebalance.generation
    }
    broker = {rebalance.generation: rebalance for rebalance in history(group).rebalances if rebalance.members}
    assert alone.keys() == broker.keys()
    told = [number for number in alone if alone[number].cause is not Cause.UNKNOWN]
    assert len(told) >= len(alone) - 2  # nobody of them saw why a killed member's session ended
    assert all(alone[number].cause is broker[number].cause for number in told)


@pytest.mark.parametrize("group", STATIC)
def test_a_static_member_that_is_back_in_time_is_no_rebalance(group: str) -> None:
    found = history(group)
    assert [other.what for other in found.others if other.member == "i-c1"].count(REPLACED) >= 1
    assert Cause.LEFT not in {rebalance.cause for rebalance in found.rebalances}


@pytest.mark.parametrize("group", ["java-range", "librdkafka-range", "aiokafka-range"])
def test_a_restart_is_a_member_that_closes_and_comes_back(group: str) -> None:
    back = returns(history(group).rebalances)
    closed = next(at for at, words in steps(group) if words == ["close", "c2"])
    started = [at for at, words in steps(group) if words == ["start", "c2"]][-1]
    assert back[0] == ("c2", pytest.approx(started - closed, abs=4), True)


def test_the_scenario_of_a_log_has_the_rebalances_that_it_shows() -> None:
    found = history("java-range")
    logged = logged_scenario(found, {"orders": 6}, changes=SET)
    assert logged.scenario.assignor == "range"
    run = simulate(logged.scenario)
    apart = {Cause.TOPICS, Cause.FOLLOW_UP}
    # The last one leaves nobody; the first two members join an empty group.
    expected = sum(rebalance.cause not in apart and bool(rebalance.members) for rebalance in found.rebalances)
    assert len(run.rebalances) == pytest.approx(expected, abs=1)
    assert any("topics changed" in text for text in logged.assumed)


@pytest.mark.parametrize("group", ["java-range", "java-static", "librdkafka-range", "kafka-python-range"])
@pytest.mark.parametrize("name", ["orders", "b\x1b[2J\u202egpj: {0}"])
def test_a_scenario_of_a_log_is_the_same_when_it_is_written_and_read_again(
    tmp_path: Path, group: str, name: str
) -> None:
    logged = logged_scenario(history(group), {name: 6}, assignor="range", changes=SET)
    path = tmp_path / "night.yaml"
    path.write_text(scenario_yaml(logged.scenario, logged.assumed), encoding="utf-8")
    assert Scenario.from_file(path) == logged.scenario


def test_a_timeout_that_cannot_have_been_is_asked_for() -> None:
    with pytest.raises(
        SourceError,
        match=r"c2: session expired, .* so session\.timeout\.ms was not 45000; give it in `changes`",
    ):
        logged_scenario(history("java-range"), {"orders": 6})


def test_a_scenario_needs_partitions_and_an_assignor() -> None:
    with pytest.raises(SourceError, match="give `topics`"):
        logged_scenario(history("java-range"), {})
    with pytest.raises(SourceError, match="give `assignor`"):
        logged_scenario(history("java-range", "broker"), {"orders": 6})
