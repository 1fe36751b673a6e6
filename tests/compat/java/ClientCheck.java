import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.clients.admin.ListConfigResourcesOptions;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.admin.UpdateFeaturesOptions;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.NoOffsetForPartitionException;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.InvalidConfigurationException;
import org.apache.kafka.common.errors.InvalidPartitionsException;
import org.apache.kafka.common.errors.InvalidReplicationFactorException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Apache Kafka's own client against the broker in the first argument. Prints one line per check, "ok NAME" or
 * "FAILED NAME: REASON", so that starting the virtual machine is paid for once.
 */
public final class ClientCheck {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private interface Check {
        void run() throws Exception;
    }

    private final String bootstrap;
    private final Admin admin;
    private final Map<String, Check> checks = new LinkedHashMap<>();

    private ClientCheck(String bootstrap) {
        this.bootstrap = bootstrap;
        this.admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
        addProducerChecks();
        addConsumerChecks();
        addAdminChecks();
    }

    public static void main(String[] args) {
        ClientCheck program = new ClientCheck(args[0]);
        program.checks.forEach((name, check) -> {
            try {
                check.run();
                System.out.println("ok " + name);
            } catch (Exception | AssertionError failure) {
                System.out.println("FAILED " + name + ": " + failure);
                failure.printStackTrace();
            }
        });
        program.admin.close(PATIENCE);
    }

    // ---- producing

    private void addProducerChecks() {
        for (String acks : List.of("0", "1", "all")) {
            checks.put("producer writes with acks=" + acks, () -> writesAreReadBack(Map.of("acks", acks)));
        }
        for (String codec : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
            checks.put("producer compresses with " + codec,
                () -> writesAreReadBack(Map.of("compression.type", codec, "linger.ms", "50")));
        }
        checks.put("producer keeps keys headers timestamps and nulls", this::everyPartOfARecordIsKept);
        checks.put("producer gets consecutive offsets", this::offsetsAreConsecutive);
        checks.put("producer is refused too large a batch", () -> {
            String topic = newTopic(1, Map.of("max.message.bytes", "1000"));
            try (KafkaProducer<byte[], byte[]> producer = producer(Map.of())) {
                fails(RecordTooLargeException.class, producer.send(new ProducerRecord<>(topic, new byte[2000])));
            }
        });
        checks.put("producer sees partitions of a topic", () -> {
            String topic = newTopic(3, Map.of());
            try (KafkaProducer<byte[], byte[]> producer = producer(Map.of())) {
                equal(3, producer.partitionsFor(topic).size());
            }
        });
        checks.put("producer makes an unknown topic", () -> {
            try (KafkaProducer<byte[], byte[]> producer = producer(Map.of())) {
                equal(0L, producer.send(new ProducerRecord<>(newName(), bytes("v"))).get().offset());
            }
        });
    }

    private void writesAreReadBack(Map<String, String> options) throws Exception {
        String topic = newTopic(1, Map.of());
        List<String> values = IntStream.range(0, 500).mapToObj(n -> "value " + n + " ".repeat(40)).toList();
        write(topic, values, options);
        equal(values, read(topic, 500, Map.of()).stream().map(r -> text(r.value())).toList());
    }

    private void everyPartOfARecordIsKept() throws Exception {
        String topic = newTopic(1, Map.of());
        try (KafkaProducer<byte[], byte[]> producer = producer(Map.of())) {
            ProducerRecord<byte[], byte[]> full =
                new ProducerRecord<>(topic, 0, 1_700_000_000_123L, bytes("k"), bytes("v"));
            full.headers().add("trace", bytes("1")).add("trace", bytes("2")).add("null", null);
            producer.send(full).get();
            producer.send(new ProducerRecord<>(topic, 0, bytes("tombstone"), null)).get();
        }
        List<ConsumerRecord<byte[], byte[]>> records = read(topic, 2, Map.of());
        ConsumerRecord<byte[], byte[]> full = records.get(0);
        equal("k=v", text(full.key()) + "=" + text(full.value()));
        equal(1_700_000_000_123L, full.timestamp());
        equal(TimestampType.CREATE_TIME, full.timestampType());
        List<String> headers = new ArrayList<>();
        for (Header header : full.headers()) {
            headers.add(header.key() + "=" + text(header.value()));
        }
        equal(List.of("trace=1", "trace=2", "null=null"), headers);
        equal("tombstone=null", text(records.get(1).key()) + "=" + text(records.get(1).value()));
    }

