package dohyo.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dohyo.binding.Settings;
import dohyo.client.MemoryBinding.Answer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import java.util.function.ToLongFunction;
import org.HdrHistogram.EncodableHistogram;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramLogReader;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Compares the client's results with the store's own times of requests and answers, in nanoseconds. The client cannot
 * see an answer before the store sends it. So lower bounds are exact: the nth smallest latency of the client is at
 * least that of the store. Upper bounds allow for threads that wake late on a busy machine. The store's times already
 * include its own delays.
 */
@Timeout(value = 180, unit = TimeUnit.SECONDS)
class KnownTruthTest extends OnMemory {
  private static final String[] PERCENTILES = {"0", "1", "10", "25", "50", "75", "90", "95", "99", "99.9", "100"};
  /** Relative error of a histogram with three digits. Result lines are also rounded down to microseconds. */
  private static final double EXACT = 0.001;
  /** Maximum delay of the client in microseconds: more than a busy machine needs, less than the longest latency. */
  private static final long LATE_MICROS = 350_000;
  private static final String[] READS = {"-p", "readproportion=1", "-p", "updateproportion=0", "-p", "maxerrorrate=1",
      "-p", "hdrhistogram.percentiles=" + String.join(",", PERCENTILES)};

  private List<Answer> answers() {
    return MemoryBinding.store(store).answers.stream().sorted(Comparator.comparingLong(Answer::number)).toList();
  }

  /** Returns the arguments of a run that reports the delay of its first operation. */
  private String[] gate() throws IOException {
    Files.writeString(folder.resolve("start"), "" + System.currentTimeMillis());
    return new String[] {"-p", "startgate=" + folder};
  }

  /** Returns the time at which the first operation was due, or slightly later, in {@link System#nanoTime}. */
  private long firstDue() throws IOException {
    return answers().get(0).asked() - (long) (summary().get("skew_ms").asDouble() * 1e6);
  }

  private static long[] sortedMicros(List<Answer> answers, ToLongFunction<Answer> nanos) {
    return answers.stream().mapToLong(answer -> nanos.applyAsLong(answer) / 1000).sorted().toArray();
  }

  /** Compares every percentile, the minimum, the maximum and the mean of a series with the sorted true latencies. */
  private void assertLatencies(String series, long[] truth, long late) {
    assertEquals(truth.length, line(series, "Operations"));
    for (String percentile : PERCENTILES) {
      int rank = Math.max(1, (int) Math.ceil(Double.parseDouble(percentile) * truth.length / 100));
      String ending = percentile.equals("1") ? "st" : percentile.contains(".") ? "" : "th";
      assertWithin(series + " " + percentile, truth[rank - 1], line(series, percentile + ending
          + "PercentileLatency(us)"), late);
    }
    assertWithin(series + " min", truth[0], line(series, "MinLatency(us)"), late);
    assertWithin(series + " max", truth[truth.length - 1], line(series, "MaxLatency(us)"), late);
    double mean = java.util.Arrays.stream(truth).average().orElseThrow();
    assertWithin(series + " mean", (long) mean, line(series, "AverageLatency(us)"), late);
  }

