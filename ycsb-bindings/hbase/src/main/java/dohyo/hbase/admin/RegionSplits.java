package dohyo.hbase.admin;

import dohyo.binding.Settings;
import dohyo.workload.RecordLayout;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * Computes where to split a table so that all regions have the same number of records. YCSB's keys are "user" and a
 * decimal hash of varying length, whose distribution in the order of bytes is far from uniform. The splits are
 * therefore quantiles of the keys of a sample of records. The keys are computed as in the client.
 */
final class RegionSplits {
  private static final int SAMPLED_KEYS = 20_000;
  private static final int SALTS = 65_536;

  private RegionSplits() {
  }

  /**
   * Returns the first keys of all regions of a table except the first. Each table has a contiguous range of the loaded
   * records.
   *
   * @param arguments regions, and the properties of keys: recordcount, insertstart, insertcount, keysalt, insertorder,
   *                  keycolumns and zeropadding
   * @param table     number of the table, from 0
   * @param tables    number of tables
   */
  static byte[][] of(Settings arguments, int table, int tables) {
    int regions = arguments.number("regions", 1, 1, SALTS);
    if (arguments.text("keysalt", "none").equals("crc32")) { // uniformly distributed
      return IntStream.range(1, regions).mapToObj(i -> Bytes.toBytes((short) (i * SALTS / regions)))
          .toArray(byte[][]::new);
    }
    long loaded = arguments.whole("insertcount", arguments.whole("recordcount", 1, 1, Long.MAX_VALUE), 1,
        Long.MAX_VALUE);
    long records = Math.max(1, loaded / tables);
    long first = arguments.whole("insertstart", 0, 0, Long.MAX_VALUE) + table * records;
    RecordLayout layout = new RecordLayout(arguments);
    long samples = Math.min(records, SAMPLED_KEYS);
    // Take a random sample, because equal steps would miss most values of a key's columns.
    LongStream sample = samples == records ? LongStream.range(first, first + records)
        : new SplittableRandom(1).longs(samples, first, first + records);
    byte[][] keys = sample.mapToObj(layout::key).sorted(Bytes.BYTES_COMPARATOR).toArray(byte[][]::new);
    TreeSet<byte[]> splits = new TreeSet<>(Bytes.BYTES_COMPARATOR);
    IntStream.range(1, regions).forEach(i -> splits.add(keys[(int) (i * samples / regions)]));
    return splits.toArray(byte[][]::new);
  }
}
