import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Produced;

/**
 * Counts words exactly once, until it is killed: each word that comes in goes out with the number of times it came.
 *
 * <p>Arguments: bootstrap servers, state directory, input topic, output topic.
 */
public final class WordCount {
    private WordCount() {}

    public static void main(String[] args) {
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream(args[2])
                .flatMapValues(line -> List.of(line.split(" ")))
                .groupBy((key, word) -> word, Grouped.as("words"))
                .count()
                .toStream()
                .to(args[3], Produced.with(Serdes.String(), Serdes.Long()));
        KafkaStreams streams = new KafkaStreams(builder.build(), settings(args[0], args[1]));
        streams.setStateListener((now, before) -> System.out.println(now));
        // What it cannot handle by itself is a failure of the broker.
        streams.setUncaughtExceptionHandler(
                failure -> {
                    System.out.println("gave up: " + failure);
                    return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
                });
        Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(10))));
        streams.start();
    }

    private static Properties settings(String bootstrap, String directory) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("application.id", "word-count");
        settings.put("state.dir", directory);
        settings.put("processing.guarantee", "exactly_once_v2");
        settings.put("default.key.serde", Serdes.StringSerde.class.getName());
        settings.put("default.value.serde", Serdes.StringSerde.class.getName());
        settings.put("num.stream.threads", "2");
        settings.put("commit.interval.ms", "200");
        // Every count goes out, not only the newest of each commit.
        settings.put("statestore.cache.max.bytes", "0");
        settings.put("consumer.auto.offset.reset", "earliest");
        // A killed one is missed soon.
        settings.put("consumer.session.timeout.ms", "3000");
        settings.put("consumer.heartbeat.interval.ms", "500");
        // Long enough for a broker to start again, and what a killed one left open does not hold up the next for long.
        settings.put("producer.transaction.timeout.ms", "12000");
        return settings;
    }
}
