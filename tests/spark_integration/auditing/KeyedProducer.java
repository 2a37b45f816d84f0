import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HexFormat;
import java.util.Map;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Sends a record for each key on stdin (hex, one a line). Arguments: brokers and topic. */
public final class KeyedProducer {
    public static void main(String[] arguments) throws Exception {
        Map<String, Object> settings = Map.of("bootstrap.servers", arguments[0]);
        var bytes = new ByteArraySerializer();
        Future<RecordMetadata> last = null;
        try (var producer = new KafkaProducer<byte[], byte[]>(settings, bytes, bytes);
                var keys = new BufferedReader(new InputStreamReader(System.in))) {
            for (String line = keys.readLine(); line != null; line = keys.readLine()) {
                byte[] key = HexFormat.of().parseHex(line);
                last = producer.send(new ProducerRecord<>(arguments[1], key, new byte[0]));
            }
            producer.flush();
            last.get();
        }
    }
}
