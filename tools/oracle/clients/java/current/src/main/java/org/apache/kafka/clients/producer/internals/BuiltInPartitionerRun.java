package org.apache.kafka.clients.producer.internals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import copartition.oracle.Clusters;
import org.apache.kafka.common.Cluster;

/**
 * The sticky partitioner, told of bytes and of queues.
 *
 * <p>Steps: {"append": bytes, "switch": may it switch}, {"keyed": bytes}, {"load": null or {"queue_sizes",
 * "partition_ids", "racks", "length"}}, {"picks": how many fresh picks}.
 */
public final class BuiltInPartitionerRun {
    private final FixedRandom partitioner;
    private final Cluster cluster;
    private final int batchSize;
    private final boolean rackAware;

    private BuiltInPartitionerRun(JsonNode scenario) {
        String topic = scenario.get("topic").asText();
        batchSize = scenario.get("batch_size").asInt();
        rackAware = !scenario.get("client_rack").isNull();
        partitioner = new FixedRandom(topic, batchSize, scenario.get("client_rack"), scenario.get("random"));
        cluster = Clusters.inGivenOrder(topic, scenario);
    }

    /** Answers each step of the scenario. */
    public static void run(JsonNode scenario, ObjectNode answer) {
        BuiltInPartitionerRun run;
        try {
            run = new BuiltInPartitionerRun(scenario);
        } catch (IllegalArgumentException error) {
            answer.put("exception", error.getClass().getSimpleName());
            return;
        }
        ArrayNode steps = answer.putArray("steps");
        for (JsonNode step : scenario.get("steps")) {
            run.step(step, steps.addObject());
        }
    }

    private void step(JsonNode step, ObjectNode answer) {
        if (step.has("append")) {
            var info = partitioner.peekCurrentPartitionInfo(cluster);
            answer.put("partition", info.partition());
            partitioner.updatePartitionInfo(info, step.get("append").asInt(), cluster, step.get("switch").asBoolean());
            answer.put("switched", partitioner.isPartitionChanged(info));
            answer.put("drawn", partitioner.drawn());
        } else if (step.has("keyed")) {
            partitioner.updatePartitionInfo(null, step.get("keyed").asInt(), cluster, true);
            answer.put("drawn", partitioner.drawn());
        } else if (step.has("load")) {
            load(step.get("load"), answer);
        } else {
            ArrayNode picks = answer.putArray("picks");
            for (int i = 0; i < step.get("picks").asInt(); i++) {
                partitioner.updatePartitionInfo(
                        partitioner.peekCurrentPartitionInfo(cluster), 2 * batchSize, cluster, false);
                picks.add(partitioner.peekCurrentPartitionInfo(cluster).partition());
            }
            answer.put("drawn", partitioner.drawn());
        }
    }

    private void load(JsonNode load, ObjectNode answer) {
        if (load.isNull()) {
            partitioner.updatePartitionLoadStats(null, null, null, 0);
            return;
        }
        JsonNode racks = load.get("racks");
        String[] leaderRacks = new String[racks.size()];
        for (int i = 0; i < leaderRacks.length; i++) {
            leaderRacks[i] = racks.get(i).isNull() ? null : racks.get(i).asText();
        }
        partitioner.updatePartitionLoadStats(
                ints(load.get("queue_sizes")), ints(load.get("partition_ids")), leaderRacks, load.get("length").asInt());
        answer.put("range_end", orNull(partitioner::loadStatsRangeEnd));
        if (rackAware) {
            answer.put("rack_range_end", orNull(partitioner::loadStatsInThisRackRangeEnd));
        }
    }

    /** Without load statistics the getters fail; that is how to tell. */
    private static Integer orNull(java.util.function.IntSupplier end) {
        try {
            return end.getAsInt();
        } catch (NullPointerException | ArrayIndexOutOfBoundsException none) {
            return null;
        }
    }

    private static int[] ints(JsonNode array) {
        int[] values = new int[array.size()];
        for (int i = 0; i < values.length; i++) {
            values[i] = array.get(i).asInt();
        }
        return values;
    }
}
