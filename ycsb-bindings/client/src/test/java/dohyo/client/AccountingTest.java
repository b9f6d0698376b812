package dohyo.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.codehaus.jackson.JsonNode;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Checks that {@code verify=acknowledged} finds every fault of an unfaithful store, and reports no other faults. */
@Timeout(value = 180, unit = TimeUnit.SECONDS)
class AccountingTest extends OnMemory {
  private static final List<String> BAD = List.of("stale_reads", "unwritten_reads", "corrupt_reads", "lost", "missing",
      "unwritten", "corrupt", "unreadable");

  private UnfaithfulBinding.Store kept;

  @BeforeEach
  void keep() {
    kept = UnfaithfulBinding.store(store);
  }

  private int unfaithful(String... options) {
    List<String> all = new ArrayList<>(List.of("-db", UnfaithfulBinding.class.getName(), "-p", "recordcount=200", "-p",
        "fieldcount=3", "-p", "fieldlength=40", "-p", "verify=acknowledged", "-p", "readproportion=0.5", "-p",
        "updateproportion=0.5", "-p", "maxerrorrate=1"));
    all.addAll(List.of(options));
    return client(all.toArray(String[]::new));
  }

  private JsonNode run(String... options) throws IOException {
    assertEquals(0, unfaithful("-load"), err);
    return again(options);
  }

  private JsonNode again(String... options) throws IOException {
    assertEquals(0, unfaithful(concat(new String[] {"-p", "operationcount=4000"}, options)), err);
    return summary().get("accounting");
  }

  private static long of(JsonNode figures, String... names) {
    long sum = 0;
    for (String name : names) {
      sum += figures.get(name).asLong();
    }
    return sum;
  }

  private static void assertNothingBad(JsonNode figures) {
    BAD.forEach(name -> assertEquals(0, of(figures, name), name + " in " + figures));
  }

  @ParameterizedTest
  @CsvSource({"1, 1, 1", "8, 1, 1", "4, 7, 1", "3, 2, 10", "1, 5, 20"})
  void inventsNothing(int threads, int inflight, int batch) throws IOException {
    String[] mix = {"-threads", "" + threads, "-p", "inflight=" + inflight, "-p", "batchsize=" + batch, "-p",
        "requestdistribution=zipfian", "-p", "readproportion=0.3", "-p", "updateproportion=0.3", "-p",
        "insertproportion=0.1", "-p", "readmodifywriteproportion=0.3"};
    JsonNode figures = run(mix);
    assertNothingBad(figures);
    assertEquals(0, of(figures, "maybe", "unknown_reads"));
    long inserted = summary().get("inserted").asLong();
    assertEquals(200 + inserted, of(figures, "keys"));
    assertEquals(line("READ", "Return=OK"), of(figures, "reads"));
    assertEquals(line("UPDATE", "Return=OK") + line("INSERT", "Return=OK"), of(figures, "acknowledged"));
    // A second run does not know the writes of the first run, and must not report them as wrong.
    assertNothingBad(again(concat(mix, "-p", "verify.run=2", "-p", "inserted=" + inserted)));
    // This run tracks whole records, after earlier runs have changed single fields.
    assertNothingBad(again(concat(mix, "-p", "verify.run=3", "-p", "writeallfields=true", "-p",
        "readbeforewrite=true", "-p", "inserted=" + summary().get("inserted").asLong())));
  }

  /** Tests one thread with one operation in flight, so that store and client agree at any time. */
  @ParameterizedTest
  @CsvSource({"lose, false", "reorder, false", "duplicate, false", "delay, false", "truncate, false", "flip, false",
      "swap, false", "remove, false", "lose, true", "reorder, true", "duplicate, true", "delay, true", "truncate, true",
      "flip, true", "swap, true"})
  void findsEachAct(String act, boolean all) throws IOException {
    JsonNode figures = run("-p", "unfaithful.act=" + act, "-p", "writeallfields=" + all);
    assertTrue(kept.acts > 100, act);
    assertTrue(kept.badReads > 50, act + " showed in " + kept.badReads + " reads");
    assertEquals(kept.badReads, of(figures, "stale_reads", "corrupt_reads"), figures.toString());
    assertEquals(kept.wrong(), of(figures, "lost", "missing", "corrupt"), figures.toString());
    assertEquals(0, of(figures, "unwritten", "unwritten_reads", "maybe", "unreadable"));
    if (List.of("lose", "reorder", "duplicate").contains(act)) {
      assertEquals(kept.wrong(), of(figures, "lost"));
      assertEquals(kept.badReads, of(figures, "stale_reads"));
    } else if (!act.equals("delay") && !act.equals("remove")) {
      assertTrue(of(figures, "corrupt") > 0 && of(figures, "lost") < kept.wrong(), figures.toString());
    }
    long bySecond = 0;
    for (JsonNode second : figures.get("by_second")) {
      bySecond += second.get(1).asLong() + second.get(2).asLong() + second.get(3).asLong();
    }
    assertEquals(kept.badReads, bySecond);
  }

