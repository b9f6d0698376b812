package dohyo.client;

import static dohyo.client.SharedHistograms.NANOS_PER_MICRO;

import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import dohyo.workload.OperationType;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.HdrHistogram.Histogram;
import org.codehaus.jackson.map.ObjectMapper;
import site.ycsb.measurements.exporter.MeasurementsExporter;

/** Results of a run, which are written as YCSB's result lines and as a JSON summary. */
final class Results {
  private final Run run;
  private final Reporter reporter;
  private final List<ThreadStatistics> threads;
  private final Timing timing;
  private final Footprint footprint;
  private final Histogram cleanup;
  private final Map<OperationType, Map<String, Long>> statuses = new TreeMap<>();
  private final Map<OperationType, Long> records = new TreeMap<>();
  private Map<String, Object> accounting;

  /**
   * Times of a run.
   *
   * @param agreedStartMillis agreed start time in milliseconds since 1970, {@code null} without a start gate
   * @param skewMillis        delay of the first operation in milliseconds, {@code null} without a start gate
   * @param finishedMillis    time from the agreed start to the last answer in milliseconds, {@code null} without a
   *                          start gate
   * @param connectSeconds    time from the start of the process until all threads were connected
   * @param warmupSeconds     length of the warm-up
   * @param measuredSeconds   length of the measured window
   * @param missedOperations  number of operations that were due in the measured window but not sent in it
   */
  record Timing(Long agreedStartMillis, Double skewMillis, Double finishedMillis, double connectSeconds,
      double warmupSeconds, double measuredSeconds, long missedOperations) {
  }

  /**
   * Collects the results of a run.
   *
   * @param footprint resources of the client; {@code null} if the window never began
   */
  Results(Run run, Reporter reporter, List<ThreadStatistics> threads, Timing timing, Footprint footprint,
      Histogram cleanup) {
    this.run = run;
    this.reporter = reporter;
    this.threads = threads;
    this.timing = timing;
    this.footprint = footprint;
    this.cleanup = cleanup;
    for (ThreadStatistics thread : threads) {
      thread.statuses().forEach((type, counts) -> counts.forEach((name, count) ->
          statuses.computeIfAbsent(type, t -> new TreeMap<>()).merge(name, count[0], Long::sum)));
      thread.records().forEach((type, count) -> records.merge(type, count[0], Long::sum));
    }
  }

  private long operations() {
    return threads.stream().mapToLong(ThreadStatistics::succeeded).sum();
  }

  private long failedOperations() {
    return threads.stream().mapToLong(ThreadStatistics::failed).sum();
  }

  private long recordsDone() {
    return threads.stream().mapToLong(ThreadStatistics::recordsDone).sum();
  }

  private long failedRecords() {
    return threads.stream().mapToLong(ThreadStatistics::failedRecords).sum();
  }

  private long attemptedRecords() {
    return threads.stream().mapToLong(ThreadStatistics::attemptedRecords).sum();
  }

  /** Returns whether more records failed than the run allows. */
  boolean hasTooManyErrors() {
    return failedRecords() > run.maxErrorRate() * attemptedRecords();
  }

  /** Returns why the run is invalid; {@code null} if it is valid. */
  String invalidReason() {
    if (hasTooManyErrors()) {
      String share = String.format(java.util.Locale.ROOT, "%d of %d records (%.2f %%) failed", failedRecords(),
          attemptedRecords(), 100.0 * failedRecords() / attemptedRecords());
      return share + (run.load() ? "; a load must be complete" : ", above maxerrorrate=" + run.maxErrorRate())
          + "; the first error was: " + reporter.firstError().orElse("none");
    }
    if (run.load() && recordsDone() != run.operations() && run.measuredSeconds() == 0) {
      return "only " + recordsDone() + " of " + run.operations() + " records were inserted";
    }
    if (!run.load() && operations() == 0) {
      return "no operation succeeded in " + run.measuredSeconds()
          + " s; measure longer. The first error was: " + reporter.firstError().orElse("none");
    }
    return null;
  }

  /**
   * Writes YCSB's result lines with {@code exporter}, to {@code exportfile} if that is set, otherwise to the stream.
   *
   * @throws SettingException if the exporter cannot be created
   */
  void export(PrintStream standard) throws IOException {
    Settings settings = run.settings();
    String file = settings.text("exportfile", "");
    OutputStream out = file.isEmpty() ? new UnclosedStream(standard) : Files.newOutputStream(Path.of(file));
    try (MeasurementsExporter exporter = exporter(settings, out)) {
      overall(exporter);
      garbageCollection(exporter);
      series(exporter, "CLEANUP", cleanup);
      for (OperationType type : OperationType.values()) {
        operationType(exporter, type);
      }
    }
  }

