"""What is read of a log: when a line was written, and whatever form the file has."""

from __future__ import annotations

import gzip
import io
import json
import sys
from typing import TYPE_CHECKING

import pytest

from copartition.why.cures import logged_scenario
from copartition.why.history import Cause
from copartition.why.rebalances import histories
from copartition.why.statements import LONGEST_LINE, Kind, read_statements
from partitioning.errors import SourceError

if TYPE_CHECKING:
    from pathlib import Path

MAXPOLL = "Application maximum poll interval (9ms) exceeded by 3ms: leaving group"
AT = 1_714_557_600.0  # 2024-05-01T10:00:00Z
PREPARING = (
    "Preparing to rebalance group billing in state PreparingRebalance with old generation 3 "
    "(reason: removing member c2-912e5baf-3ef8-4eda-97ac-22d354f1ff18 on heartbeat expiration.)."
)


@pytest.mark.parametrize("logger", ["", " (kafka.coordinator.group.GroupCoordinator)"])
@pytest.mark.parametrize("partition", ["", "(__consumer_offsets-12) "])
def test_brokers_of_all_versions_write_the_same_of_a_rebalance(
    tmp_path: Path, logger: str, partition: str
) -> None:
    text = PREPARING.replace("(reason", f"{partition}(reason") + logger
    path = tmp_path / "server.log"
    path.write_text(f"[2024-05-01 10:00:00,000] INFO [GroupCoordinator 1]: {text}\n")
    (found,) = histories(read_statements([str(path)]))
    (rebalance,) = found.rebalances
    assert (found.name, rebalance.generation, rebalance.cause, rebalance.member) == (
        "billing",
        4,
        Cause.EXPIRED,
        "c2",
    )
    assert rebalance.began == AT
    assert rebalance.ended is None


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("Adding new member c1 with group instance id None; client reason: not provided", Cause.JOINED),
        ("Updating metadata for member c1 during Stable; client reason: not provided", Cause.UNKNOWN),
        (
            "Leader c1 re-joining group during Stable; client reason: the subscription has changed from [a]",
            Cause.SUBSCRIPTION,
        ),
        ("Removing member c1 on LeaveGroup; client reason: the consumer is being closed", Cause.LEFT),
        ("Removing Set(c1) on pending sync request expiration", Cause.LATE),
        ("Downgrade group billing from consumer to classic.", Cause.ASSIGNOR),
        ("Freshly-loaded group billing (size 3) is over capacity 2.", Cause.COORDINATOR),
        ("Error NOT_COORDINATOR when storing group assignment during SyncGroup", Cause.COORDINATOR),
        ("Error COORDINATOR_NOT_AVAILABLE when storing group assignment during SyncGroup", Cause.STORING),
        ("error when storing group assignment during SyncGroup (member: c1)", Cause.STORING),
        ("what no broker has said so far", Cause.UNKNOWN),
    ],
)
def test_a_coordinators_reason_names_the_cause(tmp_path: Path, reason: str, cause: Cause) -> None:
    path = tmp_path / "server.log"
    path.write_text(f"Preparing to rebalance group g in state S with old generation 0 (reason: {reason})\n")
    (found,) = histories(read_statements([str(path)]))
    assert found.rebalances[0].cause is cause
    assert found.rebalances[0].began is None
    assert "lines without a time are in the order of their files" in found.assumed


def test_gzip_is_recognized_and_a_cut_file_refused(tmp_path: Path) -> None:
    packed = gzip.compress(f"{PREPARING}\n".encode() * 1000)
    path = tmp_path / "server.log"  # whatever its name
    path.write_bytes(packed)
    assert len(read_statements([str(path)]).statements) == 1000
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(SourceError, match=r"server\.log: "):
        read_statements([str(path)])


def test_standard_input_is_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BufferedReader(io.BytesIO(f"{PREPARING}\n".encode()))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(raw))
    (found,) = read_statements(["-"]).statements
    assert (found.line.file, found.line.number, found.kind) == ("-", 1, Kind.PREPARING)


def test_a_line_without_end_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(b"x" * (3 * LONGEST_LINE) + b"\n" + PREPARING.encode())
    (found,) = read_statements([str(path)]).statements
    assert found.kind is Kind.PREPARING


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="missing"):
        read_statements([str(tmp_path / "missing")])


