package dohyo.workload;

import dohyo.binding.Columns;
import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import java.io.IOException;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.IntSupplier;
import site.ycsb.generator.HistogramGenerator;

/**
 * Generates the field values of records for one thread. {@code valueentropy} and the properties {@code fieldlength…}
 * control them. Each run of a trial ({@code verify.run}) has other values.
 */
final class RecordMaker {
  private final RecordLayout layout;
  private final SplittableRandom random;
  private final ValueGenerator values;
  private final IntSupplier lengths;
  private final int constantLength;
  private final boolean deterministic;
  private final boolean writeAll;

  RecordMaker(Settings settings, RecordLayout layout, SplittableRandom random) {
    this.layout = layout;
    this.random = random;
    // With a seed, all runs of a trial make the same requests. If they also wrote the same values, updates might change
    // nothing, which costs some systems less.
    int run = settings.number("verify.run", 1, 1, Stamp.MAX_RUN);
    this.values = new ValueGenerator(settings, new SplittableRandom(random.nextLong() + run).nextLong());
    int length = settings.number("fieldlength", 100, 0, 256 << 20);
    String distribution = settings.choice("fieldlengthdistribution", "constant", "uniform", "zipfian", "histogram");
    this.constantLength = distribution.equals("constant") ? length : -1;
    this.lengths = lengths(settings, distribution, length);
    this.deterministic = settings.flag("dataintegrity", false);
    if (deterministic && constantLength < 0) {
      throw new SettingException("dataintegrity=true needs fieldlengthdistribution=constant, not " + distribution);
    }
    this.writeAll = settings.flag("writeallfields", false);
    int least = constantLength >= 0 ? length : distribution.equals("histogram") ? 0
        : settings.number("minfieldlength", 1, 0, Math.max(1, length));
    if (Ledger.isWanted(settings) && least < Stamp.LENGTH) {
      throw new SettingException("verify=acknowledged: " + (distribution.equals("histogram")
          ? "values need " + Stamp.LENGTH + " bytes; set another fieldlengthdistribution than histogram"
          : "values of " + least + " bytes, not " + Stamp.LENGTH + "; raise fieldlength or minfieldlength"));
    }
  }

  private IntSupplier lengths(Settings settings, String distribution, int max) {
    int min = settings.number("minfieldlength", 1, 0, Math.max(1, max));
    return switch (distribution) {
      case "uniform", "zipfian" -> new Lengths(random, min, max, distribution.equals("zipfian"))::next;
      case "histogram" -> {
        String file = settings.text("fieldlengthhistogram", "hist.txt");
        try {
          HistogramGenerator histogram = new HistogramGenerator(file);
          yield () -> histogram.nextValue().intValue();
        } catch (IOException e) {
          throw new SettingException("fieldlengthhistogram=" + file + ": cannot be read: " + e.getMessage());
        }
      }
      default -> () -> max;
    };
  }

  /** Returns the fields that an update changes: a random one, or all with {@code writeallfields}. */
  Columns updateColumns() {
    return writeAll ? layout.allColumns() : anyColumn();
  }

  Columns anyColumn() {
    return layout.column(random.nextInt(layout.fieldCount()));
  }

  /** Creates the check of a read; {@code null} without {@code dataintegrity}, as values then do not depend on keys. */
  ReadCheck.Maker check(List<byte[]> keys, Columns columns) {
    return deterministic ? () -> new IntegrityCheck(keys, columns, constantLength) : null;
  }

  /** Returns new values for these fields of a record. */
  byte[][] values(byte[] key, Columns columns) {
    byte[][] values = new byte[columns.size()][];
    for (int i = 0; i < values.length; i++) {
      int length = constantLength >= 0 ? constantLength : lengths.getAsInt();
      values[i] = deterministic ? IntegrityCheck.value(key, columns.names().get(i), length) : this.values.next(length);
    }
    return values;
  }
}
