import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Writes numbered records of skewed keys, first as many at once as are asked for, then some each second until
 * stdin ends. Arguments: brokers, topic, records at once, records a second, keys.
 */
public final class Writer {
    public static void main(String[] arguments) throws Exception {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("delivery.timeout.ms", 600_000);
        var bytes = new ByteArraySerializer();
        var chance = new Random(1);
        long first = Long.parseLong(arguments[2]);
        long sent = 0;
        try (var producer = new KafkaProducer<byte[], byte[]>(settings, bytes, bytes)) {
            while (sent < first || System.in.available() == 0) {
                long key = (long) (Integer.parseInt(arguments[4]) * Math.pow(chance.nextDouble(), 3));
                producer.send(new ProducerRecord<>(arguments[1], ("user-" + key).getBytes(StandardCharsets.UTF_8),
                        ("java:" + sent).getBytes(StandardCharsets.UTF_8)), (metadata, error) -> {
                            if (error != null) {
                                System.err.println(error);
                                Runtime.getRuntime().halt(1);
                            }
                        });
                sent++;
                if (sent == first) {
                    producer.flush();
                    System.out.println("ready");
                }
                if (sent >= first) {
                    Thread.sleep(1000 / Integer.parseInt(arguments[3]));
                }
            }
        }
        System.out.println(sent);
    }
}
