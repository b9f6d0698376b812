package dohyo.workload;

import dohyo.binding.Columns;
import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import site.ycsb.generator.ConstantIntegerGenerator;
import site.ycsb.generator.HistogramGenerator;
import site.ycsb.generator.NumberGenerator;
import site.ycsb.generator.UniformLongGenerator;
import site.ycsb.generator.ZipfianGenerator;

/** Makes the content of records for one thread, as {@code fieldlength…}, {@code valueentropy} and the like ask for. */
final class RecordMaker {
  private final RecordLayout layout;
  private final ValueGenerator random;
  private final NumberGenerator lengths;
  private final int constantLength;
  private final boolean deterministic;
  private final boolean writeAll;

  RecordMaker(Settings settings, RecordLayout layout) {
    this.layout = layout;
    this.random = new ValueGenerator(settings, ThreadLocalRandom.current().nextLong());
    int length = settings.number("fieldlength", 100, 0, 256 << 20);
    String distribution = settings.choice("fieldlengthdistribution", "constant", "uniform", "zipfian", "histogram");
    this.constantLength = distribution.equals("constant") ? length : -1;
    this.lengths = lengths(settings, distribution, length);
    this.deterministic = settings.flag("dataintegrity", false);
    if (deterministic && constantLength < 0) {
      throw new SettingException("dataintegrity=true needs fieldlengthdistribution=constant, not " + distribution);
    }
    this.writeAll = settings.flag("writeallfields", false);
  }

  private static NumberGenerator lengths(Settings settings, String distribution, int max) {
    int min = settings.number("minfieldlength", 1, 0, Math.max(1, max));
    return switch (distribution) {
      case "uniform" -> new UniformLongGenerator(min, max);
      case "zipfian" -> zipfian(min, max);
      case "histogram" -> {
        String file = settings.text("fieldlengthhistogram", "hist.txt");
        try {
          yield new HistogramGenerator(file);
        } catch (IOException e) {
          throw new SettingException("fieldlengthhistogram=" + file + ": cannot be read: " + e.getMessage());
        }
      }
      default -> new ConstantIntegerGenerator(max);
    };
  }

  /** YCSB's generator, without the sum over all numbers that its own constructor adds up. */
  static NumberGenerator zipfian(long min, long max) {
    return new ZipfianGenerator(min, max, ZipfianGenerator.ZIPFIAN_CONSTANT, Zipfian.zeta(max - min + 1));
  }

  /** The fields that an update changes: one at random, or all with {@code writeallfields}. */
  Columns updateColumns() {
    return writeAll ? layout.allColumns() : anyColumn();
  }

  Columns anyColumn() {
    return layout.column(ThreadLocalRandom.current().nextInt(layout.fieldCount()));
  }

  /** Checks a read of these fields; {@code null} where values do not follow from their keys. */
  IntegrityCheck check(List<byte[]> keys, Columns columns) {
    return deterministic ? new IntegrityCheck(keys, columns, constantLength) : null;
  }

  /** New values for these fields of that record. */
  byte[][] values(byte[] key, Columns columns) {
    byte[][] values = new byte[columns.size()][];
    for (int i = 0; i < values.length; i++) {
      int length = constantLength >= 0 ? constantLength : lengths.nextValue().intValue();
      values[i] = deterministic ? IntegrityCheck.value(key, columns.names().get(i), length) : random.next(length);
    }
    return values;
  }
}
