"""The leader's memory of a producer, one rule a test."""

import pytest

from copartition.models.producer.idempotence import WINDOW, ProducerState, SequencedBatch, Verdict
from partitioning.errors import InvalidConfigError


def batch(first: int, *, records: int = 10, epoch: int = 0) -> SequencedBatch:
    return SequencedBatch(epoch, first, records)


def state_after(*batches: SequencedBatch) -> ProducerState:
    state = ProducerState()
    for one in batches:
        verdict, state = state.receive(one)
        assert verdict is Verdict.APPENDED
    return state


@pytest.mark.parametrize("first", [0, 70])
def test_an_unknown_producer_may_start_anywhere(first: int) -> None:
    assert ProducerState().receive(batch(first))[0] is Verdict.APPENDED


@pytest.mark.parametrize(
    ("again", "verdict"),
    [
        (6, Verdict.DUPLICATE),  # the newest
        (2, Verdict.DUPLICATE),  # the oldest of the five
        (1, Verdict.OUT_OF_ORDER_SEQUENCE_NUMBER),  # the sixth is forgotten
        (8, Verdict.OUT_OF_ORDER_SEQUENCE_NUMBER),  # a gap
    ],
)
def test_the_leader_remembers_five_batches(again: int, verdict: Verdict) -> None:
    state = state_after(*(batch(10 * i) for i in range(7)))
    assert len(state.window) == WINDOW
    assert state.receive(batch(10 * again)) == (verdict, state)


def test_a_part_of_a_known_batch_is_not_a_duplicate() -> None:
    state = state_after(batch(0))
    assert state.receive(batch(0, records=5))[0] is Verdict.OUT_OF_ORDER_SEQUENCE_NUMBER


@pytest.mark.parametrize(
    ("first", "verdict"), [(0, Verdict.APPENDED), (20, Verdict.OUT_OF_ORDER_SEQUENCE_NUMBER)]
)
def test_a_new_epoch_starts_at_zero(first: int, verdict: Verdict) -> None:
    state = state_after(batch(0), batch(10))
    assert state.receive(batch(first, epoch=1))[0] is verdict


def test_an_old_epoch_is_fenced() -> None:
    state = state_after(batch(0), batch(0, epoch=1))
    assert state.receive(batch(10)) == (Verdict.INVALID_PRODUCER_EPOCH, state)


def test_sequences_start_again_after_the_largest() -> None:
    largest = 2**31 - 1
    state = state_after(batch(largest - 4, records=5))
    assert state.receive(batch(0))[0] is Verdict.APPENDED
    assert batch(largest, records=3).last == 1


@pytest.mark.parametrize(
    ("numbers", "named"),
    [
        ((-1, 0, 1), "epoch is -1"),
        ((2**15, 0, 1), "epoch is 32768"),
        ((0, -1, 1), "first is -1"),
        ((0, 2**31, 1), "first is 2147483648"),
        ((0, 0, 0), "records is 0"),
    ],
)
def test_a_batch_that_no_producer_can_send_is_refused(numbers: tuple[int, int, int], named: str) -> None:
    with pytest.raises(InvalidConfigError, match=named):
        SequencedBatch(*numbers)


@pytest.mark.parametrize(("epoch", "window"), [(0, ()), (-1, (batch(0),)), (1, (batch(0), batch(10)))])
def test_a_state_holds_batches_of_its_epoch(epoch: int, window: tuple[SequencedBatch, ...]) -> None:
    with pytest.raises(InvalidConfigError, match=f"epoch is {epoch} and"):
        ProducerState(epoch, window)
