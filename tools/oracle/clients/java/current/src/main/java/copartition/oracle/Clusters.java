package copartition.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.MetadataSnapshot;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.MetadataResponse.PartitionMetadata;

/**
 * Clusters as the scenarios write them: "nodes" is [id, rack or null] each, "partitions" is [id, leading node or
 * null] each.
 */
public final class Clusters {
    private Clusters() {}

    /** Partitions in the scenario's order. */
    public static Cluster inGivenOrder(String topic, JsonNode scenario) {
        Map<Integer, Node> nodes = nodes(scenario.get("nodes"));
        List<PartitionInfo> partitions = new ArrayList<>();
        for (JsonNode partition : scenario.get("partitions")) {
            Node leader = partition.get(1).isNull() ? null : nodes.get(partition.get(1).asInt());
            Node[] replicas = leader == null ? new Node[0] : new Node[] {leader};
            partitions.add(new PartitionInfo(topic, partition.get(0).asInt(), leader, replicas, replicas));
        }
        return new Cluster("cluster", nodes.values(), partitions, Set.of(), Set.of());
    }

    /** The order that the producer's own metadata gives. */
    public static MetadataSnapshot asMetadata(String topic, JsonNode scenario) {
        List<PartitionMetadata> partitions = new ArrayList<>();
        for (JsonNode partition : scenario.get("partitions")) {
            boolean leaderless = partition.get(1).isNull();
            partitions.add(new PartitionMetadata(
                    leaderless ? Errors.LEADER_NOT_AVAILABLE : Errors.NONE,
                    new TopicPartition(topic, partition.get(0).asInt()),
                    leaderless ? Optional.empty() : Optional.of(partition.get(1).asInt()),
                    Optional.empty(),
                    List.of(),
                    List.of(),
                    List.of()));
        }
        return new MetadataSnapshot(
                "cluster", nodes(scenario.get("nodes")), partitions, Set.of(), Set.of(), Set.of(), null, Map.of());
    }

    private static Map<Integer, Node> nodes(JsonNode nodes) {
        Map<Integer, Node> byId = new HashMap<>();
        for (JsonNode node : nodes) {
            String rack = node.get(1).isNull() ? null : node.get(1).asText();
            byId.put(node.get(0).asInt(), new Node(node.get(0).asInt(), "localhost", 9092, rack));
        }
        return byId;
    }
}
