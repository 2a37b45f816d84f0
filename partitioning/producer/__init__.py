"""The producer around the partitioner: batching, delivery and their settings as models."""

from partitioning.producer.assessing import DeliveryAssessment, Tally, assess_delivery
from partitioning.producer.batching import (
    BatchingResult,
    Broker,
    simulate_batching,
)
from partitioning.producer.delivering import simulate_delivery
from partitioning.producer.delivery import (
    DeliveryResult,
    DeliverySettings,
    Fault,
    Faults,
    Outcome,
    delivery_settings,
)
from partitioning.producer.idempotence import ProducerState, SequencedBatch, Verdict
from partitioning.producer.librdkafka import LibrdkafkaSettings, simulate_librdkafka
from partitioning.producer.settings import BatchingSettings
from partitioning.producer.tuning import Trial, Tuning, tune_producer

__all__ = [
    "BatchingResult",
    "BatchingSettings",
    "Broker",
    "DeliveryAssessment",
    "DeliveryResult",
    "DeliverySettings",
    "Fault",
    "Faults",
    "LibrdkafkaSettings",
    "Outcome",
    "ProducerState",
    "SequencedBatch",
    "Tally",
    "Trial",
    "Tuning",
    "Verdict",
    "assess_delivery",
    "delivery_settings",
    "simulate_batching",
    "simulate_delivery",
    "simulate_librdkafka",
    "tune_producer",
]
