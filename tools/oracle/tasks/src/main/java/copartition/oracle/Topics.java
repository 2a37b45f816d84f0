package copartition.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.AssignmentConfigs;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.internals.InternalTopicManager;
import org.apache.kafka.streams.processor.internals.TopologyMetadata.Subtopology;
import org.apache.kafka.streams.processor.internals.assignment.RackAwareTaskAssignor;

/**
 * The topics of an application and the racks of their partitions. A subtopology has "sources" and "changelogs", lists of topics:
 * a topic is a list of texts, one a partition, of racks with names of one letter; a changelog can be the number of a source.
 */
public final class Topics {
    private static final StreamsConfig CONFIG = new StreamsConfig(Map.of(
        StreamsConfig.APPLICATION_ID_CONFIG, "application", StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "localhost:1"));

    /** The partitions of the topics that a subtopology reads, with their racks; without "sources" it is one topic. */
    public static Map<TopicPartition, Set<String>> sources(JsonNode subtopology) {
        Map<TopicPartition, Set<String>> partitions = new LinkedHashMap<>();
        if (!subtopology.has("sources")) {
            for (int number = 0; number < subtopology.get("tasks").intValue(); number++) {
                partitions.put(new TopicPartition(name("source", subtopology, 0), number), Set.of());
            }
        }
        for (int topic = 0; topic < subtopology.path("sources").size(); topic++) {
            partitions.putAll(partitions(name("source", subtopology, topic), subtopology.get("sources").get(topic)));
        }
        return partitions;
    }

    /** The same of its state, if it has some. */
    public static Map<TopicPartition, Set<String>> changelogs(JsonNode subtopology) {
        Map<TopicPartition, Set<String>> partitions = new LinkedHashMap<>();
        if (subtopology.get("stateful").booleanValue() && !subtopology.has("changelogs")) {
            for (int number = 0; number < subtopology.get("tasks").intValue(); number++) {
                partitions.put(new TopicPartition(name("changelog", subtopology, 0), number), Set.of());
            }
        }
        for (int topic = 0; topic < subtopology.path("changelogs").size(); topic++) {
            JsonNode racks = subtopology.get("changelogs").get(topic);
            partitions.putAll(racks.isInt()
                ? partitions(name("source", subtopology, racks.intValue()), subtopology.get("sources").get(racks.intValue()))
                : partitions(name("changelog", subtopology, topic), racks));
        }
        return partitions;
    }

    /** Where the first topic of a subtopology has a task's partition. */
    public static String name(String kind, JsonNode subtopology, int topic) {
        return kind + "-" + subtopology.get("id").textValue() + (topic == 0 ? "" : "-" + topic);
    }

    private static Map<TopicPartition, Set<String>> partitions(String topic, JsonNode racks) {
        Map<TopicPartition, Set<String>> partitions = new LinkedHashMap<>();
        for (int number = 0; number < racks.size(); number++) {
            Set<String> names = racks.get(number).textValue().chars().mapToObj(Character::toString).collect(Collectors.toSet());
            partitions.put(new TopicPartition(topic, number), names);
        }
        return partitions;
    }

    /** The settings of an application, of which those of racks need not be there. */
    public static AssignmentConfigs configs(JsonNode settings, List<String> tags) {
        return new AssignmentConfigs(settings.path("lag").asLong(10_000L), settings.path("warmups").asInt(2),
            settings.get("standbys").intValue(), 600_000L, tags, optional(settings.path("traffic_cost")),
            optional(settings.path("non_overlap_cost")), settings.path("strategy").asText("none"));
    }

    private static OptionalInt optional(JsonNode number) {
        return number.isInt() ? OptionalInt.of(number.intValue()) : OptionalInt.empty();
    }

