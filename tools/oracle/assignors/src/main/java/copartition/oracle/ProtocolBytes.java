package copartition.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.AbstractStickyAssignor.MemberData;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.types.ArrayOf;
import org.apache.kafka.common.protocol.types.Field;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.Struct;
import org.apache.kafka.common.protocol.types.Type;

/** ConsumerProtocol bytes and the sticky assignors' userData, written and read by the JVM. */
final class ProtocolBytes {
    /** What consumers before KIP-341 wrote: no generation. */
    private static final Schema TOPIC = new Schema(
        new Field("topic", Type.STRING), new Field("partitions", new ArrayOf(Type.INT32)));
    private static final Schema STICKY_V0 = new Schema(new Field("previous_assignment", new ArrayOf(TOPIC)));

    static ObjectNode run(String op, JsonNode request) {
        try {
            return switch (op) {
                case "encode_subscription" -> bytes(ConsumerProtocol.serializeSubscription(
                    new Subscription(
                        Inputs.strings(request.get("topics")),
                        buffer(request.get("user_data")),
                        Inputs.partitions(request.get("owned")),
                        request.get("generation").isNull() ? -1 : request.get("generation").intValue(),
                        Optional.ofNullable(request.get("rack").textValue())),
                    request.get("version").shortValue()));
                case "encode_assignment" -> bytes(ConsumerProtocol.serializeAssignment(
                    new Assignment(Inputs.partitions(request.get("partitions")), buffer(request.get("user_data"))),
                    request.get("version").shortValue()));
                case "encode_sticky_user_data" -> bytes(request.get("generation").isNull()
                    ? stickyV0(Inputs.partitions(request.get("partitions")))
                    : stickyV1(Inputs.partitions(request.get("partitions")), request.get("generation").intValue()));
                case "decode_subscription" -> subscription(
                    ConsumerProtocol.deserializeSubscription(buffer(request.get("bytes"))));
                case "decode_assignment" -> assignment(
                    ConsumerProtocol.deserializeAssignment(buffer(request.get("bytes"))));
                case "decode_sticky_user_data" -> memory(new OpenSticky().memberData(told(request)));
                case "decode_cooperative_user_data" -> memory(new OpenCooperative().memberData(told(request)));
                default -> throw new UnsupportedOperationException("no operation " + op);
            };
        } catch (RuntimeException e) {
            return Oracle.thrown(e);
        }
    }

    private static Subscription told(JsonNode request) {
        return new Subscription(List.of(), buffer(request.get("bytes")));
    }

    private static ByteBuffer stickyV1(List<TopicPartition> partitions, int generation) {
        StickyAssignor assignor = new StickyAssignor();
        assignor.onAssignment(
            new Assignment(partitions), new ConsumerGroupMetadata("group", generation, "member", Optional.empty()));
        return assignor.subscriptionUserData(Set.of());
    }

    private static ByteBuffer stickyV0(List<TopicPartition> partitions) {
        Struct struct = new Struct(STICKY_V0);
        Map<String, List<Integer>> byTopic = new HashMap<>();
        partitions.forEach(partition ->
            byTopic.computeIfAbsent(partition.topic(), topic -> new ArrayList<>()).add(partition.partition()));
        struct.set("previous_assignment", byTopic.entrySet().stream()
            .map(entry -> new Struct(TOPIC)
                .set("topic", entry.getKey())
                .set("partitions", entry.getValue().toArray()))
            .toArray());
        ByteBuffer buffer = ByteBuffer.allocate(STICKY_V0.sizeOf(struct));
        STICKY_V0.write(buffer, struct);
        return buffer.flip();
    }

    private static ObjectNode subscription(Subscription subscription) {
        ObjectNode node = Oracle.JSON.createObjectNode();
        node.set("topics", Oracle.JSON.valueToTree(subscription.topics()));
        node.put("user_data", hex(subscription.userData()));
        node.set("owned", Inputs.runs(subscription.ownedPartitions()));
        node.put("generation", subscription.generationId().orElse(null));
        node.put("rack", subscription.rackId().orElse(null));
        return node;
    }

    private static ObjectNode assignment(Assignment assignment) {
        ObjectNode node = Oracle.JSON.createObjectNode();
        node.set("partitions", Inputs.runs(assignment.partitions()));
        return node.put("user_data", hex(assignment.userData()));
    }

    private static ObjectNode memory(MemberData data) {
        ObjectNode node = Oracle.JSON.createObjectNode();
        node.set("partitions", Inputs.runs(data.partitions));
        return node.put("generation", data.generation.orElse(null));
    }

    private static ObjectNode bytes(ByteBuffer buffer) {
        return Oracle.JSON.createObjectNode().put("bytes", hex(buffer));
    }

    private static String hex(ByteBuffer buffer) {
        return buffer == null ? null : HexFormat.of().formatHex(Inputs.bytes(buffer));
    }

    private static ByteBuffer buffer(JsonNode hex) {
        return hex.isNull() ? null : ByteBuffer.wrap(HexFormat.of().parseHex(hex.textValue()));
    }

    private static final class OpenSticky extends StickyAssignor {
        @Override
        public MemberData memberData(Subscription subscription) {
            return super.memberData(subscription);
        }
    }

    private static final class OpenCooperative extends CooperativeStickyAssignor {
        @Override
        public MemberData memberData(Subscription subscription) {
            return super.memberData(subscription);
        }
    }

    private ProtocolBytes() {}
}
