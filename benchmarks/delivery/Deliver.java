package copartition.delivery;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.StringSerializer;

/** Lines in: a topic, settings and numbers; a line out: whether each number was acknowledged, as JSON. */
public final class Deliver {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        KafkaProducer<String, String> producer = null;
        var sent = new ArrayList<Future<RecordMetadata>>();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode asked = JSON.readTree(line);
            switch (asked.get("do").asText()) {
                case "open" -> producer = opened(asked);
                case "send" -> {
                    String topic = asked.get("topic").asText();
                    for (int i = asked.get("first").asInt(); i < asked.get("end").asInt(); i++) {
                        // Wide enough that no second one has room in what a batch of one is given.
                        sent.add(producer.send(new ProducerRecord<>(topic, 0, null, "%-200d".formatted(i))));
                    }
                }
                default -> {
                    System.out.println(JSON.writeValueAsString(outcomes(sent)));
                    System.out.flush();
                    sent.clear();
                    producer.close(Duration.ZERO);
                }
            }
        }
    }

    private static KafkaProducer<String, String> opened(JsonNode asked) {
        Map<String, Object> config = new HashMap<>();
        asked.get("settings").fields().forEachRemaining(each -> config.put(each.getKey(), each.getValue().asText()));
        var strings = new StringSerializer();
        var producer = new KafkaProducer<>(config, strings, strings);
        producer.partitionsFor(asked.get("topic").asText());
        return producer;
    }

    private static List<Boolean> outcomes(List<Future<RecordMetadata>> sent) throws InterruptedException {
        var delivered = new ArrayList<Boolean>();
        for (Future<RecordMetadata> future : sent) {
            try {
                future.get();
                delivered.add(true);
            } catch (ExecutionException error) {
                delivered.add(false);
            }
        }
        return delivered;
    }
}
