"""`copartition why`: exit codes, text and JSON, and a scenario that simulate runs."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner

from copartition.shell.main import copartition
from tests.support.tiers import sample

LOGS = Path(__file__).parents[2] / "golden" / "logs"
JAVA = sorted(map(str, (LOGS / "java-range").glob("*.log.gz")))
SET = [*("--set", "session.timeout.ms=6000"), *("--set", "max.poll.interval.ms=7000")]
BROKERS = sorted(map(str, LOGS.glob("*/broker.log.gz")))


@cache
def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(copartition, ["why", *arguments])
    return result.exit_code, result.stdout, result.stderr


def test_the_text_shows_each_rebalance_and_what_avoids_it() -> None:
    code, text, _ = run(*JAVA)
    assert code == 1
    assert text.startswith(
        "java-range: 10 rebalances in 1 min 56 s, 4 because 3 members joined\n  classic; joined 5,"
    )
    assert "poll interval exceeded  c1" in text
    assert "lower max.poll.records, or raise max.poll.interval.ms" in text
    assert "how many rebalances that leaves is unknown: c2: session expired" in text


def test_lines_without_a_time_leave_it_blank(tmp_path: Path) -> None:
    log = tmp_path / "pasted.log"
    log.write_text(
        "[GroupCoordinator 1]: Preparing to rebalance group billing with old generation 4 "
        "(reason: Adding new member w-1)\n"
        "[GroupCoordinator 1]: Stabilized group billing generation 5 with 2 members\n"
    )
    rows = [line.split() for line in run(str(log), "--all")[1].splitlines()]
    assert ["5", "joined", "w-1", "unknown", "unknown", "2"] in rows


def test_a_cure_is_simulated_with_the_groups_timeouts() -> None:
    _, text, _ = run(*JAVA, *SET)
    assert "set group.instance.id and session.timeout.ms=14000 (2 rebalances" in text
    assert "in the simulation 7 rebalances become 3; the log shows 10" in text
    assert "with max.poll.interval.ms=12000: in the simulation 7 rebalances become 5" in text


BROKER = "[2026-11-28 10:{0}:00,000] INFO [GroupCoordinator 1]: {1}\n"
PREPARING = (
    "Preparing to rebalance group billing in state PreparingRebalance with old generation {} (reason: {})"
)
STABLE = "Stabilized group billing generation {} (__consumer_offsets-1) with 1 members"


@pytest.mark.parametrize(
    ("reason", "told", "not_told"),
    [
        (
            "removing member w-1 on heartbeat expiration",
            "whether that process was paused",
            "session.timeout.ms=",
        ),
        ("Removing member w-1 on LeaveGroup", "1 restart, 1 min 00 s at most", "was paused"),
    ],
)
def test_a_member_that_fell_silent_is_not_taken_for_a_restart(
    reason: str, told: str, not_told: str, tmp_path: Path
) -> None:
    log = tmp_path / "broker.log"
    log.write_text(
        BROKER.format("00", PREPARING.format(0, "Adding new member w-1"))
        + BROKER.format("01", STABLE.format(1))
        + BROKER.format("05", PREPARING.format(1, reason))
        + BROKER.format("06", PREPARING.format(2, "Adding new member w-1"))
        + BROKER.format("07", STABLE.format(3))
    )
    text = run(str(log))[1]
    assert told in text
    assert not_told not in text


def test_no_session_is_advised_that_is_below_the_present_one() -> None:
    _, text, _ = run(*JAVA)
    assert "session.timeout.ms=45000" in text


def test_nothing_is_simulated_of_a_group_of_the_consumer_protocol() -> None:
    _, text, _ = run(*map(str, (LOGS / "java-consumer").glob("*.log.gz")), *SET)
    assert "in the simulation" not in text
    assert "the simulation of the consumer protocol counts other epochs" in text


def test_without_an_assignor_nothing_is_simulated() -> None:
    _, text, _ = run(JAVA[0], *SET, "-o", "json")
    [group] = json.loads(text)["groups"]
    answers = [cure["simulated"] for cure in group["cures"] if cure["simulated"]]
    assert answers
    assert all("the logs do not name the group's assignor" in answer for answer in answers)


def test_the_json_names_the_line_of_each_cause() -> None:
    code, text, _ = run(*JAVA, "-o", "json")
    assert code == 1
    (group,) = json.loads(text)["groups"]
    poll = next(
        rebalance for rebalance in group["rebalances"] if rebalance["cause"] == "poll interval exceeded"
    )
    assert poll["member"] == "c1"
    assert poll["file"].endswith("broker.log.gz")
    assert "LeaveGroup" in poll["reason"]
    assert 0 < poll["join_ms"] < 3_000


def test_several_groups_are_reported_by_name() -> None:
    brokers = sample(BROKERS, 3)
    code, text, _ = run(*brokers, "-o", "json")
    names = [group["name"] for group in json.loads(text)["groups"]]
    assert code == 1
    assert names == [Path(broker).parent.name for broker in brokers]


def test_a_group_of_which_nothing_is_said_is_refused() -> None:
    code, _, error = run(*JAVA, "--group", "billing")
    assert code == 2
    assert "nothing of the group billing" in error


def test_one_group_of_several_is_reported() -> None:
    code, text, _ = run(
        *BROKERS[-3:], str(LOGS / "java-static" / "broker.log.gz"), "--group", "java-static", "-o", "json"
    )
    assert code == 1
    assert [group["name"] for group in json.loads(text)["groups"]] == ["java-static"]


def test_logs_of_something_else_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "nginx.log"
    path.write_text("GET / 200\n" * 100)
    code, _, error = run(str(path))
    assert code == 2
    assert "show nothing of a group" in error


def test_what_could_steer_a_terminal_is_shown_as_text(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text("Loaded classic group \x1b[2Jg with 1 members\n")
    code, text, _ = run(str(path))
    assert code == 0
    assert "\x1b" not in text


def test_a_scenario_of_a_log_runs(tmp_path: Path) -> None:
    code, text, _ = run(*JAVA, "--as-scenario", "--topic", "orders=6", *SET)
    assert code == 0
    assert "# assumed: session.timeout.ms=" in text
    path = tmp_path / "night.yaml"
    path.write_text(text)
    result = CliRunner().invoke(copartition, ["simulate", str(path), "-o", "json"])
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("arguments", "said"), [(BROKERS[:2], "name it with --group"), (JAVA, "partition counts; give --topic")]
)
def test_a_scenario_is_of_one_group_whose_partitions_are_known(arguments: list[str], said: str) -> None:
    code, _, error = run(*arguments, "--as-scenario")
    assert code == 2
    assert said in error


def test_a_share_group_of_a_cluster_leads_to_the_log(run, monkeypatch):
    from copartition.groups.live import cluster

    there = object.__new__(cluster.Cluster)
    there._source = "live:shared"
    monkeypatch.setattr(cluster.Cluster, "group_types", lambda _: {"shared": "share"})
    monkeypatch.setattr(cluster, "connect", lambda *_: there)
    result = run("why", "live:shared", "-b", "h:1")
    assert result.exit_code == 2
    assert "live:shared: shared is a share group (KIP-932)" in result.stderr
    assert "copartition why server.log --group shared reads its epochs" in result.stderr
