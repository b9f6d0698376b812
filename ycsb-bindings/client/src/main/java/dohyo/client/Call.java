package dohyo.client;

import dohyo.binding.Binding;
import dohyo.binding.Columns;
import dohyo.binding.Outcome;
import dohyo.binding.RowSink;
import dohyo.workload.ReadCheck;
import dohyo.workload.Request;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import site.ycsb.Status;

/**
 * A call to the database for a {@link Request}. It starts once, and finishes once: with the driver's answer or the
 * client's timeout.
 */
public final class Call {
  private static final Status[] NONE = {};
  private static final Status[] ONE_OK = {Status.OK};
  private static final VarHandle SETTLED = handle("settled", boolean.class);

  private final Request request;
  private final ReadCheck check;

  // Plain fields suffice: they are written before the call enters the sender's queue, and read after it has left.
  private int retries;
  private int slot;
  private long intended;
  private long started;
  private long firstStarted;
  private volatile long readFinished;
  private volatile Status[] reads;
  private int scannedRows;
  private long finished;
  private Status[] statuses;
  // Either the answer or the timeout sets this flag through SETTLED, whichever comes first.
  private volatile boolean settled;

  /** Prepares a call for a request. */
  public Call(Request request) {
    this.request = request;
    check = request instanceof Request.Reading reading && reading.check() != null ? reading.check().make() : null;
  }

