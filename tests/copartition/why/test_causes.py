"""Causes carry their evidence: crash loops, members of default names, other groups, times."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from copartition.shell.main import copartition

if TYPE_CHECKING:
    from pathlib import Path

PREPARING = "Preparing to rebalance group {} in state PreparingRebalance with old generation {} (reason: {})"
STABLE = "Stabilized group {} generation {} (__consumer_offsets-1) with {} members"
FAILED = "Member {} in group {} has failed, removing it from the group"
OLD, NEW = "-36480de2-bd5c-4366-b517-da60fb69e070", "-1677cffc-d988-47c6-9431-3a3bbe3e00fc"


def log(path: Path, *lines: tuple[str, str]) -> str:
    """A broker's log of lines, each with its minutes, seconds and milliseconds."""
    file = path / "server.log"
    file.write_text(
        "".join(f"[2026-11-28 10:{at}] INFO [GroupCoordinator 1]: {text}\n" for at, text in lines)
    )
    return str(file)


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(copartition, ["why", *arguments])
    return result.exit_code, result.stdout


def crash_loop(name: str) -> list[tuple[str, str]]:
    """A process comes back while its old member is waited for."""
    return [
        ("00:00,000", PREPARING.format("g", 6, f"Adding new member {name}{NEW}")),
        ("00:33,500", FAILED.format(f"{name}{OLD}", "g")),
        ("00:33,501", STABLE.format("g", 7, 2)),
    ]


def test_a_process_that_comes_back_before_its_session_ends_has_crashed(tmp_path: Path) -> None:
    text = run(log(tmp_path, *crash_loop("ck-2")))[1]
    assert text.startswith("g: 1 rebalance, because ck-2 crashed and came back: find out why it crashes")
    assert "polled late" not in text


def test_members_of_a_clients_default_name_are_not_one_process(tmp_path: Path) -> None:
    text = run(log(tmp_path, *crash_loop("rdkafka")))[1]
    assert text.startswith("g: 1 rebalance, because rdkafka joined")
    assert "rdkafka session expired" in text


@pytest.mark.parametrize(
    ("lines", "late"),
    [
        pytest.param(
            [(0, "Adding new member a"), (3, "")], False, id="the first generation waits for others"
        ),
        pytest.param([(5, "Adding new member a"), (1, "")], False, id="an only member waits for nobody"),
        pytest.param([(5, "Adding new member a"), (3, "")], True, id="somebody was waited for"),
        pytest.param(
            [(5, "Adding new member a"), (3, "b")], False, id="the member that was waited for expired"
        ),
    ],
)
def test_a_late_poll_is_said_only_where_nothing_else_explains_the_wait(
    lines: list[tuple[int, str]], late: bool, tmp_path: Path
) -> None:
    (old, reason), (members, expired) = lines
    rows = [
        ("00:00,000", PREPARING.format("g", old, reason)),
        *([("00:09,000", FAILED.format(expired, "g"))] if expired else []),
        ("00:10,000", STABLE.format("g", old + 1, members)),
    ]
    assert ("a member polled late" in run(log(tmp_path, *rows))[1]) is late


def test_a_group_that_was_empty_waits_for_the_initial_delay(tmp_path: Path) -> None:
    rows = [
        ("00:00,000", PREPARING.format("g", 5, "removing member a on heartbeat expiration")),
        ("00:00,001", "Group g with generation 6 is now empty (__consumer_offsets-1)"),
        ("00:30,000", PREPARING.format("g", 6, "Adding new member b")),
        ("00:33,100", STABLE.format("g", 7, 4)),
    ]
    assert "polled late" not in run(log(tmp_path, *rows))[1]


