package dohyo.workload;

import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;
import site.ycsb.Utils;
import site.ycsb.generator.ScrambledZipfianGenerator;

/**
 * Chooses which records the run phase works on, with YCSB's meaning of {@code requestdistribution}, and with two that
 * are ours: {@code ranges} ({@link RangeWalk}), and {@code next}, which takes the key number that a new record would
 * have had, so that reads and inserts together ask for one key after the other. With several tables each table has the
 * distribution of its own. One instance per thread.
 */
final class KeyChooser {
  /** After so many draws without a new record the distribution has no more. */
  private static final int MAX_DRAWS = 1_000_000;

  /**
   * What all threads share: which keys are there, and the distributions that need one common state. New records are
   * counted from {@code recordcount} on by each client for itself; {@link Division#keynum} makes the count a key number
   * that no other client uses. A later run of a trial continues where the same client's earlier ones have ended
   * ({@code inserted}), so that no key is inserted twice, and {@code latest} knows what they have inserted.
   */
  static final class Shared {
    private final String distribution;
    private final RecordLayout layout;
    private final Division division;
    private final InsertCounter inserted;
    private final long insertedBefore;
    private final LongAdder issued = new LongAdder();
    private final LongAdder acknowledged = new LongAdder();
    private final LongAdder passedOver = new LongAdder();
    private final AtomicLongArray turns;
    private final double hotRecords;
    private final double hotOperations;
    private final long expectedInserts;

    /**
     * Reads {@code requestdistribution}, what belongs to it, {@code operationcount} and {@code inserted}.
     *
     * @throws SettingException if one has an impossible value, or the records cannot be chosen like that
     */
    Shared(Settings settings, RecordLayout layout, Division division, double insertProportion) {
      this.layout = layout;
      this.division = division;
      distribution = settings.choice("requestdistribution",
          "uniform", "zipfian", "latest", "hotspot", "sequential", "exponential", "ranges", "next");
      if (layout.tableCount() > 1) {
        if (List.of("latest", "exponential", "next").contains(distribution)) {
          throw new SettingException("requestdistribution=" + distribution
              + ": has one newest record, so it needs tablecount=1, not " + layout.tableCount());
        }
        if (division.count() != layout.recordCount()) {
          throw new SettingException("insertstart=" + division.first() + ", insertcount=" + division.count()
              + ": a part of the records can be chosen only with tablecount=1");
        }
      }
      insertedBefore = settings.whole("inserted", 0, 0, Long.MAX_VALUE / 4);
      inserted = new InsertCounter(layout.recordCount() + insertedBefore);
      turns = new AtomicLongArray(layout.tableCount());
      hotRecords = settings.decimal("hotspotdatafraction", 0.2, 0, 1);
      hotOperations = settings.decimal("hotspotopnfraction", 0.8, 0, 1);
      // Twice the expected inserts, as in CoreWorkload: the popular keys must not change when keys are
      // added, so the draw is over the final range and keys that are not there yet are drawn again. Several tables are
      // asked for what was loaded alone. The range is the same in every run of a trial, so that they have the same
      // popular keys; what earlier runs have inserted fills the part of it beyond recordcount.
      long operations = settings.whole("operationcount", 0, 0, Long.MAX_VALUE / 2);
      expectedInserts = layout.tableCount() > 1 ? 0
          : (long) Math.min(operations * insertProportion * 2, Long.MAX_VALUE / 2);
    }

    /**
     * Refuses what would show only in the middle of a run, by drawing as the threads will.
     *
     * @throws SettingException if the distribution does not give a thread the records that it needs
     */
    void check(Settings settings, int threads, int batchSize, SplittableRandom random) {
      if (distribution.equals("ranges")) {
        for (int thread = 0; thread < threads; thread++) {
          new RangeWalk(layout, division, thread, threads);
        }
        return;
      }
      if (batchSize > division.count()) {
        throw new SettingException("batchsize=" + batchSize + ": a batch has different records, and insertcount="
            + division.count());
      }
      if (distribution.equals("hotspot")) {
        checkHot(Math.min(layout.recordsPerTable(), division.count()));
      }
      if (!distribution.equals("sequential") && !distribution.equals("next")) {
        new KeyChooser(settings, this, random, 0, 1).next(batchSize);
      }
    }

    private void checkHot(long records) {
      long hot = (long) (records * hotRecords);
      if (hot == 0 && hotOperations > 0 || hot == records && hotOperations < 1) {
        throw new SettingException("hotspotdatafraction=" + hotRecords + ": makes " + hot + " of " + records
            + " records hot, so hotspotopnfraction=" + hotOperations + " asks for records that there are not; set other"
            + " fractions, or more records");
      }
    }

    /** The count of a new record, for {@link #keynum}; {@link #acknowledge} must follow. */
    long nextInsert() {
      issued.increment();
      return inserted.next();
    }

