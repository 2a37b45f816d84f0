package copartition.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.BiConsumer;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.message.ConsumerGroupDescribeResponseData;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatRequestData;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatResponseData;
import org.apache.kafka.common.message.HeartbeatRequestData;
import org.apache.kafka.common.message.JoinGroupRequestData;
import org.apache.kafka.common.message.JoinGroupResponseData;
import org.apache.kafka.common.message.LeaveGroupRequestData;
import org.apache.kafka.common.message.SyncGroupRequestData;
import org.apache.kafka.common.message.SyncGroupResponseData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.internals.LogContext;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorResult;
import org.apache.kafka.coordinator.group.GroupConfigManager;
import org.apache.kafka.coordinator.group.GroupCoordinatorConfig;
import org.apache.kafka.coordinator.group.GroupCoordinatorShard;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorMetrics;
import org.apache.kafka.coordinator.group.modern.share.ShareGroupConfig;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.timeline.SnapshotRegistry;

/**
 * The broker's own group coordinator with a clock that only requests move, so that every answer is a function of them.
 */
final class Coordinator {
    private static final String GROUP = "group";

    private final VirtualTime time = new VirtualTime(this::write);
    private final GroupCoordinatorShard shard;
    private Image image = new Image(List.of(), 0);
    private long offset = 0;
    private ArrayNode answers;
    /** What each member was answered last, and the time before: "known", "before" and "given" in a request. */
    private final Map<String, Integer> known = new HashMap<>();
    private final Map<String, Integer> before = new HashMap<>();
    private final Map<String, JsonNode> given = new HashMap<>();

    private Coordinator(Map<String, String> settings) {
        ConfigDef known = new ConfigDef(GroupCoordinatorConfig.CONFIG_DEF);
        ShareGroupConfig.CONFIG_DEF.configKeys().values().forEach(known::define);
        AbstractConfig broker = new AbstractConfig(known, settings, false);
        GroupCoordinatorConfig config = new GroupCoordinatorConfig(broker);
        shard = new GroupCoordinatorShard.Builder(
            config, new GroupConfigManager(config, new ShareGroupConfig(broker)))
            .withAuthorizerPlugin(Optional.empty())
            .withLogContext(new LogContext())
            .withTime(time)
            .withTimer(time.timer())
            .withExecutor(time.executor())
            .withCoordinatorMetrics(new GroupCoordinatorMetrics(new com.yammer.metrics.core.MetricsRegistry(), new Metrics()))
            .withTopicPartition(new TopicPartition("__consumer_offsets", 0))
            .withSnapshotRegistry(new SnapshotRegistry(new LogContext()))
            .build();
        shard.onLoaded(image);
    }

    static ObjectNode run(JsonNode request) {
        Map<String, String> settings = new HashMap<>();
        request.get("settings").fields().forEachRemaining(each -> settings.put(each.getKey(), each.getValue().asText()));
        Coordinator coordinator = new Coordinator(settings);
        ObjectNode result = Oracle.JSON.createObjectNode();
        ArrayNode steps = result.putArray("steps");
        int number = 0;
        for (JsonNode step : request.get("steps")) {
            ObjectNode told = steps.addObject();
            coordinator.answers = told.putArray("answers");
            coordinator.time.advanceTo(step.get("at").longValue());
            coordinator.take(step, number++);
            coordinator.time.settle();
            told.set("group", coordinator.describe());
        }
        return result;
    }

    private void take(JsonNode step, int number) {
        try {
            switch (step.get("op").textValue()) {
                case "idle" -> { }
                case "topics" -> topics(step);
                case "heartbeat" -> heartbeat(step, number);
                case "join" -> join(step, number);
                case "sync" -> sync(step, number);
                case "beat" -> beat(step, number);
                case "leave" -> leave(step, number);
                default -> throw new IllegalArgumentException(step.get("op").textValue());
            }
        } catch (ApiException e) {
            answer(number).put("error", Errors.forException(e).name());
        }
    }

    private void topics(JsonNode step) {
        List<Inputs.Topic> topics = new ArrayList<>();
        step.get("topics").forEach(topic -> topics.add(Inputs.Topic.of(topic)));
        Image next = new Image(topics, image.version() + 1);
        shard.onMetadataUpdate(next.since(image), next);
        image = next;
    }

