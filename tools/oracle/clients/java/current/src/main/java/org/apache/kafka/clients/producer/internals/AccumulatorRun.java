package org.apache.kafka.clients.producer.internals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import copartition.oracle.Clusters;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.MetadataSnapshot;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.internals.LogContext;

/**
 * The producer's accumulator with a clock and random numbers of the scenario.
 *
 * <p>Steps: {"append": {"partition": -1 for an unkeyed record, "key": length or null, "value": length}, "at": ms},
 * {"ready": true, "at"}, {"drain": [node ids], "max_size", "at"}, {"latency": node id, "can_drain", "at"}.
 */
public final class AccumulatorRun {
    private static final Header[] NO_HEADERS = {};

    private final Clock clock = new Clock();
    private final String topic;
    private final MetadataSnapshot metadata;
    private final RecordAccumulator accumulator;
    private FixedRandom partitioner;

    private AccumulatorRun(JsonNode scenario) {
        topic = scenario.get("topic").asText();
        metadata = Clusters.asMetadata(topic, scenario);
        JsonNode clientRack = scenario.get("client_rack");
        int batchSize = Math.max(1, scenario.get("batch_size").asInt());
        Metrics metrics = new Metrics();
        accumulator = new RecordAccumulator(
                new LogContext(),
                batchSize,
                Compression.NONE,
                scenario.get("linger_ms").asInt(),
                100,
                1000,
                120_000,
                new RecordAccumulator.PartitionerConfig(
                        scenario.get("adaptive").asBoolean(),
                        scenario.get("availability_timeout_ms").asLong(),
                        !clientRack.isNull(),
                        clientRack.asText("")),
                metrics,
                "producer-metrics",
                clock,
                null,
                new BufferPool(scenario.get("buffer_memory").asLong(), batchSize, metrics, clock, "producer")) {
            @Override
            BuiltInPartitioner createBuiltInPartitioner(
                    LogContext log, String name, int stickyBatchSize, boolean rackAware, String rack) {
                partitioner = new FixedRandom(name, stickyBatchSize, clientRack, scenario.get("random"));
                return partitioner;
            }
        };
    }

    /** Answers each step of the scenario. */
    public static void run(JsonNode scenario, ObjectNode answer) throws InterruptedException {
        AccumulatorRun run = new AccumulatorRun(scenario);
        ArrayNode available = answer.putArray("available");
        for (PartitionInfo info : run.metadata.cluster().availablePartitionsForTopic(run.topic)) {
            available.add(info.partition());
        }
        ArrayNode steps = answer.putArray("steps");
        for (JsonNode step : scenario.get("steps")) {
            run.step(step, steps.addObject());
        }
    }

    private void step(JsonNode step, ObjectNode answer) throws InterruptedException {
        long now = step.get("at").asLong();
        clock.now = now;
        if (step.has("append")) {
            append(step.get("append"), now, answer);
        } else if (step.has("ready")) {
            var ready = accumulator.ready(metadata, now);
            ArrayNode nodes = answer.putArray("nodes");
            ready.readyNodes.stream().map(Node::id).sorted().forEach(nodes::add);
            answer.put("next_check_ms", ready.nextReadyCheckDelayMs);
        } else if (step.has("drain")) {
            drain(step, now, answer);
        } else {
            accumulator.updateNodeLatencyStats(step.get("latency").asInt(), now, step.get("can_drain").asBoolean());
        }
    }

    private void append(JsonNode record, long now, ObjectNode answer) throws InterruptedException {
        var placed = new RecordAccumulator.AppendCallbacks() {
            private int partition = -1;

            @Override
            public void setPartition(int partition) {
                this.partition = partition;
            }

            @Override
            public void onCompletion(RecordMetadata metadata, Exception error) {}
        };
        byte[] key = record.get("key").isNull() ? null : new byte[record.get("key").asInt()];
        byte[] value = new byte[record.get("value").asInt()];
        var result = accumulator.append(
                topic, record.get("partition").asInt(), now, key, value, NO_HEADERS, placed, 0, now, metadata.cluster());
        answer.put("partition", placed.partition);
        answer.put("new_batch", result.newBatchCreated);
        answer.put("batch_is_full", result.batchIsFull);
        answer.put("bytes", result.appendedBytes);
        answer.put("drawn", partitioner.drawn());
    }

    private void drain(JsonNode step, long now, ObjectNode answer) {
        Set<Node> nodes = new HashSet<>();
        step.get("drain").forEach(id -> nodes.add(metadata.cluster().nodeById(id.asInt())));
        Map<Integer, List<ProducerBatch>> drained =
                new TreeMap<>(accumulator.drain(metadata, nodes, step.get("max_size").asInt(), now));
        ObjectNode batches = answer.putObject("batches");
        for (Map.Entry<Integer, List<ProducerBatch>> request : drained.entrySet()) {
            ArrayNode ofNode = batches.putArray(request.getKey().toString());
            for (ProducerBatch batch : new ArrayList<>(request.getValue())) {
                ObjectNode entry = ofNode.addObject();
                entry.put("partition", batch.topicPartition.partition());
                entry.put("records", batch.recordCount);
                entry.put("bytes", batch.records().sizeInBytes());
                entry.put("created_at", batch.createdMs);
                accumulator.completeAndDeallocateBatch(batch);
            }
        }
    }

    private static final class Clock implements Time {
        private long now;

        @Override
        public long milliseconds() {
            return now;
        }

        @Override
        public long nanoseconds() {
            return now * 1_000_000;
        }

        @Override
        public void sleep(long ms) {
            now += ms;
        }
    }
}