def test_members_of_another_group_are_not_shown(tmp_path: Path) -> None:
    file = tmp_path / "app.log"
    file.write_text(
        "2026-11-28 10:00:00,000 INFO (Re-)joining group a\n"
        "2026-11-28 10:00:01,000 INFO Successfully joined group a with generation 3\n"
        "2026-11-28 10:00:02,000 INFO (Re-)joining group b\n"
        "2026-11-28 10:00:03,000 INFO Heartbeat session expired, marking coordinator dead\n"
        "2026-11-28 10:00:04,000 INFO Consumer poll timeout has expired.\n"
    )
    document = json.loads(run(str(file), "--group", "b", "-o", "json")[1] or '{"groups": []}')
    assert [group["name"] for group in document["groups"]] in ([], ["b"])
    assert "poll interval exceeded" not in str(document)


def test_groups_are_in_the_order_in_which_people_count(tmp_path: Path) -> None:
    rows = [("00:00,000", PREPARING.format(f"orders-{n}", 5, "Adding new member a")) for n in (10, 1, 2)]
    document = json.loads(run(log(tmp_path, *rows), "-o", "json")[1])
    assert [group["name"] for group in document["groups"]] == ["orders-1", "orders-2", "orders-10"]


def test_the_time_of_all_rebalances_ends_with_the_last(tmp_path: Path) -> None:
    rows = [
        ("00:00,000", PREPARING.format("g", 5, "Adding new member a")),
        ("00:01,000", STABLE.format("g", 6, 2)),
        ("01:00,000", PREPARING.format("g", 6, "Adding new member b")),
        ("05:38,000", STABLE.format("g", 7, 3)),
    ]
    assert run(log(tmp_path, *rows))[1].startswith("g: 2 rebalances in 5 min 38 s")


def test_a_log_that_begins_in_a_rebalance_has_its_end(tmp_path: Path) -> None:
    code, text = run(log(tmp_path, ("00:00,000", STABLE.format("g", 7, 3))))
    assert code == 1
    assert "the logs have only the end of that rebalance" in text


def test_lines_of_a_group_that_are_not_understood_are_no_answer(tmp_path: Path) -> None:
    line = "Static consumer of group g was evicted after generation 7"
    code, text = run(
        log(tmp_path, ("00:00,000", "Loaded classic group g with 1 members."), ("00:01,000", line))
    )
    assert code == 2
    assert "1 line speaks of groups in words that are not read here; the first is" in text
    assert line in text


def test_times_of_day_go_on_after_midnight(tmp_path: Path) -> None:
    file = tmp_path / "a.log"
    file.write_text(
        "23:59:58,000 INFO (Re-)joining group g\n"
        "00:00:03,000 INFO Successfully joined group g with generation 3\n"
    )
    text = run(str(file))[1]
    assert "5.0 s" in text
    assert "23:59:58" in text
    assert "1970" not in text
    assert "times without a date" in text


TIMED_OUT = "Consumer group session timed out (in join-state steady) after 45001 ms: revoking assignment"
UNAVAILABLE = (
    "Group coordinator b:9092 (id: 1) is unavailable or invalid due to cause: x. isDisconnected: true."
)


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        (
            f"%4|1795860000.100|SESSTMOUT|billing#consumer-1| [thrd:main]: {TIMED_OUT}",
            "1 rebalance, because the session of billing expired",
        ),
        (
            "2026-11-28 10:00:03,000 INFO Heartbeat session expired, marking coordinator dead",
            "no rebalance in these logs, but a member lost its coordinator",
        ),
        (
            "2026-11-28 10:00:00,000 ERROR Group g could not complete rebalance because no members rejoined",
            "a member was waited for by a rebalance that could not end",
        ),
        (
            "Cannot downgrade consumer group g to classic group because the online downgrade is disabled.",
            "a member of another protocol came or went, and the group could not change",
        ),
        (
            f"[Consumer clientId=c, groupId=g] {UNAVAILABLE}",
            "g: no rebalance in these logs, but c lost its coordinator",
        ),
    ],
)
def test_a_fault_without_a_rebalance_is_a_finding(line: str, verdict: str, tmp_path: Path) -> None:
    file = tmp_path / "a.log"
    file.write_text(f"{line}\n")
    code, text = run(str(file))
    assert code == 1
    assert verdict in text.splitlines()[0]