  private static void assertWithin(String what, long truth, long said, long late) {
    assertTrue(said >= truth * (1 - EXACT) - 2 && said <= truth * (1 + EXACT) + late,
        what + " is " + said + " us, and in truth " + truth + " us");
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 64})
  void asFastAsItGoes(int inflight) throws IOException {
    int times = 40 * inflight;
    // 40 reads take 20 ms (30 of them), 60 ms (6) or 400 ms (1). Two fail, and one gets no answer.
    String tenth = "20,20,60,20,20,20,20,20,";
    int exit = client(concat(READS, "-p", "memory.answers=" + tenth + "20,error," + tenth + "20,400," + tenth
        + "60,hang," + tenth + "60,error", "-p", "inflight=" + inflight, "-p", "operationcount=" + times, "-p",
        "operationtimeout=2000"));
    assertEquals(0, exit, err);
    assertEquals(37L * inflight, line("READ", "Return=OK"));
    assertEquals(2L * inflight, line("READ", "Return=IO"));
    assertEquals(inflight, line("READ", "Return=TIMEOUT"));
    List<Answer> answers = answers();
    assertLatencies("READ", sortedMicros(answers.stream().filter(answer -> !answer.kind().equals("error")).toList(),
        answer -> answer.answered() - answer.asked()), LATE_MICROS);
    assertEquals(3L * inflight, line("READ-FAILED", "Operations"));
    assertWithin("an abandoned operation", 2_000_000, line("READ-FAILED", "MaxLatency(us)"), 4_000_000);
    assertWithin("an error", 0, line("READ-FAILED", "50thPercentileLatency(us)"), LATE_MICROS);

    assertEquals(37L * inflight, line("OVERALL", "Operations"));
    assertEquals(37L * inflight, line("OVERALL", "Records"));
    assertEquals(3L * inflight, line("OVERALL", "FailedOperations"));
    assertEquals(times, summary().get("attempted_records").asLong());
    assertEquals(0, summary().get("missed_operations").asLong());
    double span = answers.stream().mapToLong(Answer::answered).max().orElseThrow() - answers.get(0).asked();
    double seconds = summary().get("measured_seconds").asDouble();
    // The last answer may be a timeout.
    assertTrue(seconds >= span / 1e9 && seconds <= span / 1e9 + 6, seconds + " s, and in truth " + span / 1e9);
    assertEquals((long) (37 * inflight / seconds), line("OVERALL", "Throughput(ops/sec)"));
    if (inflight == 1) {
      assertTrue(seconds >= 30 * 0.02 + 6 * 0.06 + 0.4 + 2, "one after another: " + seconds + " s");
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 64})
  void asFastAsItGoesForATime(int inflight) throws IOException {
    assertEquals(0, client(concat(READS, "-p", "memory.answers=20", "-p", "inflight=" + inflight, "-p",
        "warmuptime=0.5", "-p", "maxexecutiontime=2")), err);
    long operations = line("OVERALL", "Operations");
    assertEquals(2000, line("OVERALL", "RunTime(ms)"));
    assertEquals(operations / 2, line("OVERALL", "Throughput(ops/sec)"));
    assertEquals(answers().size(), operations + summary().get("warmup_operations").asLong());
    assertTrue(operations <= 100L * inflight && operations >= 10L * inflight, operations + " of 20 ms in 2 s");
    assertWithin("READ min", 20_000, line("READ", "MinLatency(us)"), LATE_MICROS);
    assertWithin("READ p50", 20_000, line("READ", "50thPercentileLatency(us)"), LATE_MICROS);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 64})
  void atARateWithAStall(int inflight) throws IOException {
    int rate = inflight == 1 ? 20 : 400;
    assertEquals(0, client(concat(concat(READS, gate()), "-p", "memory.answers=10", "-p", "memory.stall=1000-1900",
        "-target", "" + rate, "-p", "inflight=" + inflight, "-p", "maxexecutiontime=4",
        "-p", "hdrhistogram.fileoutput=true", "-p", "hdrhistogram.output.path=" + folder + "/")), err);
    List<Answer> answers = answers();
    assertEquals(4L * rate, answers.size() + summary().get("missed_operations").asLong());
    assertEquals(answers.size() / 4, line("OVERALL", "Throughput(ops/sec)"));
    assertTrue(answers.size() >= 2 * rate, "most of what the stall held up is sent after it: " + answers.size());
    assertLatencies("READ", sortedMicros(answers, answer -> answer.answered() - answer.asked()), LATE_MICROS);
    // The other operations follow the first at equal intervals.
    long begin = firstDue();
    long[] intended = sortedMicros(answers,
        answer -> answer.answered() - begin - TimeUnit.SECONDS.toNanos(answer.number()) / rate);
    assertLatencies("Intended-READ", intended, 2 * LATE_MICROS);
    // The stall takes 0.9 s of 4 s. Operations that were due during the stall waited for its end.
    assertTrue(line("Intended-READ", "90thPercentileLatency(us)") > 400_000, out);
    assertTrue(line("READ", "90thPercentileLatency(us)") < 400_000, out);
    assertLogged("READ");
    assertLogged("Intended-READ");
  }

  /** Checks that the log states its unit, nanoseconds, and that the result lines show its values, rounded down. */
  private void assertLogged(String series) throws IOException {
    Path log = folder.resolve(series + ".hdr");
    assertEquals("#[Logging for: " + series + ", nanoseconds]", Files.readAllLines(log).get(0));
    Histogram all = new Histogram(3);
    HistogramLogReader reader = new HistogramLogReader(log.toFile());
    for (EncodableHistogram next; (next = reader.nextIntervalHistogram()) != null;) {
      all.add((Histogram) next);
    }
    assertEquals(line(series, "Operations"), all.getTotalCount());
    assertEquals(line(series, "MaxLatency(us)"), all.getMaxValue() / 1000);
    assertEquals(line(series, "50thPercentileLatency(us)"), all.getValueAtPercentile(50) / 1000);
    assertTrue(all.getValueAtPercentile(50) % 1000 != 0 || all.getMinValue() % 1000 != 0, "finer than a microsecond");
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 64})
  void atRandomTimesWithAStall(int inflight) throws IOException {
    int rate = inflight == 1 ? 20 : 400;
    String[] random = {"-target", "" + rate, "-p", "arrival=poisson", "-p", "seed=7", "-p", "maxexecutiontime=4"};
    assertEquals(0, client(concat(concat(concat(READS, random), gate()), "-p", "memory.answers=10", "-p",
        "memory.stall=1000-1900", "-p", "inflight=" + inflight)), err);
    assertEquals("poisson", summary().get("arrival").asText());
    List<Answer> answers = answers();
    assertEquals(4L * rate, answers.size() + summary().get("missed_operations").asLong(), "as with even distances");
    assertTrue(answers.size() >= 2 * rate, "most of what the stall held up is sent after it: " + answers.size());
    assertLatencies("READ", sortedMicros(answers, answer -> answer.answered() - answer.asked()), LATE_MICROS);
    // The seed reproduces the times.
    Properties properties = Arguments.parse(concat(random, "-p", "recordcount=1000"));
    Pacer pacer = Pacer.of(Run.of(new Settings(properties)), new Window(0, 0, TimeUnit.SECONDS.toNanos(4))).get(0);
    long begin = firstDue() - pacer.due();
    long[] due = answers.stream().mapToLong(answer -> {
      long time = pacer.due();
      pacer.pass();
      return time;
    }).toArray();
    assertLatencies("Intended-READ", sortedMicros(answers,
        answer -> answer.answered() - begin - due[(int) answer.number()]), 2 * LATE_MICROS);
    assertTrue(line("Intended-READ", "90thPercentileLatency(us)") > 300_000, out);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 64})
  void atARateThatItDoesNotReach(int inflight) throws IOException {
    // Each slot can execute 50 operations per second, and twice as many are due.
    assertEquals(0, client(concat(concat(READS, gate()), "-p", "memory.answers=20", "-target",
        "" + 100 * inflight, "-p", "inflight=" + inflight, "-p", "maxexecutiontime=2")), err);
    List<Answer> answers = answers();
    long operations = line("OVERALL", "Operations");
    assertEquals(answers.size(), operations);
    assertTrue(operations <= 100L * inflight, "" + operations);
    assertEquals(200L * inflight, operations + summary().get("missed_operations").asLong());
    long begin = firstDue();
    assertLatencies("Intended-READ", sortedMicros(answers, answer -> answer.answered() - begin
        - TimeUnit.SECONDS.toNanos(answer.number()) / (100 * inflight)), 2 * LATE_MICROS);
    assertTrue(line("Intended-READ", "MaxLatency(us)") > 700_000, out);
  }
}
