package dohyo.client;

import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * Starts all clients of a run at the same time. This process creates the file {@code ready} in the gate's folder. Then
 * it waits for the file {@code start} with the agreed start time, in milliseconds since 1970. Without {@code startgate}
 * the run begins immediately.
 */
final class StartGate {
  private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

  /** Maximum time between the readings of two clocks that count as simultaneous. */
  private static final long TOGETHER_NANOS = TimeUnit.MICROSECONDS.toNanos(100);

  private final Path folder;
  private final Duration timeout;
  private final Duration pause;
  private final boolean alone;

  /**
   * Reads {@code startgate} and {@code startgate.timeout} (seconds, default 300).
   *
   * @throws SettingException if the folder does not exist
   */
  StartGate(Settings settings) {
    this(settings.has("startgate") ? Path.of(settings.text("startgate", "")) : null,
        Duration.ofSeconds(settings.whole("startgate.timeout", 300, 1, 86_400)),
        Duration.ofSeconds(settings.whole("pause.timeout", 3600, 1, 86_400)),
        settings.whole("clients", 1, 1, 1_000_000) == 1);
    if (folder != null && !Files.isDirectory(folder)) {
      throw new SettingException("startgate=" + folder + ": the folder does not exist");
    }
  }

  private StartGate(Path folder, Duration timeout, Duration pause, boolean alone) {
    this.folder = folder;
    this.timeout = timeout;
    this.pause = pause;
    this.alone = alone;
  }

  boolean isOpen() {
    return folder == null;
  }

  /**
   * Reports that this client is ready and waits until the start time is known, which may be in the future. A single
   * client accepts a start time in the past, because no other client can have begun. {@code skew_ms} records the delay.
   *
   * @param stopped returns whether to stop waiting
   * @return the start time; the current time without a gate, {@code null} if the wait was stopped
   * @throws RunInvalidException if no start time is agreed within {@code startgate.timeout}, or the start time has
   *                             passed and there are several clients
   */
  Instant await(BooleanSupplier stopped) throws IOException, RunInvalidException {
    if (folder == null) {
      return Instant.now();
    }
    Files.createFile(folder.resolve("ready"));
    String text = content("start", timeout, stopped);
    return text == null ? null : checked(text);
  }

  /**
   * Pauses until the next window: creates the file {@code paused} and waits for the file {@code next} with the folder
   * of the next gate.
   *
   * @param stopped returns whether to stop waiting
   * @return the next gate, {@code null} if the wait was stopped
   * @throws RunInvalidException if there is no next gate within {@code pause.timeout}
   */
  StartGate next(BooleanSupplier stopped) throws IOException, RunInvalidException {
    Files.createFile(folder.resolve("paused"));
    String next = content("next", pause, stopped);
    return next == null ? null : new StartGate(Path.of(next), timeout, pause, alone);
  }

  /** Waits for a file in the gate's folder, and returns its content; {@code null} if the wait was stopped. */
  private String content(String name, Duration patience, BooleanSupplier stopped)
      throws IOException, RunInvalidException {
    Path file = folder.resolve(name);
    Instant giveUp = Instant.now().plus(patience);
    while (!stopped.getAsBoolean()) {
      // The file may exist before it has content.
      String text = Files.exists(file) ? Files.readString(file).strip() : "";
      if (!text.isEmpty()) {
        return text;
      }
      if (Instant.now().isAfter(giveUp)) {
        boolean begins = name.equals("start");
        throw new RunInvalidException(file + " got no " + (begins ? "start instant" : "next window") + " within "
            + (begins ? "startgate.timeout=" : "pause.timeout=") + patience.toSeconds() + " s");
      }
      java.util.concurrent.locks.LockSupport.parkNanos(POLL_NANOS);
    }
    return null;
  }

  /** Returns the gate's folder, {@code null} without a gate. */
  Path folder() {
    return folder;
  }

  /**
   * Reads an instant.
   *
   * @param text content of the file
   * @param file name of the file, for the message
   * @throws RunInvalidException if the text is not a number of milliseconds since 1970
   */
  static Instant instant(String text, String file) throws RunInvalidException {
    try {
      return Instant.ofEpochMilli(Long.parseLong(text));
    } catch (NumberFormatException e) {
      throw new RunInvalidException("the " + file + " file contains '" + text + "', not milliseconds since 1970");
    }
  }

  /**
   * Converts an instant to {@link System#nanoTime}. If the process is interrupted between the readings of the two
   * clocks, it reads them again.
   */
  static long nanoTime(Instant instant) {
    long shortest = Long.MAX_VALUE;
    long time = 0;
    for (int i = 0; i < 20 && shortest > TOGETHER_NANOS; i++) {
      long before = System.nanoTime();
      long left = Duration.between(Instant.now(), instant).toNanos();
      long took = System.nanoTime() - before;
      if (took < shortest) {
        shortest = took;
        time = before + left;
      }
    }
    return time;
  }

  private Instant checked(String text) throws RunInvalidException {
    Instant agreed = instant(text, "start");
    long late = agreed.until(Instant.now(), ChronoUnit.MILLIS);
    if (late > 0 && !alone) {
      throw new RunInvalidException("the agreed start had passed " + late
          + " ms before this client read it; agree on a later one");
    }
    return agreed;
  }
}
