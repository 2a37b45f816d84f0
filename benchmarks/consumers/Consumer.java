import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Scanner;
import java.util.TreeMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.stream.Collectors;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.CloseOptions.GroupMembershipOperation;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * What consumer.py is, with the Java client: the same commands, the same lines, the same clock. It is also asked
 * what it has: `owned`.
 */
public final class Consumer implements ConsumerRebalanceListener {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** How long the application works on a revocation. */
    private final double revokeSeconds;

    private Consumer(double revokeSeconds) {
        this.revokeSeconds = revokeSeconds;
    }

    private static void work(double seconds) {
        try {
            Thread.sleep((long) (seconds * 1000));
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException(interrupted);
        }
    }

    private static synchronized void say(String event, String more) {
        System.out.println(String.format("{\"t\": %.4f, \"event\": \"%s\"%s}", System.nanoTime() / 1e9, event, more));
    }

    private static String numbers(Collection<TopicPartition> partitions) {
        return partitions.stream().map(TopicPartition::partition).sorted().map(String::valueOf)
            .collect(Collectors.joining(", ", ", \"partitions\": [", "]"));
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        say("assign", numbers(partitions));
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        say("revoke", numbers(partitions));
        work(revokeSeconds);
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        say("lost", numbers(partitions));
    }

    /** What the consumer has, in its own words: its member id, its generation, and its partitions by topic. */
    private static void tell(KafkaConsumer<byte[], byte[]> consumer) throws Exception {
        ConsumerGroupMetadata group = consumer.groupMetadata();
        Map<String, List<Integer>> owned = consumer.assignment().stream().collect(Collectors.groupingBy(
            TopicPartition::topic, TreeMap::new, Collectors.mapping(TopicPartition::partition, Collectors.toList())));
        owned.values().forEach(Collections::sort);
        say("owned", String.format(", \"member\": %s, \"generation\": %d, \"partitions\": %s",
            JSON.writeValueAsString(group.memberId()), group.generationId(), JSON.writeValueAsString(owned)));
    }

    private static void read(KafkaConsumer<byte[], byte[]> consumer, double batchSeconds) {
        Map<Integer, long[]> offsets = new TreeMap<>();
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
            long offset = record.offset();
            offsets.computeIfAbsent(record.partition(), none -> new long[] {offset, offset})[1] = offset;
        }
        if (!offsets.isEmpty()) {
            say("read", offsets.entrySet().stream()
                .map(entry -> "\"" + entry.getKey() + "\": [" + entry.getValue()[0] + ", " + entry.getValue()[1] + "]")
                .collect(Collectors.joining(", ", ", \"offsets\": {", "}")));
            work(batchSeconds);
        }
    }

    public static void main(String[] arguments) throws Exception {
        JsonNode settings = JSON.readTree(arguments[0]);
        Properties config = new Properties();
        settings.get("config").properties().forEach(entry -> config.put(entry.getKey(), entry.getValue().asText()));
        config.put("key.deserializer", ByteArrayDeserializer.class);
        config.put("value.deserializer", ByteArrayDeserializer.class);

        LinkedBlockingQueue<String> lines = new LinkedBlockingQueue<>();
        Scanner input = new Scanner(System.in).useDelimiter("\n");
        Thread listener = new Thread(() -> {
            input.forEachRemaining(lines::add);
            Runtime.getRuntime().halt(0); // whoever started it has gone
        });
        listener.setDaemon(true);
        listener.start();
        // Made before it is ready, as a JVM takes long to load a client's classes; it says nothing to a group yet.
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(config);
        say("ready", "");
        say(lines.take(), "");
        List<String> topics = new ArrayList<>();
        settings.get("topics").forEach(topic -> topics.add(topic.asText()));
        double batchSeconds = settings.path("batch").asDouble(0);
        consumer.subscribe(topics, new Consumer(settings.path("revoke").asDouble(0)));
        while (true) {
            String line = lines.poll();
            if (line == null) {
                read(consumer, batchSeconds);
                continue;
            }
            String[] command = line.split(" ");
            if (command[0].equals("owned")) {
                tell(consumer);
                continue;
            }
            say(command[0], "");
            if (command[0].equals("close")) {
                // DEFAULT, LEAVE_GROUP or REMAIN_IN_GROUP (KIP-1092).
                String how = settings.path("close").asText("DEFAULT");
                consumer.close(CloseOptions.groupMembershipOperation(GroupMembershipOperation.valueOf(how)));
                say("closed", "");
                return;
            }
            work(Double.parseDouble(command[1]));
            say("free", "");
        }
    }
}
