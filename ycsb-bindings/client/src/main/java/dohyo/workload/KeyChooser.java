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
 * Chooses the records of the run phase. {@code requestdistribution} has YCSB's meaning, with two additional
 * distributions. {@code ranges} is a {@link RangeWalk}. {@code next} takes the key number of the next new record
 * without inserting that record, so that reads and inserts together request one key after another. With several tables,
 * each table has its own distribution. Each thread has its own instance.
 */
final class KeyChooser {
  /** Maximum number of consecutive draws that yield no usable record: one that exists and is not yet in the batch. */
  private static final int MAX_DRAWS = 1_000_000;

  /**
   * State that all threads share: which keys exist, and distributions with a common state. Each client counts the
   * loaded records and, after them, its new records. {@link #keynum} converts the count to a key number that no other
   * client uses for a new record. A later run of a trial continues where earlier runs of the same client ended ({@code
   * inserted}). This way, no key is inserted twice, and {@code latest} covers the records of earlier runs.
   */
  static final class Shared {
    private final String distribution;
    private final RecordLayout layout;
    private final Division division;
    private final InsertCounter inserted;
    private volatile long insertedBefore;
    private final LongAdder issued = new LongAdder();
    private final LongAdder acknowledged = new LongAdder();
    private final LongAdder passedOver = new LongAdder();
    private final AtomicLongArray turns;
    private final double hotRecords;
    private final double hotOperations;
    private final long expectedInserts;

    /**
     * Reads {@code requestdistribution} and its properties, {@code operationcount} and {@code inserted}.
     *
     * @param insertsPerOperation mean number of records that an operation inserts, if there is one table
     * @throws SettingException if one has an invalid value, or the distribution does not fit the records
     */
    Shared(Settings settings, RecordLayout layout, Division division, double insertsPerOperation) {
      this.layout = layout;
      this.division = division;
      distribution = settings.choice("requestdistribution",
          "uniform", "zipfian", "latest", "hotspot", "sequential", "exponential", "ranges", "next");
      if (layout.tableCount() > 1) {
        if (List.of("latest", "exponential", "next").contains(distribution)) {
          throw new SettingException("requestdistribution=" + distribution
              + ": needs a single newest record; set tablecount=1, not " + layout.tableCount());
        }
        if (division.count() != layout.recordCount()) {
          throw new SettingException("insertstart=" + division.first() + ", insertcount=" + division.count()
              + ": a part of the records needs tablecount=1");
        }
      }
      insertedBefore = settings.whole("inserted", 0, 0, Long.MAX_VALUE / 4);
      inserted = new InsertCounter(division.count() + insertedBefore);
      turns = new AtomicLongArray(layout.tableCount());
      hotRecords = settings.decimal("hotspotdatafraction", 0.2, 0, 1);
      hotOperations = settings.decimal("hotspotopnfraction", 0.8, 0, 1);
      // The key space includes twice the expected inserts, as in CoreWorkload, so that new keys do not change which
      // keys are popular. If a key does not exist yet, another is drawn. With several tables, only loaded records are
      // requested. The key space and the popular keys are the same in every run of a trial. Inserts of earlier runs
      // fill the key space beyond recordcount.
      long operations = settings.whole("operationcount", 0, 0, Long.MAX_VALUE / 2);
      expectedInserts = layout.tableCount() > 1 ? 0
          : (long) Math.min(operations * insertsPerOperation * 2 / division.clients(), Long.MAX_VALUE / 2);
    }

