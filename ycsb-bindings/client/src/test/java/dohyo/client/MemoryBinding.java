package dohyo.client;

import dohyo.binding.Binding;
import dohyo.binding.Columns;
import dohyo.binding.Row;
import dohyo.binding.RowSink;
import dohyo.binding.Settings;
import dohyo.binding.Shared;
import dohyo.binding.Transport;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * A small store in the test's process, which fails, hangs and delays on demand:
 * <ul>
 *   <li>{@code memory.fail} (none, connect, nomemory, throw, outofmemory, error, hang): kind of failure of
 *     connections, or of the writes after number {@code memory.failafter} up to number {@code memory.failuntil}</li>
 *   <li>{@code memory.failread} (none, status, error, throw, hang): kind of failure of reads; with {@code status} a
 *     scan fails after its rows</li>
 *   <li>{@code memory.delay}, {@code memory.writedelay}: delay of reads and of writes, in milliseconds</li>
 *   <li>{@code memory.cold}: milliseconds for which the first read of each instance blocks</li>
 *   <li>{@code memory.scanned}: number of rows that a scan pretends to find</li>
 *   <li>{@code memory.loop}: a single thread does all reads, and spends this many microseconds on each</li>
 *   <li>{@code memory.answers}: answers to successive reads, repeated: a delay in milliseconds, {@code error}, or
 *     {@code hang} for no answer; the store records the times of these reads</li>
 *   <li>{@code memory.stall}: time without answers from the list: from-until in milliseconds since the first read</li>
 *   <li>{@code memory.store}: name of the store; each test has its own</li>
 * </ul>
 */
public final class MemoryBinding extends Binding {
  private static final Map<String, Store> STORES = new ConcurrentHashMap<>();
  private static final Shared<Loop> LOOP = new Shared<>(Loop::new);
  // With two processors, the JDK's default executor starts a thread for each answer. It cannot keep up with thousands
  // of delayed answers per second.
  private static final Executor ANSWERS = Executors.newFixedThreadPool(2, MemoryBinding::answering);

  private Store store;
  private String failure;
  private long failAfter;
  private long failUntil;
  private long delayMillis;
  private long writeDelayMillis;
  private int scanned;
  private long coldMillis;
  private String readFailure;
  private String[] answers;
  private long[] stallMillis;
  private Loop loop;

  /** A single thread that does all reads, like the event loop of a driver. It reports one retry for each read. */
  private static final class Loop implements Shared.Connection, Transport {
    private final ExecutorService thread = Executors.newSingleThreadExecutor(work -> new Thread(work, "memory-loop"));
    private final AtomicLong reads = new AtomicLong();
    private final long nanos;

    Loop(Settings settings) {
      nanos = TimeUnit.MICROSECONDS.toNanos(settings.whole("memory.loop", 0, 0, 1_000_000));
    }

    CompletableFuture<Status> work() {
      return CompletableFuture.supplyAsync(() -> {
        reads.incrementAndGet();
        long end = System.nanoTime() + nanos;
        while (System.nanoTime() < end) {
          Thread.onSpinWait();
        }
        return Status.OK;
      }, thread);
    }

    @Override
    public void close() {
      thread.shutdown();
    }

    @Override
    public int connections() {
      return thread.isShutdown() ? 0 : 3;
    }

    @Override
    public int eventLoops() {
      return 1;
    }

    @Override
    public long retries() {
      return reads.get();
    }
  }

  /** Content of a store. */
  static final class Store {
    final ConcurrentSkipListMap<String, Map<String, byte[]>> rows = new ConcurrentSkipListMap<>();
    final AtomicLong reads = new AtomicLong();
    final AtomicLong writes = new AtomicLong();
    final ConcurrentLinkedQueue<Answer> answers = new ConcurrentLinkedQueue<>();
    final AtomicLong firstRead = new AtomicLong();
  }

  /** An answer to a read, from {@code memory.answers}. Times are in {@link System#nanoTime}. */
  record Answer(long number, String kind, long asked, long answered) {
  }

  static Store store(String name) {
    return STORES.computeIfAbsent(name, n -> new Store());
  }

  static void forget(String name) {
    STORES.remove(name);
  }

  @Override
  public String[] loops(Settings settings) {
    return new String[] {"events", "threads"};
  }

  @Override
  protected void connect(Settings settings) throws DBException {
    store = store(settings.text("memory.store", "default"));
    failure = settings.choice("memory.fail", "none", "connect", "nomemory", "throw", "outofmemory",
        "error", "hang");
    failAfter = settings.whole("memory.failafter", 0, 0, Long.MAX_VALUE);
    failUntil = settings.whole("memory.failuntil", Long.MAX_VALUE, 0, Long.MAX_VALUE);
    delayMillis = settings.whole("memory.delay", 0, 0, 60_000);
    writeDelayMillis = settings.whole("memory.writedelay", 0, 0, 60_000);
    coldMillis = settings.whole("memory.cold", 0, 0, 60_000);
    scanned = settings.number("memory.scanned", 0, 0, Integer.MAX_VALUE);
    readFailure = settings.choice("memory.failread", "none", "status", "error", "throw", "hang");
    answers = settings.text("memory.answers", "").split(",");
    stallMillis = Arrays.stream(settings.text("memory.stall", "0-0").split("-")).mapToLong(Long::parseLong).toArray();
    loop = settings.has("memory.loop") ? LOOP.open(settings) : null;
    if (failure.equals("connect")) {
      throw new DBException("nobody listens at memory");
    }
    if (failure.equals("nomemory")) {
      throw new OutOfMemoryError("not enough for a connection");
    }
  }

