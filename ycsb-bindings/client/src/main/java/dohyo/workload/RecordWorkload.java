package dohyo.workload;

import dohyo.binding.Columns;
import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.Vector;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.Status;
import site.ycsb.Workload;
import site.ycsb.WorkloadException;
import site.ycsb.measurements.Measurements;

/**
 * Workload with the properties, keys and mixes of YCSB's CoreWorkload. It also supports batches, several tables and
 * values of a given entropy. Dohyo's client runs it with {@code workload=site.ycsb.workloads.CoreWorkload}. The stock
 * client runs it, one record at a time, with {@code workload=dohyo.workload.RecordWorkload}.
 */
public final class RecordWorkload extends Workload {
  private Settings settings;
  private RecordLayout layout;
  private Proportions proportions;
  private KeyChooser.Shared keys;
  private Seed seed;
  private int batchSize;
  private Division division;
  private Ledger ledger;
  private boolean transactions;
  private int schedules;

  /**
   * Reads and checks all properties of the workload.
   *
   * @param p the client's properties
   * @throws SettingException if one has an invalid value
   */
  @Override
  public void init(Properties p) {
    settings = new Settings(p);
    layout = new RecordLayout(settings);
    proportions = new Proportions(settings);
    batchSize = settings.number("batchsize", 1, 1, 100_000);
    transactions = settings.flag("dotransactions", true);
    if (batchSize > layout.recordsPerTable()) {
      throw new SettingException("batchsize=" + batchSize + ": the smallest table has "
          + layout.recordsPerTable() + " records (recordcount / tablecount); lower it");
    }
    if (transactions && batchSize > 1 && proportions.share(OperationType.SCAN) > 0) {
      throw new SettingException("batchsize=" + batchSize + ": a scan is one operation, so with"
          + " scanproportion above 0 batchsize must be 1");
    }
    division = new Division(settings, layout);
    seed = new Seed(settings);
    if (transactions) {
      keys = new KeyChooser.Shared(settings, layout, division, proportions.share(OperationType.INSERT) * batchSize);
      keys.check(settings, settings.number("threadcount", 1, 1, 100_000), batchSize, seed.of(0));
      scanLengths(seed.of(0));
      ledger = Ledger.isWanted(settings) ? newLedger() : null;
    }
    // Report a bad value here instead of in a thread during the run.
    new RecordMaker(settings, layout, seed.of(0));
  }

  private Ledger newLedger() {
    boolean writes = proportions.share(OperationType.UPDATE) + proportions.share(OperationType.READ_MODIFY_WRITE) > 0;
    return new Ledger(settings, layout, division, !writes ? 0 : (long) settings.number("threadcount", 1, 1, 100_000)
        * settings.number("inflight", 1, 1, 1_000_000) * batchSize);
  }

  /** Returns the ledger of {@code verify=acknowledged}; {@code null} for a load or without that property. */
  public Ledger ledger() {
    return ledger;
  }

  /** Returns how many records this run has inserted or may have inserted. Must not be called for a load. */
  public long insertedInRun() {
    return keys.insertedInRun();
  }

  /** Begins another run: resets the counts of inserts, but continues the key numbers. Must not be called for a load. */
  public void beginRun() {
    keys.beginRun();
  }

  private Lengths scanLengths(SplittableRandom random) {
    int max = settings.number("maxscanlength", 1000, 1, Integer.MAX_VALUE);
    int min = settings.number("minscanlength", 1, 1, max);
    return new Lengths(random, min, max,
        settings.choice("scanlengthdistribution", "uniform", "zipfian").equals("zipfian"));
  }

  /** Returns the number of records per operation. */
  public int batchSize() {
    return batchSize;
  }

  public int tableCount() {
    return layout.tableCount();
  }

  /**
   * Returns whether an update reads its record first. The result is empty for a load and for a run without updates. A
   * read-modify-write is not an update here, because it always reads.
   */
  public Optional<Boolean> readBeforeWrite() {
    return transactions && proportions.share(OperationType.UPDATE) > 0
        ? Optional.of(settings.flag("readbeforewrite", false)) : Optional.empty();
  }

  /** Returns the seed of all random numbers: the property {@code seed}, or a random one. */
  public long seed() {
    return seed.value();
  }

  /** Returns how many records this client inserts in the load. */
  public long loadCount() {
    return division.edge(1, 1) - division.edge(0, 1);
  }

  /**
   * Returns how many key numbers for new records this client has used in this run and in earlier runs; 0 for a load.
   */
  public long inserted() {
    return keys == null ? 0 : keys.inserted();
  }

