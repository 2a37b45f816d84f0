package copartition.oracle;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.zip.CRC32;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.common.utils.internals.AppInfoParser;

/**
 * Where the Java producer puts each key, asked of the method that send() asks: -1 is a record for the built-in
 * sticky partitioner. Keys on stdin (hex, or "null"), partition counts as arguments.
 */
public final class PlaceKeys {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String CLIENT = "org.apache.kafka:kafka-clients " + AppInfoParser.getVersion();

    private PlaceKeys() {}

    public static void main(String[] counts) throws Exception {
        List<byte[]> keys = readKeys();
        printHashes("murmur2", CLIENT, "Utils.murmur2", keys, Utils::murmur2);
        printHashes("crc32", "java.base", "java.util.zip.CRC32", keys, PlaceKeys::crc32);
        Method partition = KafkaProducer.class.getDeclaredMethod(
                "partition", ProducerRecord.class, byte[].class, byte[].class, Cluster.class);
        partition.setAccessible(true);
        Map<String, Object> config = Map.of("bootstrap.servers", "127.0.0.1:1", "enable.metrics.push", "false");
        var bytes = new ByteArraySerializer();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(config, bytes, bytes)) {
            for (String text : counts) {
                int count = Integer.parseInt(text);
                Cluster cluster = clusterOf(count);
                List<Object> partitions = new ArrayList<>();
                for (byte[] key : keys) {
                    ProducerRecord<byte[], byte[]> record = new ProducerRecord<>("topic", key, null);
                    partitions.add(partition.invoke(producer, record, key, null, cluster));
                }
                Map<String, Object> answer = new LinkedHashMap<>();
                answer.put("profile", "java");
                answer.put("client", CLIENT);
                answer.put("call", "KafkaProducer.partition");
                answer.put("count", count);
                answer.put("partitions", partitions);
                System.out.println(JSON.writeValueAsString(answer));
            }
        }
    }

    private static void printHashes(
            String hash, String client, String call, List<byte[]> keys, Function<byte[], Integer> function)
            throws Exception {
        List<Integer> values = new ArrayList<>();
        for (byte[] key : keys) {
            values.add(key == null ? null : function.apply(key));
        }
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("hash", hash);
        answer.put("client", client);
        answer.put("call", call);
        answer.put("values", values);
        System.out.println(JSON.writeValueAsString(answer));
    }

    private static int crc32(byte[] key) {
        CRC32 crc = new CRC32();
        crc.update(key);
        return (int) crc.getValue();
    }

    private static Cluster clusterOf(int count) {
        Node node = new Node(0, "localhost", 9092);
        Node[] nodes = {node};
        List<PartitionInfo> partitions = new ArrayList<>();
        for (int id = 0; id < count; id++) {
            partitions.add(new PartitionInfo("topic", id, node, nodes, nodes));
        }
        return new Cluster("cluster", List.of(node), partitions, Set.of(), Set.of());
    }

    private static List<byte[]> readKeys() {
        List<byte[]> keys = new ArrayList<>();
        new BufferedReader(new InputStreamReader(System.in))
                .lines()
                .forEach(line -> keys.add(line.equals("null") ? null : HexFormat.of().parseHex(line)));
        return keys;
    }
}