  @Override
  protected void disconnect() {
    // Keep the store, so that the test can examine it.
    if (loop != null) {
      LOOP.release();
    }
  }

  @Override
  public Optional<Transport> transport() {
    return Optional.ofNullable(loop);
  }

  private static String id(String table, byte[] key) {
    return table + "/" + new String(key, StandardCharsets.ISO_8859_1);
  }

  @Override
  public CompletableFuture<Status> readRow(String table, byte[] key, Columns columns, RowSink sink) {
    long number = store.reads.getAndIncrement();
    if (!answers[0].isEmpty()) {
      return answer(number, answers[(int) (number % answers.length)]);
    }
    if (loop != null) {
      return loop.work();
    }
    if (coldMillis > 0) {
      // Park until the time is over, like a blocking driver: neither an earlier permit nor an interrupt ends the wait.
      long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(coldMillis);
      for (long left; (left = until - System.nanoTime()) > 0; Thread.interrupted()) {
        LockSupport.parkNanos(left);
      }
      coldMillis = 0;
    }
    switch (readFailure) {
      case "status":
        return CompletableFuture.completedFuture(new Status("IO", "disk on fire"));
      case "error":
        return CompletableFuture.failedFuture(new java.io.IOException("disk on fire"));
      case "throw":
        throw new IllegalStateException("thrown at once");
      case "hang":
        return new CompletableFuture<>();
      default:
        break;
    }
    Map<String, byte[]> row = store.rows.get(id(table, key));
    if (row != null) {
      row.forEach((name, value) -> {
        if (columns == null || columns.names().contains(name)) {
          sink.field(0, name, ByteBuffer.wrap(value));
        }
      });
    }
    Status status = row == null ? Status.NOT_FOUND : Status.OK;
    return after(delayMillis, status);
  }

  private CompletableFuture<Status> answer(long number, String kind) {
    long asked = System.nanoTime();
    if (kind.equals("hang")) {
      return new CompletableFuture<>();
    }
    store.firstRead.compareAndSet(0, asked);
    long until = asked + (kind.equals("error") ? 0 : TimeUnit.MILLISECONDS.toNanos(Long.parseLong(kind)));
    long stalled = store.firstRead.get() + TimeUnit.MILLISECONDS.toNanos(stallMillis[0]);
    if (until - stalled >= 0) {
      until = Math.max(until, store.firstRead.get() + TimeUnit.MILLISECONDS.toNanos(stallMillis[1]));
    }
    return CompletableFuture.supplyAsync(() -> {
      store.answers.add(new Answer(number, kind, asked, System.nanoTime()));
      return kind.equals("error") ? new Status("IO", "disk on fire") : Status.OK;
    }, CompletableFuture.delayedExecutor(until - asked, TimeUnit.NANOSECONDS, ANSWERS));
  }

  private static CompletableFuture<Status> after(long millis, Status status) {
    return millis == 0 ? CompletableFuture.completedFuture(status) : CompletableFuture.supplyAsync(() -> status,
        CompletableFuture.delayedExecutor(millis, TimeUnit.MILLISECONDS, ANSWERS));
  }

  private static Thread answering(Runnable work) {
    Thread thread = new Thread(work, "memory-answers");
    thread.setDaemon(true);
    return thread;
  }

  @Override
  public CompletableFuture<Status> insertRow(Row row) {
    long write = store.writes.incrementAndGet();
    if (write > failAfter && write <= failUntil) {
      switch (failure) {
        case "throw":
          throw new IllegalStateException("thrown at once");
        case "outofmemory":
          throw new OutOfMemoryError("not enough for a row");
        case "error":
          return CompletableFuture.failedFuture(new java.io.IOException("disk on fire"));
        case "hang":
          return new CompletableFuture<>();
        default:
          break;
      }
    }
    Map<String, byte[]> stored = store.rows.computeIfAbsent(id(row.table(), row.key()), k -> new ConcurrentHashMap<>());
    for (int i = 0; i < row.values().length; i++) {
      stored.put(row.columns().names().get(i), row.values()[i]);
    }
    return after(writeDelayMillis, Status.OK);
  }

  @Override
  public CompletableFuture<Status> updateRow(Row row) {
    return insertRow(row);
  }

  @Override
  public CompletableFuture<Status> deleteRow(String table, byte[] key) {
    store.rows.remove(id(table, key));
    return CompletableFuture.completedFuture(Status.OK);
  }

  @Override
  public CompletableFuture<Status> scanRows(String table, byte[] key, int count, Columns columns, RowSink sink) {
    if (scanned > 0) {
      sink.field(scanned - 1, "field0", ByteBuffer.allocate(0));
      boolean fails = readFailure.equals("status");
      return CompletableFuture.completedFuture(fails ? new Status("IO", "disk on fire") : Status.OK);
    }
    int row = 0;
    for (Map<String, byte[]> found : store.rows.tailMap(id(table, key)).values()) {
      int number = row;
      found.forEach((name, value) -> sink.field(number, name, ByteBuffer.wrap(value)));
      if (++row == count) {
        break;
      }
    }
    return CompletableFuture.completedFuture(Status.OK);
  }

  /** Returns the ids of all rows of a store: table, slash and stored key. */
  static List<String> keys(String name) {
    return List.copyOf(store(name).rows.keySet());
  }
}
