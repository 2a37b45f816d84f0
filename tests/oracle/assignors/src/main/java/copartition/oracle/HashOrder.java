package copartition.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;

/** In which order a HashMap or HashSet gives back its keys. */
final class HashOrder {
    static ObjectNode run(JsonNode request) throws ReflectiveOperationException {
        List<Object> keys = new ArrayList<>();
        String kind = request.get("kind").textValue();
        request.get("keys").forEach(key -> keys.add(key(kind, key)));
        Map<Object, Integer> index = new HashMap<>();
        for (int i = 0; i < keys.size(); i++) {
            index.putIfAbsent(keys.get(i), i);
        }

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
        boolean tree = hasTree(map);
        if (request.has("removed")) {
            request.get("removed").forEach(i -> order.remove(keys.get(i.intValue())));
        }
        ObjectNode answer = Oracle.JSON.createObjectNode();
        ArrayNode indices = answer.putArray("order");
        order.forEach(key -> indices.add(index.get(key)));
        answer.put("tree", tree);
        ArrayNode hashes = answer.putArray("hashes");
        keys.forEach(key -> hashes.add(key.hashCode()));
        return answer;
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
