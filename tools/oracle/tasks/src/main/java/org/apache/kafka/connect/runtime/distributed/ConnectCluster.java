package org.apache.kafka.connect.runtime.distributed;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.internals.AbstractCoordinator;
import org.apache.kafka.common.message.JoinGroupResponseData.JoinGroupResponseMember;
import org.apache.kafka.common.utils.internals.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.connect.storage.ClusterConfigState;
import org.apache.kafka.connect.storage.ConfigBackingStore;
import org.apache.kafka.connect.util.ConnectorTaskId;

/**
 * Workers of Connect that join, sync and leave: real WorkerCoordinators without a network, and the leader's assignor
 * with a clock that only the requests move.
 */
public final class ConnectCluster {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private final Map<String, WorkerCoordinator> workers = new HashMap<>();
    private final ConnectProtocolCompatibility protocol;
    private final int maxDelay;
    private ConnectAssignor assignor;
    private String leader;
    private ClusterConfigState config;
    private long now;
    private int generation;
    private long nanoseconds;

    private ConnectCluster(JsonNode request) {
        protocol = request.get("assignor").textValue().equals("connect-eager")
            ? ConnectProtocolCompatibility.EAGER
            : ConnectProtocolCompatibility.SESSIONED;
        maxDelay = request.path("max_delay_ms").asInt(300_000);
    }

    /**
     * One cluster's life; a step names the workers in JoinGroup order, those that start anew, and who misses the answer.
     * With "rounds" it is lived so often, and "ms" has the CPU time of the last assignment in each.
     */
    public static ObjectNode run(JsonNode request) throws Exception {
        if (!request.has("rounds")) {
            return live(request).answers;
        }
        ArrayNode times = JSON.createArrayNode();
        Life life = null;
        for (int round = 0; round < request.get("rounds").intValue(); round++) {
            life = live(request);
            times.add(life.cluster.nanoseconds / 1e6);
        }
        life.answers.set("ms", times);
        return life.answers;
    }

    private record Life(ConnectCluster cluster, ObjectNode answers) {}

    private static Life live(JsonNode request) throws Exception {
        ConnectCluster cluster = new ConnectCluster(request);
        ObjectNode answers = JSON.createObjectNode();
        ArrayNode steps = answers.putArray("steps");
        for (JsonNode step : request.get("steps")) {
            steps.add(cluster.step(step));
        }
        return new Life(cluster, answers);
    }

    private ObjectNode step(JsonNode step) throws Exception {
        now = step.get("at").longValue();
        generation++;
        config = state(step.get("connectors"));
        Set<String> fresh = strings(step.path("fresh"));
        Set<String> missed = strings(step.path("missed"));
        List<String> ids = new ArrayList<>();
        step.get("members").forEach(member -> ids.add(member.textValue()));
        ObjectNode result = JSON.createObjectNode();
        ArrayNode members = result.putArray("members");
        List<JoinGroupResponseMember> joined = new ArrayList<>();
        for (String id : ids) {
            if (fresh.contains(id) || !workers.containsKey(id)) {
                workers.put(id, worker(id));
            }
            WorkerCoordinator worker = workers.get(id);
            ObjectNode member = members.addObject().put("id", id);
            ExtendedAssignment held = snapshot(worker);
            if (protocol != ConnectProtocolCompatibility.EAGER && held != null && !runs(held).isEmpty()) {
                member.set("owned", runs(held));
            }
            byte[] metadata = worker.metadata().iterator().next().metadata();
            joined.add(new JoinGroupResponseMember().setMemberId(id).setMetadata(metadata));
        }
        if (!step.get("leader").textValue().equals(leader) || fresh.contains(leader)) {
            leader = step.get("leader").textValue();
            assignor = protocol == ConnectProtocolCompatibility.EAGER
                ? new EagerAssignor(new LogContext())
                : incremental();
            result.put("new_leader", true);
        }
        WorkerCoordinator coordinator = workers.get(leader);
        set(AbstractCoordinator.class, coordinator, "generation", generation(leader));
        result.put("at", now).put("generation", generation).put("completed", coordinator.lastCompletedGenerationId());
        long start = THREADS.getCurrentThreadCpuTime();
        Map<String, ByteBuffer> answer = assignor.performAssignment(leader, protocol, joined, coordinator);
        if (protocol == ConnectProtocolCompatibility.EAGER) {
            nanoseconds = THREADS.getCurrentThreadCpuTime() - start; // with the protocol's bytes: nothing less can be called
        }
        ArrayNode assignment = result.putArray("assignment");
        ArrayNode revoked = JSON.createArrayNode();
        for (String id : ids) {
            WorkerCoordinator worker = workers.get(id);
            ExtendedAssignment before = snapshot(worker) == null ? null : ExtendedAssignment.duplicate(snapshot(worker));
            int completed = worker.lastCompletedGenerationId();
            ExtendedAssignment given = IncrementalCooperativeConnectProtocol.deserializeAssignment(answer.get(id).duplicate());
            worker.onJoinComplete(generation, id, protocol.protocol(), answer.get(id).duplicate());
            assignment.addArray().add(id).add(runs(snapshot(worker)));
            if (protocol != ConnectProtocolCompatibility.EAGER) {
                result.put("delay_ms", given.delay());
                if (given.revokedConnectors().size() + given.revokedTasks().size() > 0) {
                    revoked.addArray().add(id).add(runs(given.revokedConnectors(), given.revokedTasks()));
                }
            }
            if (missed.contains(id)) {
                set(WorkerCoordinator.class, worker, "assignmentSnapshot", before);
                set(WorkerCoordinator.class, worker, "lastCompletedGenerationId", completed);
            }
        }
        if (!revoked.isEmpty()) {
            result.set("revoked", revoked);
        }
        return result;
    }

