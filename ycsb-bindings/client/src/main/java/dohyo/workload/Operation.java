package dohyo.workload;

import dohyo.binding.Binding;
import dohyo.binding.Columns;
import dohyo.binding.KeyCodec;
import dohyo.binding.Outcome;
import dohyo.binding.Row;
import dohyo.binding.RowSink;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import site.ycsb.Status;

/**
 * One call to the database, which may carry a batch of records. It is made by an {@link OperationSource}, started
 * once, and finished once: by the driver's answer, or by the client that gives up waiting.
 */
public final class Operation {
  private static final Status[] NONE = {};
  private static final Status[] ONE_OK = {Status.OK};
  private static final VarHandle SETTLED = handle("settled", boolean.class);

  private final OperationType type;
  private final String table;
  private final List<byte[]> keys;
  private final Columns readColumns;
  private final Columns writeColumns;
  private final byte[][][] values;
  private final int scanLength;
  private final boolean batched;
  private final IntegrityCheck check;

  // Plain fields: they are written before the answer is handed to the sender's queue, and read after it was taken out.
  private int retries;
  private int slot;
  private long[] insertedKeys = {};
  private long intended;
  private long started;
  private long firstStarted;
  private volatile long readFinished;
  private volatile Status[] reads;
  private int scannedRows;
  private long finished;
  private Status[] statuses;
  // Changed by whoever comes first, through the handle above.
  private volatile boolean settled;

  /**
   * Describes an operation.
   *
   * @param type         what it does
   * @param table        table of all its records
   * @param keys         the workload's keys, one per record
   * @param readColumns  fields to read, {@code null} for all
   * @param writeColumns fields to write, {@code null} where nothing is written
   * @param values       per record one value per write column
   * @param scanLength   records that a scan asks for
   * @param batched      whether the batch verbs of the binding are to carry it
   * @param check        checks the content read ({@code dataintegrity}), {@code null} where nobody does
   */
  Operation(OperationType type, String table, List<byte[]> keys, Columns readColumns, Columns writeColumns,
      byte[][][] values, int scanLength, boolean batched, IntegrityCheck check) {
    this.type = type;
    this.table = table;
    this.keys = keys;
    this.readColumns = readColumns;
    this.writeColumns = writeColumns;
    this.values = values;
    this.scanLength = scanLength;
    this.batched = batched;
    this.check = check;
  }