    /**
     * Draws records as the threads will, to report errors before the run begins.
     *
     * @throws SettingException if the distribution does not have enough different records for a thread
     */
    void check(Settings settings, int threads, int batchSize, SplittableRandom random) {
      if (distribution.equals("ranges")) {
        for (int thread = 0; thread < threads; thread++) {
          new RangeWalk(layout, division, thread, threads);
        }
        return;
      }
      if (batchSize > division.count()) {
        throw new SettingException("batchsize=" + batchSize + ": a batch needs different records, but insertcount="
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
        throw new SettingException("hotspotdatafraction=" + hotRecords + " of " + records + " records is "
            + (hot == 0 ? "none; raise it, or set hotspotopnfraction=0"
                : "all; lower it, or set hotspotopnfraction=1"));
      }
    }

    /** Returns the count of a new record, for {@link #keynum}. The caller must call {@link #acknowledge} later. */
    long nextInsert() {
      issued.increment();
      return inserted.next();
    }

    /**
     * Marks an insert as finished.
     *
     * @param count count of the record
     * @param done  whether the database has acknowledged the record; otherwise the record may or may not exist
     */
    void acknowledge(long count, boolean done) {
      if (done) {
        acknowledged.increment();
      }
      inserted.completed(count);
    }

    /** Returns the count of the next new record and skips it, so that no record is inserted with it. */
    long passOver() {
      passedOver.increment();
      long count = nextInsert();
      inserted.completed(count);
      return count;
    }

    /** Begins another run: adds the inserts of the last run to those of earlier runs. No insert may be in flight. */
    void beginRun() {
      insertedBefore += issued.sumThenReset();
      passedOver.reset();
      acknowledged.reset();
    }

    /** Returns how many counts of this run {@code requestdistribution=next} has skipped. */
    long passedOver() {
      return passedOver.sum();
    }

    /** Returns how many counts this run has used. */
    long insertedInRun() {
      return issued.sum();
    }

    /** Returns how many counts this client has used in this run and in earlier runs. */
    long inserted() {
      return insertedBefore + issued.sum();
    }

    /** Returns how many inserts of this run the database has not acknowledged. These records may or may not exist. */
    long unacknowledged() {
      return issued.sum() - passedOver.sum() - acknowledged.sum();
    }

    /** Returns the key number of a record. The loaded ones may be a part of the first {@code recordcount} numbers. */
    long keynum(long count) {
      return count < division.count() ? division.first() + count : division.keynum(count - division.count());
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
   * Creates the chooser of one thread.
   *
   * @param random  the thread's random numbers
   * @param thread  number of the thread, from 0
   * @param threads number of threads
   */
  KeyChooser(Settings settings, Shared shared, SplittableRandom random, int thread, int threads) {
    this.shared = shared;
    this.random = random;
    layout = shared.layout;
    division = shared.division;
    walk = shared.distribution.equals("ranges") ? new RangeWalk(layout, division, thread, threads) : null;
    popularity = new Zipfian(random);
    age = new Zipfian(random);
    // This is the formula of YCSB's ExponentialGenerator.
    decay = -Math.log(1 - settings.decimal("exponential.percentile", 95, 0.001, 99.999) / 100)
        / (division.count() * settings.decimal("exponential.frac", 0.8571428571, 1e-9, 1));
  }

  /**
   * Returns the key numbers of the next operation: different records of one table. The records exist, except with
   * {@code requestdistribution=next}.
   *
   * @param count number of records; a {@link RangeWalk} returns fewer at the end of its range or of a table
   * @throws SettingException if the distribution does not yield that many different records
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
            + " draws only " + before + " records; lower it");
      }
    }
    return drawn.toArray();
  }

  /**
   * Draws another record of the table. Returns -1 for a {@link RangeWalk}, in which threads do not share records.
   */
  long again(int table) {
    return walk != null ? -1 : draw(table);
  }

  private int anyTable() {
    int tables = division.tables();
    return division.firstTable() + (tables == 1 ? 0 : random.nextInt(tables));
  }

  private long draw(int table) {
    // With several tables, the counts of loaded records are their key numbers, because all are loaded.
    long first = layout.firstOf(table);
    long records = Math.min(division.count(), layout.endOf(table) - first);
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
      // Apply the formula of ScrambledZipfianGenerator, which cannot change its own range.
      long rank = popularity.next(ScrambledZipfianGenerator.ITEM_COUNT + 1);
      long count = first + Utils.fnvhash64(rank) % range;
      if (count <= shared.lastReadable()) {
        return count;
      }
    }
    throw new SettingException("requestdistribution=zipfian: few of " + range
        + " records exist; raise recordcount, or set duration");
  }

  private long hotOrNot(long records) {
    long hot = (long) (records * shared.hotRecords);
    return random.nextDouble() < shared.hotOperations ? random.nextLong(hot) : random.nextLong(hot, records);
  }

  private long newestFirst(long newest) {
    return newest - age.next(newest + 1);
  }

  private long newestBackwards() {
    long count;
    do {
      count = shared.lastReadable() - (long) (-Math.log(random.nextDouble()) / decay);
    } while (count < 0);
    return count;
  }
}