  private static MeasurementsExporter exporter(Settings settings, OutputStream out) {
    String name = settings.text("exporter", "site.ycsb.measurements.exporter.TextMeasurementsExporter");
    try {
      return (MeasurementsExporter) Class.forName(name).getConstructor(OutputStream.class).newInstance(out);
    } catch (InvocationTargetException e) {
      throw new SettingException("exporter=" + name + ": " + e.getCause());
    } catch (ReflectiveOperationException | ClassCastException e) {
      throw new SettingException("exporter=" + name + ": unknown exporter; use one of the package"
          + " site.ycsb.measurements.exporter");
    }
  }

  private void overall(MeasurementsExporter exporter) throws IOException {
    double seconds = timing.measuredSeconds();
    exporter.write("OVERALL", "RunTime(ms)", Math.round(seconds * 1000));
    exporter.write("OVERALL", "Throughput(ops/sec)", rate(operations()));
    exporter.write("OVERALL", "Operations", operations());
    exporter.write("OVERALL", "FailedOperations", failedOperations());
    exporter.write("OVERALL", "Records", recordsDone());
    exporter.write("OVERALL", "Throughput(records/sec)", rate(recordsDone()));
  }

  private double rate(long count) {
    return timing.measuredSeconds() > 0 ? count / timing.measuredSeconds() : 0;
  }

  private GarbageCollections collections() {
    return footprint == null ? GarbageCollections.NONE : footprint.collections();
  }

  private void garbageCollection(MeasurementsExporter exporter) throws IOException {
    double runMillis = Math.max(1, timing.measuredSeconds() * 1000);
    GarbageCollections collections = collections();
    for (Map.Entry<String, Long[]> collector : collections.byCollector().entrySet()) {
      long spent = collector.getValue()[1];
      exporter.write("TOTAL_GCS_" + collector.getKey(), "Count", collector.getValue()[0]);
      exporter.write("TOTAL_GC_TIME_" + collector.getKey(), "Time(ms)", spent);
      exporter.write("TOTAL_GC_TIME_%_" + collector.getKey(), "Time(%)", 100 * spent / runMillis);
    }
    exporter.write("TOTAL_GCs", "Count", collections.count());
    exporter.write("TOTAL_GC_TIME", "Time(ms)", collections.millis());
    exporter.write("TOTAL_GC_TIME_%", "Time(%)", 100 * collections.millis() / runMillis);
  }

  private void operationType(MeasurementsExporter exporter, OperationType type) throws IOException {
    for (boolean intended : new boolean[] {false, true}) {
      for (Series series : Series.values()) {
        int index = series.index(type, intended);
        Histogram histogram = reporter.total(index);
        boolean plain = series == Series.OK && !intended;
        if (histogram == null && !(plain && statuses.containsKey(type))) {
          continue;
        }
        series(exporter, Series.name(index), histogram == null ? SharedHistograms.histogram() : histogram);
        if (plain) {
          if (records.containsKey(type)) {
            exporter.write(type.label(), "Records", records.get(type));
          }
          for (Map.Entry<String, Long> status : statuses.get(type).entrySet()) {
            exporter.write(type.label(), "Return=" + status.getKey(), status.getValue());
          }
        }
      }
    }
  }

  /**
   * Writes the lines of one histogram. As in YCSB, minimum, maximum and percentiles are whole microseconds, rounded
   * down.
   */
  private void series(MeasurementsExporter exporter, String name, Histogram histogram) throws IOException {
    boolean empty = histogram.getTotalCount() == 0;
    exporter.write(name, "Operations", histogram.getTotalCount());
    exporter.write(name, "AverageLatency(us)", histogram.getMean() / NANOS_PER_MICRO);
    exporter.write(name, "MinLatency(us)", empty ? 0 : histogram.getMinValue() / NANOS_PER_MICRO);
    exporter.write(name, "MaxLatency(us)", histogram.getMaxValue() / NANOS_PER_MICRO);
    for (String percentile : percentiles(run.settings())) {
      exporter.write(name, ordinal(percentile) + "PercentileLatency(us)",
          histogram.getValueAtPercentile(Double.parseDouble(percentile)) / NANOS_PER_MICRO);
    }
  }

  /**
   * Reads {@code hdrhistogram.percentiles}.
   *
   * @return the percentiles as written, by default 50, 95, 99 and 99.9
   * @throws SettingException if one is not a number from 0 to 100
   */
  static List<String> percentiles(Settings settings) {
    List<String> all = new ArrayList<>();
    for (String part : settings.text("hdrhistogram.percentiles", "50,95,99,99.9").split(",")) {
      String percentile = part.strip();
      try {
        double number = Double.parseDouble(percentile);
        if (number < 0 || number > 100) {
          throw new NumberFormatException();
        }
      } catch (NumberFormatException e) {
        throw new SettingException("hdrhistogram.percentiles=" + settings.text("hdrhistogram.percentiles", "")
            + ": must be numbers from 0 to 100, separated by commas");
      }
      all.add(percentile);
    }
    return all;
  }

