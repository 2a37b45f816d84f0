package copartition.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.util.JsonFormat;
import io.debezium.converters.BinaryDataConverter;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HexFormat;
import java.util.Map;
import java.util.UUID;
import org.apache.avro.Schema.Parser;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.DoubleSerializer;
import org.apache.kafka.common.serialization.FloatSerializer;
import org.apache.kafka.common.serialization.IntegerSerializer;
import org.apache.kafka.common.serialization.LongSerializer;
import org.apache.kafka.common.serialization.ShortSerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.serialization.UUIDSerializer;
import org.apache.kafka.common.utils.internals.AppInfoParser;
import org.apache.kafka.connect.converters.DoubleConverter;
import org.apache.kafka.connect.converters.FloatConverter;
import org.apache.kafka.connect.converters.IntegerConverter;
import org.apache.kafka.connect.converters.LongConverter;
import org.apache.kafka.connect.converters.ShortConverter;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.StringConverter;

/** Answers each line, a type of key and a text, with the bytes of Java's serializers and of Debezium's converters. */
public final class Serializers {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String TOPIC = "orders";

    private final org.apache.avro.Schema avro;
    private final Descriptor message;
    private final int schemaId;

    private Serializers(JsonNode settings) throws Exception {
        avro = new Parser().parse(settings.get("avro").asText());
        FileDescriptorSet files = FileDescriptorSet.parseFrom(HexFormat.of().parseHex(settings.get("protobuf").asText()));
        message = FileDescriptor.buildFrom(files.getFile(0), new FileDescriptor[0]).getMessageTypes().get(0);
        schemaId = settings.get("schema_id").asInt();
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        Serializers serializers = new Serializers(JSON.readTree(lines.readLine()));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode asked = JSON.readTree(line);
            String type = asked.get("type").asText();
            String text = asked.get("text").asText();
            ObjectNode answer = JSON.createObjectNode();
            if (type.equals("versions")) {
                out.println(answer.put("kafka", AppInfoParser.getVersion()).put("java", System.getProperty("java.version")));
                continue;
            }
            put(answer, "java", serializers.java(type, text));
            put(answer, "debezium", debezium(type, text));
            out.println(answer);
        }
    }

    private static void put(ObjectNode answer, String name, byte[] key) {
        if (key != null) {
            answer.put(name, HexFormat.of().formatHex(key));
        }
    }

    /** The serializers of kafka-clients; of a registry's types those of Avro, Protobuf and Jackson behind its five bytes. */
    private byte[] java(String type, String text) throws IOException {
        switch (type) {
            case "string": return new StringSerializer().serialize(TOPIC, text);
            case "integer": return new IntegerSerializer().serialize(TOPIC, Integer.valueOf(text));
            case "long": return new LongSerializer().serialize(TOPIC, Long.valueOf(text));
            case "short": return new ShortSerializer().serialize(TOPIC, Short.valueOf(text));
            case "float": return new FloatSerializer().serialize(TOPIC, Float.valueOf(text));
            case "double": return new DoubleSerializer().serialize(TOPIC, Double.valueOf(text));
            case "uuid": return new UUIDSerializer().serialize(TOPIC, UUID.fromString(text));
            case "hex": return new ByteArraySerializer().serialize(TOPIC, HexFormat.of().parseHex(text));
            case "base64": return new ByteArraySerializer().serialize(TOPIC, Base64.getDecoder().decode(text));
            case "json": return JSON.writeValueAsBytes(JSON.readTree(text));
            case "avro": return framed(avro(JSON.readTree(text)), 0);
            case "protobuf": return framed(protobuf(text), 1);
            case "jsonschema": return framed(JSON.writeValueAsBytes(JSON.readTree(text)), 0);
            default: return null;
        }
    }

    private byte[] framed(byte[] payload, int indexes) {
        return ByteBuffer.allocate(5 + indexes + payload.length)
                .put((byte) 0).putInt(schemaId).put(new byte[indexes]).put(payload).array();
    }

    private byte[] avro(JsonNode value) throws IOException {
        GenericRecord record = new GenericData.Record(avro);
        record.put("id", value.get("id").asLong());
        record.put("name", value.get("name").asText());
        ByteArrayOutputStream written = new ByteArrayOutputStream();
        BinaryEncoder encoder = EncoderFactory.get().binaryEncoder(written, null);
        new GenericDatumWriter<GenericRecord>(avro).write(record, encoder);
        encoder.flush();
        return written.toByteArray();
    }

    private byte[] protobuf(String text) throws IOException {
        DynamicMessage.Builder builder = DynamicMessage.newBuilder(message);
        JsonFormat.parser().merge(text, builder);
        return builder.build().toByteArray();
    }

    /** Debezium's keys are Kafka Connect's: by the converter that a connector is configured with. */
    private static byte[] debezium(String type, String text) throws IOException {
        switch (type) {
            case "string": return convert(new StringConverter(), Schema.STRING_SCHEMA, text);
            case "integer": return convert(new IntegerConverter(), Schema.INT32_SCHEMA, Integer.valueOf(text));
            case "long": return convert(new LongConverter(), Schema.INT64_SCHEMA, Long.valueOf(text));
            case "short": return convert(new ShortConverter(), Schema.INT16_SCHEMA, Short.valueOf(text));
            case "float": return convert(new FloatConverter(), Schema.FLOAT32_SCHEMA, Float.valueOf(text));
            case "double": return convert(new DoubleConverter(), Schema.FLOAT64_SCHEMA, Double.valueOf(text));
            case "hex": return convert(new BinaryDataConverter(), Schema.BYTES_SCHEMA, HexFormat.of().parseHex(text));
            case "base64": return convert(new BinaryDataConverter(), Schema.BYTES_SCHEMA, Base64.getDecoder().decode(text));
            case "json": return json(false, null, JSON.treeToValue(JSON.readTree(text), Object.class));
            case "json with its schema, a string": return json(true, Schema.STRING_SCHEMA, text);
            case "json with its schema, int32": return json(true, Schema.INT32_SCHEMA, Integer.valueOf(text));
            case "json with its schema, int64": return json(true, Schema.INT64_SCHEMA, Long.valueOf(text));
            default: return null;
        }
    }

    private static byte[] json(boolean schemas, Schema schema, Object value) {
        JsonConverter converter = new JsonConverter();
        converter.configure(Map.of("schemas.enable", String.valueOf(schemas)), true);
        return converter.fromConnectData(TOPIC, schema, value);
    }

    private static byte[] convert(Converter converter, Schema schema, Object value) {
        converter.configure(Map.of(), true);
        return converter.fromConnectData(TOPIC, schema, value);
    }
}