    private void offsetsAreConsecutive() throws Exception {
        String topic = newTopic(1, Map.of());
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        try (KafkaProducer<byte[], byte[]> producer = producer(Map.of("batch.size", "500"))) {
            for (int n = 0; n < 2000; n++) {
                sent.add(producer.send(new ProducerRecord<>(topic, 0, null, bytes("value " + n))));
            }
        }
        for (int n = 0; n < sent.size(); n++) {
            equal((long) n, sent.get(n).get().offset());
        }
    }

    // ---- reading by assignment

    private void addConsumerChecks() {
        checks.put("consumer starts at an offset", () -> {
            TopicPartition partition = partitionOf(100);
            try (KafkaConsumer<byte[], byte[]> consumer = consumer(Map.of(), partition)) {
                consumer.seek(partition, 42);
                equal(range(42, 100), offsets(take(consumer, 58)));
            }
        });
        checks.put("consumer starts at a timestamp", this::offsetsAreFoundByTime);
        checks.put("consumer seeks back and to the end", this::seekingReplays);
        checks.put("consumer waits for new data", this::waitingFetchWakesUp);
        for (String isolation : List.of("read_committed", "read_uncommitted")) {
            checks.put("consumer reads with " + isolation, () -> {
                TopicPartition partition = partitionOf(100);
                equal(range(0, 100), offsets(read(partition.topic(), 100, Map.of("isolation.level", isolation))));
            });
        }
        checks.put("consumer is told of an offset out of range", () -> {
            TopicPartition partition = partitionOf(10);
            try (KafkaConsumer<byte[], byte[]> consumer = consumer(Map.of("auto.offset.reset", "none"), partition)) {
                consumer.seek(partition, 5000);
                throwsOne(Set.of(OffsetOutOfRangeException.class, NoOffsetForPartitionException.class),
                    () -> take(consumer, 1));
            }
        });
        checks.put("consumer reads batches larger than its limits", () -> {
            TopicPartition partition = new TopicPartition(newTopic(1, Map.of()), 0);
            write(partition.topic(), List.of("x".repeat(200_000), "y", "z".repeat(300_000)), Map.of("batch.size", "0"));
            Map<String, String> limits = Map.of("max.partition.fetch.bytes", "1000", "fetch.max.bytes", "1000");
            equal(List.of(200_000, 1, 300_000),
                read(partition.topic(), 3, limits).stream().map(r -> r.value().length).toList());
        });
        checks.put("consumer lists topics", () -> {
            TopicPartition partition = partitionOf(1);
            try (KafkaConsumer<byte[], byte[]> consumer = consumer(Map.of(), partition)) {
                equal(1, consumer.listTopics().get(partition.topic()).size());
            }
        });
    }

