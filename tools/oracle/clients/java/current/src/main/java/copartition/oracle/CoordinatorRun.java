package copartition.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.utils.Utils;

/** Which partition of __consumer_offsets or __transaction_state an id belongs to. */
final class CoordinatorRun {
    private CoordinatorRun() {}

    static void run(JsonNode scenario, ObjectNode answer) {
        ArrayNode hashes = answer.putArray("hashes");
        scenario.get("ids").forEach(id -> hashes.add(id.asText().hashCode()));
        ObjectNode partitions = answer.putObject("partitions");
        for (JsonNode count : scenario.get("counts")) {
            ArrayNode row = partitions.putArray(count.asText());
            scenario.get("ids").forEach(id -> row.add(Utils.abs(id.asText().hashCode()) % count.asInt()));
        }
    }
}
