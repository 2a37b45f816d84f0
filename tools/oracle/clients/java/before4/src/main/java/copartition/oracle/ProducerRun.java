package copartition.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Really sends records with RoundRobinPartitioner to the topic, and reports where they went.
 *
 * <p>linger.ms is long, so that only a full batch leaves before the end: what happens does not depend on timing.
 */
final class ProducerRun {
    private ProducerRun() {}

    static void run(JsonNode scenario, ObjectNode answer) throws Exception {
        String topic = scenario.get("topic").asText();
        Map<String, Object> config = Map.of(
                "bootstrap.servers", System.getenv("KAFKA_BOOTSTRAP_SERVERS"),
                "partitioner.class", "org.apache.kafka.clients.producer.RoundRobinPartitioner",
                "batch.size", scenario.get("batch_size").asInt(),
                "linger.ms", 60_000,
                "enable.idempotence", false,
                "acks", "1");
        var bytes = new ByteArraySerializer();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(config, bytes, bytes)) {
            ArrayNode order = answer.putArray("available");
            producer.partitionsFor(topic).forEach(info -> order.add(info.partition()));
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (JsonNode size : scenario.get("value_sizes")) {
                sent.add(producer.send(new ProducerRecord<>(topic, new byte[size.asInt()])));
            }
            producer.flush();
            ArrayNode partitions = answer.putArray("partitions");
            for (Future<RecordMetadata> future : sent) {
                partitions.add(future.get().partition());
            }
        }
    }
}
