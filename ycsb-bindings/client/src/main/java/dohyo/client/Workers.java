package dohyo.client;

import dohyo.binding.Binding;
import dohyo.binding.SettingException;
import dohyo.binding.Transport;
import dohyo.workload.RequestSource;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.Histogram;
import site.ycsb.DBException;

/**
 * Runs the logical clients on threads: one thread per client, or a few for all. All threads connect, work in one window
 * after another, and disconnect together. Between windows, no operation is in flight and connections stay open.
 */
final class Workers {
  /** Time limit for disconnecting, in seconds. After that, threads are abandoned. */
  private static final long DISCONNECT_SECONDS = 15;
  /** Time limit after an abort, in seconds. It is short because the shutdown hook waits 10 s for everything. */
  private static final long ABORTED_DISCONNECT_SECONDS = 3;
  /** Exception for a lack of memory, created in advance because there may be no memory for it later. */
  private static final DBException OUT_OF_MEMORY = new DBException("a client thread could not connect: out of memory;"
      + " raise client_heap, or lower threadcount");

  private final Run run;
  private final Abort abort;
  private final int threads;
  private final Collection<Thread> started = new ConcurrentLinkedQueue<>();
  private final AtomicReferenceArray<Transport> transports;
  private final RequestSource[] sources;
  private final CountDownLatch connected;
  private final CountDownLatch disconnected;
  private final CompletableFuture<Exception> failure = new CompletableFuture<>();
  private final Histogram cleanup = new ConcurrentHistogram(SharedHistograms.DIGITS);
  private final CompletableFuture<Turn> first = new CompletableFuture<>();
  /** Next turn of all threads. Completed with {@code null} when the threads may disconnect. */
  private CompletableFuture<Turn> next = first;
  private long disconnectDeadline;

  Workers(Run run, Abort abort) {
    this.run = run;
    this.abort = abort;
    // Use as many threads as a driver has event loops by default. With a target rate, they send the due operations.
    threads = run.events() ? Math.min(run.threads(), Transport.defaultEventLoops()) : run.threads();
    transports = new AtomicReferenceArray<>(run.threads());
    sources = new RequestSource[run.threads()];
    connected = new CountDownLatch(run.threads());
    disconnected = new CountDownLatch(threads);
    abort.whenSet(this::wake);
  }

  /**
   * Starts the threads and waits until each has connected.
   *
   * @throws DBException      if a thread cannot be started or cannot connect
   * @throws SettingException if the binding rejects a property
   */
  void connect() throws DBException, InterruptedException {
    for (int i = 0; i < threads; i++) {
      int number = i;
      Thread thread = new Thread(() -> serve(number), "client-" + number);
      // A thread that hangs in a driver must not keep the process alive.
      thread.setDaemon(true);
      try {
        thread.start();
        started.add(thread);
      } catch (OutOfMemoryError e) {
        failure.complete(new DBException("threadcount=" + run.threads() + ": thread " + (i + 1)
            + " could not start: " + e.getMessage() + "; lower it, or raise ulimit -u", e));
        break;
      }
    }
    while (!connected.await(50, TimeUnit.MILLISECONDS)) {
      if (abort.isSet()) {
        throw new DBException(abort.reason());
      }
      if (failure.isDone()) {
        break;
      }
    }
    Exception first = failure.getNow(null);
    if (first instanceof SettingException e) {
      throw e;
    }
    if (first != null) {
      throw new DBException(first.getMessage() == null ? first.toString() : first.getMessage(), first);
    }
  }

  /** Lets all threads work in a window. The threads must have ended their previous turn. */
  Turn release(Window window, List<ThreadStatistics> statistics) {
    Turn turn = new Turn(window, statistics);
    CompletableFuture<Turn> released = next;
    next = turn.next;
    released.complete(turn);
    return turn;
  }

  /** Wakes each thread after the window was moved or the run was aborted. */
  void wake() {
    started.forEach(LockSupport::unpark);
  }

  /** Lets the threads disconnect after their turn. */
  void allowDisconnect() {
    next.complete(null);
  }

  /** Returns the distinct transports of all bindings; empty if the bindings do not report them. */
  Set<Transport> transports() {
    Set<Transport> each = Collections.newSetFromMap(new IdentityHashMap<>());
    IntStream.range(0, transports.length()).mapToObj(transports::get).filter(Objects::nonNull).forEach(each::add);
    return each;
  }

  /** Ends all threads, even if they were never released, and waits for a limited time until all have disconnected. */
  void close() throws InterruptedException {
    allowDisconnect();
    // Abort, because threads may still be running after an internal error of this process.
    abort.set("closed");
    if (!failure.isDone() || connected.getCount() == 0) {
      awaitDisconnected();
    }
  }

  /** Returns how long each binding took to disconnect, in nanoseconds. */
  Histogram cleanup() throws InterruptedException {
    awaitDisconnected();
    return cleanup;
  }

