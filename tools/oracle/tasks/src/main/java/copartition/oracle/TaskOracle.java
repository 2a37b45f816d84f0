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
import org.apache.kafka.connect.runtime.distributed.ConnectCluster;
import org.apache.kafka.streams.processor.internals.StickyApplication;

/** Answers one JSON request per line of stdin with one JSON line on stdout. */
public final class TaskOracle {
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
        }
    }

    private static ObjectNode answer(JsonNode request) throws Exception {
        String op = request.get("op").textValue();
        return switch (op) {
            case "versions" -> JSON.createObjectNode()
                .put("kafka", AppInfoParser.getVersion())
                .put("java", System.getProperty("java.version"));
            case "connect" -> ConnectCluster.run(request);
            case "streams" -> StreamsApplication.run(request);
            case "sticky" -> StickyApplication.run(request);
            default -> throw new IllegalArgumentException("no such op: " + op);
        };
    }

    private TaskOracle() {}
}
