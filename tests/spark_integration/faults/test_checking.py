"""The check of a topic, on topics with known faults."""

import pytest

from benchmarks.faults.checking import ReadRecord, Verdict, check

WRITTEN = {"a": 3, "b": 2}
HOMES = {"a": 0, "b": 1}
A0, A1, A2, B0, B1 = (
    ReadRecord(0, "a", 0),
    ReadRecord(0, "a", 1),
    ReadRecord(0, "a", 2),
    ReadRecord(1, "b", 0),
    ReadRecord(1, "b", 1),
)


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        ([A0, A1, A2, B0, B1], Verdict()),
        ([A0, B0, A1, B1, A2], Verdict()),
        ([A0, A1, B0, B1], Verdict(lost=1)),
        ([], Verdict(lost=5)),
        ([A0, A0, A1, A2, B0, B1, B1, B1], Verdict(doubled=3)),
        ([A0, A2, A1, B0, B1], Verdict(out_of_order=1)),
        ([A1, A2, A0, B1, B0], Verdict(out_of_order=2)),
        ([A0, A1, A0, A1, A2, B0, B1], Verdict(doubled=2, out_of_order=1)),
        ([A0, ReadRecord(1, "a", 1), A2, B0, B1], Verdict(misplaced=1)),
        ([A0, A1, A1, B0, B1], Verdict(lost=1, doubled=1)),
    ],
)
def test_each_fault_is_counted(found: list[ReadRecord], verdict: Verdict) -> None:
    assert check(found, WRITTEN, HOMES) == verdict


@pytest.mark.parametrize("stranger", [ReadRecord(0, "a", 3), ReadRecord(0, "c", 0), ReadRecord(0, "a", -1)])
def test_a_record_that_nobody_wrote_is_refused(stranger: ReadRecord) -> None:
    with pytest.raises(ValueError, match="nobody wrote"):
        check([stranger], WRITTEN, HOMES)
