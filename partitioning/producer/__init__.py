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
from partitioning.producer.librdkafka import LibrdkafkaSettings, simulate_librdkafka
from partitioning.producer.settings import BatchingSettings
from partitioning.producer.tuning import Trial, Tuning, tune_producer

__all__ = [
    "BatchingResult",
    "BatchingSettings",
    "Broker",
    "DeliveryResult",
    "DeliverySettings",
    "Faults",
    "LibrdkafkaSettings",
    "Outcome",
    "ProducerState",
    "SequencedBatch",
    "Trial",
    "Tuning",
    "Verdict",
    "simulate_batching",
    "simulate_delivery",
    "simulate_librdkafka",
    "tune_producer",
]
