package copartition.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.clients.producer.internals.FutureRecordMetadata;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** One case a line in, what a real producer made of it a line out; both JSON. */
public final class PacedProducer {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long SPIN_NANOS = 60_000;
    private static final int INDEX_INTERVAL_BYTES = 4096; // each such batch gets an entry in the indexes
    private static final double[] PERCENTILES = {50, 95, 99};

    private final JsonNode scenario;
    private final int records;
    private final byte[] value;
    private final Future<?>[] sent;
    private final long[] calledAt;
    private final long[] returnedAt;
    private final long[] acknowledgedAt;

    private PacedProducer(JsonNode scenario) {
        this.scenario = scenario;
        records = scenario.get("records").asInt();
        value = new byte[scenario.get("value_bytes").asInt()];
        sent = new Future<?>[records];
        calledAt = new long[records];
        returnedAt = new long[records];
        acknowledgedAt = new long[records];
    }

    public static void main(String[] arguments) throws Exception {
        var scenarios = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = scenarios.readLine(); line != null; line = scenarios.readLine()) {
            System.out.println(JSON.writeValueAsString(new PacedProducer(JSON.readTree(line)).run()));
            System.out.flush();
        }
    }

    private ObjectNode run() throws Exception {
        var bytes = new ByteArraySerializer();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(config(), bytes, bytes)) {
            openPartitions(producer);
        }
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(config(), bytes, bytes)) {
            producer.partitionsFor(scenario.get("topic").asText()); // so that the first record need not wait
            long start = send(producer);
            producer.flush();
            return report(producer, start);
        }
    }

    /** The broker's first writes to a partition, and to its indexes, are slow, and not what is measured. */
    private void openPartitions(KafkaProducer<byte[], byte[]> producer) {
        for (int partition = 0; partition < scenario.get("partitions").asInt(); partition++) {
            for (int batch = 0; batch < 4; batch++) {
                producer.send(new ProducerRecord<>(
                        scenario.get("topic").asText(), partition, null, new byte[INDEX_INTERVAL_BYTES]));
                producer.flush();
            }
        }
    }

    private Map<String, Object> config() {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", System.getenv("KAFKA_BOOTSTRAP_SERVERS"));
        config.put("batch.size", scenario.get("batch_size").asInt());
        config.put("linger.ms", scenario.get("linger_ms").asInt());
        config.put(
                "max.in.flight.requests.per.connection",
                scenario.get("max_in_flight_requests_per_connection").asInt());
        config.put("metrics.sample.window.ms", 3_600_000); // averages over the whole run
        config.put("enable.metrics.push", false);
        if (scenario.get("placement").asText().equals("round-robin")) {
            config.put("partitioner.class", "org.apache.kafka.clients.producer.RoundRobinPartitioner");
        }
        return config;
    }

    /** Sends at the scenario's pace; when the schedule began. */
    private long send(KafkaProducer<byte[], byte[]> producer) {
        String topic = scenario.get("topic").asText();
        boolean keyed = scenario.get("placement").asText().equals("keyed");
        double nanosBetween = 1e9 / scenario.get("records_per_second").asDouble();
        long start = System.nanoTime() + 50_000_000;
        for (int i = 0; i < records; i++) {
            byte[] key = keyed ? key(i) : null;
            waitUntil(start + (long) (i * nanosBetween));
            int record = i;
            calledAt[i] = System.nanoTime();
            sent[i] = producer.send(
                    new ProducerRecord<>(topic, key, value),
                    (metadata, error) -> acknowledgedAt[record] = System.nanoTime());
            returnedAt[i] = System.nanoTime();
        }
        return start;
    }

    /** The key of a record; the reader of the figures makes the same. */
    private static byte[] key(int record) {
        return String.format("user-%05d", (long) record * 7919 % 10_007).getBytes(StandardCharsets.UTF_8);
    }

    private static void waitUntil(long nanos) {
        for (long left = nanos - System.nanoTime(); left > 0; left = nanos - System.nanoTime()) {
            if (left > SPIN_NANOS) {
                LockSupport.parkNanos(left - SPIN_NANOS);
            } else {
                Thread.onSpinWait();
            }
        }
    }

    private ObjectNode report(KafkaProducer<byte[], byte[]> producer, long start) throws Exception {
        Map<Object, Integer> recordsOfBatch = new IdentityHashMap<>();
        int[] recordsOfPartition = new int[scenario.get("partitions").asInt()];
        Field result = FutureRecordMetadata.class.getDeclaredField("result"); // one object for a batch
        result.setAccessible(true);
        for (Future<?> future : sent) {
            recordsOfPartition[((RecordMetadata) future.get()).partition()]++;
            recordsOfBatch.merge(result.get(future), 1, Integer::sum);
        }
        Map<Integer, Integer> batches = new TreeMap<>();
        recordsOfBatch.values().forEach(size -> batches.merge(size, 1, Integer::sum));

        ObjectNode report = JSON.createObjectNode();
        report.put("batches", recordsOfBatch.size());
        report.put("records_per_batch", rounded((double) records / recordsOfBatch.size()));
        ArrayNode sizes = report.putArray("batches_by_records");
        batches.forEach((size, count) -> sizes.addArray().add(size).add(count));
        double recordsPerRequest = metric(producer, "records-per-request-avg");
        report.put("requests", Math.round(records / recordsPerRequest));
        report.put("batch_size_avg", rounded(metric(producer, "batch-size-avg")));
        report.put("record_queue_time_avg_ms", rounded(metric(producer, "record-queue-time-avg")));
        report.put("record_queue_time_max_ms", rounded(metric(producer, "record-queue-time-max")));
        report.put("request_latency_avg_ms", rounded(metric(producer, "request-latency-avg")));
        report.put("request_latency_max_ms", rounded(metric(producer, "request-latency-max")));
        put(report, "latency_ms", difference(acknowledgedAt, calledAt));
        put(report, "send_call_ms", difference(returnedAt, calledAt));
        put(report, "late_ms", lateness(start));
        report.put("records_per_second", rounded((records - 1) * 1e9 / (calledAt[records - 1] - calledAt[0])));
        report.set("records_of_partition", JSON.valueToTree(recordsOfPartition));
        return report;
    }

    /** How long after its time on the schedule each record was sent. */
    private long[] lateness(long start) {
        double nanosBetween = 1e9 / scenario.get("records_per_second").asDouble();
        long[] late = new long[records];
        for (int i = 0; i < records; i++) {
            late[i] = calledAt[i] - start - (long) (i * nanosBetween);
        }
        return late;
    }

    private static long[] difference(long[] later, long[] earlier) {
        long[] nanos = new long[later.length];
        for (int i = 0; i < nanos.length; i++) {
            nanos[i] = later[i] - earlier[i];
        }
        return nanos;
    }

    /** Percentiles and the maximum, in ms. */
    private static void put(ObjectNode report, String name, long[] nanos) {
        Arrays.sort(nanos);
        ObjectNode summary = report.putObject(name);
        for (double percentile : PERCENTILES) {
            int rank = (int) Math.ceil(percentile / 100 * nanos.length) - 1;
            summary.put("p" + (int) percentile, rounded(nanos[rank] / 1e6));
        }
        summary.put("max", rounded(nanos[nanos.length - 1] / 1e6));
    }

    private static double metric(KafkaProducer<byte[], byte[]> producer, String name) {
        for (Map.Entry<MetricName, ? extends Metric> metric : producer.metrics().entrySet()) {
            if (metric.getKey().name().equals(name) && metric.getKey().group().equals("producer-metrics")) {
                return (double) metric.getValue().metricValue();
            }
        }
        throw new IllegalArgumentException(name);
    }

    private static double rounded(double number) {
        return Math.round(number * 1000) / 1000.0;
    }
}
