package dohyo.client;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/**
 * A warm-up that may end before {@code warmuptime} ({@code warmup=steady}). Only the process that runs all clients can
 * decide whether their throughput is steady. This client writes the number of its operations to {@code warmup.txt} in
 * the gate's folder once per second. It waits for the file {@code measure} there, which contains the start of the
 * measured window in milliseconds since 1970.
 */
final class Warmup {
  /** Time between two checks for the file {@code measure}, in nanoseconds. */
  static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

  private static final long LINE_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final Window window;
  private final List<ThreadStatistics> threads;
  private final Abort abort;
  private final Path instant;
  private final PrintStream log;
  private long nextLine;

  /**
   * Creates the log.
   *
   * @param folder the gate's folder
   */
  Warmup(Path folder, Window window, List<ThreadStatistics> threads, Abort abort) throws IOException {
    this.window = window;
    this.threads = threads;
    this.abort = abort;
    instant = folder.resolve("measure");
    log = new PrintStream(Files.newOutputStream(folder.resolve("warmup.txt")), false, StandardCharsets.UTF_8);
    nextLine = window.begin() + LINE_NANOS;
  }

  /**
   * Writes a line if one is due. When the file {@code measure} exists, sets the start of the window. Aborts the run if
   * that time has passed or cannot be read.
   *
   * @return whether the file exists
   */
  boolean poll() throws IOException {
    long now = System.nanoTime();
    if (now - nextLine >= 0) {
      long done = threads.stream().mapToLong(ThreadStatistics::warmups).sum();
      log.printf(Locale.ROOT, "%.3f %d%n", (now - window.begin()) / 1e9, done);
      log.flush();
      nextLine += LINE_NANOS * (1 + (now - nextLine) / LINE_NANOS);
    }
    if (!Files.exists(instant)) {
      return false;
    }
    try {
      long begin = StartGate.nanoTime(StartGate.instant(Files.readString(instant).strip(), "measure"));
      if (begin - System.nanoTime() <= 0 || !window.measureFrom(begin)) {
        abort.set("the start of the measured window had passed before this client read it;"
            + " agree on a later one");
      }
    } catch (RunInvalidException e) {
      abort.set(e.getMessage());
    }
    return true;
  }

  void end() {
    log.close();
  }
}
