"""The demo's audit finds what is wrong with a topic; the demo itself runs in CI."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from copartition import simulate
from copartition.assignment_diff import diff
from copartition.groups.source import step_state
from examples.flights.audit import Records, audit, inversions
from examples.flights.deploy import scenario
from examples.flights.pictures import write_pictures
from partitioning import grow, partition_batch
from tests.support.waiting import GENEROUS_S

KEYS = [b"N1", b"N2", None, b"N1", b"N2", b"N1"]


def records(seq: list[int], *, moved: dict[int, int] | None = None) -> Records:
    """A topic of three partitions that holds the rows `seq` of KEYS, row 2 in partition 2, some moved."""
    keys = [KEYS[row] for row in seq]
    partition = partition_batch(keys, 3)
    partition[partition < 0] = 2
    for row, place in (moved or {}).items():
        partition[seq.index(row)] = place
    order = np.argsort(partition, kind="stable")
    return Records(partition[order], np.array(seq)[order], pa.array(keys, pa.binary()).take(order), {0: 0})


def audited(read: Records) -> dict[str, int]:
    result = audit(read, len(KEYS), {2: 2}, 3)
    names = ("lost", "read_twice", "misplaced", "inversions", "dropped_by_broker")
    return {name: getattr(result, name) for name in names if getattr(result, name)} | (
        {} if result.passed else {"passed": False}
    )


def test_a_faultless_topic_passes() -> None:
    assert audited(records([0, 1, 2, 3, 4, 5])) == {}


def test_a_lost_row_is_found() -> None:
    assert audited(records([0, 1, 2, 3, 5])) == {"lost": 1, "passed": False}


def test_a_row_read_twice_is_found() -> None:
    assert audited(records([0, 1, 2, 3, 3, 4, 5])) == {"read_twice": 1, "passed": False}


@pytest.mark.parametrize("row", [1, 2])
def test_a_misplaced_row_is_found(row: int) -> None:
    right = int(partition_batch([KEYS[row]], 3)[0])
    faults = audited(records([0, 1, 2, 3, 4, 5], moved={row: (right + 1) % 3 if right >= 0 else 0}))
    assert faults["misplaced"] == 1
    assert faults["passed"] is False


def test_a_key_out_of_order_is_found() -> None:
    assert inversions(records([3, 0, 5, 1, 2, 4])) == 1


def test_what_the_broker_dropped_is_found() -> None:
    read = records([0, 1, 2, 3, 4, 5])
    assert audited(read._replace(first_offsets={0: 7})) == {"dropped_by_broker": 7, "passed": False}


@pytest.mark.slow
@pytest.mark.spark
def test_an_unreachable_broker_ends_the_demo_within_seconds() -> None:
    env = {**os.environ, "KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1"}
    done = subprocess.run(
        [sys.executable, "-m", "examples.flights"],
        env=env,
        capture_output=True,
        text=True,
        timeout=GENEROUS_S,
        check=False,
    )
    assert done.returncode == 2
    assert "127.0.0.1:1" in done.stdout


def test_the_index_leads_to_every_page_of_the_demo(tmp_path: Path) -> None:
    restart = simulate(scenario("cooperative-sticky", static=False, flights_partitions=2))
    before, after = (step_state(restart, step) for step in (0, len(restart.steps) - 1))
    counts = [("N1", 3), ("N2", 2)]
    written = write_pictures(
        tmp_path, np.array([3, 2]), counts, grow([b"N1", b"N2"], 2, 3), [restart], diff(before, after)
    )
    index = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert {*re.findall(r'(?:href|src)="([^"]+)"', index)} == {path.name for path in written} - {"index.html"}
