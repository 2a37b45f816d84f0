package copartition.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.UUID;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;

/**
 * What a request says about topics and members, and how partitions are written.
 *
 * <p>An ordered list of partitions is a list of runs: a topic name followed by partition numbers, ["a", 0, 1].
 */
final class Inputs {
    /** A topic; racks has the racks of each partition's replicas, or is null. */
    record Topic(String name, int partitions, List<List<String>> racks, Uuid id) {
        static Topic of(JsonNode node) {
            List<List<String>> racks = null;
            if (node.hasNonNull("racks")) {
                racks = new ArrayList<>();
                for (JsonNode replicas : node.get("racks")) {
                    racks.add(strings(replicas));
                }
            }
            Uuid id = null;
            if (node.hasNonNull("id")) {
                id = uuid(node.get("id").textValue());
            }
            return new Topic(node.get("name").textValue(), node.get("partitions").intValue(), racks, id);
        }
    }

    /**
     * A member as the leader or the coordinator sees it.
     *
     * @param carry id of the member whose memory of earlier steps fills owned, generation and userData where they are
     *     null; null for a member without a past
     */
    record Member(
        String id,
        List<String> topics,
        String instanceId,
        String rack,
        List<TopicPartition> owned,
        Integer generation,
        byte[] userData,
        String carry) {

        static Member of(JsonNode node) {
            String carry = null;
            if (node.has("carry")) {
                carry = node.get("carry").isTextual() ? node.get("carry").textValue() : node.get("id").textValue();
            }
            return new Member(
                node.get("id").textValue(),
                strings(node.get("topics")),
                node.path("instance_id").textValue(),
                node.path("rack").textValue(),
                node.hasNonNull("owned") ? partitions(node.get("owned")) : null,
                node.hasNonNull("generation") ? node.get("generation").intValue() : null,
                node.hasNonNull("user_data") ? HexFormat.of().parseHex(node.get("user_data").textValue()) : null,
                carry);
        }

        /** The same member with everything it takes from its past filled in. */
        Member resolved(List<String> topics, List<TopicPartition> owned, Integer generation, ByteBuffer userData) {
            return new Member(id, topics, instanceId, rack, owned, generation, bytes(userData), carry);
        }

        ObjectNode toJson() {
            ObjectNode node = Oracle.JSON.createObjectNode().put("id", id);
            node.set("topics", Oracle.JSON.valueToTree(topics));
            if (instanceId != null) {
                node.put("instance_id", instanceId);
            }
            if (rack != null) {
                node.put("rack", rack);
            }
            if (owned != null && !owned.isEmpty()) {
                node.set("owned", runs(owned));
            }
            if (generation != null) {
                node.put("generation", generation);
            }
            if (userData != null) {
                node.put("user_data", HexFormat.of().formatHex(userData));
            }
            if (carry != null) {
                node.put("carry", carry);
            }
            return node;
        }
    }

    static List<String> strings(JsonNode node) {
        List<String> values = new ArrayList<>();
        node.forEach(value -> values.add(value.textValue()));
        return values;
    }

    static List<TopicPartition> partitions(JsonNode runs) {
        List<TopicPartition> partitions = new ArrayList<>();
        for (JsonNode run : runs) {
            for (int i = 1; i < run.size(); i++) {
                partitions.add(new TopicPartition(run.get(0).textValue(), run.get(i).intValue()));
            }
        }
        return partitions;
    }

    static ArrayNode runs(Iterable<TopicPartition> partitions) {
        ArrayNode runs = Oracle.JSON.createArrayNode();
        String topic = null;
        ArrayNode run = null;
        for (TopicPartition partition : partitions) {
            if (!partition.topic().equals(topic)) {
                topic = partition.topic();
                run = runs.addArray().add(topic);
            }
            run.add(partition.partition());
        }
        return runs;
    }

    static Uuid uuid(String text) {
        return uuid(UUID.fromString(text));
    }

    /** The id a topic's name stands for where none is given. */
    static Uuid madeId(String name) {
        return uuid(UUID.nameUUIDFromBytes(name.getBytes(StandardCharsets.UTF_8)));
    }

    private static Uuid uuid(UUID id) {
        return new Uuid(id.getMostSignificantBits(), id.getLeastSignificantBits());
    }

    static byte[] bytes(ByteBuffer buffer) {
        if (buffer == null) {
            return null;
        }
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return bytes;
    }

    private Inputs() {}
}
