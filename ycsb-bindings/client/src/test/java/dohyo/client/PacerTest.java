package dohyo.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dohyo.binding.Settings;
import dohyo.workload.RecordWorkload;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import java.util.function.DoubleUnaryOperator;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class PacerTest {
  private static final long SECOND = 1_000_000_000;
  private static final int CLIENTS = 3;

  /** Returns the sorted due times of all threads of a client in a window of 20 s, optionally after a warm-up of 1 s. */
  private static List<Long> due(int client, String arrival, boolean warmup, String... more) {
    Properties properties = new Properties();
    properties.putAll(Map.of("recordcount", "1000", "clients", "" + CLIENTS, "clientnumber", "" + client, "seed", "7",
        "maxexecutiontime", "20", "target", "1000.3", "threadcount", "5", "arrival", arrival));
    for (String property : more) {
      properties.setProperty(property.split("=")[0], property.split("=")[1]);
    }
    long measure = warmup ? SECOND : 0;
    Window window = new Window(0, measure, more.length > 0 ? Long.MAX_VALUE : 20 * SECOND);
    List<Long> due = new ArrayList<>();
    for (Pacer pacer : Pacer.of(Run.of(new Settings(properties)), window)) {
      if (warmup) {
        while (pacer.due() < measure) {
          pacer.pass();
        }
        pacer.begin(measure);
      }
      for (; pacer.due() < measure + 20 * SECOND; pacer.pass()) {
        due.add(pacer.due() - measure);
      }
    }
    due.sort(null);
    return due;
  }

  private static List<Long> ofAll(String arrival) {
    return IntStream.range(0, CLIENTS).boxed().flatMap(client -> due(client, arrival, false).stream()).sorted()
        .toList();
  }

  /**
   * Returns the largest distance between a sorted sample and a distribution (Kolmogorov–Smirnov). The unit is the
   * distance that one in 1,000 samples exceeds.
   */
  private static double distance(double[] sample, DoubleUnaryOperator distribution) {
    double largest = 0;
    for (int i = 0; i < sample.length; i++) {
      double share = distribution.applyAsDouble(sample[i]);
      largest = Math.max(largest, Math.max(share - (double) i / sample.length, (i + 1.0) / sample.length - share));
    }
    return largest * Math.sqrt(sample.length) / 1.95;
  }

  @Test
  void randomArrivalsOfAllClientsAreOnePoissonProcess() {
    List<Long> due = ofAll("poisson");
    assertEquals(ofAll("uniform").size(), due.size(), "as with even distances");
    assertEquals(3 * 20 * 1000.3, due.size(), 1);
    double[] times = due.stream().mapToDouble(time -> time).toArray();
    assertTrue(times[0] >= 0 && times[times.length - 1] < 20 * SECOND);
    assertTrue(distance(times, time -> time / (20.0 * SECOND)) < 1, "anywhere in the window");
    double[] gaps = IntStream.range(1, times.length).mapToDouble(i -> times[i] - times[i - 1]).sorted().toArray();
    assertTrue(distance(gaps, gap -> -Math.expm1(-gap * 3000.9 / SECOND)) < 1, "exponential gaps");
    double[] even = ofAll("uniform").stream().mapToDouble(time -> time).toArray();
    double[] same = IntStream.range(1, even.length).mapToDouble(i -> even[i] - even[i - 1]).sorted().toArray();
    assertTrue(distance(same, gap -> -Math.expm1(-gap * 3000.9 / SECOND)) > 10, "the check finds other gaps");
    // The counts per 10 ms are Poisson distributed: their variance equals their mean, 30.
    double[] counts = new double[2000];
    due.forEach(time -> counts[(int) (time / (SECOND / 100))]++);
    double mean = (double) due.size() / counts.length;
    double variance = DoubleStream.of(counts).map(count -> (count - mean) * (count - mean)).sum() / counts.length;
    assertEquals(1, variance / mean, 0.1);
  }

  @Test
  void randomArrivalsAreDrawnAgainFromTheSeed() {
    assertEquals(due(0, "poisson", false), due(0, "poisson", false));
    assertEquals(due(0, "poisson", false), due(0, "poisson", true), "whatever the warm-up was");
    assertNotEquals(due(0, "poisson", false), due(1, "poisson", false));
    List<Long> endless = due(0, "poisson", false, "maxexecutiontime=0", "operationcount=1000000");
    assertNotEquals(due(0, "poisson", false), endless);
    assertEquals(20_006, endless.size(), 4 * Math.sqrt(20_006), "without an end their number is random, too");
  }

  @Test
  void furtherWindowsOfAClientHaveOtherArrivals() {
    Run run = Run.of(new Settings(properties("recordcount=1000", "seed=7", "maxexecutiontime=20", "target=1000",
        "arrival=poisson")));
    Window window = new Window(0, SECOND, 20 * SECOND);
    List<List<Long>> drawn = IntStream.range(0, 2).mapToObj(i -> Pacer.of(run, window).get(0)).map(pacer -> {
      long warmup = pacer.due();
      pacer.begin(SECOND);
      return List.of(warmup, pacer.due());
    }).toList();
    assertNotEquals(drawn.get(0).get(0), drawn.get(1).get(0), "warm-up");
    assertNotEquals(drawn.get(0).get(1), drawn.get(1).get(1), "window");
  }

  private static Properties properties(String... pairs) {
    Properties properties = new Properties();
    for (String pair : pairs) {
      properties.setProperty(pair.split("=")[0], pair.split("=")[1]);
    }
    return properties;
  }

  private static double shift(int thread, int threads, int client, int clients) {
    Properties properties = new Properties();
    properties.setProperty("recordcount", "1000");
    properties.setProperty("clients", "" + clients);
    properties.setProperty("clientnumber", "" + client);
    RecordWorkload workload = new RecordWorkload();
    workload.init(properties);
    return workload.shift(thread, threads);
  }

  @Test
  void allThreadsOfAllClientsSendAtAnEvenRate() {
    int clients = 100;
    int threads = 8;
    TreeSet<Long> due = new TreeSet<>();
    for (int client = 0; client < clients; client++) {
      for (int thread = 0; thread < threads; thread++) {
        // All clients together send 8,000 operations a second.
        Pacer pacer = new Pacer(80, threads, shift(thread, threads, client, clients), 7);
        for (int i = 0; i < 3; i++) {
          due.add(pacer.due());
          pacer.pass();
        }
      }
    }
    assertEquals(3 * clients * threads, due.size(), "no two are due at the same time");
    long expected = 7;
    for (long time : due) {
      assertEquals(expected, (double) time, 1, "one every 125 us");
      expected += SECOND / 8000;
    }
  }
}