  /**
   * Returns how many key numbers of this run were requested without being inserted ({@code requestdistribution=next});
   * 0 for a load.
   */
  public long passedOver() {
    return keys == null ? 0 : keys.passedOver();
  }

  /** Returns how many inserts of this run the database has not acknowledged; 0 for a load. */
  public long unacknowledgedInserts() {
    return keys == null ? 0 : keys.unacknowledged();
  }

  /**
   * Creates the source of one thread's requests: its part of the load, or its share of the run.
   *
   * @param thread  number of the thread, from 0
   * @param threads number of threads
   * @return a source that ends when the load is complete; in a run, it never ends
   */
  public RequestSource source(int thread, int threads) {
    SplittableRandom random = seed.of(thread);
    if (transactions) {
      return new MixSource(settings, layout, keys, ledger, new KeyChooser(settings, keys, random, thread, threads),
          proportions, scanLengths(random), random, batchSize);
    }
    return new LoadSource(settings, layout, random, batchSize, division.number(),
        division.edge(thread, threads), division.edge(thread + 1, threads));
  }

  /**
   * Returns how many operations a thread sends in a run that ends after a number of operations. Without {@code passes}
   * it is an equal part of {@code operationcount}. With {@code passes}, the thread requests each record of its range
   * that many times.
   */
  public long operations(int thread, int threads) {
    long passes = settings.whole("passes", 0, 0, 1000);
    if (passes > 0) {
      return passes * new RangeWalk(layout, division, thread, threads).calls(batchSize);
    }
    return division.operations(settings.whole("operationcount", 0, 0, Long.MAX_VALUE / 2), thread, threads);
  }

  /**
   * Returns the offset of a thread's schedule at a target rate, as a share of the time between two of its operations.
   */
  public double shift(int thread, int threads) {
    return division.shift(thread, threads);
  }

  /**
   * Returns the random numbers of a new schedule: the times at which operations are due. Each warm-up and each window
   * has a schedule of its own. Only one thread may create schedules.
   */
  public SplittableRandom arrivals() {
    schedules++;
    return seed.of(-schedules);
  }

  // ---- For the stock client: the same operations, one record at a time through YCSB's DB interface ----

  @Override
  public Object initThread(Properties p, int mythreadid, int threadcount) throws WorkloadException {
    if (batchSize > 1) {
      throw new WorkloadException("batchsize=" + batchSize + ": the stock client sends no batches;"
          + " set it to 1, or use dohyo.client.Client");
    }
    if (Ledger.isWanted(settings)) {
      throw new WorkloadException("verify=acknowledged: the stock client reads nothing back; use dohyo.client.Client");
    }
    return source(mythreadid, threadcount);
  }

  @Override
  public boolean doInsert(DB db, Object threadstate) {
    return doTransaction(db, threadstate);
  }

  @Override
  public boolean doTransaction(DB db, Object threadstate) {
    RequestSource source = (RequestSource) threadstate;
    Request request = source.next();
    if (request == null) {
      return false;
    }
    Status status = perform(request, db);
    source.finished(request, status);
    return transactions || status.isOk();
  }

  private static Status perform(Request request, DB db) {
    String table = request.table();
    String key = new String(request.keys().get(0), StandardCharsets.ISO_8859_1);
    if (request instanceof Request.Insert insert) {
      return db.insert(table, key, values(insert));
    }
    if (request instanceof Request.Update update) {
      return db.update(table, key, values(update));
    }
    if (request instanceof Request.Scan scan) {
      return db.scan(table, key, scan.length(), names(scan.columns()), new Vector<>());
    }
    Measurements measurements = Measurements.getMeasurements();
    long intended = measurements.getIntendedtartTimeNs();
    long begin = System.nanoTime();
    Status read = db.read(table, key, names(((Request.Reading) request).readColumns()), new HashMap<>());
    if (!(request instanceof Request.ReadModifyWrite both)) {
      return read;
    }
    Status written = db.update(table, key, values(both));
    // The stock client itself measures only the two requests.
    long end = System.nanoTime();
    measurements.measure(both.type().label(), (int) ((end - begin) / 1000));
    measurements.measureIntended(both.type().label(), (int) ((end - intended) / 1000));
    return written;
  }

  private static Set<String> names(Columns columns) {
    return columns == null ? null : Set.copyOf(columns.names());
  }

  private static Map<String, ByteIterator> values(Request.Writing request) {
    Map<String, ByteIterator> values = new HashMap<>();
    for (int i = 0; i < request.writeColumns().size(); i++) {
      values.put(request.writeColumns().names().get(i), new ByteArrayByteIterator(request.values()[0][i]));
    }
    return values;
  }
}
