import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.FileInputStream;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.util.Scanner;
import org.apache.kafka.common.utils.Utils;

/**
 * Kafka's own murmur2 over the keys of a file, warm: each line on stdin asks for a pass, its nanoseconds are answered.
 *
 * <p>The file: how many keys, then each key's length and bytes, numbers as big-endian ints. The hashes of the last pass
 * are written to the second file when stdin ends.
 */
final class Murmur2Loop {
    private static final int WARM_UP = 200;

    public static void main(String[] arguments) throws IOException {
        byte[][] keys = read(arguments[0]);
        int[] hashes = new int[keys.length];
        for (int i = 0; i < WARM_UP; i++) {
            pass(keys, hashes);
        }
        Scanner asked = new Scanner(System.in);
        while (asked.hasNextLine()) {
            asked.nextLine();
            System.out.println(pass(keys, hashes));
        }
        try (DataOutputStream out = new DataOutputStream(new java.io.FileOutputStream(arguments[1]))) {
            for (int hash : hashes) {
                out.writeInt(hash);
            }
        }
    }

    private static long pass(byte[][] keys, int[] hashes) {
        long start = System.nanoTime();
        for (int i = 0; i < keys.length; i++) {
            hashes[i] = Utils.murmur2(keys[i]);
        }
        return System.nanoTime() - start;
    }

    private static byte[][] read(String file) throws IOException {
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(new FileInputStream(file)))) {
            byte[][] keys = new byte[in.readInt()][];
            for (int i = 0; i < keys.length; i++) {
                keys[i] = in.readNBytes(in.readInt());
            }
            return keys;
        }
    }
}
