package copartition.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.AssignmentConfigs;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.internals.assignment.ClientState;
import org.apache.kafka.streams.processor.internals.assignment.HighAvailabilityTaskAssignor;
import org.apache.kafka.streams.processor.internals.assignment.RackAwareTaskAssignor;

/** One assignment of a Kafka Streams application in a classic group; the CPU time of each of "rounds" where there are any. */
public final class StreamsApplication {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    static ObjectNode run(JsonNode request) {
        Set<TaskId> all = new HashSet<>();
        Set<TaskId> stateful = new HashSet<>();
        for (JsonNode each : request.get("subtopologies")) {
            for (int number = 0; number < each.get("tasks").intValue(); number++) {
                TaskId task = new TaskId(Integer.parseInt(each.get("id").textValue()), number);
                all.add(task);
                if (each.get("stateful").booleanValue()) {
                    stateful.add(task);
                }
            }
        }
        JsonNode settings = request.get("settings");
        List<String> tags = new ArrayList<>();
        settings.get("tags").forEach(tag -> tags.add(tag.textValue()));
        AssignmentConfigs configs = Topics.configs(settings, tags);

        int rounds = request.path("rounds").asInt(1);
        double[] milliseconds = new double[rounds];
        Map<ProcessId, ClientState> clients = Map.of();
        ObjectNode answer = TaskOracle.JSON.createObjectNode();
        for (int round = 0; round < rounds; round++) {
            clients = clients(request);
            RackAwareTaskAssignor racks = Topics.assignor(request, configs);
            long start = THREADS.getCurrentThreadCpuTime();
            try {
                answer.put("probing", new HighAvailabilityTaskAssignor().assign(clients, all, stateful, racks, configs));
            } catch (RuntimeException e) {
                return answer.put("error", e.getClass().getSimpleName());
            }
            milliseconds[round] = (THREADS.getCurrentThreadCpuTime() - start) / 1e6;
        }
        ArrayNode lists = answer.putArray("assignment");
        new TreeMap<>(clients).forEach((process, state) -> lists.addArray()
            .add(process.toString())
            .add(runs(state.activeTasks()))
            .add(runs(state.standbyTasks())));
        if (request.has("rounds")) {
            ArrayNode times = answer.putArray("ms");
            for (double each : milliseconds) {
                times.add(each);
            }
        }
        return answer;
    }

    private static Map<ProcessId, ClientState> clients(JsonNode request) {
        Map<TaskId, Long> ends = offsets(request.get("ends"));
        Map<ProcessId, ClientState> clients = new HashMap<>();
        for (JsonNode process : request.get("processes")) {
            ProcessId id = new ProcessId(UUID.fromString(process.get("id").textValue()));
            Map<String, String> tags = new HashMap<>();
            process.path("tags").fields().forEachRemaining(tag -> tags.put(tag.getKey(), tag.getValue().textValue()));
            ClientState state = new ClientState(id, tags);
            for (int thread = 0; thread < process.get("threads").intValue(); thread++) {
                state.incrementCapacity();
            }
            clients.put(id, state);
        }
        reports(request).forEach((consumer, report) ->
            clients.get(process(consumer)).addPreviousTasksAndOffsetSums(consumer, offsets(report.path("offsets"))));
        clients.forEach((id, state) -> state.computeTaskLags(id, ends));
        return clients;
    }

    /**
     * What each consumer of the group reports, in the order of the leader's map of subscriptions: the first thread all that
     * its process says of itself, the second one what it has in "second", where it is, the others nothing.
     */
    public static Map<String, JsonNode> reports(JsonNode request) {
        Map<String, JsonNode> reports = new HashMap<>();
        for (JsonNode process : request.get("processes")) {
            for (int thread = 0; thread < process.get("threads").intValue(); thread++) {
                JsonNode report = thread == 0 ? process : thread == 1 ? process.path("second") : process.path("nothing");
                reports.put(process.get("id").textValue() + "-" + thread, report);
            }
        }
        return reports;
    }

    /** The process of a consumer that reports has. */
    public static ProcessId process(String consumer) {
        return new ProcessId(UUID.fromString(consumer.substring(0, consumer.lastIndexOf('-'))));
    }

    /** Offset sums, in runs of a subtopology followed by task and offset, task and offset. */
    public static Map<TaskId, Long> offsets(JsonNode runs) {
        Map<TaskId, Long> offsets = new HashMap<>();
        for (JsonNode run : runs) {
            for (int i = 1; i < run.size(); i += 2) {
                offsets.put(new TaskId(Integer.parseInt(run.get(0).textValue()), run.get(i).intValue()), run.get(i + 1).longValue());
            }
        }
        return offsets;
    }

    /** Tasks in runs of a subtopology followed by task numbers. */
    public static ArrayNode runs(Collection<TaskId> tasks) {
        ArrayNode runs = TaskOracle.JSON.createArrayNode();
        ArrayNode run = null;
        for (TaskId task : tasks) {
            String subtopology = Integer.toString(task.subtopology());
            if (run == null || !run.get(0).textValue().equals(subtopology)) {
                run = runs.addArray().add(subtopology);
            }
            run.add(task.partition());
        }
        return runs;
    }

    private StreamsApplication() {}
}