    /** The rack of each consumer, which is that of its process, but for a second thread that has one of its own. */
    public static Map<String, Optional<String>> racks(JsonNode request) {
        Map<String, Optional<String>> racks = new HashMap<>();
        for (JsonNode process : request.get("processes")) {
            for (int thread = 0; thread < process.get("threads").intValue(); thread++) {
                JsonNode rack = thread == 1 && process.path("second").has("rack") ? process.get("second").get("rack") : process.path("rack");
                racks.put(process.get("id").textValue() + "-" + thread, rack.isTextual() ? Optional.of(rack.textValue()) : Optional.empty());
            }
        }
        return racks;
    }

    static RackAwareTaskAssignor assignor(JsonNode request, AssignmentConfigs configs) {
        Map<TopicPartition, Set<String>> sources = new LinkedHashMap<>();
        Map<TopicPartition, Set<String>> changelogs = new LinkedHashMap<>();
        Map<TaskId, Set<TopicPartition>> sourcesOfTask = new HashMap<>();
        Map<TaskId, Set<TopicPartition>> changelogsOfTask = new HashMap<>();
        Map<Subtopology, Set<TaskId>> tasks = new HashMap<>();
        for (JsonNode each : request.get("subtopologies")) {
            Map<TopicPartition, Set<String>> read = sources(each);
            Map<TopicPartition, Set<String>> written = changelogs(each);
            sources.putAll(read);
            changelogs.putAll(written);
            int id = Integer.parseInt(each.get("id").textValue());
            for (int number = 0; number < each.get("tasks").intValue(); number++) {
                TaskId task = new TaskId(id, number);
                sourcesOfTask.put(task, partitionsOf(number, read.keySet()));
                if (!written.isEmpty()) {
                    changelogsOfTask.put(task, partitionsOf(number, written.keySet()));
                }
                tasks.computeIfAbsent(new Subtopology(id, null), key -> new java.util.HashSet<>()).add(task);
            }
        }
        Map<ProcessId, Map<String, Optional<String>>> racks = new HashMap<>();
        racks(request).forEach((consumer, rack) ->
            racks.computeIfAbsent(StreamsApplication.process(consumer), key -> new HashMap<>()).put(consumer, rack));
        Map<String, Node> nodes = new HashMap<>();
        List<PartitionInfo> partitions = new ArrayList<>();
        sources.forEach((partition, names) -> {
            Node[] replicas = replicas(names, nodes);
            partitions.add(new PartitionInfo(partition.topic(), partition.partition(), replicas[0], replicas, replicas));
        });
        Cluster cluster = new Cluster("cluster", nodes.values(), partitions, Set.of(), Set.of());
        InternalTopicManager manager = new InternalTopicManager(Time.SYSTEM, (Admin) null, CONFIG) {
            @Override
            public Map<String, List<TopicPartitionInfo>> getTopicPartitionInfo(Set<String> topics) {
                Map<String, List<TopicPartitionInfo>> infos = new HashMap<>();
                changelogs.forEach((partition, names) -> {
                    if (topics.contains(partition.topic())) {
                        List<Node> replicas = List.of(replicas(names, nodes));
                        infos.computeIfAbsent(partition.topic(), key -> new ArrayList<>())
                            .add(new TopicPartitionInfo(partition.partition(), replicas.get(0), replicas, replicas));
                    }
                });
                return infos;
            }
        };
        return new RackAwareTaskAssignor(cluster, sourcesOfTask, changelogsOfTask, tasks, racks, manager, configs, Time.SYSTEM);
    }

    private static Set<TopicPartition> partitionsOf(int number, Set<TopicPartition> all) {
        return all.stream().filter(partition -> partition.partition() == number).collect(Collectors.toSet());
    }

    /** A broker in each of these racks; one without a rack where there is none. */
    private static Node[] replicas(Set<String> racks, Map<String, Node> nodes) {
        return (racks.isEmpty() ? Set.of("") : racks).stream()
            .map(rack -> nodes.computeIfAbsent(rack, name -> new Node(nodes.size(), "broker", 9092, name.isEmpty() ? null : name)))
            .toArray(Node[]::new);
    }

    private Topics() {}
}
