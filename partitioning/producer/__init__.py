"""The producer around the partitioner: what its settings make of the placement."""

from partitioning.producer.delivery import (
    DeliveryResult,
    DeliverySettings,
    Faults,
    Outcome,
    simulate_delivery,
)
from partitioning.producer.idempotence import ProducerState, SequencedBatch, Verdict

__all__ = [
    "DeliveryResult",
    "DeliverySettings",
    "Faults",
    "Outcome",
    "ProducerState",
    "SequencedBatch",
    "Verdict",
    "simulate_delivery",
]