  private static VarHandle handle(String field, Class<?> type) {
    try {
      return MethodHandles.lookup().findVarHandle(Call.class, field, type);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /**
   * Sends the request.
   *
   * @param binding  database
   * @param intended time at which the request was due at the target rate, in {@link System#nanoTime}
   * @param now      the current time, in {@link System#nanoTime}
   * @param whenDone called once, on the thread that completes the call
   */
  public void start(Binding binding, long intended, long now, Consumer<Call> whenDone) {
    this.intended = intended;
    this.started = now;
    if (retries == 0) {
      firstStarted = now;
    }
    if (check != null) {
      check.begin();
    }
    if (request.batched()) {
      Binding.guarded(() -> sendBatch(binding)).whenComplete((all, error) ->
          settle(error == null ? all : each(binding.failed(error)), whenDone));
    } else {
      BiConsumer<Status, Throwable> answered = (one, error) ->
          settle(error == null ? (one.isOk() ? ONE_OK : new Status[] {one}) : new Status[] {binding.failed(error)},
              whenDone);
      try {
        sendOne(binding, answered);
      } catch (RuntimeException e) {
        answered.accept(null, e);
      }
    }
  }

  private void sendOne(Binding binding, BiConsumer<Status, Throwable> answered) {
    byte[] key = binding.keys().encode(request.keys().get(0));
    if (request instanceof Request.Insert insert) {
      binding.insertRow(insert.row(key, 0), answered);
    } else if (request instanceof Request.Update update) {
      binding.update(update.row(key, 0), answered);
    } else if (request instanceof Request.Read read && check == null) {
      binding.readRow(read.table(), key, read.readColumns(), RowSink.DISCARD, answered);
    } else {
      sendOther(binding, key).whenComplete(answered);
    }
  }

  /** Sends a scan, a checked read or a read-modify-write. */
  private CompletableFuture<Status> sendOther(Binding binding, byte[] key) {
    if (request instanceof Request.Scan scan) {
      return binding.scanRows(scan.table(), key, scan.length(), scan.columns(), this::countRow);
    }
    CompletableFuture<Status> answer = read(binding, key, ((Request.Reading) request).readColumns());
    return !(request instanceof Request.ReadModifyWrite both) ? answer : answer.thenCompose(read -> {
      readAnswered(new Status[] {read});
      // Skip the binding's read-before-write, because the record has just been read. An abandoned call writes nothing.
      return read.isOk() && !settled ? binding.updateRow(both.row(key, 0)) : CompletableFuture.completedFuture(read);
    });
  }

  private CompletableFuture<Status[]> sendBatch(Binding binding) {
    if (request instanceof Request.Insert insert) {
      return binding.insertRows(insert.rows(binding.keys()));
    }
    if (request instanceof Request.Update update) {
      return binding.update(update.rows(binding.keys()));
    }
    CompletableFuture<Status[]> answer = readAll(binding, ((Request.Reading) request).readColumns());
    return !(request instanceof Request.ReadModifyWrite both) ? answer : answer.thenCompose(read -> {
      readAnswered(read);
      return settled ? CompletableFuture.completedFuture(read) : binding.updateFound(both.rows(binding.keys()), read);
    });
  }

  /**
   * Abandons the call. Every record counts as {@link Outcome#TIMEOUT}, and a late answer is ignored.
   *
   * @return false if the call has already finished
   */
  boolean abandon() {
    return settle(each(Outcome.TIMEOUT), call -> { });
  }

  /** Counts every record of a finished call as {@link Outcome#TIMEOUT}, because its answer came too late. */
  void timeOut() {
    statuses = each(Outcome.TIMEOUT);
  }

  private Status[] each(Status status) {
    return Outcome.each(status, request.keys().size());
  }

  private boolean settle(Status[] outcome, Consumer<Call> whenDone) {
    if (!SETTLED.compareAndSet(this, false, true)) {
      return false;
    }
    finished = System.nanoTime();
    statuses = outcome;
    if (request instanceof Request.ReadModifyWrite && reads == null) {
      // The read failed or timed out.
      readFinished = finished;
      reads = outcome;
    }
    whenDone.accept(this);
    return true;
  }

  private void readAnswered(Status[] outcome) {
    if (!settled) {
      readFinished = System.nanoTime();
      reads = outcome;
    }
  }

  private CompletableFuture<Status> read(Binding binding, byte[] key, Columns columns) {
    return check == null ? binding.readRow(request.table(), key, columns, RowSink.DISCARD)
        : binding.readRow(request.table(), key, columns, check).thenApply(status -> check.checked(0, status));
  }

  private CompletableFuture<Status[]> readAll(Binding binding, Columns columns) {
    List<byte[]> keys = new ArrayList<>(request.keys().size());
    for (byte[] key : request.keys()) {
      keys.add(binding.keys().encode(key));
    }
    return check == null ? binding.readRows(request.table(), keys, columns, RowSink.DISCARD)
        : binding.readRows(request.table(), keys, columns, check).thenApply(check::checked);
  }

  private void countRow(int row, String column, ByteBuffer value) {
    scannedRows = row + 1;
  }

  /** Returns a new call for the request of this failed call. */
  Call retry() {
    Call again = new Call(request);
    again.retries = retries + 1;
    again.firstStarted = firstStarted;
    return again;
  }

  /** Returns the request of this call. */
  Request request() {
    return request;
  }

  /** Returns the slot of this call in {@link InFlight}. */
  int slot() {
    return slot;
  }

  void slot(int number) {
    slot = number;
  }

  /** Returns how often the request was sent before this call. */
  int retries() {
    return retries;
  }

  /** Returns when the request was due, in {@link System#nanoTime}. */
  long intended() {
    return intended;
  }

  /** Returns when this call was sent, in {@link System#nanoTime}. */
  long started() {
    return started;
  }

  /** Returns when the request was sent for the first time, in {@link System#nanoTime}. */
  long firstStarted() {
    return firstStarted;
  }

  /** Returns when the call finished, in {@link System#nanoTime}. */
  long finished() {
    return finished;
  }

  /** Returns the status of each record of a finished call. */
  public Status[] statuses() {
    return statuses;
  }

  /** Returns when the read of a read-modify-write was answered, in {@link System#nanoTime}; 0 for other requests. */
  long readFinished() {
    return readFinished;
  }

  /** Returns the status that each record had in the read of a read-modify-write; {@code null} for other requests. */
  public Status[] reads() {
    return reads;
  }

  /** Returns the number of records that a scan returned. */
  int scannedRows() {
    return scannedRows;
  }

  /**
   * Returns the status of each record's write. If the read of a read-modify-write failed, nothing is written and the
   * status is {@link Status#NOT_FOUND}.
   */
  Status[] written() {
    if (reads == null) {
      return statuses;
    }
    Status[] written = statuses.clone();
    for (int i = 0; i < written.length; i++) {
      written[i] = reads[i].isOk() ? statuses[i] : Status.NOT_FOUND;
    }
    return written;
  }

  /**
   * Returns the result of the check ({@code dataintegrity}, {@code verify}) for each record that was read; empty
   * without a check.
   */
  Status[] verified() {
    return check == null ? NONE : ReadCheck.verified(reads == null ? statuses : reads);
  }
}
