package copartition.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.Metadata;
import org.apache.kafka.clients.producer.RoundRobinPartitioner;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.internals.ClusterResourceListeners;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponsePartition;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponseTopic;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.MetadataResponse;
import org.apache.kafka.common.utils.internals.LogContext;

/**
 * The order of a topic's partitions after each metadata response, and RoundRobinPartitioner's picks over it.
 *
 * <p>Each update is {"partial", "topics": [{"name", "partitions": [[id, has a leader], ...]}, ...]}.
 */
final class RoundRobinRun {
    private static final Node NODE = new Node(0, "localhost", 9092);

    private RoundRobinRun() {}

    static void run(JsonNode scenario, ObjectNode answer) throws ReflectiveOperationException {
        Metadata metadata = new Metadata(0, 0, 0, new LogContext(), new ClusterResourceListeners());
        RoundRobinPartitioner partitioner = new RoundRobinPartitioner();
        ArrayNode steps = answer.putArray("steps");
        for (JsonNode update : scenario.get("updates")) {
            metadata.update(
                    metadata.newMetadataRequestAndVersion(0).requestVersion,
                    response(update.get("topics")),
                    update.get("partial").asBoolean(),
                    0);
            ObjectNode step = steps.addObject();
            for (JsonNode topic : scenario.get("ask")) {
                describe(topic.asText(), metadata.fetch(), step.putObject(topic.asText()));
            }
        }
        setCounters(partitioner, scenario.get("counters"));
        ArrayNode picks = answer.putArray("picks");
        for (JsonNode topic : scenario.get("picks")) {
            picks.add(partitioner.partition(topic.asText(), null, null, null, null, metadata.fetch()));
        }
    }

    private static void describe(String topic, Cluster cluster, ObjectNode answer) {
        ArrayNode all = answer.putArray("all");
        cluster.partitionsForTopic(topic).forEach(info -> all.add(info.partition()));
        ArrayNode available = answer.putArray("available");
        for (PartitionInfo info : cluster.availablePartitionsForTopic(topic)) {
            available.add(info.partition());
        }
    }

    @SuppressWarnings("unchecked")
    private static void setCounters(RoundRobinPartitioner partitioner, JsonNode counters)
            throws ReflectiveOperationException {
        Field field = RoundRobinPartitioner.class.getDeclaredField("topicCounterMap");
        field.setAccessible(true);
        Map<String, AtomicInteger> counterOf = (Map<String, AtomicInteger>) field.get(partitioner);
        counters.properties().forEach(
                counter -> counterOf.put(counter.getKey(), new AtomicInteger(counter.getValue().asInt())));
    }

    private static MetadataResponse response(JsonNode topics) {
        List<MetadataResponseTopic> answers = new ArrayList<>();
        for (JsonNode topic : topics) {
            List<MetadataResponsePartition> partitions = new ArrayList<>();
            for (JsonNode partition : topic.get("partitions")) {
                boolean led = partition.get(1).asBoolean();
                partitions.add(new MetadataResponsePartition()
                        .setErrorCode(led ? Errors.NONE.code() : Errors.LEADER_NOT_AVAILABLE.code())
                        .setPartitionIndex(partition.get(0).asInt())
                        .setLeaderId(led ? NODE.id() : MetadataResponse.NO_LEADER_ID)
                        .setReplicaNodes(List.of(NODE.id()))
                        .setIsrNodes(List.of(NODE.id())));
            }
            answers.add(new MetadataResponseTopic().setName(topic.get("name").asText()).setPartitions(partitions));
        }
        short version = ApiKeys.METADATA.latestVersion();
        return MetadataResponse.prepareResponse(version, 0, List.of(NODE), "cluster", 0, answers, Integer.MIN_VALUE);
    }
}
