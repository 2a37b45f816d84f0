package copartition.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;

/** One scenario a line in, what the producer's classes do with it a line out; both JSON. */
public final class Strategies {
    private static final ObjectMapper JSON = new ObjectMapper();

    private Strategies() {}

    public static void main(String[] arguments) throws Exception {
        var scenarios = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = scenarios.readLine(); line != null; line = scenarios.readLine()) {
            JsonNode scenario = JSON.readTree(line);
            ObjectNode answer = JSON.createObjectNode();
            switch (scenario.get("op").asText()) {
                case "sticky_cache" -> StickyCacheRun.run(scenario, answer);
                case "produce" -> ProducerRun.run(scenario, answer);
                default -> throw new IllegalArgumentException(line);
            }
            System.out.write(JSON.writeValueAsBytes(answer));
            System.out.write('\n');
        }
        System.out.flush();
    }
}
