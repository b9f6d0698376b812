package dohyo.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dohyo.binding.Settings;
import java.io.ByteArrayOutputStream;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import org.HdrHistogram.EncodableHistogram;
import org.HdrHistogram.HistogramLogReader;
import org.codehaus.jackson.JsonNode;
import org.codehaus.jackson.map.ObjectMapper;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the whole client in one process, on a store that fails on demand. */
@Timeout(value = 180, unit = TimeUnit.SECONDS)
class ClientTest extends OnMemory {
  @ParameterizedTest
  @CsvSource({"1, 1, 1, 1", "3, 100, 1, 1", "4, 7, 3, 5", "7, 1, 1, 50"})
  void loadsEveryRecordOnce(int threads, int batch, int tables, int inflight) {
    int exit = client("-load", "-threads", "" + threads, "-p", "batchsize=" + batch, "-p", "tablecount=" + tables,
        "-p", "inflight=" + inflight);
    assertEquals(0, exit, err);
    assertEquals(1000, line("INSERT", "Return=OK"));
    assertEquals(1000, line("OVERALL", "Records"));
    assertEquals(1000, MemoryBinding.keys(store).size());
    assertEquals(1000, MemoryBinding.store(store).writes.get());
  }

  @ParameterizedTest
  @CsvSource({"1, 1", "10, 1", "1, 8", "10, 8"})
  void countsOperationsAndRecords(int batch, int inflight) {
    assertEquals(0, client("-load"), err);
    int exit = client("-threads", "4", "-p", "operationcount=1001", "-p", "batchsize=" + batch, "-p",
        "inflight=" + inflight, "-p", "readproportion=0.5", "-p", "updateproportion=0.5");
    assertEquals(0, exit, err);
    assertEquals(1001, line("READ", "Operations") + line("UPDATE", "Operations"));
    assertEquals(1001L * batch, line("READ", "Return=OK") + line("UPDATE", "Return=OK"));
    assertEquals(1001L * batch, line("OVERALL", "Records"));
  }

  @Test
  void keysOfSeveralColumnsAreThoseOfTheLoadAndOfTheRun() {
    String[] columns = {"-p", "insertorder=ordered", "-p", "keycolumns=host int 2, when timestamp"};
    assertEquals(0, client(concat(columns, "-load", "-threads", "3", "-p", "batchsize=10")), err);
    assertEquals(1000, MemoryBinding.keys(store).size());
    assertTrue(MemoryBinding.keys(store).contains("usertable/" + new String(ByteBuffer.allocate(12).putInt(1)
        .putLong(1_577_836_800_499L).array(), StandardCharsets.ISO_8859_1)), "the last one");
    assertEquals(0, client(concat(columns, "-p", "operationcount=500", "-p", "readproportion=0.8",
        "-p", "updateproportion=0", "-p", "insertproportion=0.2")), err);
    assertEquals(line("READ", "Operations"), line("READ", "Return=OK"));
    assertEquals(1000 + line("INSERT", "Operations"), MemoryBinding.keys(store).size());
  }

  @Test
  void aBindingForStockYcsbTakesNoColumns() {
    assertEquals(2, client("-load", "-db", "site.ycsb.BasicDB", "-p", "client.loop=threads", "-p",
        "insertorder=ordered", "-p", "keycolumns=host int 2, when timestamp"));
    assertTrue(err.contains("keycolumns=host int 2, when timestamp: site.ycsb.BasicDB is stock YCSB's"), err);
  }

  @Test
  void aDriverThatBlocksHasAThreadForEachClient() {
    assertEquals(2, client("-load", "-db", "site.ycsb.BasicDB", "-p", "client.loop=events"));
    assertTrue(err.contains("client.loop=events: must be one of threads"), err);
  }

  @Test
  void countsBeyondFourBillionStayWhole() throws Exception {
    String[] scans = {"-threads", "3", "-p", "operationcount=5", "-p", "readproportion=0", "-p", "updateproportion=0",
        "-p", "scanproportion=1", "-p", "memory.scanned=" + Integer.MAX_VALUE};
    assertEquals(0, client(scans), err);
    long rows = 5L * Integer.MAX_VALUE;
    assertEquals(rows, line("SCAN", "Records"));
    assertEquals(rows, line("OVERALL", "Records"));
    assertEquals(rows, summary().get("records").asLong());
    assertEquals(rows, summary().get("operations_by_type").get("SCAN").get("records").asLong());
  }

  @Test
  void theRowsOfAScanThatFailsDoNotCount() throws Exception {
    assertEquals(5, client("-p", "operationcount=5", "-p", "readproportion=0", "-p", "updateproportion=0", "-p",
        "scanproportion=1", "-p", "memory.scanned=50", "-p", "memory.failread=status"));
    assertEquals(5, line("OVERALL", "FailedOperations"));
    assertEquals(0, line("SCAN", "Records"));
    assertEquals(0, line("OVERALL", "Records"));
    assertEquals(0, summary().get("records").asLong());
  }

  @Test
  void theStatusLineCountsBeyondFourBillion() throws Exception {
    Properties properties = new Properties();
    properties.putAll(Map.of("recordcount", "5000000000", "maxexecutiontime", "60", "status", "true", "scanproportion",
        "1", "readproportion", "0", "updateproportion", "0", "memory.scanned", "" + Integer.MAX_VALUE));
    Run scans = Run.of(new Settings(properties));
    MemoryBinding binding = new MemoryBinding();
    binding.setProperties(properties);
    binding.init();
    ThreadStatistics statistics = new ThreadStatistics(false, new SharedHistograms());
    for (int i = 0; i < 5; i++) {
      new Call(scans.workload().source(0, 1).next()).start(binding, 0, System.nanoTime(), statistics::record);
    }
    properties.putAll(Map.of("scanproportion", "0", "readproportion", "1", "batchsize", "2"));
    ByteArrayOutputStream messages = new ByteArrayOutputStream();
    Reporter reporter = new Reporter(Run.of(new Settings(properties)), List.of(statistics), new Abort(),
        new PrintStream(messages, true, StandardCharsets.UTF_8));
    long now = System.nanoTime();
    reporter.begin(new Window(now, now, Long.MAX_VALUE));
    reporter.end();
    assertTrue(messages.toString(StandardCharsets.UTF_8).contains(5L * Integer.MAX_VALUE + " records; "),
        messages.toString(StandardCharsets.UTF_8));
  }

