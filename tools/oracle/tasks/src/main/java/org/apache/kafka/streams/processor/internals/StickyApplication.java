package org.apache.kafka.streams.processor.internals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import copartition.oracle.StreamsApplication;
import copartition.oracle.Topics;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ApplicationState;
import org.apache.kafka.streams.processor.assignment.AssignmentConfigs;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.assignment.TaskAssignmentUtils;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.AssignmentError;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;
import org.apache.kafka.streams.processor.assignment.TaskInfo;
import org.apache.kafka.streams.processor.assignment.TaskTopicPartition;
import org.apache.kafka.streams.processor.assignment.assignors.StickyTaskAssignor;
import org.apache.kafka.streams.processor.internals.StreamsPartitionAssignor.ClientMetadata;
import org.apache.kafka.streams.processor.internals.TopologyMetadata.Subtopology;
import org.apache.kafka.streams.processor.internals.assignment.DefaultApplicationState;
import org.apache.kafka.streams.processor.internals.assignment.DefaultTaskInfo;
import org.apache.kafka.streams.processor.internals.assignment.DefaultTaskTopicPartition;

/**
 * One assignment of a Kafka Streams application in a classic group by the StickyTaskAssignor that task.assignor.class can
 * name. Maps are filled as StreamsPartitionAssignor does it, since their order counts. The assignor goes through stateful
 * tasks in the order of the identity hashes of their TaskInfos, so a request either gives "ranks", from which each TaskInfo
 * has another hash, or the answer tells the order.
 */
public final class StickyApplication {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    public static ObjectNode run(JsonNode request) {
        Map<TopicPartition, TaskId> taskOfPartition = new HashMap<>();
        Map<TaskId, TaskInfo> tasks = tasks(request, taskOfPartition);
        JsonNode settings = request.get("settings");
        AssignmentConfigs configs = Topics.configs(settings, List.of());

        int rounds = request.path("rounds").asInt(1);
        double[] milliseconds = new double[rounds];
        ObjectNode answer = JSON.createObjectNode();
        TaskAssignment assignment = null;
        for (int round = 0; round < rounds; round++) {
            ApplicationState state = new DefaultApplicationState(configs, tasks, clients(request, taskOfPartition));
            long start = THREADS.getCurrentThreadCpuTime();
            try {
                assignment = new StickyTaskAssignor().assign(state);
            } catch (RuntimeException e) {
                return answer.put("error", e.getClass().getSimpleName());
            }
            milliseconds[round] = (THREADS.getCurrentThreadCpuTime() - start) / 1e6;
            AssignmentError error = TaskAssignmentUtils.validateTaskAssignment(state, assignment);
            if (error != AssignmentError.NONE) {
                throw new IllegalStateException("Kafka Streams would refuse this: " + error);
            }
        }
        Map<ProcessId, KafkaStreamsAssignment> byProcess = new TreeMap<>();
        assignment.assignment().forEach(each -> byProcess.put(each.processId(), each));
        ArrayNode lists = answer.putArray("assignment");
        byProcess.forEach((process, each) -> lists.addArray()
            .add(process.toString())
            .add(runs(each, KafkaStreamsAssignment.AssignedTask.Type.ACTIVE))
            .add(runs(each, KafkaStreamsAssignment.AssignedTask.Type.STANDBY)));
        if (!request.has("ranks")) {
            Set<TaskInfo> stateful = tasks.values().stream()
                .filter(task -> task.topicPartitions().stream().anyMatch(TaskTopicPartition::isChangelog))
                .collect(Collectors.toSet());
            answer.set("order", StreamsApplication.runs(stateful.stream().map(TaskInfo::id).toList()));
        }
        if (request.has("rounds")) {
            ArrayNode times = answer.putArray("ms");
            for (double each : milliseconds) {
                times.add(each);
            }
        }
        return answer;
    }

