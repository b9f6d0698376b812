package dohyo.client;

import static dohyo.client.SharedHistograms.NANOS_PER_MICRO;

import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.text.DecimalFormat;
import java.text.DecimalFormatSymbols;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramLogWriter;

/**
 * Collects the measurements of all threads once per second. It adds them to the totals, writes them to the interval
 * logs, and aborts the run if operations stop succeeding. Every {@code status.interval} seconds it prints YCSB's status
 * line.
 */
final class Reporter {
  private static final DateTimeFormatter CLOCK = DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss:SSS", Locale.ROOT);
  private static final DecimalFormat TWO_PLACES =
      new DecimalFormat("#.##", DecimalFormatSymbols.getInstance(Locale.ROOT));

  private final Run run;
  private final List<ThreadStatistics> threads;
  private final Abort abort;
  private final PrintStream status;
  private final String label;
  private final long statusNanos;
  private final String logPrefix;
  private final List<SharedHistograms> histograms;
  private final Histogram[] intervals = new Histogram[Series.COUNT];
  private final Histogram[] totals = new Histogram[Series.COUNT];
  private final Histogram[] sinceStatus = new Histogram[Series.COUNT];
  private final HistogramLogWriter[] logs = new HistogramLogWriter[Series.COUNT];
  private final PrintStream[] logFiles = new PrintStream[Series.COUNT];

  private Window window;
  private long intervalStartMillis;
  private long measureStartMillis;
  private long nextStatus;
  private long statusOperations;
  private long statusRecords;
  private long statusAt;
  private long successes;
  private long lastSuccess;

  /**
   * Reads {@code status}, {@code status.interval} (seconds), {@code label} and {@code hdrhistogram.…}.
   *
   * @throws SettingException if one has an invalid value
   */
  Reporter(Run run, List<ThreadStatistics> threads, Abort abort, PrintStream status) {
    this.run = run;
    this.threads = threads;
    this.histograms = threads.stream().map(ThreadStatistics::histograms).distinct().toList();
    this.abort = abort;
    Settings settings = run.settings();
    this.status = settings.flag("status", false) ? status : null;
    this.label = settings.text("label", "");
    this.statusNanos = TimeUnit.SECONDS.toNanos(settings.whole("status.interval", 10, 1, 86_400));
    this.logPrefix = settings.flag("hdrhistogram.fileoutput", false) ? settings.text("hdrhistogram.output.path", "")
        : null;
  }

  /** Sets the window of the run. Must be called before the threads begin. */
  void begin(Window window) {
    this.window = window;
    lastSuccess = window.begin();
    measure();
  }

  /** Sets the start of the measured window. Called again if the window is moved. */
  void measure() {
    long untilMeasure = TimeUnit.NANOSECONDS.toMillis(window.measure() - System.nanoTime());
    measureStartMillis = System.currentTimeMillis() + untilMeasure;
    intervalStartMillis = measureStartMillis;
    statusAt = window.measure();
    nextStatus = window.measure() + statusNanos;
  }

  /** Collects the latest interval, writes it to the logs, checks for stalls, and prints a status line if it is due. */
  void tick() throws IOException {
    long now = System.nanoTime();
    collect();
    long done = threads.stream().mapToLong(t -> t.succeeded() + t.warmups() - t.failedWarmups()).sum();
    if (done > successes) {
      successes = done;
      lastSuccess = now;
    } else if (now - lastSuccess > run.stallSeconds() * 1e9) {
      abort.databaseFailed("no operation has succeeded for " + TWO_PLACES.format(run.stallSeconds())
          + " s (stalltime); the first error was: " + firstError().orElse("none"));
    }
    if (now - nextStatus >= 0) {
      printStatus(now);
      nextStatus += statusNanos;
    }
  }

  /**
   * Writes the last report. Must be called after all threads have ended.
   *
   * @throws IOException if a log was not written completely
   */
  void end() throws IOException {
    collect();
    printStatus(System.nanoTime());
    for (PrintStream file : logFiles) {
      if (file != null) {
        file.close();
        if (file.checkError()) {
          throw new IOException("the histogram logs at " + logPrefix + " are incomplete; is the disk full?");
        }
      }
    }
  }

  private void collect() throws IOException {
    long nowMillis = System.currentTimeMillis();
    if (System.nanoTime() - window.measure() < 0) {
      return;
    }
    histograms.forEach(shared -> shared.takeInto(intervals));
    for (int index = 0; index < Series.COUNT; index++) {
      Histogram interval = intervals[index];
      if (interval == null) {
        continue;
      }
      totals[index] = SharedHistograms.added(totals[index], interval);
      sinceStatus[index] = SharedHistograms.added(sinceStatus[index], interval);
      if (logPrefix != null) {
        interval.setStartTimeStamp(intervalStartMillis);
        interval.setEndTimeStamp(nowMillis);
        log(index).outputIntervalHistogram(interval);
        // Flush, so that readers of a growing file see complete seconds, and at most one second is lost after a kill.
        logFiles[index].flush();
      }
      interval.reset();
    }
    intervalStartMillis = nowMillis;
  }

