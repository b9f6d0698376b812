package dohyo.client;

import dohyo.binding.Outcome;
import dohyo.workload.OperationType;
import java.util.EnumMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import site.ycsb.Status;

/**
 * Measurements of one logical client. Only one thread at a time writes to them. {@link Reporter} reads the latencies
 * and the totals at any time, and the counts by type when the client has ended.
 */
final class ThreadStatistics {
  private final boolean withIntended;
  private final SharedHistograms histograms;
  private final SharedHistograms.Buffer latencies;
  private final Map<OperationType, Map<String, long[]>> statuses = new EnumMap<>(OperationType.class);
  private final Map<OperationType, long[]> records = new EnumMap<>(OperationType.class);
  private final AtomicLong succeeded = new AtomicLong();
  private final AtomicLong failed = new AtomicLong();
  private final AtomicLong recordsDone = new AtomicLong();
  private final AtomicLong attemptedRecords = new AtomicLong();
  private final AtomicLong failedRecords = new AtomicLong();
  private final AtomicLong warmups = new AtomicLong();
  private final AtomicLong failedWarmups = new AtomicLong();
  private final AtomicLong retriedRecords = new AtomicLong();
  private volatile String firstError;

  ThreadStatistics(boolean withIntended, SharedHistograms histograms) {
    this.withIntended = withIntended;
    this.histograms = histograms;
    latencies = histograms.buffer();
  }

  /** Counts a finished operation of the warm-up. */
  void warmup(Call call) {
    add(failedWarmups, errors(call) > 0 ? 1 : 0);
    add(warmups, 1);
  }

  /** Counts the failed records of an operation that is retried. */
  void retry(Call call) {
    add(retriedRecords, errors(call));
  }

  /** Records a finished call. */
  void record(Call call) {
    OperationType type = call.request().type();
    Status[] all = call.statuses();
    long finished = call.finished();
    boolean ok = count(type, all, call.started(), finished, call.intended());
    if (type == OperationType.READ_MODIFY_WRITE) {
      // As in YCSB, a read-modify-write counts as a read, as an update, and as a read-modify-write.
      long read = call.readFinished();
      Status[] reads = call.reads();
      count(OperationType.READ, reads, call.started(), read, call.intended());
      addRecords(OperationType.READ, succeeded(reads));
      Status[] updates = updates(reads, all);
      if (updates.length > 0) {
        count(OperationType.UPDATE, updates, read, finished, read);
        addRecords(OperationType.UPDATE, succeeded(updates));
      }
    }
    Status[] verified = call.verified();
    if (verified.length > 0) {
      count(OperationType.VERIFY, verified, call.started(), finished, call.intended());
    }
    // A scan that failed may have returned rows before. They do not count, like those of a batch that timed out.
    long done = type != OperationType.SCAN ? succeeded(all) : ok ? call.scannedRows() : 0;
    addRecords(type, done);
    add(recordsDone, done);
    add(attemptedRecords, all.length);
    add(failedRecords, errors(call));
    add(ok ? succeeded : failed, 1);
  }

  // No locked instruction is needed, because there is only one writer. Readers see the value soon enough.
  private static void add(AtomicLong counter, long amount) {
    counter.lazySet(counter.getPlain() + amount);
  }

  private void addRecords(OperationType type, long done) {
    long[] sum = records.get(type);
    if (sum == null) {
      sum = new long[1];
      records.put(type, sum);
    }
    sum[0] += done;
  }

  private boolean count(OperationType type, Status[] all, long from, long to, long intended) {
    boolean error = false;
    boolean found = false;
    Map<String, long[]> counts = statuses.get(type);
    if (counts == null) {
      counts = new TreeMap<>();
      statuses.put(type, counts);
    }
    Status last = null;
    long[] count = null;
    for (Status status : all) {
      // A batch nearly always has only one status, so one lookup is enough.
      if (status != last) {
        last = status;
        count = counts.computeIfAbsent(status.getName(), name -> new long[1]);
        found |= status.isOk();
        error |= Outcome.isError(status);
      }
      count[0]++;
    }
    Series series = error ? Series.FAILED : found ? Series.OK : Series.NOT_FOUND;
    latencies.record(series.index(type, false), to - from);
    if (withIntended) {
      latencies.record(series.index(type, true), to - intended);
    }
    return !error;
  }

  private static long succeeded(Status[] all) {
    long count = 0;
    for (Status status : all) {
      if (status.isOk()) {
        count++;
      }
    }
    return count;
  }

  /** Returns the number of records with an error. Stores the error if it is the first of this client. */
  private long errors(Call call) {
    long count = 0;
    for (Status status : call.statuses()) {
      if (Outcome.isError(status)) {
        count++;
        if (firstError == null) {
          firstError = call.request().type().label() + ": " + status.getName() + ": " + status.getDescription();
        }
      }
    }
    return count;
  }

  /** Returns the statuses of the updates of read-modify-writes. Only records that were read are updated. */
  private static Status[] updates(Status[] reads, Status[] all) {
    return succeeded(reads) == reads.length ? all
        : IntStream.range(0, reads.length).filter(i -> reads[i].isOk()).mapToObj(i -> all[i]).toArray(Status[]::new);
  }

  /** Returns the histograms that this thread shares with others. */
  SharedHistograms histograms() {
    return histograms;
  }

  /** Returns the number of measured operations without an error so far. */
  long succeeded() {
    return succeeded.get();
  }

  /** Returns the number of measured operations with an error so far. */
  long failed() {
    return failed.get();
  }

  /** Returns the number of records that measured operations have read or written so far. */
  long recordsDone() {
    return recordsDone.get();
  }

  /**
   * Returns the number of records that the workload requested so far. A scan counts as one record.
   */
  long attemptedRecords() {
    return attemptedRecords.get();
  }

  /** Returns the number of requested records with an error so far. */
  long failedRecords() {
    return failedRecords.get();
  }

  /** Returns the number of finished operations of the warm-up so far. */
  long warmups() {
    return warmups.get();
  }

  /** Returns the number of operations of the warm-up with an error so far. */
  long failedWarmups() {
    return failedWarmups.get();
  }

  /** Returns how many records of the load failed and were retried so far. A record that failed twice counts twice. */
  long retriedRecords() {
    return retriedRecords.get();
  }

  /** Returns the first error, including the warm-up and retried requests; {@code null} if there is none. */
  String firstError() {
    return firstError;
  }

  /** Returns the number of records for each type of operation and status. The client must have ended. */
  Map<OperationType, Map<String, long[]>> statuses() {
    return statuses;
  }

  /** Returns the number of records for each type of operation. The client must have ended. */
  Map<OperationType, long[]> records() {
    return records;
  }
}
