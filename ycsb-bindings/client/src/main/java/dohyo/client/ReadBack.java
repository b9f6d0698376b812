package dohyo.client;

import dohyo.binding.Binding;
import dohyo.binding.Outcome;
import dohyo.binding.Settings;
import dohyo.workload.Ledger;
import dohyo.workload.ReadCheck;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * Reads every record of the {@link Ledger} back after the run, with the strongest reads of the system. After failures
 * it pauses, so that a server can recover, and reads the failed records again. A record is unreadable if all
 * attempts fail, or if it is not read within {@code verify.timeout} seconds.
 */
final class ReadBack {
  private static final int MAX_THREADS = 16;
  private static final int OPEN_PER_THREAD = 32;
  /** Pauses before each further attempt to read the failed records, in seconds. */
  private static final int[] PAUSE_SECONDS = {1, 5, 10, 20, 30};
  /** Number of consecutive failures after which each thread sends only one read per second. */
  private static final int NOBODY_ANSWERS = 1000;

  private final Run run;
  private final Ledger ledger;
  private final Abort abort;
  private final PrintStream messages;
  private final Path log;
  private final Settings settings;
  private final Map<String, String> strongest;
  private final Path gate;
  private long begin = System.nanoTime();
  private volatile long deadline;
  private final AtomicLong done = new AtomicLong();
  private final AtomicInteger failuresInARow = new AtomicInteger();
  private volatile ConcurrentLinkedQueue<Long> failed = new ConcurrentLinkedQueue<>();
  private volatile String firstError;

  /**
   * Prepares the read-back.
   *
   * @param folder the gate's folder, for {@code readback.txt} with one line per second; {@code null} without a gate
   */
  ReadBack(Run run, Abort abort, Path folder, PrintStream messages) {
    this.run = run;
    this.abort = abort;
    this.messages = messages;
    ledger = run.workload().ledger();
    log = folder == null ? null : folder.resolve("readback.txt");
    gate = folder == null ? null : folder.resolve("readback");
    strongest = new TreeMap<>(Bindings.create(run.settings()).strongestReads(run.settings()));
    Properties properties = new Properties();
    properties.putAll(run.settings().properties());
    properties.putAll(strongest);
    settings = new Settings(properties);
  }

  /**
   * Waits at most {@code verify.wait} seconds for the file {@code readback} in the gate's folder. The controller
   * creates it when the effects of all faults on the servers have been undone.
   */
  private void await() throws IOException, InterruptedException {
    long seconds = gate == null ? 0 : settings.whole("verify.wait", 0, 0, 86_400);
    for (long i = 0; i < seconds && !abort.isSet() && !Files.exists(gate); i++) {
      TimeUnit.SECONDS.sleep(1);
      tell();
    }
    begin = System.nanoTime();
    deadline = begin + TimeUnit.SECONDS.toNanos(settings.whole("verify.timeout", 600, 1, 86_400));
  }

  /** Reads the records back, unless the run was aborted. Returns all figures of the accounting. */
  Map<String, Object> perform() throws IOException, InterruptedException {
    await();
    long inserted = run.workload().insertedInRun();
    long blocks = ledger.readBackBlocks(inserted);
    long all = 0;
    for (long block = 0; block < blocks; block++) {
      all += ledger.readBackKey(block, inserted) >= 0 ? 1 : 0;
    }
    AtomicLong next = new AtomicLong();
    LongSupplier first = () -> {
      long block;
      while ((block = next.getAndIncrement()) < blocks) {
        long key = ledger.readBackKey(block, inserted);
        if (key >= 0) {
          return key;
        }
      }
      return -1;
    };
    pass(first);
    // The repeated passes include records that have not been requested yet, because no thread could connect.
    for (int i = 0; i < PAUSE_SECONDS.length && done.get() < all && !isOver(); i++) {
      pause(PAUSE_SECONDS[i]);
      ConcurrentLinkedQueue<Long> again = failed;
      failed = new ConcurrentLinkedQueue<>();
      pass(() -> {
        Long key = again.poll();
        return key == null ? first.getAsLong() : key;
      });
      failed.addAll(again);
    }
    Map<String, Object> figures = new LinkedHashMap<>(ledger.figures());
    figures.put("unreadable", all - done.get());
    figures.put("read_back", !abort.isSet());
    figures.put("read_back_seconds", (System.nanoTime() - begin) / 1e9);
    figures.put("read_back_with", strongest);
    figures.put("read_back_error", firstError);
    messages.printf(Locale.ROOT, "Accounting: %s stale of %s reads; %s writes acknowledged, %s maybe%n",
        figures.get("stale_reads"), figures.get("reads"), figures.get("acknowledged"), figures.get("maybe"));
    messages.printf(Locale.ROOT,
        "Read back %s records: %s lost, %s missing, %s never written, %s corrupt, %s unreadable%n",
        figures.get("keys"), figures.get("lost"), figures.get("missing"), figures.get("unwritten"),
        figures.get("corrupt"), figures.get("unreadable"));
    return figures;
  }

