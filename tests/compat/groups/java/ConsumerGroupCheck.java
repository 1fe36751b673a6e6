import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.MemberDescription;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.GroupNotEmptyException;
import org.apache.kafka.common.errors.InvalidRegularExpression;
import org.apache.kafka.common.errors.UnsupportedAssignorException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Apache Kafka's own consumer with group.protocol=consumer against the broker in the first argument. Prints
 * one line per check, "ok NAME" or "FAILED NAME: REASON".
 */
public final class ConsumerGroupCheck {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final Duration POLL = Duration.ofMillis(50);

    private interface Check {
        void run() throws Exception;
    }

    private final String bootstrap;
    private final Admin admin;
    private final Map<String, Check> checks = new LinkedHashMap<>();

    private ConsumerGroupCheck(String bootstrap) {
        this.bootstrap = bootstrap;
        this.admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
        checks.put("members share the partitions", this::membersShare);
        checks.put("a group reads on where it stopped", this::commitsAreKept);
        checks.put("admin describes lists and deletes a group", this::adminSeesTheGroup);
        checks.put("an unknown assignor is refused", this::unknownAssignor);
        checks.put("a classic member and a new one share a group", this::mixedGroup);
        checks.put("a pattern finds topics", this::patternsFindTopics);
        checks.put("a pattern that is not one is refused", this::badPattern);
    }