  /** Returns a percentile as YCSB writes it: 95th, 1st, but 99.9 without an ending. */
  private static String ordinal(String percentile) {
    double number = Double.parseDouble(percentile);
    if (number % 1 != 0) {
      return percentile;
    }
    int whole = (int) number;
    if (whole % 100 >= 11 && whole % 100 <= 13) {
      return whole + "th";
    }
    return whole + switch (whole % 10) {
      case 1 -> "st";
      case 2 -> "nd";
      case 3 -> "rd";
      default -> "th";
    };
  }

  /** Stores the figures of {@code verify=acknowledged} for the summary. */
  void accounting(Map<String, Object> figures) {
    accounting = figures;
  }

  /** Writes the JSON summary to the file that {@code client.summary} names, if that is set. */
  void writeSummary(String reason, int exit) throws IOException {
    String file = run.settings().text("client.summary", "");
    if (file.isEmpty()) {
      return;
    }
    Map<String, Object> summary = new LinkedHashMap<>();
    summary.put("phase", run.phase());
    summary.put("binding", run.settings().text("db", ""));
    summary.put("threads", run.threads());
    summary.put("batchsize", run.workload().batchSize());
    summary.put("inflight", run.inflight());
    summary.put("readbeforewrite", run.workload().readBeforeWrite().orElse(null));
    summary.put("target", run.target());
    summary.put("loop", run.events() ? "events" : "threads");
    summary.put("arrival", run.target() > 0 ? run.poisson() ? "poisson" : "uniform" : null);
    summary.put("seed", run.workload().seed());
    summary.put("tablecount", run.workload().tableCount());
    summary.put("agreed_start_ms", timing.agreedStartMillis());
    summary.put("skew_ms", timing.skewMillis());
    summary.put("finished_ms", timing.finishedMillis());
    summary.put("connect_seconds", timing.connectSeconds());
    summary.put("warmup_seconds", timing.warmupSeconds());
    summary.put("warmup_operations", threads.stream().mapToLong(ThreadStatistics::warmups).sum());
    summary.put("warmup_failed_operations", threads.stream().mapToLong(ThreadStatistics::failedWarmups).sum());
    summary.put("measured_seconds", timing.measuredSeconds());
    summary.put("missed_operations", timing.missedOperations());
    summary.put("operations", operations());
    summary.put("failed_operations", failedOperations());
    summary.put("records", recordsDone());
    summary.put("attempted_records", attemptedRecords());
    summary.put("failed_records", failedRecords());
    summary.put("retried_records", threads.stream().mapToLong(ThreadStatistics::retriedRecords).sum());
    summary.put("retries", run.retries());
    summary.put("cpu_seconds", footprint == null ? 0 : footprint.cpuSeconds());
    if (footprint != null) {
      footprint.write(summary);
    }
    summary.put("gc_ms", collections().millis());
    // The next three values include the warm-up. {@code inserted} also includes earlier runs, and the key numbers that
    // {@code passed_over} counts.
    summary.put("inserted", run.workload().inserted());
    summary.put("passed_over", run.workload().passedOver());
    summary.put("unacknowledged_inserts", run.workload().unacknowledgedInserts());
    Map<String, Object> byType = new LinkedHashMap<>();
    statuses.forEach((type, counts) -> {
      Map<String, Object> one = new LinkedHashMap<>();
      Histogram histogram = reporter.total(Series.OK.index(type, false));
      one.put("operations", histogram == null ? 0 : histogram.getTotalCount());
      one.put("records", records.getOrDefault(type, 0L));
      one.put("statuses", counts);
      byType.put(type.label(), one);
    });
    summary.put("operations_by_type", byType);
    summary.put("accounting", accounting);
    summary.put("first_error", reporter.firstError().orElse(null));
    summary.put("valid", reason == null);
    summary.put("reason", reason);
    summary.put("exit", exit);
    new ObjectMapper().writerWithDefaultPrettyPrinter().writeValue(Path.of(file).toFile(), summary);
  }

  /** Prevents an exporter from closing standard output. */
  private static final class UnclosedStream extends java.io.FilterOutputStream {
    UnclosedStream(OutputStream out) {
      super(out);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      out.write(bytes, offset, length);
    }

    @Override
    public void close() throws IOException {
      flush();
    }
  }
}
