import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** A broker for the tests of a Java project. It ends with this program, however that ends: its stdin closes then. */
public class KlammTest {
    static final class Broker implements AutoCloseable {
        private final Process process;
        final String address;

        Broker() throws IOException {
            process = new ProcessBuilder("klamm", "serve", "--memory", "--port", "0", "--json", "--end-with-stdin")
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            String line = new BufferedReader(new InputStreamReader(process.getInputStream())).readLine();
            Matcher found = Pattern.compile("\"address\": \"([^\"]+)\"").matcher(line == null ? "" : line);
            if (!found.find()) {
                throw new IOException("klamm did not start");
            }
            address = found.group(1);
        }

        @Override
        public void close() throws IOException {
            process.getOutputStream().close();
        }
    }

    public static void main(String[] args) throws Exception {
        try (Broker broker = new Broker()) {
            Map<String, Object> common = Map.of("bootstrap.servers", broker.address);
            try (var producer = new KafkaProducer<>(common, new StringSerializer(), new StringSerializer())) {
                producer.send(new ProducerRecord<>("orders", "k", "one")).get();
            }
            Map<String, Object> reading = Map.of(
                    "bootstrap.servers", broker.address, "group.id", "readers", "auto.offset.reset", "earliest");
            try (var consumer = new KafkaConsumer<>(reading, new StringDeserializer(), new StringDeserializer())) {
                consumer.subscribe(List.of("orders"));
                ConsumerRecords<String, String> records = ConsumerRecords.empty();
                while (records.isEmpty()) {
                    records = consumer.poll(Duration.ofSeconds(1));
                }
                System.out.println("read " + records.iterator().next().value());
            }
        }
    }
}