    /** The application's tasks as StreamsPartitionAssignor.buildApplicationState makes them. */
    private static Map<TaskId, TaskInfo> tasks(JsonNode request, Map<TopicPartition, TaskId> taskOfPartition) {
        Map<Integer, JsonNode> ordered = new TreeMap<>();
        request.get("subtopologies").forEach(each -> ordered.put(Integer.parseInt(each.get("id").textValue()), each));
        Map<Subtopology, Set<String>> sources = new HashMap<>();
        Map<Subtopology, Set<String>> changelogs = new HashMap<>();
        List<PartitionInfo> partitions = new ArrayList<>();
        Map<TopicPartition, Set<String>> racks = new HashMap<>();
        ordered.forEach((id, each) -> {
            Map<TopicPartition, Set<String>> read = Topics.sources(each);
            Map<TopicPartition, Set<String>> written = Topics.changelogs(each);
            racks.putAll(written);
            racks.putAll(read);
            if (!read.isEmpty()) {
                sources.put(new Subtopology(id, null), topics(read));
                changelogs.put(new Subtopology(id, null), topics(written));
            }
            read.keySet().forEach(partition -> partitions.add(
                new PartitionInfo(partition.topic(), partition.partition(), Node.noNode(), new Node[0], new Node[0])));
        });
        Cluster cluster = new Cluster("cluster", List.of(), partitions, Set.of(), Set.of());
        Map<TaskId, Set<TopicPartition>> changelogsOfTask = new HashMap<>();
        Map<TaskId, Set<TopicPartition>> sourcesOfTask =
            new PartitionGrouper().partitionGroups(sources, changelogs, changelogsOfTask, cluster);
        sourcesOfTask.forEach((task, some) -> some.forEach(partition -> taskOfPartition.put(partition, task)));

        List<TaskId> stateful = new ArrayList<>(new TreeSet<>(sourcesOfTask.keySet()));
        stateful.removeIf(task -> changelogsOfTask.get(task).isEmpty());
        Map<TaskId, Integer> ranks = new HashMap<>();
        if (request.has("ranks")) {
            JsonNode factors = request.get("ranks");
            for (int place = 0; place < stateful.size(); place++) {
                long rank = (factors.get(0).longValue() * place + factors.get(1).longValue()) % stateful.size();
                ranks.put(stateful.get(place), (int) rank);
            }
        }
        return sourcesOfTask.keySet().stream().collect(Collectors.toMap(Function.identity(), task -> {
            Set<TaskTopicPartition> some = new HashSet<>();
            Set<TopicPartition> both = new HashSet<>(sourcesOfTask.get(task));
            both.addAll(changelogsOfTask.get(task));
            for (TopicPartition each : both) {
                DefaultTaskTopicPartition partition = new DefaultTaskTopicPartition(each,
                    sourcesOfTask.get(task).contains(each), changelogsOfTask.get(task).contains(each), () -> { });
                partition.annotateWithRackIds(racks.getOrDefault(each, Set.of()));
                some.add(partition);
            }
            Set<String> stores = changelogsOfTask.get(task).isEmpty() ? Set.of() : Set.of("store");
            return ranks.containsKey(task)
                ? new RankedTaskInfo(task, stores, some, ranks.get(task))
                : new DefaultTaskInfo(task, !stores.isEmpty(), stores, some);
        }));
    }

    /** What the members of the group report, in the order of the leader's map of subscriptions. */
    private static Map<ProcessId, ClientMetadata> clients(JsonNode request, Map<TopicPartition, TaskId> taskOfPartition) {
        Map<ProcessId, ClientMetadata> clients = new HashMap<>();
        Map<String, Optional<String>> racks = Topics.racks(request);
        StreamsApplication.reports(request).forEach((consumer, report) -> {
            ProcessId id = StreamsApplication.process(consumer);
            ClientMetadata client = clients.get(id);
            if (client == null) {
                client = new ClientMetadata(id, null, Map.of(), racks.get(consumer));
                clients.put(id, client);
            }
            List<TopicPartition> owned = new ArrayList<>();
            for (JsonNode run : report.path("active")) {
                for (int i = 1; i < run.size(); i++) {
                    owned.add(new TopicPartition(source(Integer.parseInt(run.get(0).textValue())), run.get(i).intValue()));
                }
            }
            client.addConsumer(consumer, owned);
            client.addPreviousTasksAndOffsetSums(consumer, StreamsApplication.offsets(report.path("offsets")));
        });
        clients.values().forEach(client -> client.state().initializePrevTasks(taskOfPartition, false));
        return clients;
    }

    private static Set<String> topics(Map<TopicPartition, Set<String>> partitions) {
        return partitions.keySet().stream().map(TopicPartition::topic).collect(Collectors.toSet());
    }

    private static String source(int subtopology) {
        return "source-" + subtopology;
    }

    private static ArrayNode runs(KafkaStreamsAssignment assignment, KafkaStreamsAssignment.AssignedTask.Type type) {
        Set<TaskId> some = new TreeSet<>();
        assignment.tasks().values().stream().filter(task -> task.type() == type).forEach(task -> some.add(task.id()));
        return StreamsApplication.runs(some);
    }

    private static final class RankedTaskInfo extends DefaultTaskInfo {
        private final int rank;

        RankedTaskInfo(TaskId task, Set<String> stores, Set<TaskTopicPartition> partitions, int rank) {
            super(task, true, stores, partitions);
            this.rank = rank;
        }

        @Override
        public int hashCode() {
            return rank;
        }

        @Override
        public boolean equals(Object other) {
            return this == other;
        }
    }

    private StickyApplication() {}
}
