package copartition.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.kafka.clients.producer.Partitioner;
import org.apache.kafka.clients.producer.UniformStickyPartitioner;
import org.apache.kafka.clients.producer.internals.DefaultPartitioner;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.utils.Utils;

/**
 * The partitioners of Kafka 2.4 to 3.2 that stick to a partition until the producer reports a new batch.
 *
 * <p>They draw from this thread's ThreadLocalRandom, whose seed we set: first to write down the numbers that they
 * are about to draw, then again for them. Steps: {"key": hex or null}, {"new_batch": the partition that was
 * full, or null for the one just given}.
 */
@SuppressWarnings("deprecation")
final class StickyCacheRun {
    private static final int DRAWS = 400;

    private StickyCacheRun() {}

    static void run(JsonNode scenario, ObjectNode answer) throws ReflectiveOperationException {
        Partitioner partitioner = scenario.get("class").asText().equals("UniformStickyPartitioner")
                ? new UniformStickyPartitioner()
                : new DefaultPartitioner();
        Cluster cluster = cluster(scenario);
        seed(scenario.get("seed").asLong());
        int[] random = new int[DRAWS];
        for (int i = 0; i < DRAWS; i++) {
            random[i] = Utils.toPositive(ThreadLocalRandom.current().nextInt());
        }
        seed(scenario.get("seed").asLong());
        ArrayNode partitions = answer.putArray("partitions");
        int last = -1;
        for (JsonNode step : scenario.get("steps")) {
            if (step.has("new_batch")) {
                int full = step.get("new_batch").isNull() ? last : step.get("new_batch").asInt();
                partitioner.onNewBatch("topic", cluster, full);
                partitions.addNull();
            } else {
                JsonNode hex = step.get("key");
                byte[] key = hex.isNull() ? null : HexFormat.of().parseHex(hex.asText());
                last = partitioner.partition("topic", null, key, null, null, cluster);
                partitions.add(last);
            }
        }
        int after = Utils.toPositive(ThreadLocalRandom.current().nextInt());
        ArrayNode drawn = answer.putArray("random");
        for (int i = 0; random[i] != after; i++) {
            drawn.add(random[i]);
        }
    }

    private static void seed(long seed) throws ReflectiveOperationException {
        ThreadLocalRandom.current();
        Field field = Thread.class.getDeclaredField("threadLocalRandomSeed");
        field.setAccessible(true);
        field.setLong(Thread.currentThread(), seed);
    }

    private static Cluster cluster(JsonNode scenario) {
        Node node = new Node(0, "localhost", 9092);
        Node[] nodes = {node};
        List<PartitionInfo> partitions = new ArrayList<>();
        for (JsonNode partition : scenario.get("partitions")) {
            Node leader = partition.get(1).asBoolean() ? node : null;
            partitions.add(new PartitionInfo("topic", partition.get(0).asInt(), leader, nodes, nodes));
        }
        return new Cluster("cluster", List.of(node), partitions, Set.of(), Set.of());
    }
}
