package dohyo.hbase;

import dohyo.binding.Settings;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.apache.hadoop.hbase.util.Bytes;
import site.ycsb.Utils;

/**
 * Where to split a table so that every region gets as many records as any other. YCSB's keys are "user" and a hash of
 * varying length in decimals, far from even in the order of bytes: so the splits are quantiles of keys that are made,
 * for a sample of the records, in the very way the client makes them.
 */
final class RegionSplits {
  private static final int SAMPLED_KEYS = 20_000;
  private static final int SALTS = 65_536;
  private static final String PREFIX = "user";
  /** Suffices to tell the quantiles apart, and reads better in HBase's own pages than a whole key. */
  private static final int LENGTH = 10;

  private RegionSplits() {
  }

  /**
   * Gives the first keys of all regions but the first.
   *
   * @param arguments regions, recordcount, and what makes the keys: keysalt, insertorder, zeropadding
   */
  static byte[][] of(Settings arguments) {
    int regions = arguments.number("regions", 1, 1, SALTS);
    if (arguments.text("keysalt", "none").equals("crc32")) { // two even bytes come first
      return IntStream.range(1, regions).mapToObj(i -> Bytes.toBytes((short) (i * SALTS / regions)))
          .toArray(byte[][]::new);
    }
    long records = arguments.whole("recordcount", 1, 1, Long.MAX_VALUE);
    boolean hashed = !arguments.text("insertorder", "hashed").equals("ordered");
    int padding = arguments.number("zeropadding", 1, 0, 1000);
    long samples = Math.min(records, SAMPLED_KEYS);
    List<String> keys = LongStream.range(0, samples).map(i -> i * (records / samples))
        .mapToObj(record -> Long.toString(hashed ? Utils.hash(record) : record))
        .map(digits -> PREFIX + "0".repeat(Math.max(0, padding - digits.length())) + digits)
        .sorted().toList();
    return IntStream.range(1, regions).mapToObj(i -> keys.get((int) (i * samples / regions)))
        .map(key -> key.substring(0, Math.min(key.length(), Math.max(LENGTH, PREFIX.length() + padding))))
        .distinct().map(Bytes::toBytes).toArray(byte[][]::new);
  }
}
