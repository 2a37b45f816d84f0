"""Import the public names of the package."""

from copartition.models.producer.assessing import BatchTally as BatchTally
from copartition.models.producer.assessing import DeliveryAssessment as DeliveryAssessment
from copartition.models.producer.assessing import assess_delivery as assess_delivery
from copartition.models.producer.batching import BatchingResult as BatchingResult
from copartition.models.producer.batching import BrokerTimes as BrokerTimes
from copartition.models.producer.batching import simulate_batching as simulate_batching
from copartition.models.producer.delivering import simulate_delivery as simulate_delivery
from copartition.models.producer.delivery import DeliveryResult as DeliveryResult
from copartition.models.producer.delivery import DeliverySettings as DeliverySettings
from copartition.models.producer.delivery import Fault as Fault
from copartition.models.producer.delivery import Faults as Faults
from copartition.models.producer.delivery import Outcome as Outcome
from copartition.models.producer.delivery import delivery_settings as delivery_settings
from copartition.models.producer.idempotence import ProducerState as ProducerState
from copartition.models.producer.idempotence import SequencedBatch as SequencedBatch
from copartition.models.producer.idempotence import Verdict as Verdict
from copartition.models.producer.librdkafka import LibrdkafkaSettings as LibrdkafkaSettings
from copartition.models.producer.librdkafka import simulate_librdkafka as simulate_librdkafka
from copartition.models.producer.settings import BatchingSettings as BatchingSettings
from copartition.models.producer.tuning import Trial as Trial
from copartition.models.producer.tuning import Tuning as Tuning
from copartition.models.producer.tuning import tune_producer as tune_producer
