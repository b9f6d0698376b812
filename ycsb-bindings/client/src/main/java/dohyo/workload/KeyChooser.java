package dohyo.workload;

import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import java.util.concurrent.ThreadLocalRandom;
import site.ycsb.generator.AcknowledgedCounterGenerator;
import site.ycsb.generator.ExponentialGenerator;
import site.ycsb.generator.HotspotIntegerGenerator;
import site.ycsb.generator.NumberGenerator;
import site.ycsb.generator.ScrambledZipfianGenerator;
import site.ycsb.generator.SequentialGenerator;
import site.ycsb.generator.SkewedLatestGenerator;
import site.ycsb.generator.UniformLongGenerator;

/**
 * Chooses which records the run phase works on, with YCSB's generators and its meaning of {@code requestdistribution}.
 * With several tables each table has the distribution of its own: the caller names the table.
 */
final class KeyChooser {
  /**
   * What all threads share: which keys are there, and the distributions that need one common state. New records are
   * counted from {@code recordcount} on by each client for itself; {@link Division#keynum} makes the count a key number
   * that no other client uses.
   */
  static final class Shared {
    private final String distribution;
    private final RecordLayout layout;
    private final Division division;
    private final AcknowledgedCounterGenerator inserted;
    private final NumberGenerator common;
    private final long first;
    private final long count;
    private final long expectedInserts;

    Shared(Settings settings, RecordLayout layout, double insertProportion) {
      this.layout = layout;
      division = new Division(settings, layout);
      distribution = settings.choice("requestdistribution",
          "uniform", "zipfian", "latest", "hotspot", "sequential", "exponential");
      long records = layout.recordCount();
      first = settings.whole("insertstart", 0, 0, records);
      count = settings.whole("insertcount", records - first, 1, records - first);
      if (layout.tableCount() > 1) {
        if (distribution.equals("latest") || distribution.equals("exponential")) {
          throw new SettingException("requestdistribution=" + distribution
              + ": has one newest record, so it needs tablecount=1, not " + layout.tableCount());
        }
        if (first != 0 || count != records) {
          throw new SettingException("insertstart=" + first + ", insertcount=" + count
              + ": a part of the records can be chosen only with tablecount=1");
        }
      }
      inserted = new AcknowledgedCounterGenerator(records);
      // Twice the inserts to be expected, as CoreWorkload reckons: the popular keys must not change when keys are
      // added, so the generator is made for the final range and keys that are not there yet are drawn again.
      long operations = settings.whole("operationcount", 0, 0, Long.MAX_VALUE / 2);
      expectedInserts = (long) (operations * insertProportion * 2);
      common = switch (distribution) {
        case "latest" -> new SkewedLatestGenerator(inserted);
        case "sequential" -> new SequentialGenerator(first, first + count - 1);
        default -> null;
      };
    }

    /** The count of a new record, for {@link #keynum}; {@link #acknowledge} must follow. */
    long nextInsert() {
      return inserted.nextValue().longValue();
    }

    void acknowledge(long count) {
      inserted.acknowledge(count);
    }

    long keynum(long count) {
      return division.keynum(count);
    }

    long lastReadable() {
      return inserted.lastValue();
    }
  }

  private final Shared shared;
  private final NumberGenerator generator;
  private final long perTable;

  KeyChooser(Settings settings, Shared shared) {
    this.shared = shared;
    this.perTable = shared.layout.tableCount() == 1 ? shared.count : shared.layout.endOf(0);
    this.generator = shared.common != null ? shared.common : generator(settings);
  }

  private NumberGenerator generator(Settings settings) {
    return switch (shared.distribution) {
      case "zipfian" -> new ScrambledZipfianGenerator(0, perTable - 1 + shared.expectedInserts);
      case "hotspot" -> new HotspotIntegerGenerator(0, perTable - 1,
          settings.decimal("hotspotdatafraction", 0.2, 0, 1), settings.decimal("hotspotopnfraction", 0.8, 0, 1));
      case "exponential" -> new ExponentialGenerator(
          settings.decimal("exponential.percentile", 95, 0.001, 99.999),
          shared.layout.recordCount() * settings.decimal("exponential.frac", 0.8571428571, 1e-9, 1));
      default -> new UniformLongGenerator(0, perTable - 1);
    };
  }

  int anyTable() {
    int first = shared.division.firstTable();
    int tables = shared.division.tables();
    return tables == 1 ? first : first + ThreadLocalRandom.current().nextInt(tables);
  }

  /** The key number of a record of that table which is there to be read. */
  long next(int table) {
    if (shared.layout.tableCount() > 1) {
      long first = shared.layout.firstOf(table);
      long end = shared.layout.endOf(table);
      long keynum;
      do {
        keynum = first + generator.nextValue().longValue();
      } while (keynum >= end);
      return keynum;
    }
    return shared.keynum(switch (shared.distribution) {
      case "latest" -> drawUpTo(0);
      case "sequential" -> generator.nextValue().longValue();
      case "exponential" -> newestBackwards();
      default -> drawUpTo(shared.first);
    });
  }

  private long drawUpTo(long first) {
    long keynum;
    do {
      keynum = first + generator.nextValue().longValue();
    } while (keynum > shared.lastReadable());
    return keynum;
  }

  private long newestBackwards() {
    long keynum;
    do {
      keynum = shared.lastReadable() - generator.nextValue().longValue();
    } while (keynum < 0);
    return keynum;
  }
}