  @Test
  void readModifyWriteShowsAllThreeAndReadsOnce() {
    assertEquals(0, client("-load"), err);
    assertEquals(0, client("-p", "operationcount=50", "-p", "readproportion=0", "-p", "updateproportion=0",
        "-p", "readmodifywriteproportion=1", "-p", "readbeforewrite=true"), err);
    for (String type : List.of("READ", "UPDATE", "READ-MODIFY-WRITE")) {
      assertEquals(50, line(type, "Operations"));
      assertEquals(50, line(type, "Records"));
    }
    assertEquals(50, line("OVERALL", "Operations"));
    assertEquals(50, line("OVERALL", "Records"));
    assertEquals(50, MemoryBinding.store(store).reads.get());
  }

  @ParameterizedTest
  @CsvSource({"1", "10"})
  void readBeforeWriteReadsEachRecordOnce(int batch) {
    assertEquals(0, client("-load"), err);
    assertEquals(0, client("-p", "operationcount=20", "-p", "readproportion=0", "-p", "updateproportion=1",
        "-p", "readbeforewrite=true", "-p", "batchsize=" + batch), err);
    assertEquals(20L * batch, MemoryBinding.store(store).reads.get());
    assertEquals(1000 + 20L * batch, MemoryBinding.store(store).writes.get());
    assertEquals(20L * batch, line("UPDATE", "Return=OK"));
  }

  @ParameterizedTest
  @CsvSource({"8, 1", "7, 3", "1, 1"})
  void aPassRequestsEachRecordOnce(int threads, int tables) {
    String[] records = {"-threads", "" + threads, "-p", "tablecount=" + tables, "-p", "batchsize=100"};
    assertEquals(0, client(concat(records, "-load")), err);
    assertEquals(0, client(concat(records, "-p", "requestdistribution=ranges", "-p", "passes=2", "-p",
        "operationcount=20", "-p", "readproportion=1", "-p", "updateproportion=0")), err);
    assertEquals(2000, line("OVERALL", "Records"));
  }

  @Test
  void whatIsNotThereIsNeitherOkNorAnError() {
    assertEquals(0, client("-p", "operationcount=10", "-p", "readproportion=1", "-p", "updateproportion=0"), err);
    assertEquals(10, line("READ", "Return=NOT_FOUND"));
    assertEquals(0, line("READ", "Operations"));
    assertEquals(10, line("READ-NOT_FOUND", "Operations"));
    assertEquals(0, line("OVERALL", "Records"));
  }

  @Tag("slow")
  @ParameterizedTest
  @CsvSource({"1, 1, 0", "4, 1, 300", "4, 8, 0"})
  void runsInARowInsertEachKeyNumberOnceAndLeaveNoneOut(int batch, int inflight, int target) throws IOException {
    assertEquals(0, client("-load", "-p", "insertorder=ordered"), err);
    String[] timed = {"-threads", "3", "-p", "batchsize=" + batch, "-p", "inflight=" + inflight, "-p",
        "insertproportion=0.5", "-p", "readproportion=0.5", "-p", "updateproportion=0", "-p", "insertorder=ordered",
        "-p", "requestdistribution=latest", "-p", "maxexecutiontime=1", "-p", "warmuptime=0.2", "-target", "" + target,
        // The delay limits the number of records. Without it, the test stalled for a second on a busy machine.
        "-p", "memory.delay=10", "-p", "inserted="};
    long inserted = 0;
    for (int run = 0; run < 3; run++) {
      timed[timed.length - 1] = "inserted=" + inserted;
      long writes = MemoryBinding.store(store).writes.get();
      assertEquals(0, client(timed), err);
      assertFalse(out.contains("[READ], Return=NOT_FOUND"), "every number below the last one was used:\n" + out);
      assertEquals(inserted + MemoryBinding.store(store).writes.get() - writes, summary().get("inserted").asLong());
      assertEquals(0, summary().get("unacknowledged_inserts").asLong());
      inserted = summary().get("inserted").asLong();
    }
    assertTrue(inserted > 100, "several runs have inserted: " + inserted);
    assertEquals(1000 + inserted, MemoryBinding.keys(store).size());
    assertEquals(1000 + inserted, MemoryBinding.store(store).writes.get(), "none was written twice");
  }

  @ParameterizedTest
  @CsvSource({"1, 0", "20, 0", "20, 0.5"})
  void nothingIsSentThatIsDueAfterTheWindow(int threads, String warmup) throws IOException {
    assertEquals(0, client("-load"), err);
    // An operation is due every 250 ms. Each of 20 threads has one in 5 s, and most have none in the window of 1 s.
    assertEquals(0, client("-p", "maxexecutiontime=1", "-p", "warmuptime=" + warmup, "-threads", "" + threads,
        "-target", "4", "-p", "insertproportion=1", "-p", "readproportion=0", "-p", "updateproportion=0"), err);
    long operations = summary().get("operations").asLong();
    // On a busy machine, an operation that is due may be sent too late to be measured.
    assertEquals(4, operations + summary().get("missed_operations").asLong());
    assertEquals(operations, line("INSERT", "Operations"));
    long inserted = summary().get("inserted").asLong();
    assertEquals(operations + summary().get("warmup_operations").asLong(), inserted, "no further key number is used");
    assertEquals(1000 + inserted, MemoryBinding.keys(store).size());
  }

  @Test
  void anInsertThatTheEndOvertakesIsSentAndNotMeasured() throws IOException {
    assertEquals(0, client("-load"), err);
    assertEquals(0, client("-p", "maxexecutiontime=1", "-p", "insertproportion=1", "-p", "readproportion=0", "-p",
        "updateproportion=0", "-p", "memory.writedelay=300"), err);
    long inserted = summary().get("inserted").asLong();
    assertEquals(1000 + inserted, MemoryBinding.keys(store).size(), "its key number is used");
    assertEquals(inserted - 1, summary().get("operations").asLong());
    assertEquals(inserted - 1, line("INSERT", "Operations"));
    assertEquals(0, summary().get("warmup_operations").asLong());
  }

