"""Twenty-one more public reports, each reduced to lines of our own making, with the right answer.

The files are named by the repository and issue, or by the page.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from copartition.shell.main import copartition

FOLDER = Path(__file__).parent / "reports"
UNNAMED = "a group without a name"
# (group, generation, cause, member) of each rebalance, or the member of a fault that has none.
ANSWERS: dict[str, tuple[str, list[tuple[int | None, str, str | None]]]] = {
    "aiokafka-406.log": ("mine", [(None, "unknown", None)]),
    "cl-rdkafka-57.log": (UNNAMED, [(None, "poll interval exceeded", "rdkafka")]),
    "confluent-kafka-dotnet-1220.log": ("mine", [(None, "poll interval exceeded", "rdkafka")]),
    "devopsaitoolkit.log": ("orders", [(43, "session expired", "consumer-orders-1")]),
    "kafka-9068.log": ("g", [(9, "topics changed", "c-1")]),
    "kafka-docker-playground-7090.log": ("connect-8", [(20, "joined", "connect-1")]),
    "kafka-docker-playground-7317.log": ("connect", [(76026, "unknown", None)]),
    "kafka-docker-playground-8852.log": ("connect-8", [(18, "joined", "connect-1")]),
    "kafka-python-1354.log": ("mine", [(3, "joined", None)]),
    "librdkafka-3732.log": (UNNAMED, [(None, "poll interval exceeded", None)]),
    "librdkafka-3790.csv": ("grp-svc", [(12, "unknown", None)]),
    "librdkafka-595.log": ("test_0018", [(None, "unknown", None)]),
    "librdkafka-947.log": ("vd", [(None, "session expired", None)]),
    "parallel-consumer-646.log": ("mine", [(None, "unknown", None)]),
    "spring-kafka-2277.log": ("bar", [(1, "joined", "consumer-bar-5")]),
}
FAULTS = {
    "0hiring-commit.log": ("batch", "app-1", "had a commit refused"),
    "aiven-left.log": ("my-app", "ABC", "left"),
    "oneuptime-commit.log": (UNNAMED, None, "had a commit refused"),
}
REFUSED = {"franz-go-931.json": "in words of franz-go", "kafkajs-691.json": "in words of kafkajs"}
HEALTHY = {"kafka-6899.log"}


def run(file: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(copartition, ["why", str(FOLDER / file), "-o", "json"])
    return result.exit_code, result.stdout, result.stderr


def test_every_report_has_an_answer() -> None:
    named = ANSWERS.keys() | FAULTS.keys() | REFUSED.keys() | HEALTHY
    assert named == {path.name for path in FOLDER.iterdir()}
    assert len(named) >= 20


@pytest.mark.parametrize("file", ANSWERS)
def test_the_rebalances_of_a_report(file: str) -> None:
    code, text, _ = run(file)
    (group,) = json.loads(text)["groups"]
    name, shown = ANSWERS[file]
    assert (code, group["name"]) == (1, name)
    assert [(row["generation"], row["cause"], row["member"]) for row in group["rebalances"]] == shown


@pytest.mark.parametrize("file", FAULTS)
def test_the_fault_of_a_report_without_a_rebalance(file: str) -> None:
    code, text, _ = run(file)
    (group,) = json.loads(text)["groups"]
    name, member, what = FAULTS[file]
    (fault,) = group["others"]
    assert (code, group["name"], group["rebalances"]) == (1, name, [])
    assert (fault["member"], fault["what"].split(":")[0].split(";")[0]) == (member, what)


@pytest.mark.parametrize("file", REFUSED)
def test_a_client_that_is_not_read_is_named(file: str) -> None:
    code, _, error = run(file)
    assert code == 2
    assert REFUSED[file] in error


def test_a_static_member_that_is_back_is_healthy() -> None:
    code, text, _ = run("kafka-6899.log")
    (group,) = json.loads(text)["groups"]
    assert (code, group["rebalances"]) == (0, [])
    assert group["others"][0]["what"] == "static member back, no rebalance"
