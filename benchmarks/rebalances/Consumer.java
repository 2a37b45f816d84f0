import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Scanner;
import java.util.TreeMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.stream.Collectors;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** What consumer.py is, with the Java client: the same commands, the same lines, the same clock. */
public final class Consumer implements ConsumerRebalanceListener {

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
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        say("lost", numbers(partitions));
    }

    private static void read(KafkaConsumer<byte[], byte[]> consumer) {
        Map<Integer, long[]> offsets = new TreeMap<>();
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
            long offset = record.offset();
            offsets.computeIfAbsent(record.partition(), none -> new long[] {offset, offset})[1] = offset;
        }
        if (!offsets.isEmpty()) {
            say("read", offsets.entrySet().stream()
                .map(entry -> "\"" + entry.getKey() + "\": [" + entry.getValue()[0] + ", " + entry.getValue()[1] + "]")
                .collect(Collectors.joining(", ", ", \"offsets\": {", "}")));
        }
    }

    public static void main(String[] arguments) throws Exception {
        JsonNode settings = new ObjectMapper().readTree(arguments[0]);
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
        consumer.subscribe(List.of(settings.get("topic").asText()), new Consumer());
        while (true) {
            String line = lines.poll();
            if (line == null) {
                read(consumer);
                continue;
            }
            String[] command = line.split(" ");
            say(command[0], "");
            if (command[0].equals("close")) {
                consumer.close();
                say("closed", "");
                return;
            }
            Thread.sleep((long) (Double.parseDouble(command[1]) * 1000));
            say("free", "");
        }
    }
}