    private IncrementalCooperativeAssignor incremental() {
        return new IncrementalCooperativeAssignor(new LogContext(), clock(), maxDelay) {
            @Override
            ClusterAssignment performTaskAssignment(
                    ClusterConfigState state, int completed, int current, Map<String, WorkerCoordinator.ConnectorsAndTasks> members) {
                long start = THREADS.getCurrentThreadCpuTime();
                try {
                    return super.performTaskAssignment(state, completed, current, members);
                } finally {
                    nanoseconds = THREADS.getCurrentThreadCpuTime() - start;
                }
            }
        };
    }

    private Object generation(String id) throws Exception {
        Class<?> type = Class.forName("org.apache.kafka.clients.consumer.internals.AbstractCoordinator$Generation");
        return type.getConstructors()[0].newInstance(generation, id, protocol.protocol());
    }

    /** A WorkerCoordinator that never had a constructor called, since that one wants a network client. */
    private WorkerCoordinator worker(String id) throws Exception {
        Field unsafe = Class.forName("sun.misc.Unsafe").getDeclaredField("theUnsafe");
        unsafe.setAccessible(true);
        Object allocator = unsafe.get(null);
        WorkerCoordinator worker = (WorkerCoordinator) allocator.getClass()
            .getMethod("allocateInstance", Class.class)
            .invoke(allocator, WorkerCoordinator.class);
        set(WorkerCoordinator.class, worker, "log", new LogContext().logger(WorkerCoordinator.class));
        set(WorkerCoordinator.class, worker, "restUrl", "http://" + "worker");
        set(WorkerCoordinator.class, worker, "configStorage", proxy(ConfigBackingStore.class));
        set(WorkerCoordinator.class, worker, "listener", proxy(WorkerRebalanceListener.class));
        set(WorkerCoordinator.class, worker, "protocolCompatibility", protocol);
        set(WorkerCoordinator.class, worker, "currentConnectProtocol", protocol);
        set(WorkerCoordinator.class, worker, "lastCompletedGenerationId", -1);
        set(AbstractCoordinator.class, worker, "generation", generation(id));
        return worker;
    }

    private <T> T proxy(Class<T> type) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type},
            (self, method, arguments) -> method.getName().equals("snapshot") ? config : null));
    }

    private Time clock() {
        return (Time) Proxy.newProxyInstance(Time.class.getClassLoader(), new Class<?>[] {Time.class},
            (self, method, arguments) -> switch (method.getName()) {
                case "milliseconds" -> now;
                default -> throw new UnsupportedOperationException(method.getName());
            });
    }

    private static ClusterConfigState state(JsonNode connectors) {
        Map<String, Integer> counts = new HashMap<>();
        Map<String, Map<String, String>> configs = new HashMap<>();
        connectors.fieldNames().forEachRemaining(name -> {
            counts.put(name, connectors.get(name).intValue());
            configs.put(name, Map.of());
        });
        return new ClusterConfigState(1, null, counts, configs, Map.of(), Map.of(), Map.of(), Map.of(), Map.of(), Set.of(), Set.of());
    }

    private static ExtendedAssignment snapshot(WorkerCoordinator worker) throws Exception {
        return (ExtendedAssignment) get(WorkerCoordinator.class, worker, "assignmentSnapshot");
    }

    private static ArrayNode runs(ExtendedAssignment assignment) {
        return runs(assignment.connectors(), assignment.tasks());
    }

    /** Connectors first, then tasks: a name followed by task numbers, -1 for the connector itself. */
    private static ArrayNode runs(Collection<String> connectors, Collection<ConnectorTaskId> tasks) {
        ArrayNode runs = JSON.createArrayNode();
        connectors.forEach(connector -> runs.addArray().add(connector).add(-1));
        ArrayNode run = null;
        String name = null;
        for (ConnectorTaskId task : tasks) {
            if (!task.connector().equals(name)) {
                name = task.connector();
                run = runs.addArray().add(name);
            }
            run.add(task.task());
        }
        return runs;
    }

    private static Set<String> strings(JsonNode node) {
        Set<String> values = new HashSet<>();
        node.forEach(value -> values.add(value.textValue()));
        return values;
    }

    private static Object get(Class<?> owner, Object object, String name) throws Exception {
        Field field = owner.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(object);
    }

    private static void set(Class<?> owner, Object object, String name, Object value) throws Exception {
        Field field = owner.getDeclaredField(name);
        field.setAccessible(true);
        field.set(object, value);
    }
}
