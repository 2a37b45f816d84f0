package copartition.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.TopicPartition;

/** In which order a HashMap or HashSet gives back its keys. */
final class HashOrder {
    /** Enough for the JVM to give keys whose order goes by identity hash another order at least once. */
    private static final int RUNS = 300;

    static ObjectNode run(JsonNode request) throws ReflectiveOperationException {
        Keys keys = new Keys(request);
        List<Integer> order = keys.order();
        ObjectNode answer = Oracle.JSON.createObjectNode();
        if (request.get("kind").textValue().equals("topic_partition")) {
            varying(request, keys, answer);
        } else {
            order.forEach(answer.putArray("order")::add);
        }
        answer.put("tree", keys.tree);
        ArrayNode hashes = answer.putArray("hashes");
        keys.keys.forEach(key -> hashes.add(key.hashCode()));
        return answer;
    }

    /** Keys that cannot be compared may come in another order every time: then there is none to tell. */
    private static void varying(JsonNode request, Keys first, ObjectNode answer) throws ReflectiveOperationException {
        Set<List<Integer>> orders = new HashSet<>(Set.of(first.order()));
        Set<List<Integer>> byTopic = new HashSet<>(Set.of(first.orderByTopic()));
        for (int i = 0; i < RUNS; i++) {
            Keys again = new Keys(request);
            orders.add(again.order());
            byTopic.add(again.orderByTopic());
        }
        tell(answer, "order", orders);
        tell(answer, "order_by_topic", byTopic);
    }

    private static void tell(ObjectNode answer, String name, Set<List<Integer>> orders) {
        if (orders.size() == 1) {
            orders.iterator().next().forEach(answer.putArray(name)::add);
        } else {
            answer.putNull(name);
        }
    }

    /** The keys of a request, and a map or set made of them. */
    private static final class Keys {
        private final List<Object> keys = new ArrayList<>();
        private final List<Object> kept;
        private final boolean tree;

        Keys(JsonNode request) throws ReflectiveOperationException {
            String kind = request.get("kind").textValue();
            request.get("keys").forEach(key -> keys.add(key(kind, key)));
            Map<Object, Object> map;
            Collection<Object> order;
            String build = request.get("build").textValue();
            switch (build) {
                case "put" -> {
                    map = new HashMap<>();
                    keys.forEach(key -> map.put(key, key));
                    order = map.keySet();
                }
                case "put_sized" -> {
                    map = new HashMap<>(request.get("capacity").intValue());
                    keys.forEach(key -> map.put(key, key));
                    order = map.keySet();
                }
                case "compute_if_absent" -> {
                    map = new HashMap<>();
                    keys.forEach(key -> map.computeIfAbsent(key, same -> same));
                    order = map.keySet();
                }
                case "compute_if_absent_again" -> {
                    map = new HashMap<>();
                    keys.forEach(key -> map.computeIfAbsent(key, same -> same));
                    map.computeIfAbsent(keys.get(0), same -> same);
                    order = map.keySet();
                }
                case "copy_of_map" -> {
                    Map<Object, Object> source = new LinkedHashMap<>();
                    keys.forEach(key -> source.put(key, key));
                    map = new HashMap<>(source);
                    order = map.keySet();
                }
                case "copy_of_list" -> {
                    HashSet<Object> set = new HashSet<>(keys);
                    map = backing(set);
                    order = set;
                }
                default -> throw new IllegalArgumentException("no build " + build);
            }
            tree = hasTree(map);
            if (request.has("removed")) {
                request.get("removed").forEach(i -> order.remove(keys.get(i.intValue())));
            }
            kept = List.copyOf(order);
        }

        /** Positions of the keys as the map gives them. */
        List<Integer> order() {
            Map<Object, Integer> index = new HashMap<>();
            for (int i = 0; i < keys.size(); i++) {
                index.putIfAbsent(keys.get(i), i);
            }
            return kept.stream().map(index::get).toList();
        }

        /** The same, topic after topic as they first appear among the keys. */
        List<Integer> orderByTopic() {
            List<String> topics = keys.stream().map(key -> ((TopicPartition) key).topic()).distinct().toList();
            return order().stream()
                .sorted(Comparator.comparing(i -> topics.indexOf(((TopicPartition) keys.get(i)).topic())))
                .toList();
        }
    }

    private static Object key(String kind, JsonNode key) {
        return switch (kind) {
            case "string" -> key.textValue();
            case "integer" -> key.intValue();
            case "uuid" -> Inputs.uuid(key.textValue());
            case "topic_partition" -> new TopicPartition(key.get(0).textValue(), key.get(1).intValue());
            default -> throw new IllegalArgumentException("no kind " + kind);
        };
    }

    @SuppressWarnings("unchecked")
    private static Map<Object, Object> backing(HashSet<Object> set) throws ReflectiveOperationException {
        Field field = HashSet.class.getDeclaredField("map");
        field.setAccessible(true);
        return (Map<Object, Object>) field.get(set);
    }

    /** Whether some bin of the map became a red-black tree. */
    private static boolean hasTree(Map<Object, Object> map) throws ReflectiveOperationException {
        Field field = HashMap.class.getDeclaredField("table");
        field.setAccessible(true);
        Object[] table = (Object[]) field.get(map);
        if (table == null) {
            return false;
        }
        for (Object bin : table) {
            if (bin != null && bin.getClass().getSimpleName().equals("TreeNode")) {
                return true;
            }
        }
        return false;
    }

    private HashOrder() {}
}
