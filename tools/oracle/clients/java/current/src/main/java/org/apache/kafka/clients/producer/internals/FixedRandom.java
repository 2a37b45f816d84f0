package org.apache.kafka.clients.producer.internals;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.kafka.common.utils.internals.LogContext;

/** The built-in partitioner with the scenario's random numbers, used from the first on and over again. */
final class FixedRandom extends BuiltInPartitioner {
    private final JsonNode numbers;
    private int drawn;

    FixedRandom(String topic, int stickyBatchSize, JsonNode clientRack, JsonNode numbers) {
        super(new LogContext(), topic, stickyBatchSize, !clientRack.isNull(), clientRack.asText(""));
        this.numbers = numbers;
    }

    @Override
    int randomPartition() {
        return numbers.get(drawn++ % numbers.size()).asInt();
    }

    int drawn() {
        return drawn;
    }
}
