package copartition.oracle;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.pulsar.PulsarVersion;
import org.apache.pulsar.client.api.HashingScheme;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageRouter;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.TopicMetadata;
import org.apache.pulsar.client.impl.RoundRobinPartitionMessageRouterImpl;
import org.apache.pulsar.client.impl.TypedMessageBuilderImpl;

/** Where Pulsar's own routers put each key: keys on stdin (hex, or "null"), partition counts as arguments. */
public final class PlaceKeys {
    private static final ObjectMapper JSON = new ObjectMapper();

    private PlaceKeys() {}

    public static void main(String[] counts) throws Exception {
        List<String> keys = new BufferedReader(new InputStreamReader(System.in)).lines().toList();
        printStringHashes(keys);
        for (HashingScheme scheme : HashingScheme.values()) {
            // The default routing mode without batching, so that a message without a key goes round in turn.
            MessageRouter router = new RoundRobinPartitionMessageRouterImpl(scheme, 0, false, 0);
            for (String text : counts) {
                int count = Integer.parseInt(text);
                TopicMetadata topic = () -> count;
                int[] partitions = new int[keys.size()];
                for (int i = 0; i < partitions.length; i++) {
                    partitions[i] = router.choosePartition(message(keys.get(i)), topic);
                }
                Map<String, Object> answer = new LinkedHashMap<>();
                answer.put("profile", scheme == HashingScheme.JavaStringHash ? "pulsar-java" : "pulsar-murmur3");
                answer.put("client", "org.apache.pulsar:pulsar-client " + PulsarVersion.getVersion());
                answer.put("call", "RoundRobinPartitionMessageRouterImpl(" + scheme + ").choosePartition");
                answer.put("count", count);
                answer.put("partitions", partitions);
                System.out.println(JSON.writeValueAsString(answer));
            }
        }
    }

    private static void printStringHashes(List<String> keys) throws Exception {
        List<Integer> values = new ArrayList<>();
        for (String key : keys) {
            values.add(key.equals("null") ? null : text(key).hashCode());
        }
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("hash", "java_string");
        answer.put("client", "java.base");
        answer.put("call", "String.hashCode");
        answer.put("values", values);
        System.out.println(JSON.writeValueAsString(answer));
    }

    private static String text(String hex) throws CharacterCodingException {
        ByteBuffer bytes = ByteBuffer.wrap(HexFormat.of().parseHex(hex));
        return StandardCharsets.UTF_8.newDecoder().decode(bytes).toString();
    }

    private static Message<byte[]> message(String hex) throws CharacterCodingException {
        TypedMessageBuilderImpl<byte[]> builder = new TypedMessageBuilderImpl<>(null, Schema.BYTES);
        builder.value(new byte[0]);
        if (!hex.equals("null")) {
            builder.key(text(hex));
        }
        return builder.getMessage();
    }
}
