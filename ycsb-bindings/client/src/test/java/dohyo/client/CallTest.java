package dohyo.client;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dohyo.binding.Binding;
import dohyo.binding.Columns;
import dohyo.binding.Row;
import dohyo.binding.RowSink;
import dohyo.binding.Settings;
import dohyo.workload.RecordWorkload;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import site.ycsb.Status;

/** Checks that an operation on one record needs no future if the driver accepts listeners. */
class CallTest {
  @ParameterizedTest
  @ValueSource(strings = {"read", "update", "insert"})
  void anOperationOnOneRecordNeedsNoFuture(String kind) throws Exception {
    assertEquals(List.of(List.of(Status.OK)), settled(kind, answered -> answered.accept(Status.OK, null)));
    assertEquals(List.of(List.of(Status.NOT_FOUND)),
        settled(kind, answered -> answered.accept(Status.NOT_FOUND, null)));
    assertEquals("[[Status [name=ILLEGAL_STATE, description=refused]]]",
        settled(kind, answered -> answered.accept(null, new IllegalStateException("refused"))).toString());
  }

  @Test
  void whatADriverThrowsSettlesACallOnce() throws Exception {
    assertEquals("[[Status [name=ILLEGAL_STATE, description=thrown]]]", settled("read", answered -> {
      throw new IllegalStateException("thrown");
    }).toString());
    assertEquals(List.of(List.of(Status.OK)), settled("read", answered -> {
      answered.accept(Status.OK, null);
      throw new IllegalStateException("thrown");
    }));
  }

  @Test
  void readBeforeWriteStillReadsFirst() throws Exception {
    List<String> verbs = new ArrayList<>();
    Listening binding = binding(Map.of("readbeforewrite", "true"), answered -> answered.accept(Status.OK, null));
    binding.verbs = verbs;
    Row row = new Row("t", new byte[] {1}, Columns.of(List.of("a")), new byte[][] {{2}});
    binding.update(row, (status, error) -> verbs.add(status.getName()));
    assertEquals(List.of("read", "update", "OK"), verbs);
  }

  private static List<List<Status>> settled(String kind, Driver driver) throws Exception {
    RecordWorkload workload = new RecordWorkload();
    Properties properties = new Properties();
    properties.putAll(Map.of("recordcount", "10", "readproportion", "0", "updateproportion", "0"));
    properties.put(kind + "proportion", "1");
    workload.init(properties);
    List<List<Status>> settled = new ArrayList<>();
    new Call(workload.source(0, 1).next()).start(binding(Map.of("future", "never"), driver), 0, System.nanoTime(),
        call -> settled.add(List.of(call.statuses())));
    return settled;
  }

  private static Listening binding(Map<String, String> settings, Driver driver) throws Exception {
    Properties properties = new Properties();
    properties.putAll(settings);
    Listening binding = new Listening(driver);
    binding.setProperties(properties);
    binding.init();
    return binding;
  }

  /** Answers a request, immediately or later. */
  private interface Driver {
    void send(BiConsumer<Status, Throwable> answered);
  }

  /** A binding whose driver accepts listeners. */
  private static final class Listening extends Binding {
    private final Driver driver;
    private List<String> verbs = new ArrayList<>();
    private boolean futures;

    Listening(Driver driver) {
      this.driver = driver;
    }

    @Override
    protected void connect(Settings settings) {
      futures = !settings.text("future", "").equals("never");
    }

    @Override
    protected void disconnect() {
      // There is no connection.
    }

    @Override
    public void readRow(String table, byte[] key, Columns columns, RowSink sink,
        BiConsumer<Status, Throwable> answered) {
      send("read", answered);
    }

    @Override
    public void insertRow(Row row, BiConsumer<Status, Throwable> answered) {
      send("insert", answered);
    }

    @Override
    public void updateRow(Row row, BiConsumer<Status, Throwable> answered) {
      send("update", answered);
    }

    private void send(String verb, BiConsumer<Status, Throwable> answered) {
      verbs.add(verb);
      driver.send(answered);
    }

    private CompletableFuture<Status> asFuture(String verb) {
      if (!futures) {
        throw new AssertionError("a future of " + verb);
      }
      return future(answered -> send(verb, answered));
    }

    @Override
    public CompletableFuture<Status> readRow(String table, byte[] key, Columns columns, RowSink sink) {
      return asFuture("read");
    }

    @Override
    public CompletableFuture<Status> insertRow(Row row) {
      return asFuture("insert");
    }

    @Override
    public CompletableFuture<Status> updateRow(Row row) {
      return asFuture("update");
    }

    @Override
    public CompletableFuture<Status> deleteRow(String table, byte[] key) {
      return asFuture("delete");
    }

    @Override
    public CompletableFuture<Status> scanRows(String table, byte[] key, int count, Columns columns, RowSink sink) {
      return asFuture("scan");
    }
  }
}
