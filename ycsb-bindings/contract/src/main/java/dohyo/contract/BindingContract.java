package dohyo.contract;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeout;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dohyo.binding.Binding;
import dohyo.binding.Columns;
import dohyo.binding.KeyColumns;
import dohyo.binding.Outcome;
import dohyo.binding.Row;
import dohyo.binding.RowSink;
import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import dohyo.binding.Transport;
import dohyo.client.Call;
import dohyo.workload.RecordWorkload;
import java.io.File;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.Set;
import java.util.Vector;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.ThrowingSupplier;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;
import site.ycsb.StringByteIterator;

/**
 * Tests the contract of all bindings, on the real server that {@link Server#running} returns. A binding
 * extends this class with methods that create a table and count reads. The last test kills the server.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
@Timeout(180)
public abstract class BindingContract {
  /**
   * A way to send a batch.
   *
   * @param name       name of the mode, for messages and keys
   * @param properties properties of the binding that select the mode
   * @param sharedFate whether an error of one record fails the whole batch
   */
  public record Mode(String name, Map<String, String> properties, boolean sharedFate) {
    @Override
    public String toString() {
      return name;
    }
  }

  private static final String OTHER_TABLE = "contract_other";
  private static final String SALTED_TABLE = "contract_salted";
  private static final String SCAN_TABLE = "contract_scan";
  private static final String YCSB_TABLE = "contract_ycsb";
  private static final String COLUMNS_TABLE = "contract_columns";
  private static final String NAMES_TABLE = "contract_names";
  /** Properties of a key with several columns. Names include reserved words of SQL, which must be quoted. */
  private static final Map<String, String> KEY_COLUMNS = Map.of("insertorder", "ordered", "recordcount", "1000",
      "keycolumns", "host int 2, user bigint 3, object text(32) 1, when timestamp");
  private static final Columns FIELDS = Columns.of(List.of("field0", "field1", "field2"));
  /** Prefix of field names. If quoting is wrong, this prefix ends a quoted name in any query language. */
  private static final String NASTY_PREFIX = "`\"'\\;-- {%s$?";
  /**
   * Names that a database or its driver may misread. Each has at most 15 bytes, which is Aerospike's limit for bins.
   */
  private static final List<String> NASTY_NAMES = List.of("a`b", "a``", "\"", "a\"\"b", "'", "\\", "\\\"", "\\`",
      "; DROP TABLE t", "--", "/*", "#", "?", ":a", "%s", "%1$s", "{d 'x'}", "{{ 7*7 }}", "${x}", "$(id)", "a b", "a,b",
      "(a)", "select", "é土", "a\nb", "a\tb");
  private static final Columns ONE = Columns.of(List.of("field1"));
  /** Length of a key that exceeds the limits of Cassandra's partition keys (65,535) and HBase's row keys (32,767). */
  private static final int REFUSED_KEY_LENGTH = 70_000;
  /** Table of most tests. */
  protected static final String TABLE = "contract";
  private static final int MEGABYTE = 1 << 20;
  /** Time limit of operations that are expected to succeed. */
  private static final Duration WORKS_WITHIN = Duration.ofSeconds(60);
  private static final int TIMEOUT_MILLIS = 2000;
  /** Time limit of operations that time out. On a busy machine, the last attempt may begin just before the timeout. */
  private static final Duration TIMEOUT_BOUND = Duration.ofMillis(3 * TIMEOUT_MILLIS);

  protected final Server server = Server.running();
  private final List<Binding> opened = new ArrayList<>();

  /** Returns a new instance of the binding, without properties. */
  protected abstract Binding newBinding();

  /**
   * Creates an empty table. Fails if a table of that name exists, because the tests must not remove it.
   *
   * @param name       table name
   * @param binaryKeys whether keys may be bytes that are not UTF-8
   * @param fields     field names with any characters; the fields hold any bytes
   */
  protected abstract void createTable(String name, boolean binaryKeys, List<String> fields) throws Exception;

  /**
   * Creates an empty table whose keys have several columns, like {@link #createTable(String, boolean, List)}. The
   * default is for databases whose keys are bytes.
   */
  protected void createTable(String name, KeyColumns key, List<String> fields) throws Exception {
    createTable(name, true, fields);
  }

  /** Returns whether a scan returns records in key order, at least if their first key columns are equal. */
  protected boolean ordersKeys() {
    return true;
  }

  /** Returns the modes in which this binding sends a batch of records whose keys have several columns. */
  protected List<Mode> modesOfColumns() {
    return modes();
  }

  /** Returns how many records of a table the server has read so far, from the server's own counter. */
  protected abstract long readsServed(String table) throws Exception;

  /** Returns all modes in which this binding sends a batch. */
  protected abstract List<Mode> modes();

  /** Returns properties of the binding that all tests set. */
  protected Map<String, String> settings() {
    return Map.of();
  }

  /** Returns a record of the table {@link #TABLE} that the database rejects, by default because its key is too long. */
  protected Row refused() {
    return row(new byte[REFUSED_KEY_LENGTH], ONE, "a");
  }

  /** Returns whether a read from a table that does not exist is an error. */
  protected boolean knowsItsTables() {
    return true;
  }

  /** Returns properties with an address where no server runs, and the address itself, which the error must contain. */
  protected abstract Map.Entry<Map<String, String>, String> nowhere();

  @BeforeAll
  void createTables() throws Exception {
    List<String> fields = IntStream.range(0, 10).mapToObj(i -> "field" + i).toList();
    for (String table : List.of(TABLE, OTHER_TABLE, SCAN_TABLE)) {
      createTable(table, false, fields);
    }
    createTable(YCSB_TABLE, false, IntStream.range(0, 10).mapToObj(i -> NASTY_PREFIX + i).toList());
    createTable(NAMES_TABLE, false, NASTY_NAMES);
    createTable(SALTED_TABLE, true, fields);
    createTable(COLUMNS_TABLE, keyColumns(), fields);
  }

  @AfterEach
  void close() throws DBException {
    for (Binding binding : opened) {
      binding.cleanup();
    }
    opened.clear();
  }

  // ---- single records ----

  @Test
  void roundTrip() {
    Binding db = open();
    byte[] key = bytes("roundtrip");
    assertEquals(Status.NOT_FOUND, db.readRow(TABLE, key, null, RowSink.DISCARD).join());
    assertOk(db.insertRow(row(key, FIELDS, "a", "b", "c")));
    assertRead(db, key, Map.of("field0", "a", "field1", "b", "field2", "c"));

    Fields some = new Fields();
    assertOk(db.readRow(TABLE, key, ONE, some));
    assertEquals(buffers(Map.of("field1", "b")), some.row(0));

    assertOk(db.updateRow(row(key, FIELDS, "x", "y", "z")));
    assertRead(db, key, Map.of("field0", "x", "field1", "y", "field2", "z"));

    assertOk(db.deleteRow(TABLE, key));
    assertEquals(Status.NOT_FOUND, db.readRow(TABLE, key, null, RowSink.DISCARD).join());
    assertEquals(Status.NOT_FOUND, db.readRow(TABLE, key, ONE, RowSink.DISCARD).join());
  }

  @Test
  void partialUpdateKeepsTheOtherFields() {
    Binding db = open();
    byte[] key = bytes("partial");
    assertOk(db.insertRow(row(key, FIELDS, "a", "b", "c")));
    assertOk(db.updateRow(row(key, ONE, "B")));
    assertRead(db, key, Map.of("field0", "a", "field1", "B", "field2", "c"));
    // The caller chooses the order of the columns.
    assertOk(db.updateRow(row(key, Columns.of(List.of("field2", "field0")), "C", "A")));
    assertRead(db, key, Map.of("field0", "A", "field1", "B", "field2", "C"));
  }

  @Test
  void anyValueComesBackAsItWas() {
    Binding db = open();
    byte[] everyByte = new byte[256];
    byte[] megabyte = new byte[MEGABYTE];
    for (int i = 0; i < everyByte.length; i++) {
      everyByte[i] = (byte) i;
    }
    new Random(1).nextBytes(megabyte);
    List<byte[]> values = List.of(new byte[0], new byte[1], everyByte, bytes("土俵 – räv – 🥋\n\t\0'\";"), megabyte);
    for (byte[] value : values) {
      byte[] key = bytes("value-" + value.length);
      assertOk(db.insertRow(new Row(TABLE, key, ONE, new byte[][] {value.clone()})));
      Fields read = new Fields();
      assertOk(db.readRow(TABLE, key, null, read));
      assertEquals(Map.of("field1", ByteBuffer.wrap(value)), read.row(0));
    }
    byte[] key = bytes("鍵-ключ-🗝");
    assertOk(db.insertRow(row(key, ONE, "unicode key")));
    assertRead(db, key, Map.of("field1", "unicode key"));
  }

  @Test
  void anyNameOfAFieldIsAName() {
    Binding db = open();
    Columns all = Columns.of(NASTY_NAMES);
    String[] values = NASTY_NAMES.toArray(String[]::new);
    List<byte[]> keys = keys("names", 3);
    assertOk(db.insertRow(new Row(NAMES_TABLE, keys.get(0), all, values(values))));
    assertAllOk(2, db.insertRows(keys.subList(1, 3).stream()
        .map(key -> new Row(NAMES_TABLE, key, all, values(values))).toList()));
    for (String name : NASTY_NAMES) {
      assertOk(db.updateRow(new Row(NAMES_TABLE, keys.get(0), Columns.of(List.of(name)), values("new " + name))));
      Fields one = new Fields();
      assertOk(db.readRow(NAMES_TABLE, keys.get(0), Columns.of(List.of(name)), one));
      assertEquals(buffers(Map.of(name, "new " + name)), one.row(0));
    }
    Map<String, String> written = NASTY_NAMES.stream().collect(Collectors.toMap(name -> name, name -> name));
    Fields read = new Fields();
    assertAllOk(3, db.readRows(NAMES_TABLE, keys, null, read));
    assertEquals(buffers(changed(written, value -> "new " + value)), read.row(0));
    assertEquals(buffers(written), read.row(2));
    Fields scanned = new Fields();
    assertOk(db.scanRows(NAMES_TABLE, keys.get(1), 1, all, scanned));
    assertEquals(buffers(written), scanned.row(0));
  }

  @Test
  void errorsAreStatusesOfTheirOwn() {
    Binding db = open();
    Status unknownTable = result(db.readRow("contract_nowhere", bytes("k"), null, RowSink.DISCARD));
    assertEquals(knowsItsTables(), Outcome.isError(unknownTable), unknownTable + " for a table that does not exist");
    Status refused = result(db.insertRow(refused()));
    assertTrue(Outcome.isError(refused), refused + " for a record that the database rejects");
    assertOk(db.insertRow(row(bytes("afterwards"), ONE, "a")));
  }

  @Test
  void nobodyThereIsSaidInTime() {
    Binding db = newBinding();
    Map<String, String> nowhere = new HashMap<>(settings());
    nowhere.putAll(nowhere().getKey());
    nowhere.put("operationtimeout", String.valueOf(TIMEOUT_MILLIS));
    db.setProperties(server.with(nowhere));
    DBException error = assertTimeoutBound(() -> assertThrows(DBException.class, db::init));
    assertTrue(error.getMessage().contains(nowhere().getValue()), error.getMessage());
  }

  // ---- scans ----

  @Test
  void scan() {
    Binding db = open();
    int count = 2500;
    List<Row> rows = IntStream.range(0, count)
        .mapToObj(i -> new Row(SCAN_TABLE, bytes("scan" + i), FIELDS, values("scan" + i, "b", "c"))).toList();
    for (int i = 0; i < count; i += 500) {
      assertAllOk(500, db.insertRows(rows.subList(i, i + 500)));
    }
    List<String> longest = List.of();
    for (int i = 0; i < 20; i++) {
      String start = "scan" + i * 100;
      List<String> all = scanned(db, start, 2 * count, null);
      assertEquals(start, all.get(0), "a scan begins with the given key");
      assertEquals(all.size(), Set.copyOf(all).size(), "a scan returns every record once");
      assertEquals(all.subList(0, Math.min(10, all.size())), scanned(db, start, 10, FIELDS), "the order never changes");
      longest = all.size() > longest.size() ? all : longest;
    }
    assertTrue(longest.size() > count / 2, "a scan of several pages ended after " + longest.size());
    assertEquals(longest.subList(0, 1700), scanned(db, longest.get(0), 1700, null));
  }

  private List<String> scanned(Binding db, String start, int count, Columns columns) {
    Fields read = new Fields();
    assertOk(db.scanRows(SCAN_TABLE, bytes(start), count, columns, read));
    return IntStream.range(0, read.size()).mapToObj(i -> {
      assertEquals(FIELDS.names().stream().collect(Collectors.toSet()), read.row(i).keySet());
      return StandardCharsets.UTF_8.decode(read.row(i).get("field0")).toString();
    }).toList();
  }

  // ---- batches ----

  @ParameterizedTest
  @MethodSource("modes")
  void batchWriteThenBatchRead(Mode mode) {
    Binding db = open(mode.properties());
    List<byte[]> keys = keys(mode + "-batch", 100);
    assertAllOk(100, db.insertRows(keys.stream().map(key -> row(key, FIELDS, text(key), "b", "c")).toList()));
    // Records of a batch may have different columns, as with writeallfields=false.
    assertAllOk(100, db.updateRows(IntStream.range(0, 100).mapToObj(i -> i % 2 == 0
        ? row(keys.get(i), ONE, "B") : row(keys.get(i), Columns.of(List.of("field2")), "C")).toList()));

    Fields all = new Fields();
    assertAllOk(100, db.readRows(TABLE, keys, null, all));
    Fields some = new Fields();
    assertAllOk(100, db.readRows(TABLE, keys, ONE, some));
    for (int i = 0; i < 100; i++) {
      assertEquals(buffers(Map.of("field0", text(keys.get(i)), "field1", i % 2 == 0 ? "B" : "b",
          "field2", i % 2 == 0 ? "c" : "C")), all.row(i));
      assertEquals(buffers(Map.of("field1", i % 2 == 0 ? "B" : "b")), some.row(i));
    }
  }

  @ParameterizedTest
  @MethodSource("modes")
  void batchReadTellsWhichRecordsAreMissing(Mode mode) {
    Binding db = open(mode.properties());
    byte[] here = bytes(mode + "-here");
    byte[] there = bytes(mode + "-there");
    byte[] missing = bytes(mode + "-missing");
    assertAllOk(2, db.insertRows(List.of(row(here, ONE, "1"), row(there, ONE, "2"))));
    Fields read = new Fields();
    assertEquals(List.of(Status.OK, Status.NOT_FOUND, Status.OK, Status.OK),
        results(4, db.readRows(TABLE, List.of(there, missing, here, there), null, read)));
    assertEquals(buffers(Map.of("field1", "2")), read.row(0));
    assertEquals(Map.of(), read.row(1));
    assertEquals(buffers(Map.of("field1", "1")), read.row(2));
    assertEquals(buffers(Map.of("field1", "2")), read.row(3));
  }

  @ParameterizedTest
  @MethodSource("modes")
  void batchOfEmptyAndLargeValues(Mode mode) {
    Binding db = open(mode.properties());
    byte[] megabyte = new byte[MEGABYTE];
    new Random(2).nextBytes(megabyte);
    List<byte[]> values = List.of(new byte[0], megabyte, bytes("é"));
    List<byte[]> keys = keys(mode + "-large", values.size());
    assertAllOk(values.size(), db.insertRows(IntStream.range(0, values.size())
        .mapToObj(i -> new Row(TABLE, keys.get(i), ONE, new byte[][] {values.get(i).clone()})).toList()));
    Fields read = new Fields();
    assertAllOk(values.size(), db.readRows(TABLE, keys, null, read));
    for (int i = 0; i < values.size(); i++) {
      assertEquals(Map.of("field1", ByteBuffer.wrap(values.get(i))), read.row(i));
    }
  }

  @ParameterizedTest
  @MethodSource("modes")
  void batchThatPartlyFails(Mode mode) {
    Binding db = open(mode.properties());
    List<byte[]> keys = keys(mode + "-partly", 5);
    List<Status> statuses = results(5, db.insertRows(IntStream.range(0, 5)
        .mapToObj(i -> i == 2 ? refused() : row(keys.get(i), ONE, "a")).toList()));
    for (int i = 0; i < 5; i++) {
      assertEquals(mode.sharedFate() || i == 2, Outcome.isError(statuses.get(i)), "record " + i + " of " + statuses);
    }
    // The content of the table must agree with the statuses.
    for (int i : new int[] {0, 1, 3, 4}) {
      assertEquals(mode.sharedFate() ? Status.NOT_FOUND : Status.OK,
          result(db.readRow(TABLE, keys.get(i), null, RowSink.DISCARD)));
    }
  }

  // ---- reading before writing ----

  @ParameterizedTest
  @MethodSource("modes")
  protected void readBeforeWriteReadsEachRecordOnce(Mode mode) throws Exception {
    Binding db = open(mode.properties(), Map.of("readbeforewrite", "true"));
    List<byte[]> keys = keys(mode + "-rbw", 20);
    assertAllOk(20, db.insertRows(keys.stream().map(key -> row(key, FIELDS, "a", "b", "c")).toList()));

    long before = readsServed(TABLE);
    for (byte[] key : keys) {
      assertOk(db.update(row(key, ONE, "B")));
    }
    assertEquals(keys.size(), readsServed(TABLE) - before, "reads of single updates");

    before = readsServed(TABLE);
    assertAllOk(20, db.update(keys.stream().map(key -> row(key, ONE, "BB")).toList()));
    assertEquals(keys.size(), readsServed(TABLE) - before, "reads of a batch update");
    assertRead(db, keys.get(7), Map.of("field0", "a", "field1", "BB", "field2", "c"));

    Binding without = open(mode.properties());
    before = readsServed(TABLE);
    assertAllOk(20, without.update(keys.stream().map(key -> row(key, ONE, "B")).toList()));
    assertEquals(0, readsServed(TABLE) - before, "reads without readbeforewrite");
  }

  @ParameterizedTest
  @MethodSource("modes")
  void readBeforeWriteWritesOnlyWhatIsThere(Mode mode) {
    Binding db = open(mode.properties(), Map.of("readbeforewrite", "true"));
    byte[] here = bytes(mode + "-rbw-here");
    byte[] missing = bytes(mode + "-rbw-missing");
    assertOk(db.insertRow(row(here, FIELDS, "a", "b", "c")));
    assertEquals(Status.NOT_FOUND, result(db.update(row(missing, ONE, "B"))));
    assertEquals(List.of(Status.NOT_FOUND, Status.OK),
        results(2, db.update(List.of(row(missing, ONE, "B"), row(here, ONE, "B")))));
    assertEquals(Status.NOT_FOUND, result(db.readRow(TABLE, missing, null, RowSink.DISCARD)));
    assertRead(db, here, Map.of("field0", "a", "field1", "B", "field2", "c"));
  }

  @ParameterizedTest
  @MethodSource("modes")
  void whatReadBeforeWriteDidNotFindCanBeWrittenAllTheSame(Mode mode) {
    Binding plain = open(mode.properties());
    Binding db = open(mode.properties(), Map.of("readbeforewrite", "true", "readbeforewrite.missing", "write"));
    // Some systems insert the missing record, others ignore the update.
    Status usual = result(plain.update(row(bytes(mode + "-rbm-plain"), ONE, "B")));
    byte[] here = bytes(mode + "-rbm-here");
    assertOk(db.insertRow(row(here, FIELDS, "a", "b", "c")));
    byte[] missing = bytes(mode + "-rbm-missing");
    assertEquals(Status.NOT_FOUND, result(db.update(row(missing, ONE, "B"))));
    assertEquals(List.of(Status.NOT_FOUND, Status.OK),
        results(2, db.update(List.of(row(bytes(mode + "-rbm-other"), ONE, "B"), row(here, ONE, "B")))));
    assertRead(db, here, Map.of("field0", "a", "field1", "B", "field2", "c"));
    assertEquals(usual, result(db.readRow(TABLE, missing, null, RowSink.DISCARD)));
  }

  @ParameterizedTest
  @MethodSource("modes")
  void aReadModifyWriteWhoseReadFailsHasAFailedRead(Mode mode) throws Exception {
    Binding db = open(mode.properties());
    for (int batch : new int[] {1, 10}) {
      RecordWorkload workload = new RecordWorkload();
      workload.init(server.with(Map.of("table", "contract_nowhere", "recordcount", "100", "batchsize", "" + batch,
          "readproportion", "0", "updateproportion", "0", "readmodifywriteproportion", "1")));
      Call call = new Call(workload.source(0, 1).next());
      CompletableFuture<Call> done = new CompletableFuture<>();
      call.start(db, 0, System.nanoTime(), done::complete);
      done.get(WORKS_WITHIN.toMillis(), TimeUnit.MILLISECONDS);
      assertEquals(batch, call.reads().length);
      for (int i = 0; i < batch; i++) {
        assertEquals(knowsItsTables(), Outcome.isError(call.reads()[i]), "" + call.reads()[i]);
        assertEquals(call.reads()[i], call.statuses()[i]);
      }
    }
  }

  // ---- many operations at once ----

  @Test
  void manyOperationsInFlightAllComplete() throws Exception {
    // Allow retries, because a server may reject some of the requests: HBase queues at most ten for each handler. Each
    // attempt gets a sixteenth of the timeout, which is enough even on a busy machine.
    Binding db = open(Map.of("retries", "15", "operationtimeout", "30000"));
    int count = 2000;
    AtomicInteger called = new AtomicInteger();
    List<byte[]> keys = keys("flight", count);
    await(keys.stream().map(key -> db.insertRow(row(key, FIELDS, text(key), "b", "c"))), called);
    // Each operation writes on the driver's thread that received the result of its read.
    await(keys.stream().map(key -> db.readRow(TABLE, key, null, RowSink.DISCARD)
        .thenCompose(read -> db.updateRow(row(key, ONE, "B")))), called);
    Fields read = new Fields();
    await(IntStream.range(0, count).mapToObj(i -> db.readRow(TABLE, keys.get(i), null,
        (row, column, value) -> read.field(i, column, value))), called);
    assertEquals(3 * count, called.get());
    for (int i = 0; i < count; i++) {
      assertEquals(buffers(Map.of("field0", text(keys.get(i)), "field1", "B", "field2", "c")), read.row(i));
    }
  }

  private void await(Stream<CompletableFuture<Status>> operations, AtomicInteger called) {
    List<CompletableFuture<Status>> started = operations.map(operation -> operation.whenComplete((status, error) -> {
      if (error == null && status.isOk()) {
        called.incrementAndGet();
      }
    })).toList();
    started.forEach(operation -> assertEquals(Status.OK, result(operation)));
  }

  @Test
  void instancesShareAConnectionAndLeaveItOneByOne() throws Exception {
    Binding first = open();
    Binding second = open();
    byte[] key = bytes("shared");
    assertOk(first.insertRow(row(key, ONE, "a")));
    opened.remove(first);
    first.cleanup();
    assertRead(second, key, Map.of("field1", "a"));
    close();
    assertRead(open(), key, Map.of("field1", "a"));
  }

  @Test
  void tablesAreApart() {
    Binding db = open();
    byte[] key = bytes("apart");
    assertOk(db.insertRow(row(key, ONE, "a")));
    assertEquals(Status.NOT_FOUND, result(db.readRow(OTHER_TABLE, key, null, RowSink.DISCARD)));
    assertAllOk(1, db.insertRows(List.of(new Row(OTHER_TABLE, key, ONE, values("b")))));
    assertRead(db, key, Map.of("field1", "a"));
    assertOk(db.deleteRow(OTHER_TABLE, key));
    assertRead(db, key, Map.of("field1", "a"));
  }

  // ---- YCSB's own interface ----

  @Test
  void plainYcsbInterface() {
    DB db = open();
    assertEquals(Status.OK, db.insert(TABLE, "plain", iterators(Map.of("field0", "a", "field1", "b"))));
    assertEquals(Status.OK, db.update(TABLE, "plain", iterators(Map.of("field1", "B"))));
    Map<String, ByteIterator> read = new HashMap<>();
    assertEquals(Status.OK, db.read(TABLE, "plain", null, read));
    assertEquals(Map.of("field0", "a", "field1", "B"), strings(read));
    read.clear();
    assertEquals(Status.OK, db.read(TABLE, "plain", Set.of("field1"), read));
    assertEquals(Map.of("field1", "B"), strings(read));
    Vector<HashMap<String, ByteIterator>> scanned = new Vector<>();
    assertEquals(Status.OK, db.scan(TABLE, "plain", 1, null, scanned));
    assertEquals(1, scanned.size());
    assertEquals(Map.of("field0", "a", "field1", "B"), strings(scanned.get(0)));
    assertEquals(Status.OK, db.delete(TABLE, "plain"));
    assertEquals(Status.NOT_FOUND, db.read(TABLE, "plain", null, read));
  }

  @ParameterizedTest
  @MethodSource("modes")
  void saltedKeys(Mode mode) {
    Binding db = open(mode.properties(), Map.of("keysalt", "crc32"));
    String name = mode + "-salted";
    assertEquals(Status.OK, db.insert(SALTED_TABLE, name, iterators(Map.of("field0", "a"))));
    byte[] stored = db.keys().encode(name);
    assertEquals(name, text(Arrays.copyOfRange(stored, 2, stored.length)));
    Fields read = new Fields();
    assertEquals(List.of(Status.OK, Status.NOT_FOUND),
        results(2, db.readRows(SALTED_TABLE, List.of(stored, bytes(name)), null, read)));
    assertEquals(buffers(Map.of("field0", "a")), read.row(0));
  }

  // ---- keys of several columns ----

  private static KeyColumns keyColumns() {
    Properties properties = new Properties();
    properties.putAll(KEY_COLUMNS);
    return KeyColumns.of(new Settings(properties), "key");
  }

  @ParameterizedTest
  @MethodSource("modesOfColumns")
  void keysOfSeveralColumns(Mode mode) {
    Binding db = open(mode.properties(), KEY_COLUMNS);
    KeyColumns columns = keyColumns();
    // Insert a hundred timestamps into each of six partitions. Every mode uses different records.
    int first = 600 * modesOfColumns().indexOf(mode);
    List<byte[]> keys = IntStream.range(first, first + 600).mapToObj(columns::key).toList();
    List<Row> rows = keys.stream()
        .map(key -> new Row(COLUMNS_TABLE, key, FIELDS, values(hex(key), "b", "c"))).toList();
    assertAllOk(600, db.insertRows(rows));
    assertOk(db.updateRow(new Row(COLUMNS_TABLE, keys.get(7), ONE, values("B"))));
    assertAllOk(2, db.updateRows(List.of(new Row(COLUMNS_TABLE, keys.get(8), ONE, values("B")),
        new Row(COLUMNS_TABLE, keys.get(9), ONE, values("B")))));
    assertOk(db.deleteRow(COLUMNS_TABLE, keys.get(10)));

    List<byte[]> wanted = new ArrayList<>(keys);
    wanted.add(keys.get(3));
    for (Columns some : Arrays.asList(null, FIELDS)) {
      Fields read = new Fields();
      List<Status> found = results(601, db.readRows(COLUMNS_TABLE, wanted, some, read));
      for (int i = 0; i < 601; i++) {
        assertEquals(i == 10 ? Status.NOT_FOUND : Status.OK, found.get(i), "record " + i);
        assertEquals(i == 10 ? Map.of() : buffers(Map.of("field0", hex(wanted.get(i)), "field1",
            i >= 7 && i <= 9 ? "B" : "b", "field2", "c")), read.row(i), "record " + i);
      }
    }
    Fields one = new Fields();
    assertOk(db.readRow(COLUMNS_TABLE, keys.get(599), ONE, one));
    assertEquals(buffers(Map.of("field1", "b")), one.row(0));
    assertEquals(Status.NOT_FOUND, result(db.readRow(COLUMNS_TABLE, keys.get(10), null, RowSink.DISCARD)));

    Fields scanned = new Fields();
    assertOk(db.scanRows(COLUMNS_TABLE, keys.get(11), 20, FIELDS, scanned));
    assertEquals(20, scanned.size());
    for (int i = 0; i < (ordersKeys() ? 20 : 1); i++) {
      assertEquals(ByteBuffer.wrap(bytes(hex(keys.get(11 + 6 * i)))), scanned.row(i).get("field0"), "the next point");
    }
  }

  @Test
  void aTextIsNoKeyOfSeveralColumns() {
    Binding db = open(KEY_COLUMNS);
    SettingException refused = assertThrows(SettingException.class,
        () -> db.insert(COLUMNS_TABLE, "user1", iterators(Map.of("field0", "a"))));
    assertTrue(refused.getMessage().contains("'user1'"), refused.getMessage());
  }

  private static String hex(byte[] key) {
    return HexFormat.of().formatHex(key);
  }

  /** Runs the built jars in a separate process, as users do, once with each of the two clients. */
  @ParameterizedTest
  @ValueSource(strings = {"site.ycsb.Client", "dohyo.client.Client"})
  void wholeClientOnTheShippedJars(String main, @TempDir Path folder) throws Exception {
    Path file = folder.resolve("client.properties");
    Properties properties = server.with(Map.of("workload", "site.ycsb.workloads.CoreWorkload", "table", YCSB_TABLE,
        "recordcount", "1000", "operationcount", "1000", "threadcount", "4", "readproportion", "0.4",
        "updateproportion", "0.4", "scanproportion", "0.1", "readmodifywriteproportion", "0.1"));
    properties.putAll(Map.of("fieldnameprefix", NASTY_PREFIX, "maxscanlength", "10",
        "requestdistribution", "uniform", "readbeforewrite", "true"));
    properties.putAll(settings());
    try (var writer = Files.newBufferedWriter(file)) {
      properties.store(writer, null);
    }
    String loaded = client(main, file, "-load");
    assertTrue(loaded.contains("[INSERT], Return=OK, 1000"), loaded);
    String run = client(main, file, "-t");
    for (String operation : List.of("READ", "UPDATE", "SCAN", "READ-MODIFY-WRITE")) {
      assertTrue(run.contains("[" + operation + "], Operations, "), run);
      assertFalse(run.contains("[" + operation + "-FAILED]"), run);
    }
    assertTrue(run.contains("[READ], Return=OK, ") && run.contains("[UPDATE], Return=OK, "), run);
  }

  /** Runs the client with {@code verify=acknowledged}. A single server must not have stale, lost or damaged records. */
  @Test
  @Tag("slow")
  void everyAcknowledgedWriteIsThere(@TempDir Path folder) throws Exception {
    Path file = folder.resolve("client.properties");
    Path summary = folder.resolve("client.json");
    Properties properties = server.with(Map.of("table", YCSB_TABLE, "recordcount", "2000", "operationcount", "2000",
        "threadcount", "4", "batchsize", "5", "readproportion", "0.4", "updateproportion", "0.3",
        "readmodifywriteproportion", "0.2", "insertproportion", "0.1", "verify", "acknowledged"));
    properties.putAll(Map.of("fieldnameprefix", NASTY_PREFIX, "client.summary", summary.toString(),
        "verify.timeout", "60"));
    properties.putAll(settings());
    try (var writer = Files.newBufferedWriter(file)) {
      properties.store(writer, null);
    }
    client("dohyo.client.Client", file, "-load");
    client("dohyo.client.Client", file, "-t");
    String found = Files.readString(summary);
    for (String count : List.of("maybe", "unknown_reads", "stale_reads", "unwritten_reads", "corrupt_reads", "lost",
        "missing", "unwritten", "corrupt", "unreadable")) {
      assertTrue(found.contains("\"" + count + "\" : 0,"), count + " in " + found);
    }
    assertTrue(found.contains("\"read_back\" : true") && !found.contains("\"keys\" : 0"), found);
  }

  private String client(String main, Path properties, String phase) throws Exception {
    Path results = properties.resolveSibling("result.txt");
    Path messages = properties.resolveSibling("status.txt");
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    String bundle = System.getProperty("dohyo.bundle") + File.separator + "*";
    Process process = new ProcessBuilder(java, "-Xmx256m", "-cp", bundle, main, "-db",
        newBinding().getClass().getName(), "-P", properties.toString(), "-s", phase)
        .redirectOutput(results.toFile()).redirectError(messages.toFile()).start();
    if (!process.waitFor(2, TimeUnit.MINUTES)) {
      process.destroyForcibly();
      fail(main + " does not end: " + Files.readString(messages));
    }
    String result = Files.readString(results);
    assertEquals(0, process.exitValue(), result + Files.readString(messages));
    assertAll(result.lines().map(line -> () -> assertTrue(line.startsWith("["), "not a result line: " + line)));
    return result;
  }

  @Test
  void theTransportIsToldAndSharedAsItIs() {
    Binding db = open(Map.of());
    assertOk(db.insertRow(row(bytes("transport"), FIELDS, "a", "b", "c")));
    Transport transport = transport(db);
    assertTrue(transport.connections() > 0, "connections");
    assertTrue(transport.eventLoops() >= 0, "event loops");
    assertEquals(0, transport.retries());
  }

  /** Returns the transport of a binding, and skips the test if the binding reports none. */
  private static Transport transport(Binding db) {
    assumeTrue(db.transport().isPresent(), "the binding reports no transport");
    return db.transport().orElseThrow();
  }

  // ---- a server that fails ----

  /** Returns how often a read is repeated if a frozen server does not answer: at most {@code retries} times. */
  protected int sentAgain(int retries) {
    return retries;
  }

  @Tag("slow")
  @ParameterizedTest
  @Order(Integer.MAX_VALUE - 2)
  @ValueSource(ints = {0, 2})
  void whatFailsIsSentAgainAsOftenAsItMayBe(int retries) throws Exception {
    Binding db = open(Map.of("operationtimeout", String.valueOf(TIMEOUT_MILLIS),
        "retries", String.valueOf(retries)));
    byte[] key = bytes("retries" + retries);
    assertOk(db.insertRow(row(key, FIELDS, "a", "b", "c")));
    assertOk(db.readRow(TABLE, key, null, RowSink.DISCARD));
    Transport transport = transport(db);
    server.freeze();
    try {
      assertTimeoutBound(() -> {
        assertTrue(Outcome.isError(result(db.readRow(TABLE, key, null, RowSink.DISCARD))));
        return null;
      });
    } finally {
      server.thaw();
    }
    assertEquals(sentAgain(retries), transport.retries());
    assertUsedAgain(db, key);
  }

  @Tag("slow")
  @Test
  @Order(Integer.MAX_VALUE - 1)
  void frozenServerGivesErrorsInTimeAndIsUsedAgain() throws Exception {
    for (Mode mode : modes()) {
      Binding db = open(mode.properties(), Map.of("operationtimeout", String.valueOf(TIMEOUT_MILLIS)));
      byte[] key = bytes(mode + "-frozen");
      List<byte[]> keys = keys(mode + "-frozen-batch", 10);
      List<Row> rows = keys.stream().map(k -> row(k, FIELDS, "a", "b", "c")).toList();
      assertOk(db.insertRow(row(key, FIELDS, "a", "b", "c")));
      assertAllOk(10, db.insertRows(rows));
      assertAllOk(10, db.readRows(TABLE, keys, null, RowSink.DISCARD));
      server.freeze();
      try {
        List<CompletableFuture<Status>> single = List.of(
            db.readRow(TABLE, key, null, RowSink.DISCARD), db.insertRow(row(key, FIELDS, "a", "b", "c")),
            db.updateRow(row(key, ONE, "B")), db.deleteRow(TABLE, bytes(mode + "-nothing")),
            db.scanRows(TABLE, key, 5, null, RowSink.DISCARD));
        List<CompletableFuture<Status[]>> batches = List.of(
            db.readRows(TABLE, keys, null, RowSink.DISCARD), db.insertRows(rows), db.updateRows(rows));
        assertTimeoutBound(() -> {
          assertTrue(Outcome.isError(db.insert(TABLE, "frozen", iterators(Map.of("field0", "a")))));
          single.forEach(operation -> assertTrue(Outcome.isError(result(operation))));
          batches.forEach(operation ->
              results(10, operation).forEach(status -> assertTrue(Outcome.isError(status))));
          return null;
        });
      } finally {
        server.thaw();
      }
      assertUsedAgain(db, key);
      close();
    }
  }

  private void assertUsedAgain(Binding db, byte[] key) throws InterruptedException {
    long end = System.nanoTime() + WORKS_WITHIN.toNanos();
    Status status;
    do {
      status = result(db.readRow(TABLE, key, null, RowSink.DISCARD));
      if (status.isOk()) {
        return;
      }
      Thread.sleep(100);
    } while (System.nanoTime() < end);
    fail("the server continues, but a read still returns " + status);
  }

  @Test
  @Order(Integer.MAX_VALUE)
  protected void killedServerGivesErrorsInTime() throws Exception {
    List<Thread> threads = new ArrayList<>();
    List<String> wrong = new Vector<>();
    AtomicInteger succeeded = new AtomicInteger();
    AtomicInteger failed = new AtomicInteger();
    for (int i = 0; i < 4; i++) {
      Binding db = open(Map.of("operationtimeout", String.valueOf(TIMEOUT_MILLIS), "readbeforewrite", "true"));
      List<byte[]> keys = keys("killed" + i, 10);
      List<Row> rows = keys.stream().map(key -> row(key, FIELDS, "a", "b", "c")).toList();
      assertAllOk(10, db.insertRows(rows));
      threads.add(new Thread(() -> {
        for (int errors = 0; errors < 3; ) {
          long begin = System.nanoTime();
          Status status = results(10, db.update(rows)).get(0);
          Duration took = Duration.ofNanos(System.nanoTime() - begin);
          if (took.compareTo(TIMEOUT_BOUND) > 0) {
            wrong.add(status + " after " + took);
          }
          if (Outcome.isError(status)) {
            errors++;
            failed.incrementAndGet();
          } else {
            succeeded.incrementAndGet();
          }
        }
      }));
    }
    threads.forEach(Thread::start);
    // On a busy machine, the first answer may take seconds. The timeout of the class bounds this loop.
    while (succeeded.get() == 0) {
      Thread.sleep(100);
    }
    Thread.sleep(1000);
    server.kill();
    for (Thread thread : threads) {
      thread.join(4 * TIMEOUT_BOUND.toMillis());
      assertFalse(thread.isAlive(), "hangs after the server was killed");
    }
    assertTrue(succeeded.get() > 0, "nothing succeeded before");
    assertEquals(12, failed.get());
    assertEquals(List.of(), wrong);
    assertTimeoutBound(() -> {
      close();
      return null;
    });
  }

  // ---- helpers ----

  /** Opens an instance of the binding, which is closed after the test. */
  @SafeVarargs
  protected final Binding open(Map<String, String>... properties) {
    Map<String, String> all = new HashMap<>(settings());
    for (Map<String, String> some : properties) {
      all.putAll(some);
    }
    Binding binding = newBinding();
    binding.setProperties(server.with(all));
    try {
      binding.init();
    } catch (DBException e) {
      throw new AssertionError("cannot connect", e);
    }
    opened.add(binding);
    return binding;
  }

  private void assertRead(Binding db, byte[] key, Map<String, String> expected) {
    Fields read = new Fields();
    assertOk(db.readRow(TABLE, key, null, read));
    assertEquals(buffers(expected), read.row(0));
  }

  private void assertOk(CompletableFuture<Status> operation) {
    assertEquals(Status.OK, result(operation));
  }

  private void assertAllOk(int count, CompletableFuture<Status[]> batch) {
    assertEquals(List.of(Outcome.each(Status.OK, count)), results(count, batch));
  }

  private static <T> T assertTimeoutBound(ThrowingSupplier<T> action) {
    return assertTimeout(TIMEOUT_BOUND, action);
  }

  private Status result(CompletableFuture<Status> operation) {
    return results(1, operation.thenApply(status -> new Status[] {status})).get(0);
  }

  /** Returns the status of each record as the client counts it. If a batch fails, its error counts for all records. */
  private List<Status> results(int count, CompletableFuture<Status[]> batch) {
    List<Status> statuses;
    try {
      statuses = List.of(batch.get(WORKS_WITHIN.toMillis(), TimeUnit.MILLISECONDS));
    } catch (ExecutionException e) {
      statuses = List.of(Outcome.each(newBinding().failed(e), count));
    } catch (TimeoutException e) {
      throw new AssertionError("no answer within " + WORKS_WITHIN, e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("interrupted", e);
    }
    assertEquals(count, statuses.size(), "statuses");
    return statuses;
  }

  private static Row row(byte[] key, Columns columns, String... values) {
    return new Row(TABLE, key, columns, values(values));
  }

  private static byte[][] values(String... values) {
    return Arrays.stream(values).map(BindingContract::bytes).toArray(byte[][]::new);
  }

  private static List<byte[]> keys(String prefix, int count) {
    return IntStream.range(0, count).mapToObj(i -> bytes(prefix + i)).toList();
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private static Map<String, ByteBuffer> buffers(Map<String, String> fields) {
    return changed(fields, value -> ByteBuffer.wrap(bytes(value)));
  }

  private static Map<String, ByteIterator> iterators(Map<String, String> fields) {
    return changed(fields, StringByteIterator::new);
  }

  private static Map<String, String> strings(Map<String, ByteIterator> fields) {
    return changed(fields, ByteIterator::toString);
  }

  private static <A, B> Map<String, B> changed(Map<String, A> fields, Function<A, B> change) {
    return fields.entrySet().stream().collect(Collectors.toMap(Map.Entry::getKey, e -> change.apply(e.getValue())));
  }
}
