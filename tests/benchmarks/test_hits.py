"""What a fault leaves behind when it strikes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.faults import hits

if TYPE_CHECKING:
    from pathlib import Path


def test_a_second_fault_of_a_process_leaves_what_is_noted_of_the_first(tmp_path: Path) -> None:
    noted = [hits.note(tmp_path, number, {"open": opened}) for number, opened in ((0, 7), (1, 0), (1, 3))]
    assert noted == [True, True, False]
    assert hits.read(tmp_path) == [{"open": 7}, {"open": 0}]
