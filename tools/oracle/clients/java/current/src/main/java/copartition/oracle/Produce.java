package copartition.oracle;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Really produces with the Java client: "java" and SERVERS as arguments, then a transactional id, if any. Records come
 * on stdin, a line each of topic, key and value (hex, or "-" for null). At a line "flush" all that was told is sent,
 * and "done" comes back. With a transactional id "begin", "commit" and "abort" are lines, too.
 */
public final class Produce {
    private Produce() {}

    public static void main(String[] args) throws IOException, ExecutionException, InterruptedException {
        Properties config = new Properties();
        config.put("bootstrap.servers", args[1]);
        if (args.length > 2) {
            config.put("transactional.id", args[2]);
        }
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        List<Future<?>> sent = new ArrayList<>();
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer())) {
            if (args.length > 2) {
                producer.initTransactions();
            }
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                switch (line) {
                    case "begin" -> producer.beginTransaction();
                    case "commit" -> producer.commitTransaction();
                    case "abort" -> producer.abortTransaction();
                    case "flush" -> {
                        producer.flush();
                        for (Future<?> each : sent) {
                            each.get();
                        }
                        sent.clear();
                        System.out.println("done");
                    }
                    default -> {
                        String[] words = line.split(" ");
                        sent.add(producer.send(new ProducerRecord<>(words[0], decoded(words[1]), decoded(words[2]))));
                    }
                }
            }
        }
    }

    private static byte[] decoded(String text) {
        return text.equals("-") ? null : HexFormat.of().parseHex(text);
    }
}