  @Test
  void insertsThatFailAreNotCertain() throws IOException {
    assertEquals(0, client("-load"), err);
    client("-p", "operationcount=10", "-p", "insertproportion=1", "-p", "readproportion=0", "-p", "updateproportion=0",
        "-p", "memory.fail=error", "-p", "memory.failafter=1004", "-p", "inserted=5");
    assertEquals(15, summary().get("inserted").asLong());
    assertEquals(6, summary().get("unacknowledged_inserts").asLong());
  }

  @Test
  void measuresForTheTimeAndNotTheWarmUp() throws IOException {
    assertEquals(0, client("-load"), err);
    assertEquals(0, client("-p", "maxexecutiontime=2", "-p", "warmuptime=1", "-target", "200", "-p",
        "hdrhistogram.fileoutput=true", "-p", "hdrhistogram.output.path=" + folder + "/", "-s", "-p",
        "status.interval=1"), err);
    assertEquals(2000, line("OVERALL", "RunTime(ms)"));
    long operations = line("OVERALL", "Operations");
    assertEquals(400, operations + summary().get("missed_operations").asLong(), "200 per second for 2 s");
    long warmups = summary().get("warmup_operations").asLong();
    assertTrue(warmups > 0 && warmups <= 201, "200 per second for 1 s gave " + warmups);
    long logged = logged("READ") + logged("UPDATE");
    assertEquals(operations, logged, "the interval logs contain the operations of the results");
    assertEquals(line("READ", "Operations"), line("Intended-READ", "Operations"));
    assertTrue(Pattern.compile("\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d:\\d{3} \\d sec: \\d+ operations; "
        + "[0-9.]+ current ops/sec; est completion in \\d seconds? \\[READ: Count=\\d+, Max=").matcher(err).find(),
        err);
  }

  private long logged(String series) throws IOException {
    long count = 0;
    int intervals = 0;
    try (FileInputStream file = new FileInputStream(folder.resolve(series + ".hdr").toFile())) {
      HistogramLogReader reader = new HistogramLogReader(file);
      for (EncodableHistogram next; (next = reader.nextIntervalHistogram()) != null;) {
        count += ((org.HdrHistogram.Histogram) next).getTotalCount();
        intervals++;
      }
    }
    assertTrue(intervals >= 2, "one interval a second");
    return count;
  }

  @Test
  void intendedLatencyCountsTheWait() {
    assertEquals(0, client("-load"), err);
    // One thread needs 20 ms per answer, and 100 operations are due per second, so each waits longer than the previous.
    assertEquals(0, client("-p", "operationcount=50", "-p", "readproportion=1", "-p", "updateproportion=0",
        "-target", "100", "-p", "memory.delay=20"), err);
    assertTrue(line("READ", "95thPercentileLatency(us)") < 200_000, out);
    assertTrue(line("Intended-READ", "95thPercentileLatency(us)") > 350_000, out);
  }

  @Tag("slow")
  @Test
  void whatTheWarmUpHasLeftUndoneIsNotMeasured() throws IOException {
    assertEquals(0, client("-load"), err);
    // The first answer takes nearly the whole warm-up, so 300 operations are overdue when the window begins.
    assertEquals(0, client("-p", "maxexecutiontime=2", "-p", "warmuptime=3", "-p", "readproportion=1", "-p",
        "updateproportion=0", "-target", "100", "-p", "memory.cold=2990", "-p", "memory.delay=20"), err);
    // One thread needs 20 ms per answer, so it can send half of the due operations.
    long operations = summary().get("operations").asLong();
    assertTrue(operations <= 101, "" + operations);
    assertEquals(200, operations + summary().get("missed_operations").asLong());
    assertTrue(line("Intended-READ", "MinLatency(us)") < 2_000_000, out);
  }

  @Test
  void whatWasDueAndNeverSentIsCounted() throws IOException {
    assertEquals(0, client("-load"), err);
    // The first answers arrive after the window.
    assertEquals(4, client("-p", "maxexecutiontime=1", "-p", "warmuptime=0.2", "-p", "readproportion=1", "-p",
        "updateproportion=0", "-target", "50", "-threads", "5", "-p", "memory.cold=3000"));
    assertEquals(50, summary().get("missed_operations").asLong());
    assertTrue(err.contains("no operation succeeded in "), err);
  }

  @ParameterizedTest
  @CsvSource({"uniform, false, 9", "poisson, false, 9", "poisson, true, 0"})
  void anAbortedRunMissesNothingBeyondItsQuota(String arrival, boolean load, int missed) throws IOException {
    // All ten operations are due within 0.1 s, and the first one gets no answer.
    assertEquals(5, client("-p", "dotransactions=" + !load, "-p", "recordcount=10", "-p", "operationcount=10", "-p",
        "readproportion=0", "-p", "updateproportion=1", "-target", "100", "-p", "arrival=" + arrival, "-p",
        "memory.fail=hang", "-p", "stalltime=1", "-p", "operationtimeout=600000"));
    assertTrue(err.contains("no operation has succeeded for 1 s (stalltime)"), err);
    assertEquals(1, line(load ? "INSERT" : "UPDATE", "Return=TIMEOUT"), "the thread has ended");
    assertEquals(missed, summary().get("missed_operations").asLong());
  }

  @ParameterizedTest
  @CsvSource({"error, IO", "throw, ILLEGAL_STATE"})
  void errorsAreCountedByNameAndMakeTheRunInvalid(String failure, String name) throws IOException {
    assertEquals(0, client("-load"), err);
    assertEquals(5, client("-p", "operationcount=100", "-p", "readproportion=0.5", "-p", "updateproportion=0.5", "-p",
        "memory.fail=" + failure), err);
    assertTrue(line("UPDATE", "Return=" + name) > 10, out);
    assertEquals(line("UPDATE-FAILED", "Operations"), line("OVERALL", "FailedOperations"));
    assertTrue(err.contains("ERROR: ") && err.contains("above maxerrorrate=0.001"), err);
    assertFalse(summary().get("valid").asBoolean());
  }