  private HistogramLogWriter log(int index) throws IOException {
    if (logs[index] == null) {
      String name = Series.name(index);
      logFiles[index] = new PrintStream(new FileOutputStream(logPrefix + name + ".hdr"), false, StandardCharsets.UTF_8);
      logs[index] = new HistogramLogWriter(logFiles[index]);
      // State the unit of the histograms; only the column Interval_Max is in milliseconds.
      logs[index].outputComment("[Logging for: " + name + ", nanoseconds]");
      logs[index].outputLogFormatVersion();
      logs[index].outputStartTime(measureStartMillis);
      logs[index].setBaseTime(measureStartMillis);
      logs[index].outputLegend();
    }
    return logs[index];
  }

  private void printStatus(long now) {
    if (status == null || now - window.measure() < 0) {
      return;
    }
    long operations = threads.stream().mapToLong(t -> t.succeeded() + t.failed()).sum();
    long records = threads.stream().mapToLong(ThreadStatistics::recordsDone).sum();
    double elapsed = (now - window.measure()) / 1e9;
    double interval = Math.max(1e-9, (now - statusAt) / 1e9);
    StringBuilder line = new StringBuilder(label).append(CLOCK.format(LocalDateTime.now())).append(' ')
        .append((long) elapsed).append(" sec: ").append(operations).append(" operations; ");
    if (operations != 0) {
      line.append(TWO_PLACES.format((operations - statusOperations) / interval)).append(" current ops/sec; ");
    }
    if (run.workload().batchSize() > 1) {
      line.append(records).append(" records; ")
          .append(TWO_PLACES.format((records - statusRecords) / interval)).append(" current recs/sec; ");
    }
    long left = secondsLeft(elapsed, operations, records);
    if (left > 0) {
      line.append("est completion in ").append(spell(left));
    }
    for (int index = 0; index < Series.COUNT; index++) {
      if (sinceStatus[index] != null) {
        line.append(summary(index));
        sinceStatus[index].reset();
      }
    }
    status.println(line);
    statusOperations = operations;
    statusRecords = records;
    statusAt = now;
  }

  private String summary(int index) {
    Histogram h = sinceStatus[index];
    StringBuilder text = new StringBuilder("[").append(Series.name(index)).append(": Count=").append(h.getTotalCount())
        .append(", Max=").append(h.getMaxValue() / NANOS_PER_MICRO).append(", Min=")
        .append(h.getTotalCount() == 0 ? 0 : h.getMinValue() / NANOS_PER_MICRO)
        .append(", Avg=").append(TWO_PLACES.format(h.getMean() / NANOS_PER_MICRO));
    for (String percentile : List.of("50", "90", "99", "99.9", "99.99")) {
      text.append(", ").append(percentile).append('=')
          .append(h.getValueAtPercentile(Double.parseDouble(percentile)) / NANOS_PER_MICRO);
    }
    return text.append("] ").toString();
  }

  private long secondsLeft(double elapsed, long operations, long records) {
    double byTime = run.measuredSeconds() > 0 ? run.measuredSeconds() - elapsed : Double.MAX_VALUE;
    double done = run.load() ? records : operations;
    double byCount = run.operations() > 0 && done > 0 ? (run.operations() - done) * elapsed / done : Double.MAX_VALUE;
    double left = Math.min(byTime, byCount);
    return left == Double.MAX_VALUE ? 0 : (long) Math.ceil(left);
  }

  private static String spell(long seconds) {
    StringBuilder text = new StringBuilder();
    long[] sizes = {86_400, 3_600, 60, 1};
    String[] names = {"day", "hour", "minute", "second"};
    long rest = seconds;
    for (int i = 0; i < sizes.length; i++) {
      long count = rest / sizes[i];
      rest %= sizes[i];
      if (count > 0) {
        text.append(count).append(' ').append(names[i]).append(count == 1 ? " " : "s ");
      }
    }
    return text.toString();
  }

  /** Returns all latencies of a series, in nanoseconds; {@code null} if there are none. */
  Histogram total(int index) {
    return totals[index];
  }

  /** Returns the first error of one of the threads; empty if there was no error. */
  Optional<String> firstError() {
    return threads.stream().map(ThreadStatistics::firstError).filter(Objects::nonNull).findFirst();
  }
}
