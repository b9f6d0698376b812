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
 * Measurements of one thread. Only that thread writes. {@link Reporter} reads latencies at any time, and the counts
 * once the thread has ended.
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
      // As in YCSB: a read-modify-write shows as a read, as an update, and as the two together.
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
    long done = type == OperationType.SCAN ? call.scannedRows() : succeeded(all);
    addRecords(type, done);
    add(recordsDone, done);
    add(attemptedRecords, all.length);
    add(failedRecords, errors(call));
    add(ok ? succeeded : failed, 1);
  }

  // One writer, so no locked instruction is needed; readers see it soon enough.
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
      // Nearly always the same one again, so it is looked up once per batch.
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

  /** Counts the records with an error, and keeps the very first error. */
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

  /** What became of the updates of read-modify-writes: only what was read is updated. */
  private static Status[] updates(Status[] reads, Status[] all) {
    return succeeded(reads) == reads.length ? all
        : IntStream.range(0, reads.length).filter(i -> reads[i].isOk()).mapToObj(i -> all[i]).toArray(Status[]::new);
  }

  /** Where its latencies are, with those of other threads. */
  SharedHistograms histograms() {
    return histograms;
  }

  /** Operations without an error, so far. */
  long succeeded() {
    return succeeded.get();
  }

  /** Operations with an error, so far. */
  long failed() {
    return failed.get();
  }

  /** Records done by all operations, so far. */
  long recordsDone() {
    return recordsDone.get();
  }

  /** Records that the workload requested, so far: each counts once, with or without batches; a scan counts as one. */
  long attemptedRecords() {
    return attemptedRecords.get();
  }

  /** Those of them that had an error, so far. */
  long failedRecords() {
    return failedRecords.get();
  }

  /** Operations of the warm-up, so far. */
  long warmups() {
    return warmups.get();
  }

  /** Those of them that had an error, so far. */
  long failedWarmups() {
    return failedWarmups.get();
  }

  /** Records of the load that failed and were retried, so far; one that failed twice counts twice. */
  long retriedRecords() {
    return retriedRecords.get();
  }

  /** The first error, including the warm-up and retried requests; {@code null} if there is none. */
  String firstError() {
    return firstError;
  }

  /** Per type of operation and status, how many records; only after the thread has ended. */
  Map<OperationType, Map<String, long[]>> statuses() {
    return statuses;
  }

  /** Per type of operation, how many records were done; only after the thread has ended. */
  Map<OperationType, long[]> records() {
    return records;
  }
}