    private void heartbeat(JsonNode step, int number) {
        ConsumerGroupHeartbeatRequestData request = new ConsumerGroupHeartbeatRequestData()
            .setGroupId(GROUP)
            .setMemberId(step.get("member").textValue())
            .setMemberEpoch(epoch(step, "epoch"))
            .setInstanceId(step.path("instance").textValue())
            .setRebalanceTimeoutMs(step.path("rebalance_timeout").asInt(-1))
            .setSubscribedTopicNames(step.has("topics") ? Inputs.strings(step.get("topics")) : null)
            .setSubscribedTopicRegex(step.path("regex").textValue())
            .setServerAssignor(step.path("assignor").textValue());
        if (step.has("owned")) {
            List<ConsumerGroupHeartbeatRequestData.TopicPartitions> owned = new ArrayList<>();
            byTopic(owned(step)).forEach((topic, partitions) ->
                owned.add(new ConsumerGroupHeartbeatRequestData.TopicPartitions()
                    .setTopicId(image.idOf(topic))
                    .setPartitions(partitions)));
            request.setTopicPartitions(owned);
        }
        ConsumerGroupHeartbeatResponseData response = write(shard.consumerGroupHeartbeat(context(), request));
        ObjectNode answer = answer(number).put("epoch", response.memberEpoch());
        learn(response.memberId(), response.memberEpoch());
        if (response.assignment() != null) {
            Map<String, List<Integer>> assigned = new TreeMap<>();
            response.assignment().topicPartitions().forEach(each ->
                assigned.put(image.nameOf(each.topicId()), each.partitions()));
            given.put(response.memberId(), runs(assigned));
            answer.set("assignment", runs(assigned));
        }
    }

    private void learn(String member, int epoch) {
        before.put(member, known.getOrDefault(member, epoch));
        known.put(member, epoch);
    }

    private int epoch(JsonNode step, String field) {
        String member = step.get("member").textValue();
        return switch (step.get(field).asText()) {
            case "known" -> known.getOrDefault(member, 1);
            case "before" -> before.getOrDefault(member, 1);
            default -> step.get(field).intValue();
        };
    }

    private List<TopicPartition> owned(JsonNode step) {
        JsonNode owned = step.get("owned");
        return Inputs.partitions(owned.isTextual()
            ? given.getOrDefault(step.get("member").textValue(), Oracle.JSON.createArrayNode())
            : owned);
    }

    private void join(JsonNode step, int number) {
        JoinGroupRequestData.JoinGroupRequestProtocolCollection protocols =
            new JoinGroupRequestData.JoinGroupRequestProtocolCollection();
        ConsumerPartitionAssignor.Subscription subscription = new ConsumerPartitionAssignor.Subscription(
            Inputs.strings(step.get("topics")), null,
            owned(step), known.getOrDefault(step.get("member").textValue(), -1), Optional.empty());
        step.get("protocols").forEach(name -> protocols.add(new JoinGroupRequestData.JoinGroupRequestProtocol()
            .setName(name.textValue())
            .setMetadata(Inputs.bytes(ConsumerProtocol.serializeSubscription(subscription)))));
        CompletableFuture<JoinGroupResponseData> response = new CompletableFuture<>();
        later(response, number, (answer, joined) -> {
            answer.put("error", Errors.forCode(joined.errorCode()).name());
            if (joined.errorCode() == 0) {
                answer.put("generation", joined.generationId()).put("protocol", joined.protocolName());
                ArrayNode members = answer.putArray("members");
                learn(joined.memberId(), joined.generationId());
                joined.members().stream().map(JoinGroupResponseData.JoinGroupResponseMember::memberId).sorted()
                    .forEach(members::add);
            }
        });
        write(shard.classicGroupJoin(context(), new JoinGroupRequestData()
            .setGroupId(GROUP)
            .setMemberId(step.get("member").textValue())
            .setGroupInstanceId(step.path("instance").textValue())
            .setProtocolType(ConsumerProtocol.PROTOCOL_TYPE)
            .setProtocols(protocols)
            .setSessionTimeoutMs(step.get("session_timeout").intValue())
            .setRebalanceTimeoutMs(step.get("rebalance_timeout").intValue()), response, true));
    }

    private void sync(JsonNode step, int number) {
        List<SyncGroupRequestData.SyncGroupRequestAssignment> assignments = new ArrayList<>();
        step.path("assignments").fields().forEachRemaining(each ->
            assignments.add(new SyncGroupRequestData.SyncGroupRequestAssignment()
                .setMemberId(each.getKey())
                .setAssignment(Inputs.bytes(ConsumerProtocol.serializeAssignment(
                    new ConsumerPartitionAssignor.Assignment(Inputs.partitions(each.getValue())))))));
        CompletableFuture<SyncGroupResponseData> response = new CompletableFuture<>();
        later(response, number, (answer, synced) -> {
            answer.put("error", Errors.forCode(synced.errorCode()).name());
            if (synced.errorCode() == 0) {
                JsonNode assignment = runs(byTopic(ConsumerProtocol.deserializeAssignment(
                    ByteBuffer.wrap(synced.assignment())).partitions()));
                given.put(step.get("member").textValue(), assignment);
                answer.set("assignment", assignment);
            }
        });
        write(shard.classicGroupSync(context(), new SyncGroupRequestData()
            .setGroupId(GROUP)
            .setMemberId(step.get("member").textValue())
            .setGroupInstanceId(step.path("instance").textValue())
            .setGenerationId(epoch(step, "generation"))
            .setAssignments(assignments), response));
    }

