package copartition.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.utils.internals.AppInfoParser;

/**
 * Answers one JSON request per line of stdin with one JSON line on stdout.
 *
 * <p>After an answer that says "endless" the process ends.
 */
public final class Oracle {
    static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws IOException {
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        String line;
        while ((line = requests.readLine()) != null) {
            ObjectNode answer;
            try {
                answer = answer(JSON.readTree(line));
            } catch (Exception | StackOverflowError e) {
                answer = JSON.createObjectNode().put("oracle_error", e + " at " + e.getStackTrace()[0]);
            }
            answers.println(JSON.writeValueAsString(answer));
            answers.flush();
            if (answer.has("endless")) {
                Runtime.getRuntime().halt(0); // the only way to stop the thread that is still at it
            }
        }
    }

    private static ObjectNode answer(JsonNode request) throws Exception {
        String op = request.get("op").textValue();
        return switch (op) {
            case "versions" -> JSON.createObjectNode()
                .put("kafka", AppInfoParser.getVersion())
                .put("java", System.getProperty("java.version"));
            case "assign" -> Scenario.run(request);
            case "time" -> Timing.run(request);
            case "hash_order" -> HashOrder.run(request);
            case "coordinate" -> Coordinator.run(request);
            case "streams" -> StreamsGroup.run(request);
            default -> ProtocolBytes.run(op, request);
        };
    }

    /** What the JVM threw, as an answer. */
    static ObjectNode thrown(Throwable e) {
        return JSON.createObjectNode()
            .put("exception", e.getClass().getSimpleName())
            .put("message", e.getMessage());
    }

    private Oracle() {}
}
