package copartition.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.coordinator.group.api.streams.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.streams.assignor.TopologyDescriber;
import org.apache.kafka.coordinator.group.streams.assignor.AssignmentConfigsImpl;
import org.apache.kafka.coordinator.group.streams.assignor.GroupSpecImpl;
import org.apache.kafka.coordinator.group.streams.assignor.MemberMetadataAndStateImpl;
import org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor;

/** One assignment of a streams group (KIP-1071) by the broker's "sticky"; the CPU time of each of "rounds" where there are any. */
final class StreamsGroup {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    static ObjectNode run(JsonNode request) {
        Map<String, JsonNode> topology = new TreeMap<>();
        request.get("subtopologies").forEach(each -> topology.put(each.get("id").textValue(), each));
        TopologyDescriber describer = new TopologyDescriber() {
            @Override
            public List<String> subtopologies() {
                return new ArrayList<>(topology.keySet());
            }

            @Override
            public int maxNumInputPartitions(String subtopology) {
                return topology.get(subtopology).get("tasks").intValue();
            }

            @Override
            public boolean isStateful(String subtopology) {
                return topology.get(subtopology).get("stateful").booleanValue();
            }
        };
        Map<String, MemberMetadataAndStateImpl> members = new HashMap<>();
        for (JsonNode member : request.get("members")) {
            Map<String, Map<Integer, Long>> offsets = new HashMap<>();
            for (JsonNode offset : member.path("offsets")) {
                offsets.computeIfAbsent(offset.get(0).textValue(), id -> new HashMap<>())
                    .put(offset.get(1).intValue(), offset.get(2).longValue());
            }
            members.put(member.get("id").textValue(), new MemberMetadataAndStateImpl(Optional.empty(), Optional.empty(),
                member.get("process").textValue(), Map.of(), tasks(member.path("active")), tasks(member.path("standby")),
                Map.of(), offsets, Map.of()));
        }
        GroupSpecImpl group = new GroupSpecImpl(members, new AssignmentConfigsImpl(request.get("standbys").intValue(), List.of()));
        ObjectNode answer = Oracle.JSON.createObjectNode();
        ArrayNode times = request.has("rounds") ? answer.putArray("ms") : Oracle.JSON.createArrayNode();
        GroupAssignment assignment = null;
        for (int round = 0; round < request.path("rounds").asInt(1); round++) {
            long start = THREADS.getCurrentThreadCpuTime();
            try {
                assignment = new StickyTaskAssignor().assign(group, describer);
            } catch (RuntimeException e) {
                answer.set("error", Oracle.thrown(e));
                return answer;
            }
            times.add((THREADS.getCurrentThreadCpuTime() - start) / 1e6);
        }
        ArrayNode lists = answer.putArray("assignment");
        new TreeMap<>(assignment.members()).forEach((member, given) -> lists.addArray()
            .add(member)
            .add(runs(given.activeTasks()))
            .add(runs(given.standbyTasks())));
        return answer;
    }

    private static Map<String, Set<Integer>> tasks(JsonNode runs) {
        Map<String, Set<Integer>> tasks = new HashMap<>();
        for (JsonNode run : runs) {
            for (int i = 1; i < run.size(); i++) {
                tasks.computeIfAbsent(run.get(0).textValue(), id -> new TreeSet<>()).add(run.get(i).intValue());
            }
        }
        return tasks;
    }

    private static ArrayNode runs(Map<String, Set<Integer>> tasks) {
        ArrayNode runs = Oracle.JSON.createArrayNode();
        new TreeMap<>(tasks).forEach((id, numbers) -> {
            ArrayNode run = runs.addArray().add(id);
            new TreeSet<>(numbers).forEach(run::add);
        });
        return runs;
    }

    private StreamsGroup() {}
}