    private void beat(JsonNode step, int number) {
        short error = write(shard.classicGroupHeartbeat(context(), new HeartbeatRequestData()
            .setGroupId(GROUP)
            .setMemberId(step.get("member").textValue())
            .setGroupInstanceId(step.path("instance").textValue())
            .setGenerationId(epoch(step, "generation")))).errorCode();
        answer(number).put("error", Errors.forCode(error).name());
    }

    private void leave(JsonNode step, int number) {
        write(shard.classicGroupLeave(context(), new LeaveGroupRequestData()
            .setGroupId(GROUP)
            .setMembers(List.of(new LeaveGroupRequestData.MemberIdentity()
                .setMemberId(step.get("member").textValue())
                .setGroupInstanceId(step.path("instance").textValue())))));
        answer(number).put("error", Errors.NONE.name());
    }

    private ObjectNode answer(int step) {
        return answers.addObject().put("step", step);
    }

    /** Writes the answer down where it is given, which may be many steps after the request. */
    private <T> void later(CompletableFuture<T> response, int step, BiConsumer<ObjectNode, T> write) {
        response.whenComplete((told, e) -> {
            if (e == null) {
                write.accept(answer(step), told);
            } else {
                Throwable cause = e instanceof CompletionException ? e.getCause() : e;
                answer(step).put("error", Errors.forException(cause).name());
            }
        });
    }

    /** Lets the coordinator read back what it would have written to its log, as it does before it answers. */
    private <T> T write(CoordinatorResult<T, CoordinatorRecord> result) {
        if (result.replayRecords()) {
            for (CoordinatorRecord entry : result.records()) {
                shard.replay(offset++, -1L, (short) -1, entry);
            }
        }
        if (result.appendFuture() != null) {
            result.appendFuture().complete(null);
        }
        return result.response();
    }

    private ObjectNode describe() {
        ConsumerGroupDescribeResponseData.DescribedGroup group =
            shard.consumerGroupDescribe(List.of(GROUP), Long.MAX_VALUE).get(0);
        ObjectNode node = Oracle.JSON.createObjectNode();
        if (group.errorCode() != 0) {
            var classic = shard.describeGroups(context(), List.of(GROUP), Long.MAX_VALUE).get(0);
            return node.put("type", "classic").put("state", classic.groupState());
        }
        node.put("type", "consumer")
            .put("state", group.groupState())
            .put("epoch", group.groupEpoch())
            .put("assignment_epoch", group.assignmentEpoch());
        ArrayNode members = node.putArray("members");
        group.members().stream()
            .sorted((one, other) -> one.memberId().compareTo(other.memberId()))
            .forEach(member -> members.addArray()
                .add(member.memberId())
                .add(member.memberEpoch())
                .add(runs(named(member.assignment())))
                .add(runs(named(member.targetAssignment()))));
        return node;
    }

    private static Map<String, List<Integer>> named(ConsumerGroupDescribeResponseData.Assignment assignment) {
        Map<String, List<Integer>> byTopic = new TreeMap<>();
        assignment.topicPartitions().forEach(each -> byTopic.put(each.topicName(), each.partitions()));
        return byTopic;
    }

    private static Map<String, List<Integer>> byTopic(List<TopicPartition> partitions) {
        Map<String, List<Integer>> byTopic = new TreeMap<>();
        partitions.forEach(each -> byTopic.computeIfAbsent(each.topic(), topic -> new ArrayList<>()).add(each.partition()));
        return byTopic;
    }

    /** As `Inputs.runs` has them, sorted: in these answers the order says nothing. */
    private static ArrayNode runs(Map<String, List<Integer>> byTopic) {
        ArrayNode runs = Oracle.JSON.createArrayNode();
        byTopic.forEach((topic, partitions) -> {
            if (!partitions.isEmpty()) {
                ArrayNode run = runs.addArray().add(topic);
                partitions.stream().sorted().forEach(run::add);
            }
        });
        return runs;
    }

    private static AuthorizableRequestContext context() {
        return new AuthorizableRequestContext() {
            @Override
            public String listenerName() {
                return "PLAINTEXT";
            }

            @Override
            public SecurityProtocol securityProtocol() {
                return SecurityProtocol.PLAINTEXT;
            }

            @Override
            public KafkaPrincipal principal() {
                return KafkaPrincipal.ANONYMOUS;
            }

            @Override
            public InetAddress clientAddress() {
                return InetAddress.getLoopbackAddress();
            }

            @Override
            public int requestType() {
                return 0;
            }

            @Override
            public int requestVersion() {
                return 9;
            }

            @Override
            public String clientId() {
                return "client";
            }

            @Override
            public int correlationId() {
                return 0;
            }
        };
    }
}
