package dohyo.binding;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.Vector;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import java.util.function.Predicate;
import java.util.function.Supplier;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * Base class of all database bindings. A subclass implements the {@code …Row} methods with its driver. It overrides the
 * {@code …Rows} methods if the driver supports batches. This class implements reading before writing, key salting and
 * YCSB's own blocking {@link DB} interface, which the stock client uses.
 *
 * <p>Each asynchronous method returns a future with the status of each record: {@link Status#OK}, {@link
 * Status#NOT_FOUND}, which is not an error, or an error. If a future fails, {@link #failed} converts its exception to a
 * status. A synchronous driver returns completed futures. Requests for one record also have a form with a listener,
 * which a binding may override.
 *
 * <p>Each logical client has its own instance. The client may call its methods before earlier calls have completed, and
 * on the driver's threads. All instances of a process share one connection.
 */
public abstract class Binding extends DB {
  private boolean readBeforeWrite;
  private boolean writesMissing;
  private long timeoutMillis;
  private KeyCodec keys;

  /**
   * Connects to the database. The client calls this method once per instance, before it measures anything.
   *
   * @param settings the client's properties
   * @throws DBException      if the database cannot be reached
   * @throws SettingException if a property has an invalid value
   */
  protected abstract void connect(Settings settings) throws DBException;

  /**
   * Releases the connection. The client calls this method once per instance.
   *
   * @throws DBException if the driver cannot release it
   */
  protected abstract void disconnect() throws DBException;

  /**
   * Reads a record.
   *
   * @param table   table name
   * @param key     stored key
   * @param columns fields to read, {@code null} for all
   * @param sink    receives the fields, as row 0
   * @return OK, NOT_FOUND or an error
   */
  public abstract CompletableFuture<Status> readRow(String table, byte[] key, Columns columns, RowSink sink);

  /** Inserts a record. */
  public abstract CompletableFuture<Status> insertRow(Row row);

  /** Writes the given fields of a record and leaves its other fields unchanged. */
  public abstract CompletableFuture<Status> updateRow(Row row);

  /** Deletes a record. */
  public abstract CompletableFuture<Status> deleteRow(String table, byte[] key);

  /**
   * Reads records in the key order of the database.
   *
   * @param table   table name
   * @param key     stored key of the first record, inclusive
   * @param count   maximum number of records
   * @param columns fields to read, {@code null} for all
   * @param sink    receives the fields; rows are numbered from 0 in the order of the scan
   * @return OK or an error
   */
  public abstract CompletableFuture<Status> scanRows(
      String table, byte[] key, int count, Columns columns, RowSink sink);

  /**
   * Reads a record like {@link #readRow(String, byte[], Columns, RowSink)}, but calls a listener instead of completing
   * a future. A binding whose driver has listeners overrides the three methods with listeners, and implements the three
   * methods with futures by calling {@link #future}. The client then needs no future per operation.
   *
   * @param answered receives the status or the exception, on the thread that completes the request; it is not called if
   *                 this method throws
   */
  public void readRow(String table, byte[] key, Columns columns, RowSink sink,
      BiConsumer<Status, Throwable> answered) {
    readRow(table, key, columns, sink).whenComplete(answered);
  }

  /** Inserts a record like {@link #insertRow(Row)}, but calls a listener instead of completing a future. */
  public void insertRow(Row row, BiConsumer<Status, Throwable> answered) {
    insertRow(row).whenComplete(answered);
  }

  /** Writes fields like {@link #updateRow(Row)}, but calls a listener instead of completing a future. */
  public void updateRow(Row row, BiConsumer<Status, Throwable> answered) {
    updateRow(row).whenComplete(answered);
  }

  /**
   * Reads a batch of records. The default sends concurrent single reads.
   *
   * @return one status per key, in the order of the keys
   */
  public CompletableFuture<Status[]> readRows(String table, List<byte[]> keys, Columns columns, RowSink sink) {
    return sideBySide(keys.size(), i -> readRow(table, keys.get(i), columns,
        (row, column, value) -> sink.field(i, column, value)));
  }

  /** Inserts a batch of records into one table. The default sends concurrent single inserts. */
  public CompletableFuture<Status[]> insertRows(List<Row> rows) {
    return sideBySide(rows.size(), i -> insertRow(rows.get(i)));
  }

  /** Updates a batch of records of one table. The default sends concurrent single updates. */
  public CompletableFuture<Status[]> updateRows(List<Row> rows) {
    return sideBySide(rows.size(), i -> updateRow(rows.get(i)));
  }

  /**
   * Updates a record. With {@code readbeforewrite} it reads the whole record first, and writes a missing record only
   * with {@code readbeforewrite.missing=write}. Unless the write fails, the status of a missing record is NOT_FOUND in
   * both cases, so that lost records are counted.
   */
  public final CompletableFuture<Status> update(Row row) {
    if (!readBeforeWrite) {
      return updateRow(row);
    }
    return readRow(row.table(), row.key(), null, RowSink.DISCARD)
        .thenCompose(read -> isWritten(read) ? updateRow(row).thenApply(written -> written.isOk() ? read : written)
            : CompletableFuture.completedFuture(read));
  }

  /** Updates a record like {@link #update(Row)}, but calls a listener instead of completing a future. */
  public final void update(Row row, BiConsumer<Status, Throwable> answered) {
    if (readBeforeWrite) {
      update(row).whenComplete(answered);
    } else {
      updateRow(row, answered);
    }
  }

  /** Updates a batch of records. With {@code readbeforewrite} it reads the whole batch first. */
  public final CompletableFuture<Status[]> update(List<Row> rows) {
    if (!readBeforeWrite) {
      return updateRows(rows);
    }
    List<byte[]> wanted = rows.stream().map(Row::key).toList();
    return readRows(rows.get(0).table(), wanted, null, RowSink.DISCARD)
        .thenCompose(reads -> updateSome(rows, reads, this::isWritten));
  }

  private boolean isWritten(Status read) {
    return read.isOk() || writesMissing && read.equals(Status.NOT_FOUND);
  }

  /**
   * Updates the records of a batch that a read has found.
   *
   * @param rows  the batch
   * @param reads status of the read of each record
   * @return status of each record: the error of a failed update, otherwise the status of the read
   */
  public final CompletableFuture<Status[]> updateFound(List<Row> rows, Status[] reads) {
    return updateSome(rows, reads, Status::isOk);
  }

  private CompletableFuture<Status[]> updateSome(List<Row> rows, Status[] reads, Predicate<Status> written) {
    List<Row> found = new ArrayList<>(rows.size());
    for (int i = 0; i < reads.length; i++) {
      if (written.test(reads[i])) {
        found.add(rows.get(i));
      }
    }
    if (found.isEmpty()) {
      return CompletableFuture.completedFuture(reads);
    }
    return updateRows(found).thenApply(updates -> {
      Status[] statuses = reads.clone();
      int next = 0;
      for (int i = 0; i < statuses.length; i++) {
        if (written.test(reads[i])) {
          Status update = updates[next++];
          statuses[i] = update.isOk() ? reads[i] : update;
        }
      }
      return statuses;
    });
  }

  /**
   * Returns the supported values of {@code client.loop}, beginning with the default. {@code threads} runs each
   * logical client on its own thread. {@code events} needs a driver that completes futures on its own threads. The
   * client calls this method before {@link #connect}.
   */
  public String[] loops(Settings settings) {
    return new String[] {"threads"};
  }

  /**
   * Returns the properties for the strongest reads of this system; empty if its reads are always the strongest.
   * With {@code verify=acknowledged} the client reads records back with these properties.
   *
   * @param settings the client's properties
   */
  public Map<String, String> strongestReads(Settings settings) {
    return Map.of();
  }

  /** Returns the transport of this connected binding; empty if the binding does not report one. */
  public Optional<Transport> transport() {
    return Optional.empty();
  }

  /**
   * Converts the exception of a failed future to a status, which by default is named after the driver's exception.
   *
   * @param error the exception, possibly wrapped by {@code java.util.concurrent}
   */
  public Status failed(Throwable error) {
    return Outcome.of(error);
  }

  /** Returns the codec that converts the workload's keys to stored keys. */
  public final KeyCodec keys() {
    return keys;
  }

  /** Starts a request. Returns a failed future if the driver throws instead of failing its future. */
  public static <T> CompletableFuture<T> guarded(Supplier<CompletableFuture<T>> request) {
    try {
      return request.get();
    } catch (RuntimeException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  /** Starts a request that calls a listener. Returns a future with the listener's result or exception. */
  public static <T> CompletableFuture<T> future(Consumer<BiConsumer<T, Throwable>> request) {
    CompletableFuture<T> future = new CompletableFuture<>();
    try {
      request.accept((result, error) -> {
        if (error == null) {
          future.complete(result);
        } else {
          future.completeExceptionally(error);
        }
      });
    } catch (RuntimeException e) {
      future.completeExceptionally(e);
    }
    return future;
  }

  /** Receives one of several results: its index, and either the result or a non-null failure. */
  @FunctionalInterface
  protected interface Collector<T> {
    void take(int index, T result, Throwable failure);
  }

  /**
   * Passes the results of all futures, including failed ones, to the collector when the last future has completed.
   * Calls the collector in the order of the list, on one thread. Does not block.
   */
  protected static <T> CompletableFuture<Void> gather(List<CompletableFuture<T>> answers, Collector<T> collector) {
    return CompletableFuture.allOf(answers.toArray(CompletableFuture[]::new)).handle((all, error) -> {
      for (int i = 0; i < answers.size(); i++) {
        int index = i;
        answers.get(i).handle((result, failure) -> {
          collector.take(index, result, failure);
          return null;
        }).join();
      }
      return null;
    });
  }

  // ---- YCSB's own interface: one record at a time, blocking ----

  @Override
  public final void init() throws DBException {
    Settings settings = new Settings(getProperties());
    readBeforeWrite = settings.flag("readbeforewrite", false);
    writesMissing = settings.choice("readbeforewrite.missing", "skip", "write").equals("write");
    timeoutMillis = operationTimeout(settings);
    keys = new KeyCodec(settings);
    connect(settings);
  }

  /** Returns the timeout of one operation, in milliseconds ({@code operationtimeout}, default 10,000). */
  public static long operationTimeout(Settings settings) {
    return settings.whole("operationtimeout", 10_000, 1, 86_400_000);
  }

  /**
   * Returns the maximum number of retries of a request by a binding or its driver ({@code retries}, default 0), which
   * is the same for all systems.
   */
  public static int retries(Settings settings) {
    return settings.number("retries", 0, 0, 1000);
  }

  @Override
  public final void cleanup() throws DBException {
    disconnect();
  }

  @Override
  public final Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
    return await(readRow(table, keys.encode(key), columns(fields),
        (row, column, value) -> result.put(column, iterator(value))));
  }

  @Override
  public final Status scan(String table, String startkey, int recordcount, Set<String> fields,
      Vector<HashMap<String, ByteIterator>> result) {
    return await(scanRows(table, keys.encode(startkey), recordcount, columns(fields), (row, column, value) -> {
      while (result.size() <= row) {
        result.add(new HashMap<>());
      }
      result.get(row).put(column, iterator(value));
    }));
  }

  @Override
  public final Status update(String table, String key, Map<String, ByteIterator> values) {
    return await(update(row(table, key, values)));
  }

  @Override
  public final Status insert(String table, String key, Map<String, ByteIterator> values) {
    return await(insertRow(row(table, key, values)));
  }

  @Override
  public final Status delete(String table, String key) {
    return await(deleteRow(table, keys.encode(key)));
  }

  private Row row(String table, String key, Map<String, ByteIterator> values) {
    Columns columns = Columns.of(List.copyOf(values.keySet()));
    byte[][] bytes = new byte[columns.size()][];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = values.get(columns.names().get(i)).toArray();
    }
    return new Row(table, keys.encode(key), columns, bytes);
  }

  private static Columns columns(Set<String> fields) {
    return fields == null || fields.isEmpty() ? null : Columns.of(List.copyOf(fields));
  }

  private static ByteIterator iterator(ByteBuffer value) {
    byte[] bytes = new byte[value.remaining()];
    value.duplicate().get(bytes);
    return new ByteArrayByteIterator(bytes);
  }

  private Status await(CompletableFuture<Status> operation) {
    try {
      return operation.get(timeoutMillis, TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      return Outcome.TIMEOUT;
    } catch (ExecutionException e) {
      return failed(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return Outcome.of(e);
    }
  }

  private CompletableFuture<Status[]> sideBySide(int count, IntFunction<CompletableFuture<Status>> start) {
    List<CompletableFuture<Status>> answers = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      int place = i;
      answers.add(guarded(() -> start.apply(place)));
    }
    Status[] statuses = new Status[count];
    return gather(answers, (i, status, failure) -> statuses[i] = failure == null ? status : failed(failure))
        .thenApply(done -> statuses);
  }
}
