import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;

/** Counts keys of the topic "orders" in a group of the Streams protocol (KIP-1071), until it is killed. */
public final class CountWords {
    private CountWords() {
    }

    /** Arguments: bootstrap servers, application id, client id, folder for state. */
    public static void main(String[] arguments) {
        Properties settings = new Properties();
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, arguments[1]);
        settings.put(StreamsConfig.CLIENT_ID_CONFIG, arguments[2]);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, arguments[3]);
        settings.put(StreamsConfig.GROUP_PROTOCOL_CONFIG, "streams");
        settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream("orders").groupByKey().count();
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
        streams.start();
    }
}
