import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HexFormat;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.utils.Utils;

/** For each line "count hex-of-key" on stdin: Java's hash of the key and the partition it goes to. */
public class KeyPartitions {
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ", -1);
            byte[] key = HexFormat.of().parseHex(words[1]);
            int partition = BuiltInPartitioner.partitionForKey(key, Integer.parseInt(words[0]));
            System.out.println(Integer.toUnsignedString(Utils.murmur2(key)) + " " + partition);
        }
    }
}
