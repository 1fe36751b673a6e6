import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.HexFormat;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.Readable;
import org.apache.kafka.common.protocol.types.RawTaggedField;

/**
 * Prints the bytes that Kafka's own generated classes write.
 *
 * Standard input: one `class version sample json` per line, separated by single spaces.
 * Standard output: one line of hex for each. The sample "minimal" must equal the default object; the sample
 * "unknown-tags" gets a tagged field that no schema knows, in the message and in each struct inside it.
 */
public class RecordVectors {
    private static final int UNKNOWN_TAG = 10_000;
    private static final ObjectMapper MAPPER = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var output = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ", 4);
            try {
                output.println(record(words[0], Short.parseShort(words[1]), words[2], words[3]));
            } catch (ReflectiveOperationException | RuntimeException problem) {
                throw new IllegalArgumentException("cannot record " + line, problem);
            }
        }
        output.flush();
    }

    private static String record(String name, short version, String sample, String json)
            throws Exception {
        Class<?> type = Class.forName(name);
        Message message = (Message) Class.forName(name + "JsonConverter")
            .getMethod("read", JsonNode.class, short.class)
            .invoke(null, MAPPER.readTree(json), version);
        if (sample.equals("minimal"))
            requireEqual(type.getConstructor().newInstance(), message);
        if (sample.equals("unknown-tags"))
            addUnknownTags(message);
        byte[] bytes = write(message, version);
        Message again = (Message) type.getConstructor(Readable.class, short.class)
            .newInstance(new ByteBufferAccessor(ByteBuffer.wrap(bytes)), version);
        requireEqual(message, again);
        return HexFormat.of().formatHex(bytes);
    }

    private static byte[] write(Message message, short version) {
        var cache = new ObjectSerializationCache();
        var buffer = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(buffer), cache, version);
        if (buffer.hasRemaining())
            throw new IllegalStateException("the message is shorter than it said");
        return buffer.array();
    }

    /** Reflection, because no common interface leads from a message to the structs inside it. */
    private static void addUnknownTags(Message message) throws IllegalAccessException {
        message.unknownTaggedFields()
            .add(new RawTaggedField(UNKNOWN_TAG, "new".getBytes(StandardCharsets.UTF_8)));
        for (Field field : message.getClass().getDeclaredFields()) {
            if (Modifier.isStatic(field.getModifiers()) || !field.trySetAccessible())
                continue;
            Object value = field.get(message);
            if (value instanceof Message inner)
                addUnknownTags(inner);
            else if (value instanceof Collection<?> elements)
                for (Object element : elements)
                    if (element instanceof Message inner)
                        addUnknownTags(inner);
        }
    }

    private static void requireEqual(Object expected, Object actual) {
        if (!expected.equals(actual))
            throw new IllegalStateException("expected " + expected + " but got " + actual);
    }
}
