"""Model the leader's memory of a producer's batches, which decides if the leader appends a batch (KIP-98)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from copartition.models.producer.settings import check_bounds
from partitioning.errors import InvalidConfigError

WINDOW = 5
"""Batches of one producer that the leader remembers (`ProducerStateEntry.NUM_BATCHES_TO_RETAIN`)."""

_SEQUENCES = 2**31
"""The number of sequence numbers; after the highest they start again at 0."""
_EPOCHS = 2**15
"""The number of producer epochs."""


class Verdict(Enum):
    """The leader's answer to an idempotent batch."""

    APPENDED = "appended"
    DUPLICATE = "duplicate"
    OUT_OF_ORDER_SEQUENCE_NUMBER = "out of order sequence number"
    INVALID_PRODUCER_EPOCH = "invalid producer epoch"


@dataclass(frozen=True, slots=True)
class SequencedBatch:
    """Holds the part of a batch that matters for idempotence.

    Attributes:
        epoch: producer epoch, 0 .. 32767.
        first: sequence number of the first record, 0 .. 2**31 - 1.
        records: number of records, 1 .. 2**31 - 1.

    Raises:
        InvalidConfigError: a number is one that no batch can have.
    """

    epoch: int
    first: int
    records: int

    def __post_init__(self) -> None:
        check_bounds("a batch's epoch", self.epoch, 0, _EPOCHS - 1)
        check_bounds("a batch's first", self.first, 0, _SEQUENCES - 1)
        check_bounds("a batch's records", self.records, 1, _SEQUENCES - 1)

    @property
    def last(self) -> int:
        """Sequence number of the last record; sequences start again at 0 after 2**31 - 1."""
        return (self.first + self.records - 1) % _SEQUENCES


@dataclass(frozen=True, slots=True)
class ProducerState:
    """Holds the entry of one producer id at one partition's leader.

    Attributes:
        epoch: the highest epoch seen; -1 before the first batch.
        window: the last batches appended in that epoch, oldest first, at most `WINDOW`.

    Raises:
        InvalidConfigError: a batch is of another epoch, or an epoch is given without batches.

    >>> batch = SequencedBatch(epoch=0, first=0, records=2)
    >>> verdict, state = ProducerState().receive(batch)
    >>> verdict.value, state.receive(batch)[0].value
    ('appended', 'duplicate')
    """

    epoch: int = -1
    window: tuple[SequencedBatch, ...] = ()

    def __post_init__(self) -> None:
        # Batches of an older epoch are refused before the window is looked at, so the window has none of
        # them.
        epochs = {batch.epoch for batch in self.window} or {-1}
        if epochs != {self.epoch}:
            raise InvalidConfigError(
                f"a producer's epoch is {self.epoch} and its last batches are of epoch "
                f"{', '.join(map(str, sorted(epochs)))} (-1: none); give the batches appended in that epoch"
            )

    def receive(self, batch: SequencedBatch) -> tuple[Verdict, ProducerState]:
        """Return the leader's verdict on a batch, and its entry of the producer afterwards.

        A batch equal to one of the last five is acknowledged again without being appended. Any other batch
        must follow the last one, or start at 0 in a new epoch. A leader that knows nothing of the producer
        accepts any sequence number, because it may have lost its entry to retention (KIP-360).
        """
        if batch.epoch < self.epoch:
            return Verdict.INVALID_PRODUCER_EPOCH, self
        # This comes before the check of the sequence, which a repeated batch would not pass.
        if batch in self.window:
            return Verdict.DUPLICATE, self
        if batch.epoch > self.epoch:
            # If the leader has an entry, a new epoch starts at 0; without an entry any start is accepted.
            if self.epoch >= 0 and batch.first != 0:
                return Verdict.OUT_OF_ORDER_SEQUENCE_NUMBER, self
            return Verdict.APPENDED, ProducerState(batch.epoch, (batch,))
        if batch.first != (self.window[-1].last + 1) % _SEQUENCES:
            return Verdict.OUT_OF_ORDER_SEQUENCE_NUMBER, self
        return Verdict.APPENDED, replace(self, window=(*self.window, batch)[-WINDOW:])