@pytest.mark.parametrize(
    ("line", "group", "kind", "member"),
    [
        (
            "Preparing to rebalance group g with old generation 3 (__consumer_offsets-9)",
            "g",
            Kind.PREPARING,
            None,
        ),
        (
            "Member[group.instance.id None, member.id c-1] in group g has left, removing it",
            "g",
            Kind.LEFT,
            "c-1",
        ),
        (f"librdkafka: MAXPOLL [thrd:main]: {MAXPOLL}", None, Kind.POLL, None),
        (
            'Debug | [thrd:main]: Group "g" is rebalancing (EAGER) in state up with 3 partition(s): x',
            "g",
            Kind.REJOINING,
            None,
        ),
        (
            "[Consumer clientId=c, groupId=g] Attempt to heartbeat failed since member id c-1 is not valid.",
            "g",
            Kind.EXPIRED,
            "c-1",
        ),
        (
            "kafka.coordinator - INFO - Successfully joined group g with generation 226",
            "g",
            Kind.MEMBER_JOINED,
            None,
        ),
    ],
)
def test_lines_of_old_versions_and_of_applications_loggers(
    tmp_path: Path, line: str, group: str | None, kind: Kind, member: str | None
) -> None:
    path = tmp_path / "a.log"
    path.write_text(f"2024-05-01 10:00:00 {line}\n")
    (found,) = read_statements([str(path)]).statements
    assert (found.group, found.kind, found.member) == (group, kind, member)


def test_each_event_of_a_line_is_read(tmp_path: Path) -> None:
    events = [{"timestamp": 1_714_557_600_000 + n, "message": f"(Re-)joining group g{n}"} for n in range(3)]
    path = tmp_path / "export.json"
    path.write_text(json.dumps({"events": [*events[:2], {"message": "nothing"}, events[2]]}))
    statements = read_statements([str(path)]).statements
    assert [statement.group for statement in statements] == ["g0", "g1", "g2"]


@pytest.mark.parametrize(
    ("generations", "turned"), [((4, 5, 6), False), ((6, 5, 4), True), ((5, 5, 5), False)]
)
def test_generations_tell_the_order_of_lines_without_a_time(
    tmp_path: Path, generations: tuple[int, ...], turned: bool
) -> None:
    path = tmp_path / "a.log"
    joined = "Successfully joined group g with generation"
    path.write_text("".join(f"{joined} {generation}\n" for generation in generations))
    reading = read_statements([str(path)])
    assert [statement.generation for statement in reading.statements] == sorted(generations)
    assert reading.newest_first == ([str(path)] if turned else [])


@pytest.mark.parametrize(
    ("times", "days"),
    [
        (("10:00:00,000", "10:00:01,500"), (0, 0)),
        (("10:00:01,000", "10:00:00,900", "10:00:02,000"), (0, 0, 0)),  # of two threads
        (("23:59:58,000", "00:00:03,000", "14:00:00,000", "00:00:00,000"), (0, 1, 1, 2)),
    ],
)
def test_only_a_step_back_of_half_a_day_is_a_midnight(
    tmp_path: Path, times: tuple[str, ...], days: tuple[int, ...]
) -> None:
    path = tmp_path / "a.log"
    path.write_text("".join(f"{time} INFO (Re-)joining group g\n" for time in times))
    at = [statement.line.at for statement in read_statements([str(path)]).statements]
    assert [moment is not None and moment // 86_400 for moment in at] == [*days]


def test_a_pasted_line_without_a_group_is_told_of_too(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text(f"%4|1714557600.5|MAXPOLL|c1#consumer-1| [thrd:main]: {MAXPOLL}\n")
    (found,) = histories(read_statements([str(path)]))
    (rebalance,) = found.rebalances
    assert (rebalance.generation, rebalance.cause, rebalance.member) == (None, Cause.POLL, "c1")


def test_lines_without_a_group_are_counted_where_there_are_several(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("(Re-)joining group a\n(Re-)joining group b\nHeartbeat session expired\n")
    other = tmp_path / "b.log"
    other.write_text("Heartbeat session expired\n")
    found = histories(read_statements([str(path), str(other)]))
    assert [group.name for group in found] == ["a", "b"]
    assert all("2 lines without a group's name left out" in group.assumed for group in found)


def test_a_generation_too_long_to_be_one_is_no_evidence(tmp_path: Path) -> None:
    path = tmp_path / "broker.log"
    words = "Stabilized group billing generation {} with {} members"
    path.write_text("\n".join(words.format(*pair) for pair in (("9" * 5_000, 1), (1, "9" * 5_000), (2, 3))))
    assert [
        (statement.generation, statement.text) for statement in read_statements([str(path)]).statements
    ] == [(1, ""), (2, "3")]


def test_a_scenario_says_which_causes_it_leaves_out(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    reasons = ["Adding new member c1 with group instance id None", "error when storing group assignment"]
    path.write_text(
        "".join(
            f"[2026-11-25 02:47:{40 + at},000] INFO Preparing to rebalance group g in state S "
            f"with old generation {at} (reason: {reason})\n"
            for at, reason in enumerate(reasons)
        )
    )
    (history,) = histories(read_statements([str(path)]))
    assumed = logged_scenario(history, {"orders": 2}, "range").assumed
    assert "left out, as the logs do not tell enough: assignment not stored" in assumed
