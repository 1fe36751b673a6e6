import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.message.KRaftVersionRecord;
import org.apache.kafka.common.message.LeaderChangeMessage;
import org.apache.kafka.common.message.SnapshotFooterRecord;
import org.apache.kafka.common.message.SnapshotHeaderRecord;
import org.apache.kafka.common.message.VotersRecord;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;

/**
 * Record batches as Kafka's own classes write and read them.
 *
 * "write" turns descriptions into hex, "read" turns hex into descriptions, a line each, from standard input to
 * standard output. "control" prints control batches, each after its name.
 *
 * A description has these words: codec, base offset, leader epoch, producer id, producer epoch, base sequence,
 * "t" if transactional, "c" if control ("-" if neither), append time (-1 if there is none), then the records as
 * offset,timestamp,key,value,name=value... with bytes in hex and ~ for null.
 */
public class RecordBatches {
    private static final HexFormat HEX = HexFormat.of();
    private static final long TIME = 1_700_000_000_000L;

    public static void main(String[] arguments) throws Exception {
        var output = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        if (arguments[0].equals("control")) {
            printControlBatches(output);
        } else {
            var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                output.println(arguments[0].equals("write") ? write(line) : read(line));
            }
        }
        output.flush();
    }

    private static String write(String description) {
        String[] words = description.split(" ");
        long appendTime = Long.parseLong(words[7]);
        var buffer = ByteBuffer.allocate(1024);
        var builder = MemoryRecords.builder(
            buffer,
            RecordBatch.MAGIC_VALUE_V2,
            Compression.of(CompressionType.forName(words[0])).build(),
            appendTime < 0 ? TimestampType.CREATE_TIME : TimestampType.LOG_APPEND_TIME,
            Long.parseLong(words[1]),
            appendTime,
            Long.parseLong(words[3]),
            Short.parseShort(words[4]),
            Integer.parseInt(words[5]),
            words[6].contains("t"),
            words[6].contains("c"),
            Integer.parseInt(words[2]));
        for (int i = 8; i < words.length; i++) {
            String[] parts = words[i].split(",");
            var headers = new ArrayList<Header>();
            for (int j = 4; j < parts.length; j++) {
                String[] header = parts[j].split("=", 2);
                headers.add(new RecordHeader(new String(bytes(header[0]), StandardCharsets.UTF_8), bytes(header[1])));
            }
            builder.appendWithOffset(
                Long.parseLong(parts[0]),
                Long.parseLong(parts[1]),
                bytes(parts[2]),
                bytes(parts.length > 3 ? parts[3] : ""),
                headers.toArray(new Header[0]));
        }
        return hex(builder.build().buffer());
    }

    private static String read(String hex) {
        var batches = MemoryRecords.readableRecords(ByteBuffer.wrap(HEX.parseHex(hex))).batches().iterator();
        MutableRecordBatch batch = batches.next();
        batch.ensureValid();
        var words = new ArrayList<String>(List.of(
            batch.compressionType().name,
            Long.toString(batch.baseOffset()),
            Integer.toString(batch.partitionLeaderEpoch()),
            Long.toString(batch.producerId()),
            Short.toString(batch.producerEpoch()),
            Integer.toString(batch.baseSequence()),
            flags(batch),
            Long.toString(batch.timestampType() == TimestampType.LOG_APPEND_TIME ? batch.maxTimestamp() : -1)));
        for (Record record : batch) {
            var parts = new ArrayList<String>(List.of(
                Long.toString(record.offset()),
                Long.toString(record.timestamp()),
                hex(record.key()),
                hex(record.value())));
            for (Header header : record.headers()) {
                byte[] value = header.value();
                String name = HEX.formatHex(header.key().getBytes(StandardCharsets.UTF_8));
                parts.add(name + "=" + (value == null ? "~" : HEX.formatHex(value)));
            }
            words.add(String.join(",", parts));
        }
        if (batches.hasNext()) {
            throw new IllegalArgumentException("more than one batch");
        }
        return String.join(" ", words);
    }

    private static String flags(RecordBatch batch) {
        String flags = (batch.isTransactional() ? "t" : "") + (batch.isControlBatch() ? "c" : "");
        return flags.isEmpty() ? "-" : flags;
    }

    private static void printControlBatches(PrintStream output) {
        for (var type : List.of(ControlRecordType.ABORT, ControlRecordType.COMMIT)) {
            var marker = MemoryRecords.withEndTransactionMarker(
                42, TIME, 5, 4001, (short) 3, new EndTransactionMarker(type, 11));
            output.println(type.name().toLowerCase() + " " + hex(marker.buffer()));
        }
        var voter = new LeaderChangeMessage.Voter().setVoterId(1);
        var leaderChange = new LeaderChangeMessage()
            .setLeaderId(1).setVoters(List.of(voter)).setGrantingVoters(List.of(voter));
        var header = new SnapshotHeaderRecord().setLastContainedLogTimestamp(TIME - 1);
        var version = new KRaftVersionRecord().setKRaftVersion((short) 1);

        var builder = controlBuilder();
        builder.appendLeaderChangeMessage(TIME, leaderChange);
        output.println("leader_change " + hex(builder.build().buffer()));

        builder = controlBuilder();
        builder.appendSnapshotHeaderMessage(TIME, header);
        builder.appendKRaftVersionMessage(TIME, version);
        builder.appendVotersMessage(TIME, voters());
        output.println("snapshot_start " + hex(builder.build().buffer()));

        builder = controlBuilder();
        builder.appendSnapshotFooterMessage(TIME, new SnapshotFooterRecord());
        output.println("snapshot_footer " + hex(builder.build().buffer()));
    }

    private static VotersRecord voters() {
        var endpoints = new VotersRecord.EndpointCollection();
        endpoints.add(new VotersRecord.Endpoint().setName("CONTROLLER").setHost("localhost").setPort(9093));
        var feature = new VotersRecord.KRaftVersionFeature()
            .setMinSupportedVersion((short) 0).setMaxSupportedVersion((short) 1);
        var voter = new VotersRecord.Voter()
            .setVoterId(1)
            .setVoterDirectoryId(new Uuid(1, 2))
            .setEndpoints(endpoints)
            .setKRaftVersionFeature(feature);
        return new VotersRecord().setVoters(List.of(voter));
    }

    private static MemoryRecordsBuilder controlBuilder() {
        return MemoryRecords.builder(
            ByteBuffer.allocate(1024),
            RecordBatch.MAGIC_VALUE_V2,
            Compression.NONE,
            TimestampType.CREATE_TIME,
            42,
            TIME,
            RecordBatch.NO_PRODUCER_ID,
            RecordBatch.NO_PRODUCER_EPOCH,
            RecordBatch.NO_SEQUENCE,
            false,
            true,
            5);
    }

    private static byte[] bytes(String hex) {
        return hex.equals("~") ? null : HEX.parseHex(hex);
    }

    private static String hex(ByteBuffer buffer) {
        if (buffer == null) {
            return "~";
        }
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return HEX.formatHex(bytes);
    }
}