  private static VarHandle handle(String field, Class<?> type) {
    try {
      return MethodHandles.lookup().findVarHandle(Operation.class, field, type);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /**
   * Sends it.
   *
   * @param binding  database
   * @param intended when it should have started by the target rate, in {@link System#nanoTime}
   * @param now      the time, in {@link System#nanoTime}
   * @param whenDone called once, on whatever thread the answer comes in
   */
  public void start(Binding binding, long intended, long now, Consumer<Operation> whenDone) {
    this.intended = intended;
    this.started = now;
    if (retries == 0) {
      firstStarted = now;
    }
    try {
      if (batched) {
        sendBatch(binding).whenComplete((all, error) ->
            settle(error == null ? all : Outcome.each(Outcome.of(error), keys.size()), whenDone));
      } else {
        sendOne(binding).whenComplete((one, error) ->
            settle(error == null ? (one.isOk() ? ONE_OK : new Status[] {one}) : new Status[] {Outcome.of(error)},
                whenDone));
      }
    } catch (RuntimeException e) {
      // A driver may throw at once instead of failing the future (HBase does when a value is too large).
      settle(Outcome.each(Outcome.of(e), keys.size()), whenDone);
    }
  }

  private CompletableFuture<Status> sendOne(Binding binding) {
    byte[] key = binding.keys().encode(keys.get(0));
    return switch (type) {
      case INSERT -> binding.insertRow(row(key, 0));
      case UPDATE -> binding.update(row(key, 0));
      case READ -> read(binding, key);
      case SCAN -> binding.scanRows(table, key, scanLength, readColumns, this::countRow);
      case READ_MODIFY_WRITE -> read(binding, key).thenCompose(read -> {
        readAnswered(new Status[] {read});
        // Not the binding's read-before-write: the record has just been read. What was given up is not written.
        return read.isOk() && !settled ? binding.updateRow(row(key, 0)) : CompletableFuture.completedFuture(read);
      });
      default -> throw new IllegalStateException(type + " is not sent to a database");
    };
  }

  private CompletableFuture<Status[]> sendBatch(Binding binding) {
    return switch (type) {
      case INSERT -> binding.insertRows(rows(binding.keys()));
      case UPDATE -> binding.update(rows(binding.keys()));
      case READ -> readAll(binding);
      case READ_MODIFY_WRITE -> readAll(binding).thenCompose(read -> {
        readAnswered(read);
        return settled ? CompletableFuture.completedFuture(read) : binding.updateFound(rows(binding.keys()), read);
      });
      default -> throw new IllegalStateException(type + " has no batch form");
    };
  }

  /**
   * Gives up waiting: every record counts as {@link Outcome#TIMEOUT}, and a late answer is dropped.
   *
   * @return whether it was still open
   */
  public boolean abandon() {
    return settle(Outcome.each(Outcome.TIMEOUT, keys.size()), operation -> { });
  }

  /** Counts every record of a finished operation as {@link Outcome#TIMEOUT}: its answer came too late. */
  public void timeOut() {
    statuses = Outcome.each(Outcome.TIMEOUT, keys.size());
  }

  private boolean settle(Status[] outcome, Consumer<Operation> whenDone) {
    if (!SETTLED.compareAndSet(this, false, true)) {
      return false;
    }
    finished = System.nanoTime();
    statuses = outcome;
    if (type == OperationType.READ_MODIFY_WRITE && reads == null) {
      // It was the read that failed, in whichever way its binding says so, or that was not answered in time.
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

  private CompletableFuture<Status> read(Binding binding, byte[] key) {
    return check == null ? binding.readRow(table, key, readColumns, RowSink.DISCARD)
        : binding.readRow(table, key, readColumns, check).thenApply(check::checked);
  }

  private CompletableFuture<Status[]> readAll(Binding binding) {
    List<byte[]> stored = encoded(binding.keys());
    return check == null ? binding.readRows(table, stored, readColumns, RowSink.DISCARD)
        : binding.readRows(table, stored, readColumns, check).thenApply(check::checked);
  }

  private void countRow(int row, String column, ByteBuffer value) {
    scannedRows = row + 1;
  }

  private Row row(byte[] key, int index) {
    return new Row(table, key, writeColumns, values[index]);
  }

  private List<Row> rows(KeyCodec codec) {
    List<Row> rows = new ArrayList<>(keys.size());
    for (int i = 0; i < keys.size(); i++) {
      rows.add(row(codec.encode(keys.get(i)), i));
    }
    return rows;
  }

  private List<byte[]> encoded(KeyCodec codec) {
    List<byte[]> stored = new ArrayList<>(keys.size());
    for (byte[] key : keys) {
      stored.add(codec.encode(key));
    }
    return stored;
  }

  /** The same operation once more, after this one has failed. */
  public Operation again() {
    Operation again = new Operation(
        type, table, keys, readColumns, writeColumns, values, scanLength, batched, check);
    again.retries = retries + 1;
    again.firstStarted = firstStarted;
    again.insertedKeys = insertedKeys;
    return again;
  }

  /** Where its sender keeps it while it is on its way. */
  public int slot() {
    return slot;
  }

  public void slot(int number) {
    slot = number;
  }

  /** How often it had been sent before. */
  public int retries() {
    return retries;
  }

  /** Remembers the key numbers of new records, for the source to acknowledge when it has finished. */
  void insertedKeys(long[] keynums) {
    insertedKeys = keynums;
  }

  /** Whether it inserts records that were not loaded. */
  public boolean isNewRecord() {
    return insertedKeys.length > 0;
  }

  long[] insertedKeys() {
    return insertedKeys;
  }

  public OperationType type() {
    return type;
  }

  public String table() {
    return table;
  }

  public List<byte[]> keys() {
    return keys;
  }

  /** Fields to read, {@code null} for all. */
  public Columns readColumns() {
    return readColumns;
  }

  /** Fields to write, {@code null} where nothing is written. */
  public Columns writeColumns() {
    return writeColumns;
  }

  /** The values to write, per record one per write column. */
  public byte[][][] values() {
    return values;
  }

  public int scanLength() {
    return scanLength;
  }

  /** When it should have started, in {@link System#nanoTime}. */
  public long intended() {
    return intended;
  }

  /** When it was sent, in {@link System#nanoTime}. */
  public long started() {
    return started;
  }

  /** When it was sent for the first time, in {@link System#nanoTime}. */
  public long firstStarted() {
    return firstStarted;
  }

  /** When the answer had come, in {@link System#nanoTime}. */
  public long finished() {
    return finished;
  }

  /** One status per record, once it has finished. */
  public Status[] statuses() {
    return statuses;
  }

  /** When the read of a read-modify-write was answered; 0 where there was none. */
  public long readFinished() {
    return readFinished;
  }

  /** One status per record of the read of a read-modify-write; {@code null} where there was none. */
  public Status[] reads() {
    return reads;
  }

  /** How many records a scan returned. */
  public int scannedRows() {
    return scannedRows;
  }

  /**
   * What the check of {@code dataintegrity} found: a status per record that was read, which of a wrong one is that of
   * the read, too; none where nothing is checked, or nothing was read.
   */
  public Status[] verified() {
    Status[] read = type == OperationType.READ_MODIFY_WRITE ? reads : statuses;
    if (check == null) {
      return NONE;
    }
    return Arrays.stream(read).filter(status -> status.isOk() || status == IntegrityCheck.WRONG)
        .toArray(Status[]::new);
  }
}