  @ParameterizedTest
  @CsvSource({"lose, 8, 1, 1", "truncate, 4, 5, 1", "reorder, 3, 2, 10", "swap, 8, 4, 1", "remove, 8, 1, 1"})
  void findsWhatIsLostAmongMany(String act, int threads, int inflight, int batch) throws IOException {
    JsonNode figures = run("-p", "unfaithful.act=" + act, "-threads", "" + threads, "-p", "inflight=" + inflight, "-p",
        "batchsize=" + batch, "-p", "requestdistribution=zipfian");
    assertTrue(kept.wrong() > 0, act);
    assertEquals(kept.wrong(), of(figures, "lost", "missing", "corrupt"), figures.toString());
    assertEquals(0, of(figures, "unwritten", "unwritten_reads", "unreadable"));
    assertTrue(figures.get("examples").size() > 0);
  }

  @ParameterizedTest
  @ValueSource(strings = {"error", "late", "refuse"})
  void whatFailedMayBeThereOrNot(String act) throws IOException {
    JsonNode figures = run("-p", "unfaithful.act=" + act, "-threads", "4", "-p", "inflight=3", "-p",
        "readmodifywriteproportion=0.2");
    assertNothingBad(figures);
    assertEquals(kept.acts, of(figures, "maybe"));
  }

  @Test
  void findsWhatNobodyHasWritten() throws IOException {
    run("-p", "verify.run=2", "-p", "readproportion=0", "-p", "updateproportion=1");
    long before = of(summary().get("accounting"), "acknowledged");
    JsonNode figures = again("-p", "verify.run=1", "-p", "readproportion=1", "-p", "updateproportion=0");
    assertEquals(4000, before);
    assertEquals(200, of(figures, "unwritten"));
    assertEquals(4000, of(figures, "unwritten_reads"));
  }

  @Test
  void countsOneOfSeveralClients() throws IOException {
    assertEquals(0, unfaithful("-load"), err);
    String[] second = {"-p", "clients=3", "-p", "clientnumber=1", "-threads", "2"};
    JsonNode figures = again(second);
    assertNothingBad(figures);
    assertEquals(67, of(figures, "keys"));
    assertEquals(line("READ", "Return=OK"), of(figures, "reads", "unknown_reads"));
    assertTrue(of(figures, "unknown_reads") > of(figures, "reads"), figures.toString());
    // The writes of the third client must not disturb the accounting of the second.
    assertNothingBad(again("-p", "clients=3", "-p", "clientnumber=2"));
    assertNothingBad(again(concat(second, "-p", "verify.run=2")));
    assertNothingBad(again(concat(second, "-p", "verify.run=3", "-p", "requestdistribution=ranges")));
  }

  @Test
  void countsASample() throws IOException {
    JsonNode figures = run("-p", "verify.keys=30", "-p", "unfaithful.act=lose", "-threads", "4");
    assertEquals(7, of(figures, "sample"));
    assertTrue(Math.abs(29 - of(figures, "keys")) <= 1, figures.toString());
    assertTrue(of(figures, "lost") > 0 && of(figures, "lost") < kept.wrong(), figures.toString());
    assertTrue(of(figures, "unknown_reads") > of(figures, "reads"), figures.toString());
  }

  @Test
  void readsAgainWhatFailed() throws IOException {
    kept.failedReads = 50;
    assertNothingBad(run("-threads", "4"));
  }

  /** Tests a server that is down when the run ends, and comes back. It refuses the first two connections. */
  @Test
  void connectsAgainWhereNoThreadCould() throws IOException {
    kept.refusedConnections = 2;
    JsonNode figures = run();
    assertNothingBad(figures);
    assertEquals(200, of(figures, "keys"));
  }

  @Test
  void whatCannotBeReadIsACountOfItsOwn() throws IOException {
    kept.unreadable = 20;
    JsonNode figures = run("-threads", "4", "-p", "verify.timeout=3");
    assertTrue(of(figures, "unreadable") > 10, figures.toString());
    assertEquals(200, of(figures, "unreadable", "keys"));
    assertEquals(0, of(figures, "lost", "missing", "corrupt"));
    assertTrue(figures.get("read_back_error").asText().contains("the server is lost"));
  }

  @Test
  void refusesWhatCannotBeAccountedFor() {
    assertEquals(2, unfaithful("-load", "-p", "fieldlength=20"));
    assertTrue(err.contains("values of 20 bytes, not 29; raise fieldlength"), err);
    assertEquals(2, unfaithful("-load", "-p", "dataintegrity=true"));
    assertTrue(err.contains("verify=acknowledged includes all checks of dataintegrity=true"), err);
    assertEquals(2, unfaithful("-p", "operationcount=10", "-threads", "10", "-p", "inflight=20"));
    assertTrue(err.contains("200 records of a table for 200 open writes; raise"), err);
  }
}