  @ParameterizedTest
  @CsvSource({"1, 40, 5", "1, 60, 0", "5, 40, 5", "5, 60, 0"})
  void aReadModifyWriteIsOneRecordOfTheErrorRate(int batch, int good, int exit) throws IOException {
    assertEquals(0, client("-load"), err);
    // The updates of the first `good` records succeed, the others fail.
    assertEquals(exit, client("-p", "operationcount=" + 100 / batch, "-p", "readproportion=0", "-p",
        "updateproportion=0", "-p", "readmodifywriteproportion=1", "-p", "batchsize=" + batch, "-p",
        "memory.fail=error", "-p", "memory.failafter=" + (1000 + good), "-p", "maxerrorrate=0.5"), err);
    assertEquals(100, summary().get("attempted_records").asLong());
    assertEquals(100 - good, summary().get("failed_records").asLong());
    assertEquals(exit != 0, err.contains("60 of 100 records (60.00 %) failed, above maxerrorrate=0.5"), err);
  }

  @ParameterizedTest
  @CsvSource({"status, IO, 1", "error, IO, 1", "throw, ILLEGAL_STATE, 1", "hang, TIMEOUT, 1", "status, IO, 5",
      "error, IO, 5", "throw, ILLEGAL_STATE, 5", "hang, TIMEOUT, 5"})
  void aReadModifyWriteWhoseReadFailsHasAFailedRead(String failure, String name, int batch) {
    assertEquals(0, client("-load"), err);
    assertEquals(5, client("-p", "operationcount=4", "-p", "readproportion=0", "-p", "updateproportion=0", "-p",
        "readmodifywriteproportion=1", "-p", "memory.failread=" + failure, "-p", "batchsize=" + batch, "-p",
        "operationtimeout=1000", "-p", "inflight=4"), err);
    for (String type : List.of("READ", "READ-MODIFY-WRITE")) {
      assertEquals(4, line(type + "-FAILED", "Operations"));
      assertEquals(4 * batch, line(type, "Return=" + name));
    }
    assertFalse(out.contains("[UPDATE"), out);
    assertEquals(4, line("OVERALL", "FailedOperations"));
    assertTrue(err.contains(4 * batch + " of " + 4 * batch + " records (100.00 %) failed"), err);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 5})
  void aReadModifyWriteThatWasGivenUpWritesNothingLater(int batch) {
    assertEquals(0, client("-load"), err);
    assertEquals(4, client("-p", "maxexecutiontime=2", "-p", "readproportion=0", "-p", "updateproportion=0", "-p",
        "readmodifywriteproportion=1", "-p", "memory.answers=1500", "-p", "batchsize=" + batch, "-p",
        "operationtimeout=100", "-p", "inflight=4", "-p", "maxerrorrate=1"), err);
    // All four requests were sent at once. On a busy machine their answers may come after the client has ended.
    while (MemoryBinding.store(store).answers.size() < 4) {
      Thread.onSpinWait();
    }
    assertEquals(1000, MemoryBinding.store(store).writes.get());
  }

  @Test
  void errorsOfTheWarmUpAreNoSuccess() throws IOException {
    assertEquals(5, client("-p", "warmuptime=20", "-p", "maxexecutiontime=1", "-p", "stalltime=1", "-target", "100",
        "-p", "memory.failread=error", "-p", "readproportion=1", "-p", "updateproportion=0"));
    assertTrue(err.contains("no operation has succeeded for 1 s (stalltime); the first error was: READ: IO: disk on"),
        err);
    assertTrue(summary().get("warmup_operations").asLong() > 0);
    assertEquals(summary().get("warmup_operations").asLong(), summary().get("warmup_failed_operations").asLong());
    assertEquals("READ: IO: disk on fire", summary().get("first_error").asText());
  }

  @Test
  void aLoadMustBeWhole() {
    assertEquals(5, client("-load", "-p", "memory.fail=error", "-p", "memory.failafter=999"), err);
    assertTrue(err.contains("1 of 1000 records"), err);
  }

  // ---- The client's own resources: its processor time, which does not depend on other processes ----

  @Test
  void theBusiestThreadAndTheTransportAreThoseOfTheWindow() throws IOException {
    assertEquals(0, client("-t", "-threads", "4", "-p", "maxexecutiontime=2", "-p", "warmuptime=1",
        "-p", "readproportion=1", "-p", "updateproportion=0", "-p", "memory.loop=200", "-p", "retries=3"), err);
    JsonNode summary = summary();
    assertEquals("memory-loop", summary.get("busiest_thread").asText());
    double share = summary.get("busiest_thread_share").asDouble();
    assertTrue(share > 0 && share < 1.1, "share " + share);
    // On a busy machine, the measurement begins some tenths of a second after the window.
    double ofAll = summary.get("cpu_seconds").asDouble();
    assertTrue(share * 2 < ofAll + 0.4, share + " of all " + ofAll);
    assertEquals(3, summary.get("connections").asInt(), "counted before they were closed");
    assertEquals(1, summary.get("event_loops").asInt(), "four threads share one transport");
    assertEquals(3, summary.get("retries").asInt());
    long retried = summary.get("retried_requests").asLong();
    // The warm-up, which is half as long, is not included. On a busy machine, the sample is some ms late.
    long operations = summary.get("operations").asLong();
    assertTrue(retried > operations / 2 && retried <= operations + 8, retried + " of " + operations);
  }

  @Test
  void aThreadThatWaitsIsNotBusy() throws IOException {
    assertEquals(0, client("-t", "-threads", "2", "-p", "maxexecutiontime=2", "-p", "readproportion=1",
        "-p", "updateproportion=0", "-p", "memory.delay=20", "-p", "maxerrorrate=1"), err);
    double share = summary().get("busiest_thread_share").asDouble();
    assertTrue(share > 0 && share < 0.5, "share " + share);
    assertTrue(summary().get("connections").isNull(), "a binding without transport");
    assertTrue(summary().get("retried_requests").isNull());
  }

  @Test
  void aLoadHasABusiestThread() throws IOException {
    assertEquals(0, client("-load", "-threads", "1", "-p", "recordcount=100000"), err);
    assertEquals("client-0", summary().get("busiest_thread").asText());
    assertTrue(summary().get("busiest_thread_share").asDouble() > 0);
  }

  @Test
  void anInsertIsRetriedWhenAskedFor() throws IOException {
    assertEquals(5, client("-load", "-p", "memory.fail=error", "-p", "memory.failafter=999", "-p",
        "core_workload_insertion_retry_limit=3"), err);
    assertEquals(1003, MemoryBinding.store(store).writes.get());
    assertEquals(3, summary().get("retried_records").asLong(), "the last try has not been repeated");
    assertEquals(1, summary().get("failed_records").asLong());
  }

  @Test
  void anInsertThatFailedAndWasSentAgainIsCounted() throws IOException {
    assertEquals(0, client("-load", "-p", "memory.fail=error", "-p", "memory.failafter=990", "-p",
        "memory.failuntil=997", "-p", "batchsize=10", "-p", "core_workload_insertion_retry_limit=3"), err);
    assertEquals(1000, MemoryBinding.keys(store).size());
    assertEquals(7, summary().get("retried_records").asLong());
    assertEquals("INSERT: IO: disk on fire", summary().get("first_error").asText());
    assertEquals(0, summary().get("failed_records").asLong());
  }

  @ParameterizedTest
  @CsvSource({"300", "600000"})
  void aDatabaseThatHangsIsGivenUpWithinTheBounds(String operationTimeout) {
    long start = System.nanoTime();
    assertEquals(5, client("-p", "maxexecutiontime=60", "-p", "readproportion=0", "-p", "updateproportion=1", "-p",
        "memory.fail=hang", "-p", "operationtimeout=" + operationTimeout, "-p", "stalltime=2", "-threads", "3", "-p",
        "inflight=4"));
    assertTrue(TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - start) < 30);
    assertTrue(line("UPDATE", "Return=TIMEOUT") >= 12, out);
    assertTrue(err.contains("no operation has succeeded for 2 s (stalltime)"), err);
  }

  @ParameterizedTest
  @CsvSource({"0", "2000"})
  void anAnswerThatDoesNotComeIsNotWaitedForWhileOthersDo(String target) {
    assertEquals(0, client("-load"), err);
    assertEquals(0, client("-p", "maxexecutiontime=3", "-p", "readproportion=0.998", "-p", "updateproportion=0.002",
        "-p", "memory.delay=1", "-p", "memory.fail=hang", "-p", "operationtimeout=200", "-p", "inflight=400", "-p",
        "maxerrorrate=1", "-target", target), err);
    assertTrue(line("UPDATE", "Return=TIMEOUT") > 0, out);
    // The histogram rounds down by up to 0.1 %.
    assertTrue(line("UPDATE-FAILED", "MinLatency(us)") >= 199_800, out);
    assertTrue(line("UPDATE-FAILED", "MaxLatency(us)") < 2_000_000, out);
  }

  @Test
  void anAnswerAfterTheTimeoutIsNone() {
    assertEquals(0, client("-load"), err);
    assertEquals(0, client("-p", "operationcount=10", "-p", "readproportion=1", "-p", "updateproportion=0", "-p",
        "memory.cold=2000", "-p", "operationtimeout=1000", "-p", "maxerrorrate=1"), err);
    assertEquals(1, line("READ", "Return=TIMEOUT"));
    assertEquals(9, line("READ", "Return=OK"));
  }

  @Test
  void aClientWithLittleToDoDoesNotStall() {
    assertEquals(0, client("-load"), err);
    // The first operation of this client is due after 2 s.
    assertEquals(0, client("-p", "operationcount=1", "-target", "0.4", "-p", "clients=5", "-p", "clientnumber=4", "-p",
        "stalltime=1"), err);
    assertEquals(1, line("OVERALL", "Operations"));
  }

  @Tag("slow")
  @Test
  void aDriverThatNeverReturnsDoesNotKeepTheClientFromEnding() throws IOException {
    long start = System.nanoTime();
    assertEquals(5, client("-p", "maxexecutiontime=60", "-p", "readproportion=1", "-p", "updateproportion=0", "-p",
        "memory.cold=60000", "-p", "stalltime=1", "-threads", "3"));
    assertTrue(TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - start) < 30);
    assertTrue(err.contains("no operation has succeeded for 1 s (stalltime)"), err);
    assertEquals(5, summary().get("exit").asLong());
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "nomemory | 3 | a client thread could not connect: out of memory; raise client_heap",
      "outofmemory | 4 | a client thread ran out of memory; raise client_heap"})
  void aThreadWithoutMemoryEndsTheClient(String failure, int exit, String message) {
    assertEquals(exit, client("-load", "-threads", "4", "-p", "memory.fail=" + failure));
    assertTrue(err.contains("ERROR: " + message), err);
  }

  @Test
  void aThreadThatCannotBeStartedEndsTheClient() throws Exception {
    // Each thread reserves 64 MB of address space, and the process is limited to 6 GB.
    Process process = new ProcessBuilder("bash", "-c", "ulimit -v 6000000 && exec \"$@\"", "client",
        Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xss64m", "-Xmx64m",
        "-XX:ReservedCodeCacheSize=64m", "-XX:CompressedClassSpaceSize=64m",
        "-cp", System.getProperty("java.class.path"), Client.class.getName(), "-db", "noop", "-t", "-threads", "1000",
        "-p", "client.loop=threads", "-p", "recordcount=1000", "-p", "operationcount=100000")
        .redirectErrorStream(true).start();
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(3, process.waitFor(), said);
    assertTrue(Pattern.compile("ERROR: threadcount=1000: thread \\d+ could not start: .*; lower it, or raise ulimit")
        .matcher(said).find(), said);
  }

  @Test
  void aThousandThreadsNeedLittleHeap() throws Exception {
    // Reads and updates with measured and intended latencies need four histograms, which threads share.
    Process process = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx96m",
        "-cp", System.getProperty("java.class.path"), Client.class.getName(), "-db", "noop", "-t", "-threads", "1000",
        "-p", "client.loop=" + loop(), "-p", "recordcount=1000", "-p", "operationcount=20000", "-target", "10000",
        "-p", "updateproportion=0.5", "-p", "readproportion=0.5").redirectErrorStream(true).start();
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, process.waitFor(), said);
    assertTrue(said.contains("[OVERALL], Operations, 20000"), said);
  }

  @Test
  void aDatabaseThatCannotBeReachedIsExitThree() {
    assertEquals(3, client("-load", "-threads", "4", "-p", "memory.fail=connect"));
    assertTrue(err.contains("ERROR: nobody listens at memory"), err);
  }

  @Test
  void allBeginAtTheAgreedInstant() throws Exception {
    Path gate = Files.createDirectory(folder.resolve("gate"));
    long agreed = System.currentTimeMillis() + 700;
    Files.writeString(gate.resolve("start"), agreed + "\n");
    assertEquals(0, client("-load", "-p", "startgate=" + gate, "-threads", "4"), err);
    assertTrue(Files.exists(gate.resolve("ready")));
    assertTrue(System.currentTimeMillis() >= agreed);
    assertEquals(agreed, summary().get("agreed_start_ms").asLong());
    assertTrue(summary().get("skew_ms").asDouble() >= 0, "no client begins before the start");
  }

  @Tag("slow")
  @Test
  void theSkewOfAClientWhoseTurnIsLaterIsItsOwn() throws Exception {
    assertEquals(0, client("-load"), err);
    Files.writeString(folder.resolve("start"), "" + (System.currentTimeMillis() + 3000));
    // An operation is due every 4 s, and the first operation of this client 3 s after the agreed start.
    assertEquals(0, client("-p", "startgate=" + folder, "-p", "clients=4", "-p", "clientnumber=3", "-target", "0.25",
        "-p", "operationcount=1"), err);
    assertTrue(summary().get("finished_ms").asDouble() >= 3000, "the operation waits for its turn");
    assertTrue(summary().get("skew_ms").asDouble() < 3000, "the turn does not count as a delay");
  }

  /** Loads the records and prepares the gates of two windows. The first begins at once. */
  private void prepareTwoWindows(Path first, Path second, String secondStart) throws IOException {
    assertEquals(0, client("-load"), err);
    Files.createDirectory(first);
    Files.createDirectory(second);
    Files.writeString(first.resolve("start"), "" + System.currentTimeMillis());
    Files.writeString(first.resolve("next"), second + "\n");
    Files.writeString(second.resolve("start"), secondStart);
  }

  private int pausing(Path first, String... options) {
    return client(concat(new String[] {"-p", "windows=2", "-p", "startgate=" + first, "-p", "operationcount=100", "-p",
        "readproportion=0", "-p", "updateproportion=0", "-p", "insertproportion=1", "-threads", "4", "-p",
        "client.summary=" + first.resolve("client.json"), "-p", "hdrhistogram.fileoutput=true", "-p",
        "hdrhistogram.output.path=" + first + "/"}, options));
  }

  @Test
  void aClientPausesBetweenItsWindowsAndGoesOnWithItsKeys() throws Exception {
    Path first = folder.resolve("first");
    Path second = folder.resolve("second");
    prepareTwoWindows(first, second, "" + System.currentTimeMillis());
    for (int i = 0; i < 5; i++) {
      System.gc();
    }
    long before = GarbageCollections.now().millis();
    assertEquals(0, pausing(first), err);
    assertTrue(Files.exists(first.resolve("paused")) && !Files.exists(second.resolve("paused")), "the client ends");
    assertEquals(100, line("OVERALL", "Operations"), "the first window");
    String results = Files.readString(second.resolve("result.txt"));
    assertTrue(results.contains("[OVERALL], Operations, 100\n"), results);
    assertTrue(results.contains("[CLEANUP], Operations, 4\n") && !out.contains("[CLEANUP], Operations, 4"), results);
    JsonNode one = new ObjectMapper().readTree(first.resolve("client.json").toFile());
    JsonNode two = new ObjectMapper().readTree(second.resolve("client.json").toFile());
    assertEquals(100, one.get("inserted").asLong());
    assertEquals(200, two.get("inserted").asLong());
    assertEquals(0, two.get("unacknowledged_inserts").asLong());
    assertEquals(1200, MemoryBinding.keys(store).size(), "no key was used twice");
    assertTrue(Files.size(second.resolve("INSERT.hdr")) > 0);
    assertTrue(one.get("gc_ms").asLong() < before, "collections before the window do not count");
    assertTrue(two.get("gc_ms").asLong() < before);
  }

  @Test
  void theFailureOfAFurtherWindowIsInItsOwnLog() throws Exception {
    Path first = folder.resolve("first");
    Path second = folder.resolve("second");
    prepareTwoWindows(first, second, "no number");
    assertEquals(4, pausing(first));
    assertTrue(!err.contains("ERROR"), err);
    String log = Files.readString(second.resolve("status.txt"));
    assertTrue(log.contains("ERROR: ") && log.contains("no number"), log);
  }

  @Test
  void aSignalEndsAClientThatPauses() throws Exception {
    assertEquals(0, client("-load"), err);
    Files.writeString(folder.resolve("start"), "" + System.currentTimeMillis());
    Path paused = folder.resolve("paused");
    Abort[] abort = new Abort[1];
    Thread signal = new Thread(() -> {
      while (!Files.exists(paused)) {
        Thread.onSpinWait();
      }
      abort[0].set("interrupted by a signal");
    });
    signal.start();
    assertEquals(4, client(abort, "-p", "windows=2", "-p", "startgate=" + folder, "-p", "operationcount=100"));
    signal.join();
    assertTrue(err.contains("ERROR: interrupted by a signal"), err);
  }

  @Test
  void aClientThatIsNotToldToGoOnEnds() throws Exception {
    assertEquals(0, client("-load"), err);
    Files.writeString(folder.resolve("start"), "" + System.currentTimeMillis());
    assertEquals(4, pausing(folder, "-p", "pause.timeout=1"));
    assertTrue(err.contains(folder.resolve("next") + " got no next window within pause.timeout=1 s"), err);
    assertEquals(100, summary().get("operations").asLong(), "the first window counts");
  }

  @Test
  void anInstantAtWhichOthersHaveBegunIsRefused() throws Exception {
    Files.writeString(folder.resolve("start"), "1000");
    assertEquals(4, client("-load", "-p", "startgate=" + folder, "-p", "clients=2"));
    assertTrue(err.contains("had passed"), err);
  }

  @Test
  void aClientThatIsAloneBeginsLateAndSaysHowLate() throws Exception {
    Files.writeString(folder.resolve("start"), "" + (System.currentTimeMillis() - 3000));
    assertEquals(0, client("-load", "-p", "startgate=" + folder), err);
    JsonNode summary = summary();
    assertTrue(summary.get("skew_ms").asDouble() >= 2999, "the client was late");
    assertTrue(summary.get("measured_seconds").asDouble() * 1000
        <= summary.get("finished_ms").asDouble() - summary.get("skew_ms").asDouble() + 1, "the delay is not measured");
  }

  @Test
  void aClientThatBeginsInItsWindowSaysHowLateItIsWithATarget() throws Exception {
    assertEquals(0, client("-load"), err);
    Files.writeString(folder.resolve("start"), "" + (System.currentTimeMillis() - 1500));
    assertEquals(0, client("-p", "startgate=" + folder, "-target", "100", "-p", "warmuptime=1", "-p",
        "maxexecutiontime=20", "-p", "operationcount=5"), err);
    assertTrue(summary().get("skew_ms").asDouble() >= 1499, "the delay counts from the first due time");
  }

  @Test
  void whatWasDueInTheWarmUpIsNotMeasured() throws IOException {
    assertEquals(0, client("-load"), err);
    // The first read blocks the client for 1.5 s. The window begins after 1 s, so 50 of its operations are delayed.
    assertEquals(0, client("-p", "readproportion=1", "-p", "updateproportion=0", "-p", "memory.cold=1500", "-p",
        "warmuptime=1", "-p", "maxexecutiontime=2", "-target", "100"), err);
    assertEquals(200, line("READ", "Operations") + summary().get("missed_operations").asLong());
    assertTrue(line("Intended-READ", "MaxLatency(us)") >= 500_000, "the first operation due in the window");
  }

  @Test
  void aRecordThatFailsUntilTheWindowIsOverCounts() throws IOException {
    assertEquals(5, client("-load", "-p", "memory.fail=error", "-p", "maxexecutiontime=1", "-p",
        "core_workload_insertion_retry_limit=1000000", "-p", "memory.failuntil=9000000", "-p", "recordcount=1", "-p",
        "operationtimeout=1000"), err);
    assertEquals(1, summary().get("failed_records").asLong());
  }

  private int warm(String target) throws IOException {
    Files.writeString(folder.resolve("start"), "" + (System.currentTimeMillis() + 2000));
    return client("-target", target, "-p", "startgate=" + folder, "-p", "warmuptime=40", "-p", "warmup=steady",
        "-p", "maxexecutiontime=2", "-p", "memory.delay=1", "-threads", "2", "-p", "hdrhistogram.fileoutput=true",
        "-p", "hdrhistogram.output.path=" + folder + "/");
  }

  @Tag("slow")
  @ParameterizedTest
  @CsvSource({"0", "100"})
  void aWarmUpEndsAtTheInstantThatIsTold(String target) throws Exception {
    assertEquals(0, client("-load"), err);
    Path log = folder.resolve("warmup.txt");
    Thread conductor = new Thread(() -> {
      try {
        while (!Files.exists(log) || Files.size(log) == 0) {
          Thread.sleep(20);
        }
        Path told = Files.writeString(folder.resolve("measure.new"), "" + (System.currentTimeMillis() + 3000));
        Files.move(told, folder.resolve("measure"));
      } catch (IOException | InterruptedException e) {
        throw new IllegalStateException(e);
      }
    });
    conductor.start();
    assertEquals(0, warm(target), err);
    conductor.join();
    double seconds = summary().get("warmup_seconds").asDouble();
    assertTrue(seconds >= 1 && seconds < 40, "" + seconds);
    assertEquals(2, summary().get("measured_seconds").asDouble());
    List<String> lines = Files.readAllLines(log);
    assertTrue(lines.get(0).matches("[1-9]\\d*\\.\\d{3} [1-9]\\d*"), lines.get(0));
    long until = Long.parseLong(lines.get(0).split(" ")[1]);
    assertTrue(until <= summary().get("warmup_operations").asLong());
    long operations = summary().get("operations").asLong();
    assertEquals(operations, line("READ", "Operations") + line("UPDATE", "Operations"));
    if (!target.equals("0")) {
      assertEquals(200, operations + summary().get("missed_operations").asLong(), "the grid begins with the window");
    }
  }

  @Test
  void aWarmUpWithoutAnInstantLastsAsLongAsItSays() throws Exception {
    for (String how : List.of("fixed", "steady")) {
      assertEquals(0, client("-load"), err);
      assertEquals(0, client("-p", "warmup=" + how, "-p", "warmuptime=0.5", "-p", "operationcount=100"), err);
      assertEquals(0.5, summary().get("warmup_seconds").asDouble());
      assertFalse(Files.exists(folder.resolve("warmup.txt")));
    }
  }

  @ParameterizedTest
  @CsvSource({"1000, had passed before this client read it", "soon, the measure file contains 'soon'"})
  void anInstantOfTheWindowThatIsNoneEndsTheRun(String measure, String message) throws Exception {
    assertEquals(0, client("-load"), err);
    Files.writeString(folder.resolve("measure"), measure);
    assertEquals(4, warm("0"));
    assertTrue(err.contains(message), err);
  }

  @Test
  void aRunIsReplayedWithItsSeed() throws IOException {
    String[] run = {"-p", "operationcount=500", "-p", "readproportion=0.5", "-p", "updateproportion=0.5", "-p",
        "requestdistribution=zipfian", "-p", "fieldlength=20"};
    List<Map<String, Map<String, ByteBuffer>>> stores = new ArrayList<>();
    List<String> seeds = new ArrayList<>(List.of("", "", ""));
    for (int i = 0; i < 3; i++) {
      store += i;
      assertEquals(0, client("-load", "-p", "fieldlength=20", "-p", "seed=7", "-threads", "2"), err);
      assertEquals(7, summary().get("seed").asLong());
      assertEquals(0, client(i == 1 ? concat(run, "-p", "seed=" + seeds.get(0)) : run), err);
      seeds.set(i, summary().get("seed").asText());
      Map<String, Map<String, ByteBuffer>> rows = new TreeMap<>();
      MemoryBinding.store(store).rows.forEach((key, row) -> row.forEach((name, value) ->
          rows.computeIfAbsent(key, k -> new TreeMap<>()).put(name, ByteBuffer.wrap(value))));
      stores.add(rows);
    }
    assertEquals(seeds.get(0), seeds.get(1));
    assertEquals(stores.get(0), stores.get(1));
    assertNotEquals(seeds.get(0), seeds.get(2));
    assertNotEquals(stores.get(0), stores.get(2));
  }

  @Test
  void integrityIsChecked() {
    assertEquals(0, client("-load", "-p", "dataintegrity=true"), err);
    assertEquals(0, client("-p", "operationcount=100", "-p", "dataintegrity=true", "-p", "batchsize=5"), err);
    assertEquals(line("READ", "Return=OK"), line("VERIFY", "Return=OK"), "every record that was read");
    MemoryBinding.store(store).rows.values().forEach(row -> row.put("field3", new byte[100]));
    assertEquals(5, client("-p", "operationcount=100", "-p", "dataintegrity=true", "-p", "readproportion=1"), err);
    assertTrue(line("VERIFY", "Return=UNEXPECTED_STATE") > 0, out);
  }

  /** Changes that damage each record of the store. */
  private static final Map<String, Consumer<Map<String, byte[]>>> DAMAGES = Map.of(
      "a value is cut", row -> row.replaceAll((name, value) -> Arrays.copyOf(value, 99)),
      "a value is longer", row -> row.replaceAll((name, value) -> Arrays.copyOf(value, 101)),
      "values are empty", row -> row.replaceAll((name, value) -> new byte[0]),
      "a field is lost", row -> row.remove("field9"),
      "all fields are lost", Map::clear,
      "two fields have changed places", row -> row.put("field1", row.put("field2", row.get("field1"))));

  static Set<String> damages() {
    return DAMAGES.keySet();
  }

  @ParameterizedTest
  @MethodSource("damages")
  void aRecordThatIsNotWholeHasFailed(String damage) throws IOException {
    String[] reads = {"-p", "dataintegrity=true", "-p", "readproportion=1", "-p", "updateproportion=0", "-p",
        "operationcount=50", "-p", "batchsize=4"};
    assertEquals(0, client("-load", "-p", "dataintegrity=true"), err);
    assertEquals(0, client(reads), err);
    MemoryBinding.store(store).rows.values().forEach(DAMAGES.get(damage));
    assertEquals(5, client(reads), damage);
    assertEquals(200, line("VERIFY", "Return=UNEXPECTED_STATE"));
    assertEquals(200, line("READ", "Return=UNEXPECTED_STATE"));
    assertEquals(50, line("READ-FAILED", "Operations"));
    assertEquals(0, line("OVERALL", "Records"), "wrong records do not count");
    assertTrue(err.contains("200 of 200 records (100.00 %) failed") && err.contains("READ: UNEXPECTED_STATE: "), err);
  }

  @ParameterizedTest
  @CsvSource({"false, false, 1", "true, true, 1", "false, true, 5", "true, false, 5"})
  void whatIsWrittenIsWhole(boolean writeAll, boolean readAll, int batch) {
    assertEquals(0, client("-load", "-p", "dataintegrity=true", "-p", "fieldlength=7"), err);
    assertEquals(0, client("-p", "dataintegrity=true", "-p", "fieldlength=7", "-p", "operationcount=300", "-p",
        "readproportion=0.4", "-p", "updateproportion=0.2", "-p", "readmodifywriteproportion=0.2", "-p",
        "insertproportion=0.2", "-p", "requestdistribution=latest", "-p", "writeallfields=" + writeAll, "-p",
        "readallfields=" + readAll, "-p", "batchsize=" + batch), err);
    assertEquals(line("READ", "Return=OK"), line("VERIFY", "Return=OK"));
    assertFalse(out.contains("VERIFY-FAILED"), out);
  }

  @Test
  void aRecordThatIsNotWholeIsNotUpdated() {
    assertEquals(0, client("-load", "-p", "dataintegrity=true"), err);
    MemoryBinding.store(store).rows.values().forEach(DAMAGES.get("a field is lost"));
    assertEquals(5, client("-p", "dataintegrity=true", "-p", "readproportion=0", "-p", "updateproportion=0", "-p",
        "readmodifywriteproportion=1", "-p", "operationcount=20"));
    assertEquals(20, line("READ", "Return=UNEXPECTED_STATE"));
    assertEquals(20, line("READ-MODIFY-WRITE", "Return=UNEXPECTED_STATE"));
    assertEquals(20, line("VERIFY", "Return=UNEXPECTED_STATE"));
    assertFalse(out.contains("[UPDATE]"), out);
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "batchsize=0 | batchsize=0: must be a whole number from 1 to 100000",
      "target=-1 | target=-1: must be a number from 0.0 to 1.0E12",
      "threadcount=many | threadcount=many: must be a whole number from 1 to 100000",
      "requestdistribution=zipf | requestdistribution=zipf: must be one of uniform, zipfian, latest",
      "batchsize=2000 | batchsize=2000: the smallest table has",
      "arrival=even | arrival=even: must be one of uniform, poisson",
      "warmup=soon | warmup=soon: must be one of fixed, steady",
      "readbeforewrite=maybe | readbeforewrite=maybe: must be true or false",
      "keysalt=md5 | keysalt=md5: must be one of none, crc32",
      "workload=site.ycsb.workloads.TimeSeriesWorkload | run others with site.ycsb.Client",
      "seed=-1 | seed=-1: must be a whole number from 0 to 9007199254740991",
      "valueentropy=9 | valueentropy=9: must be a whole number from 0 to 8",
      "maxexecutiontime=0 | a run needs a limit",
      "windows=2 | windows=2: a client pauses only in a run with startgate and verify=none",
      "startgate=/nowhere | startgate=/nowhere: the folder does not exist",
      "hdrhistogram.percentiles=99,x | must be numbers from 0 to 100",
      "exporter=Nothing | exporter=Nothing: unknown exporter"})
  void badInputIsRefusedByName(String property, String message) {
    assertEquals(2, client("-p", "maxexecutiontime=1", "-p", property));
    assertTrue(err.contains("ERROR: ") && err.contains(message), err);
  }
}
