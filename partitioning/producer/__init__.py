"""The producer around the partitioner: batching, delivery and their settings as models."""

from partitioning.producer.assessing import DeliveryAssessment as DeliveryAssessment
from partitioning.producer.assessing import Tally as Tally
from partitioning.producer.assessing import assess_delivery as assess_delivery
from partitioning.producer.batching import BatchingResult as BatchingResult
from partitioning.producer.batching import Broker as Broker
from partitioning.producer.batching import simulate_batching as simulate_batching
from partitioning.producer.delivering import simulate_delivery as simulate_delivery
from partitioning.producer.delivery import DeliveryResult as DeliveryResult
from partitioning.producer.delivery import DeliverySettings as DeliverySettings
from partitioning.producer.delivery import Fault as Fault
from partitioning.producer.delivery import Faults as Faults
from partitioning.producer.delivery import Outcome as Outcome
from partitioning.producer.delivery import delivery_settings as delivery_settings
from partitioning.producer.idempotence import ProducerState as ProducerState
from partitioning.producer.idempotence import SequencedBatch as SequencedBatch
from partitioning.producer.idempotence import Verdict as Verdict
from partitioning.producer.librdkafka import LibrdkafkaSettings as LibrdkafkaSettings
from partitioning.producer.librdkafka import simulate_librdkafka as simulate_librdkafka
from partitioning.producer.settings import BatchingSettings as BatchingSettings
from partitioning.producer.tuning import Trial as Trial
from partitioning.producer.tuning import Tuning as Tuning
from partitioning.producer.tuning import tune_producer as tune_producer