  /** Waits until all threads have disconnected. All calls share one deadline. */
  private void awaitDisconnected() throws InterruptedException {
    if (disconnectDeadline == 0) {
      disconnectDeadline = System.nanoTime()
          + TimeUnit.SECONDS.toNanos(abort.isSet() ? ABORTED_DISCONNECT_SECONDS : DISCONNECT_SECONDS);
    }
    disconnected.await(disconnectDeadline - System.nanoTime(), TimeUnit.NANOSECONDS);
  }

  /** Runs a thread's first logical client and every {@code threads}-th one after it. */
  private void serve(int start) {
    List<Binding> bindings = new ArrayList<>();
    try {
      for (int number = start; number < run.threads(); number += threads) {
        Binding binding = Bindings.create(run.settings());
        binding.setProperties(run.settings().properties());
        binding.init();
        bindings.add(binding);
        sources[number] = run.workload().source(number, run.threads());
        transports.set(number, binding.transport().orElse(null));
        connected.countDown();
      }
      CompletableFuture<Turn> following = first;
      for (Turn turn; (turn = following.join()) != null; following = turn.next) {
        turn.work(start, bindings);
      }
    } catch (OutOfMemoryError e) {
      failure.complete(OUT_OF_MEMORY);
    } catch (Exception | Error e) {
      if (connected.getCount() > 0) {
        failure.complete(e instanceof Exception exception ? exception : new DBException(e.toString(), e));
      }
    } finally {
      disconnect(bindings);
      disconnected.countDown();
    }
  }

  private void disconnect(List<Binding> bindings) {
    for (Binding binding : bindings) {
      long start = System.nanoTime();
      try {
        binding.cleanup();
      } catch (Exception | Error e) {
        // Ignore failures, because the measurement is complete and the process is about to end.
        continue;
      }
      cleanup.recordValue(System.nanoTime() - start);
    }
  }

  /** The work of all logical clients in one window. */
  final class Turn {
    private final Window window;
    private List<ThreadStatistics> statistics;
    private List<Pacer> pacers;
    private final AtomicReferenceArray<Worker> workers = new AtomicReferenceArray<>(run.threads());
    private final CountDownLatch ended = new CountDownLatch(threads);
    private final CompletableFuture<Turn> next = new CompletableFuture<>();

    private Turn(Window window, List<ThreadStatistics> statistics) {
      this.window = window;
      this.statistics = statistics;
      pacers = Pacer.of(run, window);
    }

    private void work(int start, List<Binding> bindings) {
      List<Function<Completions, Worker>> makers = new ArrayList<>();
      for (int i = 0; i < bindings.size(); i++) {
        int number = start + i * threads;
        Binding binding = bindings.get(i);
        makers.add(completions -> {
          Worker worker = new Worker(run, number, binding, sources[number], window, pacers.get(number),
              statistics.get(number), abort, completions);
          workers.set(number, worker);
          return worker;
        });
      }
      try {
        if (run.events()) {
          new DriverThreads(makers, abort).run();
        } else {
          new OwnThread(makers.get(0)).run();
        }
      } catch (Exception | Error e) {
        abort.died(e);
      } finally {
        ended.countDown();
      }
    }

    /** Releases the memory of a finished turn, because many turns may follow. */
    void forget() {
      statistics = null;
      pacers = null;
      IntStream.range(0, workers.length()).forEach(number -> workers.set(number, null));
    }

    /** Waits up to that many nanoseconds for all threads to finish. Returns whether all did. */
    boolean awaitEnd(long nanos) throws InterruptedException {
      return ended.await(nanos, TimeUnit.NANOSECONDS);
    }

    /** Returns whether at least one client worked until the end of the window. */
    boolean reachedEnd() {
      return workers().anyMatch(Worker::reachedEnd);
    }

    /** Returns the smallest delay of a client's first operation after its due time, in nanoseconds. */
    long skew() {
      return workers().filter(Worker::hasSent).mapToLong(Worker::skew).min().orElse(0);
    }

    /** Returns how many operations were due in the measured window but not sent in it. */
    long missed() {
      return workers().mapToLong(Worker::missed).sum();
    }

    /**
     * Returns when the first measured operation of all clients was sent, in {@link System#nanoTime}; 0 if there was
     * none.
     */
    long firstMeasured() {
      return times(Worker::firstMeasured).reduce((a, b) -> a - b <= 0 ? a : b).orElse(0);
    }

    /**
     * Returns when the last measured operation of all clients was answered, in {@link System#nanoTime}; 0 if there was
     * none.
     */
    long lastFinished() {
      return times(Worker::lastFinished).reduce((a, b) -> a - b >= 0 ? a : b).orElse(0);
    }

    private LongStream times(ToLongFunction<Worker> time) {
      return workers().mapToLong(time).filter(at -> at != 0);
    }

    private Stream<Worker> workers() {
      return IntStream.range(0, workers.length()).mapToObj(workers::get).filter(Objects::nonNull);
    }
  }
}
