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
 * A database as the client sees it. A binding implements the {@code …Row} methods with its driver, and the
 * {@code …Rows} methods where the driver has batches. Reading before writing, key salting, timeouts and YCSB's own
 * {@link DB} interface (for the stock client) are implemented here for all bindings.
 *
 * <p>Every method returns a future with the status of each record: {@link Status#OK}, {@link Status#NOT_FOUND} (which
 * is no error) or an error. A future that fails counts as the status that {@link #failed} gives its exception. A
 * synchronous driver returns completed futures. For one record there are forms that call a listener instead, which a
 * binding may implement, too. One instance serves one logical client. Its methods may be called before earlier calls
 * have completed, and on the driver's threads. The instances of a process share one connection.
 */
public abstract class Binding extends DB {
  private boolean readBeforeWrite;
  private boolean writesMissing;
  private long timeoutMillis;
  private KeyCodec keys;

  /**
   * Connects; called once per thread, before anything is measured.
   *
   * @param settings the client's properties
   * @throws DBException      if the database cannot be reached
   * @throws SettingException if a property has an impossible value
   */
  protected abstract void connect(Settings settings) throws DBException;

  /**
   * Releases the connection; called once per thread.
   *
   * @throws DBException if the driver fails to
   */
  protected abstract void disconnect() throws DBException;

  /**
   * Reads a record.
   *
   * @param table   table name
   * @param key     stored key
   * @param columns fields wanted, {@code null} for all
   * @param sink    gets the fields, as row 0
   * @return OK, NOT_FOUND or an error
   */
  public abstract CompletableFuture<Status> readRow(String table, byte[] key, Columns columns, RowSink sink);

  /** Writes a new record. */
  public abstract CompletableFuture<Status> insertRow(Row row);

  /** Changes the fields given and leaves the others as they are. */
  public abstract CompletableFuture<Status> updateRow(Row row);

  /** Removes a record. */
  public abstract CompletableFuture<Status> deleteRow(String table, byte[] key);

  /**
   * Reads records in the database's own key order.
   *
   * @param table   table name
   * @param key     stored key to begin at, inclusive
   * @param count   the most records
   * @param columns fields wanted, {@code null} for all
   * @param sink    gets the fields; rows are numbered from 0 in the order of the scan
   * @return OK or an error
   */
  public abstract CompletableFuture<Status> scanRows(
      String table, byte[] key, int count, Columns columns, RowSink sink);

  /**
   * Reads a record as {@link #readRow(String, byte[], Columns, RowSink)} does, and passes on what would complete that
   * future. A binding whose driver has listeners implements this method and the two below, and makes the futures with
   * {@link #future}: an operation of its own then needs none.
   *
   * @param answered called on the thread that brings the answer; not called if this method throws
   */
  public void readRow(String table, byte[] key, Columns columns, RowSink sink,
      BiConsumer<Status, Throwable> answered) {
    readRow(table, key, columns, sink).whenComplete(answered);
  }

  /** Writes a new record, and passes on what would complete the future of {@link #insertRow(Row)}. */
  public void insertRow(Row row, BiConsumer<Status, Throwable> answered) {
    insertRow(row).whenComplete(answered);
  }

  /** Changes fields, and passes on what would complete the future of {@link #updateRow(Row)}. */
  public void updateRow(Row row, BiConsumer<Status, Throwable> answered) {
    updateRow(row).whenComplete(answered);
  }

  /**
   * Reads a batch; by default with concurrent single reads.
   *
   * @return one status per key, in the order of the keys
   */
  public CompletableFuture<Status[]> readRows(String table, List<byte[]> keys, Columns columns, RowSink sink) {
    return sideBySide(keys.size(), i -> readRow(table, keys.get(i), columns,
        (row, column, value) -> sink.field(i, column, value)));
  }

  /** Writes a batch of new records of one table; by default with concurrent single inserts. */
  public CompletableFuture<Status[]> insertRows(List<Row> rows) {
    return sideBySide(rows.size(), i -> insertRow(rows.get(i)));
  }

  /** Updates a batch of records of one table; by default with concurrent single updates. */
  public CompletableFuture<Status[]> updateRows(List<Row> rows) {
    return sideBySide(rows.size(), i -> updateRow(rows.get(i)));
  }

  /**
   * Updates a record; with {@code readbeforewrite} the whole record is read first, and a missing one is not written
   * unless {@code readbeforewrite.missing=write} asks for it. Its status is NOT_FOUND either way: lost records count.
   */
  public final CompletableFuture<Status> update(Row row) {
    if (!readBeforeWrite) {
      return updateRow(row);
    }
    return readRow(row.table(), row.key(), null, RowSink.DISCARD)
        .thenCompose(read -> isWritten(read) ? updateRow(row).thenApply(written -> written.isOk() ? read : written)
            : CompletableFuture.completedFuture(read));
  }

  /** Updates a record, and passes on what would complete the future of {@link #update(Row)}. */
  public final void update(Row row, BiConsumer<Status, Throwable> answered) {
    if (readBeforeWrite) {
      update(row).whenComplete(answered);
    } else {
      updateRow(row, answered);
    }
  }

  /** Updates a batch; with {@code readbeforewrite} the batch is read first, as for a single record. */
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
   * Updates those records of a batch that a read has found.
   *
   * @param rows  the batch
   * @param reads each record's status of the read
   * @return each record's status: of the update, or of the read if there was nothing to update
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
   * The loops that may run its logical clients ({@code client.loop}), the default first: {@code threads}, and
   * {@code events} where the driver completes the futures on its own threads. Called before {@link #connect}.
   */
  public String[] loops(Settings settings) {
    return new String[] {"threads"};
  }

  /**
   * The properties that make reads as strong as the system allows; none if reads always are. Records are read back with
   * them ({@code verify=acknowledged}).
   *
   * @param settings the client's properties
   */
  public Map<String, String> strongestReads(Settings settings) {
    return Map.of();
  }

  /** The transport of this connected binding, where it reports one. */
  public Optional<Transport> transport() {
    return Optional.empty();
  }

  /**
   * The status of a request whose future failed; named after the driver's exception unless a binding knows better.
   *
   * @param error the exception, perhaps wrapped by {@code java.util.concurrent}
   */
  public Status failed(Throwable error) {
    return Outcome.of(error);
  }

  /** Converts the workload's keys to stored ones. */
  public final KeyCodec keys() {
    return keys;
  }

  /** Starts a request; where the driver throws instead of failing its future, a failed future is returned. */
  public static <T> CompletableFuture<T> guarded(Supplier<CompletableFuture<T>> request) {
    try {
      return request.get();
    } catch (RuntimeException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  /** Starts a request that passes its result or its failure on, and returns a future of it. */
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

  /** Takes one of several answers: its index with its result, or with its failure where that is not null. */
  @FunctionalInterface
  protected interface Collector<T> {
    void take(int index, T result, Throwable failure);
  }

  /** Waits for all answers, failed ones too, and passes them to the collector in their order, on one thread. */
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

  /** The timeout of one operation in milliseconds ({@code operationtimeout}, default 10,000). */
  public static long operationTimeout(Settings settings) {
    return settings.whole("operationtimeout", 10_000, 1, 86_400_000);
  }

  /**
   * How often a binding, or its driver, may retry a request ({@code retries}, default 0): the same for all systems.
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
