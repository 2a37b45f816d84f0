import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** The same as consumer.py with the Java client: `java JavaConsumer.java java SERVERS GROUP TOPIC ASSIGNOR INSTANCE_ID`. */
public class JavaConsumer {
    private static final Map<String, String> ASSIGNORS = Map.of(
        "range", "RangeAssignor",
        "roundrobin", "RoundRobinAssignor",
        "sticky", "StickyAssignor",
        "cooperative-sticky", "CooperativeStickyAssignor");

    private static volatile boolean stopping = false;

    public static void main(String[] args) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", args[1]);
        settings.put("group.id", args[2]);
        settings.put("partition.assignment.strategy", "org.apache.kafka.clients.consumer." + ASSIGNORS.get(args[4]));
        if (!args[5].equals("-")) {
            settings.put("group.instance.id", args[5]);
        }
        settings.put("session.timeout.ms", "6000");
        settings.put("heartbeat.interval.ms", "300");
        settings.put("enable.auto.commit", "false");
        Thread reading = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            stopping = true;
            try {
                reading.join();
            } catch (InterruptedException ignored) {
                Thread.currentThread().interrupt();
            }
        }));
        try (var consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of(args[3]));
            String said = "";
            while (!stopping) {
                consumer.poll(Duration.ofMillis(100));
                String now = state(consumer);
                if (!now.equals(said)) {
                    said = now;
                    System.out.println(now);
                }
            }
        }
    }

    private static String state(KafkaConsumer<byte[], byte[]> consumer) {
        ConsumerGroupMetadata group = consumer.groupMetadata();
        String partitions = consumer.assignment().stream().map(TopicPartition::partition).sorted()
            .map(String::valueOf).collect(Collectors.joining(", ", "[", "]"));
        return "{\"member\": \"" + group.memberId() + "\", \"generation\": " + group.generationId()
            + ", \"partitions\": " + partitions + "}";
    }
}
