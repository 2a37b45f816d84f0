package copartition.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.assignor.PartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;

/**
 * Times one assignment of a generated group in this JVM, warm, and says what came out as a digest.
 *
 * <p>The group: topics "topic0".. with members * ratio / topics partitions each, members "member0"..; unequal
 * subscriptions are five blocks of topics and members, as in Kafka's own benchmark. With racks = R, members are on
 * rack i % R and the two replicas of partition p on racks p % R and (p + 1) % R. The event is "full" (nobody owns
 * anything), "join" ("newMember" joins the rest, which carry on from a full assignment) or "leave" ("member0" leaves).
 * Of claims, [member, topic, partition] each, members believe that they got them too.
 * Only the call is timed: what members carry was made, and went through the protocol's bytes, before.
 */
final class Timing {
    private record Group(JsonNode request, List<Inputs.Topic> topics, List<Inputs.Member> members) {}

    /** The last one: who asks in turns asks for it again, and a large one takes longer to make than to assign. */
    private static Group latest = new Group(null, null, null);

    static ObjectNode run(JsonNode request) {
        String assignor = request.get("assignor").textValue();
        Group group = group(request);
        List<Inputs.Topic> topics = group.topics;
        List<Inputs.Member> members = group.members;
        int warmUp = request.path("warm_up").asInt(0);
        int rounds = request.path("rounds").asInt(1);
        boolean broker = Scenario.leader(assignor) instanceof BrokerGroup;

        double[] milliseconds = new double[rounds];
        Map<String, List<TopicPartition>> lists = Map.of();
        for (int round = -warmUp; round < rounds; round++) {
            Stopwatch watch = new Stopwatch();
            lists = broker ? brokerLists(assignor, topics, members, watch) : clientLists(assignor, topics, members, watch);
            if (round >= 0) {
                milliseconds[round] = watch.nanoseconds / 1e6;
            }
        }
        ObjectNode answer = Oracle.JSON.createObjectNode();
        ArrayNode times = answer.putArray("ms");
        Arrays.stream(milliseconds).forEach(times::add);
        Arrays.sort(milliseconds);
        return answer
            .put("min", milliseconds[0])
            .put("median", (milliseconds[(rounds - 1) / 2] + milliseconds[rounds / 2]) / 2)
            .put("partitions", topics.stream().mapToInt(Inputs.Topic::partitions).sum())
            .put("digest", digest(topics, members, lists));
    }

    private static Group group(JsonNode request) {
        ObjectNode asked = request.deepCopy();
        asked.remove(List.of("warm_up", "rounds"));
        if (!asked.equals(latest.request)) {
            latest = new Group(null, null, null); // two large groups are too much
            List<Inputs.Topic> topics = topics(request);
            latest = new Group(asked, topics, members(request, topics));
        }
        return latest;
    }

    private static final class Stopwatch {
        private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

        long nanoseconds;

        <T> T time(Supplier<T> call) {
            long start = THREADS.getCurrentThreadCpuTime();
            T result = call.get();
            nanoseconds = THREADS.getCurrentThreadCpuTime() - start;
            return result;
        }
    }

    /** Buffers of userData are used up by reading them, so every call gets fresh subscriptions. */
    private static Map<String, List<TopicPartition>> clientLists(
            String name, List<Inputs.Topic> topics, List<Inputs.Member> members, Stopwatch watch) {
        ConsumerPartitionAssignor assignor = ClientGroup.instance(name);
        Cluster cluster = ClientGroup.cluster(topics);
        GroupSubscription subscriptions = ClientGroup.subscriptions(members);
        Map<String, List<TopicPartition>> lists = new HashMap<>();
        watch.time(() -> assignor.assign(cluster, subscriptions)).groupAssignment()
            .forEach((member, assignment) -> lists.put(member, assignment.partitions()));
        return lists;
    }

    private static Map<String, List<TopicPartition>> brokerLists(
            String name, List<Inputs.Topic> topics, List<Inputs.Member> members, Stopwatch watch) {
        PartitionAssignor assignor = BrokerGroup.instance(name);
        return new BrokerGroup.Group(topics, members).assign(new ConsumerGroupPartitionAssignor() {
            @Override
            public String name() {
                return assignor.name();
            }

            @Override
            public GroupAssignment assign(GroupSpec group, SubscribedTopicDescriber describer) {
                return watch.time(() -> assignor.assign(group, describer));
            }
        });
    }