    /**
     * To be called when the insert is over.
     *
     * @param done whether the database has acknowledged the record; otherwise it may exist or not
     */
    void acknowledge(long count, boolean done) {
      if (done) {
        acknowledged.increment();
      }
      inserted.completed(count);
    }

    /** The count that a new record would have had: nothing is inserted there. */
    long passOver() {
      passedOver.increment();
      long count = nextInsert();
      inserted.completed(count);
      return count;
    }

    /** How many counts of this run have no record, as they were asked for instead. */
    long passedOver() {
      return passedOver.sum();
    }

    /** How many counts this client has used, in earlier runs and in this one. */
    long inserted() {
      return insertedBefore + issued.sum();
    }

    /** How many counts of this run the database has not acknowledged: such a record may exist or not. */
    long unacknowledged() {
      return issued.sum() - passedOver.sum() - acknowledged.sum();
    }

    long keynum(long count) {
      return division.keynum(count);
    }

    long lastReadable() {
      return inserted.last();
    }
  }

  private final Shared shared;
  private final RecordLayout layout;
  private final Division division;
  private final RangeWalk walk;
  private final SplittableRandom random;
  private final Zipfian popularity;
  private final Zipfian age;
  private final double decay;

  /**
   * Makes the chooser of one thread.
   *
   * @param random  what the thread draws from
   * @param thread  number of the thread, from 0
   * @param threads how many there are
   */
  KeyChooser(Settings settings, Shared shared, SplittableRandom random, int thread, int threads) {
    this.shared = shared;
    this.random = random;
    layout = shared.layout;
    division = shared.division;
    walk = shared.distribution.equals("ranges") ? new RangeWalk(layout, division, thread, threads) : null;
    popularity = new Zipfian(random);
    age = new Zipfian(random);
    // As in YCSB's ExponentialGenerator.
    decay = -Math.log(1 - settings.decimal("exponential.percentile", 95, 0.001, 99.999) / 100)
        / (layout.recordCount() * settings.decimal("exponential.frac", 0.8571428571, 1e-9, 1));
  }

  /**
   * The key numbers of the next operation: different existing records of one table.
   *
   * @param count how many; a thread that walks through a range gives fewer at the end of the range or table
   * @throws SettingException if the distribution never draws so many different records
   */
  long[] next(int count) {
    if (walk != null) {
      return walk.next(count);
    }
    int table = anyTable();
    if (count == 1) {
      return new long[] {draw(table)};
    }
    DistinctLongs drawn = new DistinctLongs(count);
    int draws = 0;
    int before = 0;
    while (drawn.size() < count) {
      drawn.add(draw(table));
      draws = drawn.size() > before ? 0 : draws + 1;
      before = drawn.size();
      if (draws == MAX_DRAWS) {
        throw new SettingException("batchsize=" + count + ": requestdistribution=" + shared.distribution
            + " gives hardly more than " + before + " different records, which is less than a batch holds");
      }
    }
    return drawn.toArray();
  }

  /** Another record of the table, {@code -1} where the thread walks through a range, whose records are all its own. */
  long again(int table) {
    return walk != null ? -1 : draw(table);
  }

  private int anyTable() {
    int tables = division.tables();
    return division.firstTable() + (tables == 1 ? 0 : random.nextInt(tables));
  }

  private long draw(int table) {
    boolean only = layout.tableCount() == 1;
    long first = only ? division.first() : layout.firstOf(table);
    long records = only ? division.count() : layout.endOf(table) - first;
    return shared.keynum(switch (shared.distribution) {
      case "zipfian" -> popular(first, records + shared.expectedInserts);
      case "latest" -> newestFirst(shared.lastReadable());
      case "hotspot" -> first + hotOrNot(records);
      case "sequential" -> first + shared.turns.getAndIncrement(table) % records;
      case "exponential" -> newestBackwards();
      case "next" -> shared.passOver();
      default -> first + random.nextLong(records);
    });
  }

  private long popular(long first, long range) {
    for (int draws = 0; draws < MAX_DRAWS; draws++) {
      // As in ScrambledZipfianGenerator, which cannot change the range that it scatters the numbers over.
      long rank = popularity.next(ScrambledZipfianGenerator.ITEM_COUNT + 1);
      long keynum = first + Utils.fnvhash64(rank) % range;
      if (keynum <= shared.lastReadable()) {
        return keynum;
      }
    }
    throw new SettingException("operationcount with insertproportion: requestdistribution=zipfian is drawn over "
        + range + " records, and hardly any of them exist; set a higher recordcount, a lower operationcount, or"
        + " duration instead of it");
  }

  private long hotOrNot(long records) {
    long hot = (long) (records * shared.hotRecords);
    return random.nextDouble() < shared.hotOperations ? random.nextLong(hot) : random.nextLong(hot, records);
  }

  private long newestFirst(long newest) {
    return newest - age.next(newest + 1);
  }

  private long newestBackwards() {
    long keynum;
    do {
      keynum = shared.lastReadable() - (long) (-Math.log(random.nextDouble()) / decay);
    } while (keynum < 0);
    return keynum;
  }
}
