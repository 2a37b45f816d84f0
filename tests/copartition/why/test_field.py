"""Every log of the field, as people pasted it, with the right answer.

The files hold facts of public reports in lines of our own making; where a report says what happened, the
answer is that.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from copartition.shell.main import copartition
from tests.support.tiers import sample

FOLDER = Path(__file__).parent / "field"
Shown = tuple[str, int | None, str, str | None, int | None, int | None]


class Case(NamedTuple):
    """A log: its rebalances as (group, generation, cause, member, join_ms, sync_ms), and other faults."""

    file: str
    rebalances: list[Shown]
    faults: list[tuple[str, str | None, str]]


CASES = [
    Case("already.log", [("g", 5, "unknown", None, 1020, None)], []),
    Case("brokercolor.log", [("g", 5, "session expired", "c-1", 3002, None)], []),
    Case("brokerjson.json", [("g", 1, "joined", "c-1", 3002, None)], []),
    Case("brokersuffix.log", [("g", 5, "session expired", "c-1", 3002, None)], []),
    Case("commitfailed.log", [], [("horizon", "c", "had a commit refused")]),
    Case("connect.log", [("connect-cluster", 8, "joined", "w", 145, None)], []),
    Case(
        "epoch.log",
        [("hc", 3, "joined", "rdkafka", None, None), ("hc", None, "session expired", "rdkafka", None, None)],
        [],
    ),
    Case("escaped.log", [("my-consumer", 5, "topics changed", "app", 3000, None)], []),
    Case("failedonly.log", [], [("g", "c-1", "was silent for its session and removed from the group")]),
    Case("firstjoin.log", [("g", 1, "joined", "c", 3020, None)], []),
    Case(
        "javapoll.log",
        [
            ("g", 10, "joined", "c1", None, None),
            ("g", 11, "poll interval exceeded", "c1", None, None),
            ("g", 12, "joined", "c1", 3119, None),
        ],
        [("g", "c1", "gave its partitions up")],
    ),
    Case("pyplain.log", [("g", 7, "joined", None, 67, 1), ("g", 8, "unknown", None, 67, None)], []),
    Case("pysuffix.log", [("g", 7, "joined", None, 67, None)], []),
    Case("pytwo.log", [("g", 7, "joined", None, 67, None), ("g", 8, "unknown", None, 67, None)], []),
    Case("shrank.log", [("cg", None, "topics changed", "rdkafka", None, None)], []),
    Case("stab26.log", [("rb", 14, "session expired", "s-1", 9796, 3)], []),
    Case(
        "w01-strimzi-connect.log",
        [
            ("my-connect", 311127280, "unknown", "connect-1", 1, 1),
            ("my-connect", 311127281, "unknown", "connect-1", 1, 1),
            ("my-connect", 311127282, "unknown", "connect-1", 1, 1),
            ("my-connect", 311127283, "unknown", "connect-1", 1, 1),
            ("my-connect", 311127284, "unknown", "connect-1", 1, 1),
            ("my-connect", 311127285, "unknown", "connect-1", 1, 1),
        ],
        [],
    ),
    Case("w02-librdkafka-metadata.log", [("cg-1", None, "topics changed", "rdkafka", None, None)], []),
    Case(
        "w03-static-fenced-broker.log",
        [("grp", 2, "session expired", "1-1594907777144", None, 2)],
        [("grp", "1", "was fenced")],
    ),
    Case("w03-static-fenced-client.log", [], [("grp", "rdkafka", "was fenced")]),
    Case("w04b-kafkajs-broker.log", [("cg", 5, "session expired", "consumer", 2739, None)], []),
    Case("w05-csv-newest-first.log", [("group-name", 2926, "unknown", None, 5274, None)], []),
    Case(
        "w05b-csv-three-generations.log",
        [
            ("group-name", 10, "unknown", None, 5274, None),
            ("group-name", 11, "poll interval exceeded", "stream-name", 5462, None),
            ("group-name", 12, "unknown", None, 5274, None),
        ],
        [],
    ),
    Case(
        "w05c-csv-oldest-first.log",
        [
            ("group-name", 10, "unknown", None, 5274, None),
            ("group-name", 11, "poll interval exceeded", "stream-name", 5462, None),
            ("group-name", 12, "unknown", None, 5274, None),
        ],
        [],
    ),
    Case("w08-json-poll.log", [("my-app", None, "poll interval exceeded", "consumer-4", None, None)], []),
    Case(
        "w11-markdown-bold.log",
        [("rb", 13, "joined", "source", 3, 3), ("rb", 14, "session expired", "source", 9796, None)],
        [],
    ),
    Case(
        "w13-connect-worker.log",
        [
            ("connect-cluster", 8, "config topic read late", "connect-host-1", 145, 145),
            ("connect-cluster", 9, "config topic read late", "connect-host-1", 145, None),
        ],
        [],
    ),
    Case(
        "w14-new-members.log",
        [
            ("ingester", 1690, "joined", "ingester", 4, 3),
            ("ingester", 1691, "joined", "ingester", 4, 3),
            ("ingester", 1692, "joined", "ingester", 4, 3),
            ("ingester", 1693, "joined", "ingester", 4, 3),
            ("ingester", 1694, "joined", "ingester", 4, 3),
            ("ingester", 1695, "joined", "ingester", 4, 3),
        ],
        [],
    ),
    Case("w15-grep-prefix.log", [("kill-task", 2, "left", "consumer-kill-task-127", None, 2)], []),
    Case("w15b-left-plain.log", [("kill-task", 2, "left", "consumer-kill-task-127", None, 2)], []),
    Case("w16-rdkafka-7.log", [("g1", 7, "unknown", None, 20072, None)], []),
    Case(
        "w16b-rdkafka-7-thrd.log",
        [("hc", 3, "joined", "rdkafka", None, None), ("hc", 4, "session expired", "rdkafka", 3000, None)],
        [],
    ),
    Case("w17-dotnet-docker.log", [("calc", 103, "unknown", None, 172, 200)], []),
    Case("w19-knative.json", [("kn-trigger", 77, "joined", "consumer-kn-244", 3081, None)], []),
    Case("w20-rdkafka-ruby.log", [("testme4", 38, "unknown", None, None, None)], []),
    Case("w21-console-consumer.log", [("console-consumer-84073", 1, "joined", "console-consumer", 0, 3)], []),
    Case(
        "w22-syslog.log",
        [("a group without a name", None, "poll interval exceeded", "CH 19.6", None, None)],
        [],
    ),
    Case("w24-coordinator-moved.log", [("sched", 5053, "joined", "33f90220", 29317, None)], []),
    Case("w25-python-logger.log", [("tt2", 298, "joined", "rdkafka", None, None)], []),
    Case(
        "w26-java-0.11.log",
        [("behavior", 12, "unknown", None, 3139, 1)],
        [("behavior", None, "lost its coordinator")],
    ),
    Case(
        "w26b-java-1.0-logstash.log",
        [
            ("logstash", 866, "joined", "logstash-1", None, None),
            ("logstash", 867, "unknown", None, None, None),
        ],
        [("logstash", "logstash-1", "lost its coordinator")],
    ),
    Case("w27-custom-rdkafka.log", [("kg", 1, "joined", "rdkafka", None, None)], []),
    Case(
        "w29-commit-failed.log",
        [],
        [
            ("horizon", "consumer-horizon-1", "had a commit refused"),
            ("horizon", "consumer-horizon-1", "gave its partitions up"),
        ],
    ),
    Case("w30-jul.log", [("order", 9, "joined", "consumer-order-1", 4000, None)], []),
    Case(
        "w31-kubectl-timestamps.log",
        [],
        [
            ("agents-one", "consumer-agents-one-39", "was silent for its session and removed from the group"),
            ("agents-two", "consumer-agents-two-36", "was silent for its session and removed from the group"),
        ],
    ),
    Case(
        "w34-no-times-reversed.log",
        [("smr", 3, "unknown", None, None, None)],
        [("smr", "consumer-1", "lost its coordinator")],
    ),
    Case(
        "w35-left-joined.log",
        [("spans", 234, "left", "rdkafka", 125, 1), ("spans", 235, "joined", "rdkafka", 1111, None)],
        [],
    ),
    Case("w36b-dms-one.json", [("orders", 1, "joined", None, None, None)], []),
    Case("w38-python-double-time.log", [("nsfw", 226, "unknown", None, 23, 1)], []),
    Case("w40-kibana.log", [("auth-2562", 2, "session expired", "p1-c5d5", None, 0)], []),
]
# Logs of clients that are not read, with the client as the refusal names it.
REFUSED = {
    "kafkajs.log": "in words of kafkajs",
    "w06-franz-go.json": "lines speak of groups in words of franz-go",
    "w18-ruby-kafka.log": "in words of ruby-kafka",
    "w23-brod.log": "in words of brod",
    "w28-spring-assigned.log": "show nothing of a group",
    "w32-kafka-go.log": "in words of kafka-go",
    "w33-smallrye.log": "in words of SmallRye",
}


@cache
def run(file: str, *arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(copartition, ["why", str(FOLDER / file), *arguments])
    return result.exit_code, result.stdout, result.stderr


def test_every_log_has_a_row() -> None:
    assert {case.file for case in CASES} | REFUSED.keys() == {path.name for path in FOLDER.iterdir()}


@pytest.mark.parametrize("case", sample(CASES, 2), ids=lambda case: case.file)
def test_a_log_of_the_field(case: Case) -> None:
    code, text, _ = run(case.file, "-o", "json")
    assert code == 1
    groups = json.loads(text)["groups"]
    fields = ("generation", "cause", "member", "join_ms", "sync_ms")
    assert [
        (group["name"], *(shown[field] for field in fields))
        for group in groups
        for shown in group["rebalances"]
    ] == case.rebalances
    faults = [(group["name"], other) for group in groups for other in group["others"] if other["finding"]]
    assert [
        (name, other["member"], other["what"].split(":")[0].split(";")[0]) for name, other in faults
    ] == case.faults


@pytest.mark.parametrize(("file", "said"), REFUSED.items())
def test_a_log_that_is_not_read_is_refused_by_the_name_of_its_client(file: str, said: str) -> None:
    code, _, error = run(file)
    assert code == 2
    assert said in error


@pytest.mark.parametrize("case", sample(CASES, 3), ids=lambda case: case.file)
def test_nobody_is_said_to_have_polled_late_without_evidence(case: Case) -> None:
    assert "polled late" not in run(case.file)[1]


@pytest.mark.parametrize(
    ("file", "first"),
    [
        (
            "javapoll.log",
            "g: 3 rebalances in 21 min 03 s, 2 because c1 polled too late: raise max.poll.interval.ms",
        ),
        ("shrank.log", "because topics or their partitions changed: see whether a topic was deleted"),
        ("already.log", "g: 1 rebalance, for a reason that these logs do not show"),
        ("failedonly.log", "g: no rebalance in these logs, but c-1 was silent for its session and removed"),
        ("commitfailed.log", "horizon: no rebalance in these logs, but c had a commit refused"),
        (
            "w31-kubectl-timestamps.log",
            "2 groups, no rebalance in these logs, but faults of members in agents-one",
        ),
        ("w13-connect-worker.log", "all because connect-host-1 had not read the config topic to its end"),
        ("w35-left-joined.log", "spans: 2 rebalances in 3.1 s, 1 because rdkafka left"),
    ],
)
def test_the_first_line_is_the_verdict(file: str, first: str) -> None:
    assert first in run(file)[1].splitlines()[0]


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("already.log", "these members followed a rebalance that others began"),
        ("w35-left-joined.log", "which process came back is unknown: give each a client.id"),
        ("w05-csv-newest-first.log", "begins with its last line, and was read from its end"),
        ("w34-no-times-reversed.log", "begins with its last line, and was read from its end"),
        ("javapoll.log", "with max.poll.interval.ms=362000: in the simulation"),
    ],
)
def test_what_the_answer_says_besides(file: str, said: str) -> None:
    assert said in " ".join(run(file)[1].split())


def test_members_of_a_default_name_are_no_restart() -> None:
    assert "restart" not in run("w35-left-joined.log")[1]