    private void offsetsAreFoundByTime() throws Exception {
        TopicPartition partition = partitionOf(100);
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(Map.of(), partition)) {
            equal(55L, consumer.offsetsForTimes(Map.of(partition, 1055L)).get(partition).offset());
            equal(null, consumer.offsetsForTimes(Map.of(partition, 5000L)).get(partition));
            equal(Map.of(partition, 0L), consumer.beginningOffsets(List.of(partition)));
            equal(Map.of(partition, 100L), consumer.endOffsets(List.of(partition)));
        }
    }

    private void seekingReplays() throws Exception {
        TopicPartition partition = partitionOf(10);
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(Map.of(), partition)) {
            consumer.seekToBeginning(List.of(partition));
            equal(range(0, 10), offsets(take(consumer, 10)));
            consumer.seek(partition, 3);
            equal(range(3, 10), offsets(take(consumer, 7)));
            consumer.seekToEnd(List.of(partition));
            equal(10L, consumer.position(partition));
            write(partition.topic(), List.of("news"), Map.of());
            equal(List.of(10L), offsets(take(consumer, 1)));
        }
    }

    private void waitingFetchWakesUp() throws Exception {
        TopicPartition partition = new TopicPartition(newTopic(1, Map.of()), 0);
        Map<String, String> options = Map.of("fetch.max.wait.ms", "60000", "request.timeout.ms", "90000");
        KafkaConsumer<byte[], byte[]> consumer = consumer(options, partition);
        try {
            consumer.seek(partition, 0);
            equal(0, consumer.poll(Duration.ofMillis(300)).count());
            write(partition.topic(), List.of("news"), Map.of());
            // take() loses patience long before the wait that was asked for is over.
            equal(List.of(0L), offsets(take(consumer, 1)));
        } finally {
            // The next fetch waits by now, and a patient close would wait for it.
            consumer.close(CloseOptions.timeout(Duration.ZERO));
        }
    }

    // ---- administration

    private void addAdminChecks() {
        checks.put("admin makes and describes a topic", this::topicIsMadeAndDescribed);
        checks.put("admin only validates a topic", () -> {
            String name = newName();
            admin.createTopics(List.of(new NewTopic(name, 1, (short) 1)), new CreateTopicsOptions().validateOnly(true))
                .all().get();
            equal(false, admin.listTopics().names().get().contains(name));
        });
        checks.put("admin is refused bad topics", this::badTopicsAreRefused);
        checks.put("admin deletes topics by name and by id", this::topicsAreDeleted);
        checks.put("admin adds partitions", () -> {
            String topic = newTopic(1, Map.of());
            admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(4))).all().get();
            eventually(() -> equal(4, describe(topic).partitions().size()));
            fails(InvalidPartitionsException.class,
                admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(2))).all());
        });
        checks.put("admin describes and alters topic configs", this::configsAreAltered);
        checks.put("admin describes broker configs", this::brokerConfigsAreDescribed);
        checks.put("admin deletes records", () -> {
            TopicPartition partition = partitionOf(10);
            equal(6L, admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(6)))
                .lowWatermarks().get(partition).get().lowWatermark());
            equal(6L, offset(partition, OffsetSpec.earliest()));
        });
        checks.put("admin lists offsets of every kind", this::offsetsAreListed);
        checks.put("admin describes the cluster", this::clusterIsDescribed);
        checks.put("admin describes log directories", this::logDirectoriesAreDescribed);
        checks.put("admin describes features", this::featuresAreDescribed);
        checks.put("admin describes the quorum", () -> {
            var quorum = admin.describeMetadataQuorum().quorumInfo().get();
            equal(true, quorum.leaderId() >= 0 && quorum.leaderEpoch() > 0 && quorum.highWatermark() > 0);
            equal(List.of(quorum.leaderId()), quorum.voters().stream().map(v -> v.replicaId()).toList());
        });
        checks.put("admin describes producers", () -> {
            TopicPartition partition = partitionOf(10);
            var active = admin.describeProducers(List.of(partition)).partitionResult(partition).get().activeProducers();
            equal(List.of(9), active.stream().map(p -> p.lastSequence()).toList());
        });
        checks.put("admin lists config resources", () -> {
            String topic = newTopic(1, Map.of());
            Collection<ConfigResource> listed = admin
                .listConfigResources(Set.of(ConfigResource.Type.TOPIC), new ListConfigResourcesOptions()).all().get();
            equal(true, listed.contains(new ConfigResource(ConfigResource.Type.TOPIC, topic)));
        });
    }

    private void topicIsMadeAndDescribed() throws Exception {
        String name = newName();
        var made = admin.createTopics(List.of(
            new NewTopic(name, Optional.of(3), Optional.empty()).configs(Map.of("retention.ms", "1000"))));
        made.all().get();
        equal(3, made.numPartitions(name).get());
        equal(1, made.replicationFactor(name).get());
        equal("1000", made.config(name).get().get("retention.ms").value());
        Uuid id = made.topicId(name).get();
        TopicDescription byName = eventually(() -> describe(name));
        TopicDescription byId = admin.describeTopics(TopicCollection.ofTopicIds(List.of(id)))
            .allTopicIds().get().get(id);
        equal(name, byId.name());
        equal(id, byName.topicId());
        equal(3, byName.partitions().size());
        byName.partitions().forEach(p -> equal(p.replicas(), p.isr()));
        equal(true, admin.listTopics().names().get().contains(name));
    }

    private void badTopicsAreRefused() throws Exception {
        String taken = newTopic(1, Map.of());
        String name = newName();
        fails(TopicExistsException.class, create(new NewTopic(taken, 1, (short) 1)));
        fails(InvalidTopicException.class, create(new NewTopic("white space", 1, (short) 1)));
        fails(InvalidPartitionsException.class, create(new NewTopic(name, 0, (short) 1)));
        fails(InvalidReplicationFactorException.class, create(new NewTopic(name, 1, (short) 7)));
        fails(InvalidConfigurationException.class,
            create(new NewTopic(name, 1, (short) 1).configs(Map.of("no.such.config", "1"))));
        fails(InvalidConfigurationException.class,
            create(new NewTopic(name, 1, (short) 1).configs(Map.of("segment.bytes", "-1"))));
        fails(UnknownTopicOrPartitionException.class, admin.deleteTopics(List.of(name)).all());
        fails(UnknownTopicOrPartitionException.class, admin.describeTopics(List.of(name)).allTopicNames());
    }

    private void topicsAreDeleted() throws Exception {
        String byName = newTopic(1, Map.of());
        String byId = newTopic(1, Map.of());
        Uuid id = describe(byId).topicId();
        admin.deleteTopics(List.of(byName)).all().get();
        admin.deleteTopics(TopicCollection.ofTopicIds(List.of(id))).all().get();
        eventually(() -> {
            Set<String> names = admin.listTopics().names().get();
            equal(false, names.contains(byName) || names.contains(byId));
        });
    }

    private void configsAreAltered() throws Exception {
        String topic = newTopic(1, Map.of("segment.bytes", "2000000"));
        alter(topic, "retention.ms", "5000", AlterConfigOp.OpType.SET);
        alter(topic, "cleanup.policy", "compact", AlterConfigOp.OpType.APPEND);
        eventually(() -> equal(List.of("5000", "delete,compact", "2000000"),
            values(topic, "retention.ms", "cleanup.policy", "segment.bytes")));
        alter(topic, "retention.ms", null, AlterConfigOp.OpType.DELETE);
        alter(topic, "cleanup.policy", "delete", AlterConfigOp.OpType.SUBTRACT);
        eventually(() -> equal(List.of("604800000", "compact"), values(topic, "retention.ms", "cleanup.policy")));
        ConfigEntry entry = configs(new ConfigResource(ConfigResource.Type.TOPIC, topic)).get("segment.bytes");
        equal(ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG, entry.source());
        equal(ConfigEntry.ConfigType.INT, entry.type());
        equal(true, entry.documentation().length() > 10);
        equal(List.of("segment.bytes", "log.segment.bytes"), entry.synonyms().stream().map(s -> s.name()).toList());
    }

    private void brokerConfigsAreDescribed() throws Exception {
        Node node = admin.describeCluster().nodes().get().iterator().next();
        Config config = configs(new ConfigResource(ConfigResource.Type.BROKER, node.idString()));
        equal(node.idString(), config.get("node.id").value());
        equal(true, config.get("node.id").isReadOnly());
        equal(false, config.get("log.retention.ms").isReadOnly());
        equal(null, config.get("ssl.keystore.password").value());
        equal(true, config.get("ssl.keystore.password").isSensitive());
    }

    private void offsetsAreListed() throws Exception {
        TopicPartition partition = partitionOf(10);
        equal(0L, offset(partition, OffsetSpec.earliest()));
        equal(10L, offset(partition, OffsetSpec.latest()));
        equal(9L, offset(partition, OffsetSpec.maxTimestamp()));
        equal(5L, offset(partition, OffsetSpec.forTimestamp(1005)));
        equal(0L, offset(partition, OffsetSpec.earliestLocal()));
        equal(-1L, offset(partition, OffsetSpec.latestTiered()));
    }

    private void clusterIsDescribed() throws Exception {
        var described = admin.describeCluster(new DescribeClusterOptions().includeAuthorizedOperations(true));
        List<Node> nodes = List.copyOf(described.nodes().get());
        equal(List.of(bootstrap), nodes.stream().map(n -> n.host() + ":" + n.port()).toList());
        equal(nodes.get(0), described.controller().get());
        equal(22, described.clusterId().get().length());
        equal(true, described.authorizedOperations().get().size() > 3);
    }

    private void logDirectoriesAreDescribed() throws Exception {
        TopicPartition partition = partitionOf(10);
        int broker = admin.describeCluster().nodes().get().iterator().next().id();
        var directories = admin.describeLogDirs(List.of(broker)).allDescriptions().get().get(broker);
        equal(1, directories.size());
        var directory = directories.values().iterator().next();
        equal(null, directory.error());
        equal(true, directory.replicaInfos().get(partition).size() > 0);
        equal(true, directory.totalBytes().getAsLong() > directory.usableBytes().getAsLong());
    }

    private void featuresAreDescribed() throws Exception {
        var features = admin.describeFeatures().featureMetadata().get();
        short level = features.finalizedFeatures().get("metadata.version").maxVersionLevel();
        short highest = features.supportedFeatures().get("metadata.version").maxVersion();
        equal(true, level > 0 && level <= highest);
        Map<String, FeatureUpdate> tooHigh =
            Map.of("metadata.version", new FeatureUpdate((short) (highest + 1), FeatureUpdate.UpgradeType.UPGRADE));
        fails(Exception.class, admin.updateFeatures(tooHigh, new UpdateFeaturesOptions().validateOnly(true)).all());
    }

    // ---- helpers

    private KafkaProducer<byte[], byte[]> producer(Map<String, String> options) {
        Map<String, Object> all = new LinkedHashMap<>(options);
        all.put("bootstrap.servers", bootstrap);
        return new KafkaProducer<>(all, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private KafkaConsumer<byte[], byte[]> consumer(Map<String, String> options, TopicPartition partition) {
        Map<String, Object> all = new LinkedHashMap<>(Map.of("bootstrap.servers", bootstrap, "fetch.max.wait.ms", "50"));
        all.putAll(options);
        var consumer = new KafkaConsumer<>(all, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        consumer.assign(List.of(partition));
        return consumer;
    }

    private void write(String topic, List<String> values, Map<String, String> options) {
        try (KafkaProducer<byte[], byte[]> producer = producer(options)) {
            values.forEach(value -> producer.send(new ProducerRecord<>(topic, 0, null, bytes(value))));
        }
    }

    /** A new partition with records of the timestamps 1000, 1001, ... */
    private TopicPartition partitionOf(int count) throws Exception {
        TopicPartition partition = new TopicPartition(newTopic(1, Map.of()), 0);
        try (KafkaProducer<byte[], byte[]> producer = producer(Map.of("linger.ms", "50"))) {
            for (int n = 0; n < count; n++) {
                producer.send(new ProducerRecord<>(partition.topic(), 0, 1000L + n, null, bytes("v")));
            }
        }
        return partition;
    }

    private List<ConsumerRecord<byte[], byte[]>> read(String topic, int count, Map<String, String> options) {
        TopicPartition partition = new TopicPartition(topic, 0);
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(options, partition)) {
            consumer.seekToBeginning(List.of(partition));
            return take(consumer, count);
        }
    }

    private static List<ConsumerRecord<byte[], byte[]>> take(KafkaConsumer<byte[], byte[]> consumer, int count) {
        List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (records.size() < count) {
            if (System.nanoTime() > deadline) {
                throw new AssertionError("only " + records.size() + " of " + count + " records came");
            }
            consumer.poll(Duration.ofSeconds(1)).forEach(records::add);
        }
        return records;
    }

    private static String newName() {
        return "compat-java-" + UUID.randomUUID().toString().substring(0, 8);
    }

    private String newTopic(int partitions, Map<String, String> configs) throws Exception {
        String name = newName();
        create(new NewTopic(name, partitions, (short) 1).configs(configs)).get();
        eventually(() -> describe(name));
        return name;
    }

    private Future<Void> create(NewTopic topic) {
        return admin.createTopics(List.of(topic)).all();
    }

    private TopicDescription describe(String topic) throws Exception {
        return admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic);
    }

    private void alter(String topic, String name, String value, AlterConfigOp.OpType type) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        AlterConfigOp operation = new AlterConfigOp(new ConfigEntry(name, value), type);
        admin.incrementalAlterConfigs(Map.of(resource, List.of(operation))).all().get();
    }

    private Config configs(ConfigResource resource) throws Exception {
        DescribeConfigsOptions all = new DescribeConfigsOptions().includeSynonyms(true).includeDocumentation(true);
        return admin.describeConfigs(List.of(resource), all).all().get().get(resource);
    }

    private List<String> values(String topic, String... names) throws Exception {
        Config config = configs(new ConfigResource(ConfigResource.Type.TOPIC, topic));
        return List.of(names).stream().map(name -> config.get(name).value()).toList();
    }

    private long offset(TopicPartition partition, OffsetSpec spec) throws Exception {
        return admin.listOffsets(Map.of(partition, spec)).partitionResult(partition).get().offset();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(byte[] bytes) {
        return bytes == null ? "null" : new String(bytes, StandardCharsets.UTF_8);
    }

    private static List<Long> offsets(List<ConsumerRecord<byte[], byte[]>> records) {
        return records.stream().map(ConsumerRecord::offset).toList();
    }

    private static List<Long> range(int from, int to) {
        return IntStream.range(from, to).mapToObj(n -> (long) n).collect(Collectors.toList());
    }

    private static void equal(Object wanted, Object found) {
        if (!Objects.equals(wanted, found)) {
            throw new AssertionError("wanted " + wanted + ", found " + found);
        }
    }

    private static void fails(Class<? extends Exception> wanted, Future<?> future) throws Exception {
        throwsOne(new HashSet<>(Set.of(wanted)), () -> {
            try {
                future.get();
            } catch (ExecutionException failure) {
                throw (Exception) failure.getCause();
            }
        });
    }

    private static void throwsOne(Set<Class<? extends Exception>> wanted, Check check) throws Exception {
        try {
            check.run();
        } catch (Exception failure) {
            if (wanted.stream().anyMatch(type -> type.isInstance(failure))) {
                return;
            }
            throw failure;
        }
        throw new AssertionError("wanted one of " + wanted + ", but nothing failed");
    }

    private interface Attempt<T> {
        T run() throws Exception;
    }

    /** The controller has answered; the broker may learn of it a moment later. */
    private static <T> T eventually(Attempt<T> attempt) throws Exception {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (true) {
            try {
                return attempt.run();
            } catch (Exception | AssertionError failure) {
                if (System.nanoTime() > deadline) {
                    throw failure;
                }
            }
            Thread.sleep(20);
        }
    }

    private static void eventually(Check check) throws Exception {
        eventually(() -> {
            check.run();
            return null;
        });
    }
}