    public static void main(String[] args) {
        ConsumerGroupCheck program = new ConsumerGroupCheck(args[0]);
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

    private void membersShare() throws Exception {
        String topic = newTopic(6);
        String group = newName();
        try (Member first = new Member(group, Map.of()); Member second = new Member(group, Map.of())) {
            first.consumer.subscribe(List.of(topic));
            second.consumer.subscribe(List.of(topic));
            eventually(() -> shares(List.of(3, 3), first, second));
        }
    }

    private void commitsAreKept() throws Exception {
        String topic = newTopic(1);
        String group = newName();
        write(topic, "a", "b");
        try (Member member = new Member(group, Map.of())) {
            member.consumer.subscribe(List.of(topic));
            equal(List.of("a", "b"), member.read(2));
            member.consumer.commitSync();
        }
        write(topic, "c");
        try (Member member = new Member(group, Map.of())) {
            member.consumer.subscribe(List.of(topic));
            equal(List.of("c"), member.read(1));
        }
    }

    private void adminSeesTheGroup() throws Exception {
        String topic = newTopic(2);
        String group = newName();
        try (Member member = new Member(group, Map.of("client.id", "ann", "group.remote.assignor", "range"))) {
            member.consumer.subscribe(List.of(topic));
            eventually(() -> shares(List.of(2), member));
            ConsumerGroupDescription described =
                admin.describeConsumerGroups(List.of(group)).describedGroups().get(group).get();
            equal(GroupType.CONSUMER, described.type());
            equal(GroupState.STABLE, described.groupState());
            equal("range", described.partitionAssignor());
            MemberDescription only = described.members().iterator().next();
            equal("ann", only.clientId());
            equal(2, only.assignment().topicPartitions().size());
            equal(only.assignment(), only.targetAssignment().get());
            GroupListing listed = admin.listGroups().all().get().stream()
                .filter(each -> each.groupId().equals(group)).findFirst().get();
            equal(GroupType.CONSUMER, listed.type().get());
            fails(GroupNotEmptyException.class, () -> admin.deleteConsumerGroups(List.of(group)).all().get());
        }
        admin.deleteConsumerGroups(List.of(group)).all().get();
        fails(GroupIdNotFoundException.class,
            () -> admin.describeConsumerGroups(List.of(group)).describedGroups().get(group).get());
    }

    private void unknownAssignor() throws Exception {
        String topic = newTopic(1);
        try (Member member = new Member(newName(), Map.of("group.remote.assignor", "mine"))) {
            member.consumer.subscribe(List.of(topic));
            fails(UnsupportedAssignorException.class, () -> eventually(() -> shares(List.of(1), member)));
        }
    }

    private void mixedGroup() throws Exception {
        String topic = newTopic(4);
        String group = newName();
        Map<String, String> classic = Map.of("group.protocol", "classic", "heartbeat.interval.ms", "200");
        try (Member old = new Member(group, classic)) {
            old.consumer.subscribe(List.of(topic));
            eventually(() -> shares(List.of(4), old));
            try (Member recent = new Member(group, Map.of())) {
                recent.consumer.subscribe(List.of(topic));
                eventually(() -> shares(List.of(2, 2), old, recent));
            }
            eventually(() -> shares(List.of(4), old));
        }
    }

    private void patternsFindTopics() throws Exception {
        String topic = newTopic(3);
        try (Member member = new Member(newName(), Map.of())) {
            member.consumer.subscribe(new SubscriptionPattern(topic.substring(0, 12) + ".*"));
            eventually(() -> shares(List.of(3), member));
        }
    }

    private void badPattern() throws Exception {
        try (Member member = new Member(newName(), Map.of())) {
            member.consumer.subscribe(new SubscriptionPattern("(unclosed"));
            fails(InvalidRegularExpression.class, () -> eventually(() -> shares(List.of(1), member)));
        }
    }

    // ---- tools

    private final class Member implements AutoCloseable {
        final KafkaConsumer<byte[], byte[]> consumer;

        Member(String group, Map<String, String> more) {
            Map<String, Object> options = new HashMap<>(Map.of(
                "bootstrap.servers", bootstrap, "group.id", group, "group.protocol", "consumer",
                "auto.offset.reset", "earliest", "enable.auto.commit", "false"));
            options.putAll(more);
            consumer = new KafkaConsumer<>(options, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        }

        List<String> read(int count) {
            List<String> values = new ArrayList<>();
            long end = System.nanoTime() + PATIENCE.toNanos();
            while (values.size() < count && System.nanoTime() < end) {
                consumer.poll(POLL).forEach(r -> values.add(new String(r.value(), StandardCharsets.UTF_8)));
            }
            return values;
        }

        @Override
        public void close() {
            consumer.close();
        }
    }

    private static void shares(List<Integer> expected, Member... members) {
        List<Integer> sizes = new ArrayList<>();
        Set<TopicPartition> all = new HashSet<>();
        for (Member each : members) {
            each.consumer.poll(POLL);
            sizes.add(each.consumer.assignment().size());
            all.addAll(each.consumer.assignment());
        }
        equal(expected, sizes);
        equal(expected.stream().mapToInt(n -> n).sum(), all.size());
    }

    private void write(String topic, String... values) throws Exception {
        Map<String, Object> options = Map.of("bootstrap.servers", bootstrap);
        try (KafkaProducer<byte[], byte[]> producer =
                 new KafkaProducer<>(options, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (String value : values) {
                producer.send(new ProducerRecord<>(topic, value.getBytes(StandardCharsets.UTF_8))).get();
            }
        }
    }

    private String newTopic(int partitions) throws Exception {
        String name = newName();
        admin.createTopics(List.of(new NewTopic(name, partitions, (short) 1))).all().get();
        return name;
    }

    private static String newName() {
        return "check-" + UUID.randomUUID();
    }

    private static void eventually(Check attempt) throws Exception {
        long end = System.nanoTime() + PATIENCE.toNanos();
        while (true) {
            try {
                attempt.run();
                return;
            } catch (AssertionError notYet) {
                if (System.nanoTime() > end) {
                    throw notYet;
                }
            }
        }
    }

    private static void fails(Class<? extends Exception> expected, Check attempt) throws Exception {
        try {
            attempt.run();
        } catch (Exception failure) {
            if (expected.isInstance(failure) || expected.isInstance(failure.getCause())) {
                return;
            }
            throw failure;
        }
        throw new AssertionError("no " + expected.getSimpleName());
    }

    private static void equal(Object expected, Object actual) {
        if (!Objects.equals(expected, actual)) {
            throw new AssertionError("expected " + expected + ", got " + actual);
        }
    }
}
