"""The producer around the partitioner: what its settings make of the placement."""

from partitioning.producer.batching import (
    BatchingResult,
    Broker,
    simulate_batching,
)
from partitioning.producer.delivery import (
    DeliveryResult,
    DeliverySettings,
    Faults,
    Outcome,
    simulate_delivery,
)
from partitioning.producer.idempotence import ProducerState, SequencedBatch, Verdict
from partitioning.producer.settings import BatchingSettings

__all__ = [
    "BatchingResult",
    "BatchingSettings",
    "Broker",
    "DeliveryResult",
    "DeliverySettings",
    "Faults",
    "Outcome",
    "ProducerState",
    "SequencedBatch",
    "Verdict",
    "simulate_batching",
    "simulate_delivery",
]
