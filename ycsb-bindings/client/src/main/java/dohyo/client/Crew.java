package dohyo.client;

import dohyo.binding.Binding;
import dohyo.binding.SettingException;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.ToLongFunction;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.Histogram;
import site.ycsb.DBException;

/** The client threads: all connect, all wait, all work, all disconnect. */
final class Crew {
  /** How long a thread may take to let go of its connection before it is left behind. */
  private static final long LEAVE_SECONDS = 15;
  /** The same after the run was given up: who gave it up waits no more than 10 s for all of it. */
  private static final long ABORTED_LEAVE_SECONDS = 3;
  /** Made ahead: there may be no memory to make it. */
  private static final DBException OUT_OF_MEMORY = new DBException("a client thread could not connect: out of memory;"
      + " set a lower threadcount, or give the client more heap (client_heap)");

  private final Run run;
  private final List<ThreadStatistics> statistics;
  private final Abort abort;
  private final AtomicReferenceArray<Worker> workers;
  private final CountDownLatch connected;
  private final CountDownLatch ended;
  private final CountDownLatch left;
  private final CompletableFuture<Window> released = new CompletableFuture<>();
  private final CompletableFuture<Exception> failure = new CompletableFuture<>();
  private final Histogram cleanup = new ConcurrentHistogram(ThreadStatistics.DIGITS);
  private long leaveUntil;

  Crew(Run run, List<ThreadStatistics> statistics, Abort abort) {
    this.run = run;
    this.statistics = statistics;
    this.abort = abort;
    int count = run.threads();
    workers = new AtomicReferenceArray<>(count);
    connected = new CountDownLatch(count);
    ended = new CountDownLatch(count);
    left = new CountDownLatch(count);
  }

  /**
   * Starts the threads and waits until each has connected.
   *
   * @throws DBException      if one cannot connect
   * @throws SettingException if there is no such binding, or it refuses a property
   */
  void connect() throws DBException, InterruptedException {
    // Found once before the threads are made, so that a wrong name costs nothing.
    String name = run.settings().text("db", "site.ycsb.BasicDB");
    Bindings.create(name);
    for (int i = 0; i < run.threads(); i++) {
      int number = i;
      Thread thread = new Thread(() -> live(number, name), "client-" + number);
      // A thread stuck in a driver must not keep the process from ending.
      thread.setDaemon(true);
      try {
        thread.start();
      } catch (OutOfMemoryError e) {
        failure.complete(new DBException("threadcount=" + run.threads() + ": thread " + (i + 1)
            + " could not be started: " + e.getMessage() + "; set a lower threadcount, or raise the limits of threads"
            + " and memory on this host", e));
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

  /** Lets all threads begin. */
  void release(Window window) {
    released.complete(window);
  }

  /** Waits for all threads to end their work; false if they have not within that many nanoseconds. */
  boolean awaitEnd(long nanos) throws InterruptedException {
    return ended.await(nanos, TimeUnit.NANOSECONDS);
  }

  /** Sends all threads home, released or not, and waits a bounded time until all have disconnected. */
  void dismiss() throws InterruptedException {
    released.cancel(false);
    // After an error of this process they may still be at work.
    abort.set("dismissed");
    if (!failure.isDone() || connected.getCount() == 0) {
      awaitLeft();
    }
  }

  /** How long each thread took to disconnect, in microseconds. */
  Histogram cleanup() throws InterruptedException {
    awaitLeft();
    return cleanup;
  }

  /** Waits a bounded time until all have disconnected; when that has passed once, no more. */
  private void awaitLeft() throws InterruptedException {
    if (leaveUntil == 0) {
      leaveUntil = System.nanoTime()
          + TimeUnit.SECONDS.toNanos(abort.isSet() ? ABORTED_LEAVE_SECONDS : LEAVE_SECONDS);
    }
    left.await(leaveUntil - System.nanoTime(), TimeUnit.NANOSECONDS);
  }

  private void live(int number, String name) {
    try {
      Binding binding = Bindings.create(name);
      binding.setProperties(run.settings().properties());
      binding.init();
      try {
        connected.countDown();
        work(number, binding);
      } finally {
        ended.countDown();
        long start = System.nanoTime();
        binding.cleanup();
        cleanup.recordValue(Math.max(0, (System.nanoTime() - start) / 1000));
      }
    } catch (OutOfMemoryError e) {
      failure.complete(OUT_OF_MEMORY);
    } catch (Exception | Error e) {
      if (connected.getCount() > 0) {
        failure.complete(e instanceof Exception exception ? exception : new DBException(e.toString(), e));
      }
    } finally {
      left.countDown();
    }
  }

  private void work(int number, Binding binding) {
    try {
      Window window = released.join();
      Worker worker = new Worker(run, number, binding, window, statistics.get(number), abort);
      workers.set(number, worker);
      worker.work();
    } catch (java.util.concurrent.CancellationException e) {
      // Dismissed before the run began.
      return;
    } catch (OutOfMemoryError e) {
      // No text is put together: there may be no memory for it.
      abort.set("a client thread ran out of memory; give the client more heap (client_heap), or set a lower"
          + " threadcount, inflight or batchsize");
    } catch (Exception | Error e) {
      abort.set("client thread " + number + " died: " + e);
      e.printStackTrace();
    }
  }

  /** Whether the run lasted to the end of the window: at least one thread worked until then. */
  boolean reachedEnd() {
    return workers().anyMatch(Worker::reachedEnd);
  }

  /** How much later than it should have been a first operation was sent, in nanoseconds: that of the best thread. */
  long skew() {
    return workers().filter(Worker::hasSent).mapToLong(Worker::skew).min().orElse(0);
  }

  /** How many operations were due in the measured window, and not sent in it. */
  long missed() {
    return workers().mapToLong(Worker::missed).sum();
  }

  /** When the first measured operation of all was sent, in {@link System#nanoTime}. */
  long firstMeasured() {
    return times(Worker::firstMeasured).reduce((a, b) -> a - b <= 0 ? a : b).orElse(0);
  }

  /** When the last measured operation of all had been answered, in {@link System#nanoTime}. */
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
