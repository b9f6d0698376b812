package dohyo.client;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dohyo.workload.RecordWorkload;
import java.util.Properties;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

class PacerTest {
  private static final long SECOND = 1_000_000_000;

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
        // 8,000 a second together.
        Pacer pacer = new Pacer(80, threads, shift(thread, threads, client, clients), 7);
        for (int i = 0; i < 3; i++) {
          due.add(pacer.due());
          pacer.pass();
        }
      }
    }
    assertEquals(3 * clients * threads, due.size(), "no two at one time");
    long expected = 7;
    for (long time : due) {
      assertEquals(expected, (double) time, 1, "one every 125 us");
      expected += SECOND / 8000;
    }
  }
}
