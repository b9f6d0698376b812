package dohyo.aerospike;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dohyo.binding.Binding;
import dohyo.binding.Columns;
import dohyo.binding.Outcome;
import dohyo.binding.Row;
import dohyo.binding.RowSink;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import site.ycsb.Status;

/** Runs the contract with ten records of YCSB in each record of Aerospike, and with event loops. */
class AerospikePackedContractIT extends AerospikeContractIT {
  private static final Map<String, String> ORDERED = Map.of("insertorder", "ordered");
  private static final Columns COLUMNS = Columns.of(List.of("field0", "field1"));

  @Override
  protected Map<String, String> settings() {
    return Map.of("aerospike.layout", "packed=10", "inflight", "64");
  }

  /** Returns a record with a key that is too long; this layout does not limit the names of fields. */
  @Override
  protected Row refused() {
    return new Row(TABLE, new byte[70_000], Columns.of(List.of("field1")), new byte[][] {{1}});
  }

  @Test
  void tenRecordsLieInOneWithOrderedKeys() {
    String table = "packed_ordered";
    Binding db = open(ORDERED);
    // user7 to user31 are in four blocks: 7 to 9, 10 to 19, 20 to 29, 30 and 31.
    List<Row> rows = rows(table, "user", 7, 25);
    assertAllOk(25, db.insertRows(rows));
    assertEquals(4, recordsStored(table));

    long reads = readsServed(table);
    long writes = writesServed();
    assertEquals(Status.OK, db.updateRow(new Row(table, rows.get(5).key(), Columns.of(List.of("field1")),
        new byte[][] {bytes("B")})).join());
    assertEquals(1, readsServed(table) - reads, "reads of the block");
    assertEquals(1, writesServed() - writes, "writes of the block");
    for (int i = 0; i < rows.size(); i++) {
      assertFields(db, table, rows.get(i).key(), "user" + (7 + i), i == 5 ? "B" : "b");
    }

    for (Row row : rows.subList(0, 3)) {
      assertEquals(Status.OK, db.deleteRow(table, row.key()).join());
    }
    assertEquals(3, recordsStored(table), "an empty block is removed");
  }

  @Test
  void neighboursAreWrittenAtTheSameTime() {
    String table = "packed_same";
    Binding db = open(ORDERED);
    List<CompletableFuture<Status>> inserts = rows(table, "same", 0, 10).stream().map(db::insertRow).toList();
    inserts.forEach(insert -> assertEquals(Status.OK, insert.join()));
    List<CompletableFuture<Status[]>> batches = IntStream.range(0, 10)
        .mapToObj(i -> db.updateRows(List.of(new Row(table, bytes("same" + i), Columns.of(List.of("field1")),
            new byte[][] {bytes("B" + i)})))).toList();
    batches.forEach(batch -> assertAllOk(1, batch));
    for (int i = 0; i < 10; i++) {
      assertFields(db, table, bytes("same" + i), "same" + i, "B" + i);
    }
  }

  @Test
  void fiveHundredHashedKeysShareFiftyBlocks() {
    String table = "packed_hashed";
    Binding db = open(Map.of("recordcount", "500"));
    assertAllOk(500, db.insertRows(rows(table, "user", 0, 500)));
    assertEquals(50, recordsStored(table));
  }

  /** Expects other numbers of reads than the contract, because writes also read blocks. */
  @Override
  @ParameterizedTest
  @MethodSource("modes")
  protected void readBeforeWriteReadsEachRecordOnce(Mode mode) {
    String table = "packed_rbw";
    Binding db = open(mode.properties(), ORDERED, Map.of("readbeforewrite", "true"));
    List<Row> rows = rows(table, mode + "-rbw", 0, 20);
    assertAllOk(20, db.insertRows(rows));
    long before = readsServed(table);
    rows.forEach(row -> assertEquals(Status.OK, db.update(row).join()));
    assertEquals(2 * 20, readsServed(table) - before, "reads of single updates");
    before = readsServed(table);
    assertAllOk(20, db.update(rows));
    assertEquals(2 * 2, readsServed(table) - before, "reads of a batch update of two blocks");
  }

  /** Does nothing, because the tests of the other layout still need the server. */
  @Override
  protected void killedServerGivesErrorsInTime() {
    // JUnit does not run this method, because it lacks the annotation of the overridden method.
  }

  /** Does not apply: in this layout, each write reads a block, changes it in the client and writes the whole block. */
  @Override
  protected void aWriteOfAllFieldsReplacesTheRecordAndAnyOtherKeepsTheRest() {
    // JUnit does not run this method, because it lacks the annotation of the overridden method.
  }

  private static List<Row> rows(String table, String prefix, int first, int count) {
    return IntStream.range(first, first + count).mapToObj(i -> prefix + i)
        .map(key -> new Row(table, bytes(key), COLUMNS, new byte[][] {bytes(key), bytes("b")})).toList();
  }

  private static void assertFields(Binding db, String table, byte[] key, String field0, String field1) {
    Map<String, String> read = new ConcurrentHashMap<>();
    RowSink sink = (row, column, value) -> read.put(column, StandardCharsets.UTF_8.decode(value).toString());
    assertEquals(Status.OK, db.readRow(table, key, null, sink).join());
    assertEquals(Map.of("field0", field0, "field1", field1), read);
  }

  private static void assertAllOk(int count, CompletableFuture<Status[]> batch) {
    assertArrayEquals(Outcome.each(Status.OK, count), batch.join());
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