    private static List<Inputs.Topic> topics(JsonNode request) {
        int count = request.get("topics").intValue();
        int partitions = Math.toIntExact(request.get("members").longValue() * request.get("ratio").intValue() / count);
        int racks = request.path("racks").asInt(0);
        List<Inputs.Topic> topics = new ArrayList<>();
        for (int t = 0; t < count; t++) {
            List<List<String>> replicas = null;
            if (racks > 0) {
                replicas = new ArrayList<>();
                for (int p = 0; p < partitions; p++) {
                    replicas.add(List.of("rack" + p % racks, "rack" + (p + 1) % racks));
                }
            }
            String name = "topic" + t;
            topics.add(new Inputs.Topic(name, partitions, replicas, Inputs.madeId(name)));
        }
        return topics;
    }

    private static List<Inputs.Member> members(JsonNode request, List<Inputs.Topic> topics) {
        int count = request.get("members").intValue();
        boolean equal = request.path("subscriptions").asText("equal").equals("equal");
        int racks = request.path("racks").asInt(0);
        int topicBlock = equal ? topics.size() : (topics.size() + 4) / 5;
        int memberBlock = equal ? count : (count + 4) / 5;
        List<String> names = topics.stream().map(Inputs.Topic::name).toList();
        List<Inputs.Member> fresh = new ArrayList<>();
        for (int m = 0; m < count; m++) {
            int from = Math.min(m / memberBlock * topicBlock, names.size());
            List<String> subscribed = new ArrayList<>(names.subList(from, Math.min(from + topicBlock, names.size())));
            Collections.sort(subscribed);
            String rack = racks > 0 ? "rack" + m % racks : null;
            fresh.add(new Inputs.Member("member" + m, subscribed, null, rack, null, null, null, null));
        }
        return switch (request.path("event").asText("full")) {
            case "full" -> fresh;
            case "join" -> {
                Inputs.Member last = fresh.remove(count - 1);
                List<Inputs.Member> members = carried(request, topics, fresh, fresh);
                members.add(new Inputs.Member(
                    "newMember", last.topics(), null, last.rack(), null, null, null, null));
                yield members;
            }
            case "leave" -> carried(request, topics, fresh, fresh.subList(1, count));
            default -> throw new IllegalArgumentException("event is full, join or leave");
        };
    }

    private static List<Inputs.Member> carried(
            JsonNode request, List<Inputs.Topic> topics, List<Inputs.Member> before, List<Inputs.Member> after) {
        Scenario.Leader leader = Scenario.leader(request.get("assignor").textValue());
        Scenario.Answer answer = leader.assign(topics, before);
        Map<String, List<TopicPartition>> believed = new HashMap<>(answer.lists());
        for (JsonNode claim : request.path("claims")) {
            TopicPartition partition = new TopicPartition(claim.get(1).textValue(), claim.get(2).intValue());
            believed.computeIfPresent(claim.get(0).textValue(), (member, list) -> {
                List<TopicPartition> more = new ArrayList<>(list);
                more.add(partition);
                return more;
            });
        }
        leader.handOut(before, new Scenario.Answer(believed, answer.transferring()), 1);
        List<Inputs.Member> members = new ArrayList<>();
        for (Inputs.Member m : after) {
            members.add(leader.recall(
                new Inputs.Member(m.id(), m.topics(), null, m.rack(), null, null, null, m.id())));
        }
        return members;
    }

    /** SHA-256 over the members in join order: count, then topic index and partition of each, as big-endian int32. */
    private static String digest(
            List<Inputs.Topic> topics, List<Inputs.Member> members, Map<String, List<TopicPartition>> lists) {
        Map<String, Integer> index = new HashMap<>();
        topics.forEach(topic -> index.put(topic.name(), index.size()));
        try {
            MessageDigest sha = MessageDigest.getInstance("SHA-256");
            for (Inputs.Member member : members) {
                List<TopicPartition> list = lists.getOrDefault(member.id(), List.of());
                ByteBuffer buffer = ByteBuffer.allocate(4 + 8 * list.size()).putInt(list.size());
                list.forEach(p -> buffer.putInt(index.get(p.topic())).putInt(p.partition()));
                sha.update(buffer.flip());
            }
            return HexFormat.of().formatHex(sha.digest());
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError(e);
        }
    }

    private Timing() {}
}