  private boolean isOver() {
    return abort.isSet() || System.nanoTime() - deadline >= 0;
  }

  private void pause(int seconds) throws IOException, InterruptedException {
    for (int i = 0; i < seconds && !isOver(); i++) {
      TimeUnit.SECONDS.sleep(1);
      tell();
    }
  }

  /** Appends a line to {@code readback.txt}, which shows the controller that this client is still working. */
  private void tell() throws IOException {
    if (log != null) {
      String line = String.format(Locale.ROOT, "%.3f %d%n", (System.nanoTime() - begin) / 1e9, done.get());
      Files.writeString(log, line, StandardCharsets.UTF_8, StandardOpenOption.CREATE,
          StandardOpenOption.APPEND);
    }
  }

  /** Reads each key that {@code keys} returns, until it returns -1. */
  private void pass(LongSupplier keys) throws IOException, InterruptedException {
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < Math.min(MAX_THREADS, run.threads()) && !isOver(); i++) {
      Thread thread = new Thread(() -> read(keys), "readback-" + i);
      thread.setDaemon(true);
      thread.start();
      threads.add(thread);
    }
    for (Thread thread : threads) {
      // Abandon a thread that hangs in a driver. It does not keep the process alive; its records count as unreadable.
      while (thread.isAlive() && !isOver()) {
        thread.join(TimeUnit.SECONDS.toMillis(1));
        tell();
      }
    }
  }

  private void read(LongSupplier keys) {
    Binding binding = Bindings.create(settings);
    binding.setProperties(settings.properties());
    try {
      binding.init();
    } catch (DBException | RuntimeException e) {
      failed(-1, e.toString());
      return;
    }
    Semaphore open = new Semaphore(OPEN_PER_THREAD);
    try {
      long key;
      while (!isOver() && (key = keys.getAsLong()) >= 0) {
        open.acquire();
        send(binding, key, open);
        if (failuresInARow.get() > NOBODY_ANSWERS) {
          TimeUnit.SECONDS.sleep(1);
        }
      }
      open.tryAcquire(OPEN_PER_THREAD, 2 * run.timeoutMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    try {
      binding.cleanup();
    } catch (DBException | RuntimeException e) {
      failed(-1, e.toString());
    }
  }

  private void send(Binding binding, long key, Semaphore open) {
    ReadCheck check = ledger.checkReadBack(key);
    check.begin();
    byte[] stored = binding.keys().encode(ledger.key(key));
    Binding.guarded(() -> binding.readRow(ledger.table(key), stored, null, check)).copy()
        .orTimeout(run.timeoutMillis(), TimeUnit.MILLISECONDS)
        .handle((status, error) -> error == null ? status : binding.failed(error))
        .whenComplete((status, error) -> {
          answered(key, check, error == null ? status : Outcome.of(error));
          open.release();
        });
  }

  private void answered(long key, ReadCheck check, Status status) {
    if (Outcome.isError(status)) {
      failed(key, status.getName() + ": " + status.getDescription());
      return;
    }
    check.checked(0, status);
    failuresInARow.set(0);
    done.incrementAndGet();
  }

  private void failed(long key, String why) {
    if (firstError == null) {
      firstError = why;
    }
    failuresInARow.incrementAndGet();
    if (key >= 0) {
      failed.add(key);
    }
  }
}
