package dohyo.workload;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dohyo.binding.KeyCodec;
import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import java.nio.charset.StandardCharsets;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.zip.Deflater;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import site.ycsb.BasicDB;
import site.ycsb.ByteIterator;
import site.ycsb.Status;
import site.ycsb.measurements.Measurements;
import site.ycsb.workloads.CoreWorkload;

class RecordWorkloadTest {
  private static Settings settings(String... pairs) {
    Properties properties = new Properties();
    for (String pair : pairs) {
      properties.setProperty(pair.substring(0, pair.indexOf('=')), pair.substring(pair.indexOf('=') + 1));
    }
    return new Settings(properties);
  }

  private static RecordWorkload workload(String... pairs) {
    RecordWorkload workload = new RecordWorkload();
    workload.init(settings(pairs).properties());
    return workload;
  }

  private static String text(byte[] key) {
    return new String(key, StandardCharsets.ISO_8859_1);
  }

  @ParameterizedTest
  @CsvSource({"hashed, 1", "hashed, 25", "ordered, 1", "ordered, 12"})
  void keysAreThoseOfYcsb(String order, int padding) throws Exception {
    Settings settings = settings("insertorder=" + order, "zeropadding=" + padding);
    RecordLayout layout = new RecordLayout(settings);
    Measurements.setProperties(settings.properties());
    StockKeys stock = new StockKeys();
    stock.init(settings.properties());
    for (long keynum : new long[] {0, 7, 123456, 3_000_000_000L, Long.MAX_VALUE / 4}) {
      assertEquals(stock.name(keynum), text(layout.key(keynum)));
    }
  }

  /** Opens what CoreWorkload keeps to its subclasses. */
  private static final class StockKeys extends CoreWorkload {
    String name(long keynum) {
      return buildKeyName(keynum);
    }
  }

  @Test
  void tablesHoldEqualRangesWithoutGaps() {
    RecordLayout layout = new RecordLayout(settings("tablecount=4", "recordcount=3000000001"));
    long reached = 0;
    for (int table = 0; table < 4; table++) {
      assertEquals(reached, layout.firstOf(table));
      assertEquals(table, layout.tableOf(layout.firstOf(table)));
      assertEquals(table, layout.tableOf(layout.endOf(table) - 1));
      reached = layout.endOf(table);
    }
    assertEquals(3_000_000_001L, reached);
  }

  @Test
  void partsOfThreeBillionMeet() {
    long count = 3_000_000_001L;
    assertEquals(0, RecordWorkload.part(count, 0, 7));
    assertEquals(count, RecordWorkload.part(count, 7, 7));
    for (int i = 0; i < 7; i++) {
      long size = RecordWorkload.part(count, i + 1, 7) - RecordWorkload.part(count, i, 7);
      assertTrue(size == count / 7 || size == count / 7 + 1);
    }
  }

  @Test
  void aLoadBeyondTwoBillionHasItsKeys() {
    RecordWorkload workload = workload("dotransactions=false", "recordcount=3000000000", "insertorder=ordered",
        "insertstart=2999999990", "batchsize=4");
    OperationSource source = workload.source(0, 1);
    Set<String> keys = new HashSet<>();
    for (Operation next; (next = source.next()) != null;) {
      next.keys().forEach(key -> keys.add(text(key)));
    }
    assertEquals(10, keys.size());
    assertTrue(keys.contains("user2999999999"));
  }

  @Test
  void insertsOfSeveralClientsMeetWithoutGapsAndCollisions() {
    for (String tables : List.of("shared", "client")) {
      Set<String> keys = new HashSet<>();
      for (int client = 0; client < 3; client++) {
        OperationSource source = workload("recordcount=100", "tablecount=6", "tables=" + tables, "clients=3",
            "clientnumber=" + client, "insertproportion=1", "readproportion=0", "updateproportion=0",
            "insertorder=ordered", "operationcount=200").source(0, 1);
        for (int i = 0; i < 200; i++) {
          Operation next = source.next();
          source.finished(next);
          assertTrue(keys.add(text(next.keys().get(0))), "nobody else inserts it");
          int table = Integer.parseInt(next.table().substring("usertable".length()));
          assertTrue(tables.equals("shared") || table / 2 == client, "each has two tables of its own");
        }
      }
      for (long keynum = 100; keynum < 700; keynum++) {
        assertTrue(keys.contains("user" + keynum), keynum + " is left out with tables=" + tables);
      }
    }
  }

  @Test
  void aClientWithTablesOfItsOwnLeavesTheOthersAlone() {
    OperationSource source = workload("recordcount=100", "tablecount=4", "tables=client", "clients=2", "clientnumber=1",
        "readproportion=0.5", "updateproportion=0.5").source(0, 1);
    Set<String> seen = new HashSet<>();
    for (int i = 0; i < 200; i++) {
      seen.add(source.next().table());
    }
    assertEquals(Set.of("usertable2", "usertable3"), seen);
  }

  @Test
  void proportionsAreKept() {
    OperationSource source = workload("recordcount=100", "readproportion=0.5", "updateproportion=0.3",
        "insertproportion=0.15", "readmodifywriteproportion=0.05", "operationcount=20000").source(0, 1);
    Map<OperationType, Integer> seen = new EnumMap<>(OperationType.class);
    for (int i = 0; i < 20_000; i++) {
      Operation operation = source.next();
      seen.merge(operation.type(), 1, Integer::sum);
      source.finished(operation);
    }
    // Four standard deviations of a binomial of 20,000 draws are below 290.
    assertEquals(10_000, seen.get(OperationType.READ), 290);
    assertEquals(6_000, seen.get(OperationType.UPDATE), 290);
    assertEquals(3_000, seen.get(OperationType.INSERT), 290);
    assertEquals(1_000, seen.get(OperationType.READ_MODIFY_WRITE), 290);
  }

  @ParameterizedTest
  @ValueSource(strings = {"uniform", "zipfian", "latest", "hotspot", "sequential", "exponential"})
  void aBatchHoldsDifferentRecordsThatAreThere(String distribution) {
    RecordWorkload workload = workload("recordcount=1000", "batchsize=100", "readproportion=1", "updateproportion=0",
        "requestdistribution=" + distribution);
    RecordLayout layout = new RecordLayout(settings("recordcount=1000"));
    Set<String> there = new HashSet<>();
    for (int i = 0; i < 1000; i++) {
      there.add(text(layout.key(i)));
    }
    OperationSource source = workload.source(0, 1);
    for (int i = 0; i < 50; i++) {
      Set<String> keys = new HashSet<>();
      source.next().keys().forEach(key -> keys.add(text(key)));
      assertEquals(100, keys.size());
      assertTrue(there.containsAll(keys));
    }
  }

  @Test
  void zipfianHasItsHotKey() {
    OperationSource source = workload("recordcount=1000", "readproportion=1", "updateproportion=0",
        "requestdistribution=zipfian").source(0, 1);
    Map<String, Integer> seen = new HashMap<>();
    for (int i = 0; i < 20_000; i++) {
      seen.merge(text(source.next().keys().get(0)), 1, Integer::sum);
    }
    // The first item of a zipfian of 10^10 items has 1 / zeta = 3.8 % (ScrambledZipfianGenerator.ZETAN = 26.47).
    assertEquals(20_000 / 26.47, seen.values().stream().mapToInt(Integer::intValue).max().orElseThrow(), 130);
  }

  @Test
  void newRecordsAreReadOnlyOnceTheyAreThere() {
    RecordWorkload workload = workload("recordcount=10", "requestdistribution=latest", "readproportion=0.5",
        "updateproportion=0", "insertproportion=0.5", "insertorder=ordered");
    OperationSource source = workload.source(0, 1);
    Set<String> there = new HashSet<>();
    for (int i = 0; i < 10; i++) {
      there.add("user" + i);
    }
    for (int i = 0; i < 2_000; i++) {
      Operation operation = source.next();
      String key = text(operation.keys().get(0));
      if (operation.type() == OperationType.READ) {
        assertTrue(there.contains(key), key);
      } else {
        there.add(key);
        source.finished(operation);
      }
    }
    assertTrue(there.size() > 800);
  }

  @Test
  void anUpdateWritesOneFieldOrAll() {
    assertEquals(1, update().writeColumns().size());
    assertEquals(10, update("writeallfields=true").writeColumns().size());
    assertEquals(100, update().values()[0][0].length);
    assertNull(update().readColumns());
  }

  private static Operation update(String... more) {
    String[] pairs = java.util.Arrays.copyOf(more, more.length + 3);
    pairs[more.length] = "recordcount=10";
    pairs[more.length + 1] = "readproportion=0";
    pairs[more.length + 2] = "updateproportion=1";
    return workload(pairs).source(0, 1).next();
  }

  @ParameterizedTest
  @CsvSource({"0, 0", "2, 2", "4, 4", "6, 6", "7, 7", "8, 8"})
  void valuesHaveTheirEntropyAndNoMore(int bits, double expected) {
    byte[] value = new ValueGenerator(settings("valueentropy=" + bits), 42).next(1 << 20);
    int[] seen = new int[256];
    for (byte b : value) {
      seen[b & 0xFF]++;
    }
    double entropy = 0;
    for (int count : seen) {
      if (count > 0) {
        double share = (double) count / value.length;
        entropy -= share * Math.log(share) / Math.log(2);
      }
    }
    assertEquals(expected, entropy, 0.01);
    Deflater deflater = new Deflater();
    deflater.setInput(value);
    deflater.finish();
    byte[] packed = new byte[value.length * 2];
    int size = deflater.deflate(packed);
    assertTrue(size >= value.length * expected / 8, "compressible below its entropy: it repeats itself");
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 7, 8, 9, 100, 1023})
  void valuesHaveTheirLengthAndAreText(int length) {
    byte[] value = new ValueGenerator(settings(), 1).next(length);
    assertEquals(length, value.length);
    for (byte b : value) {
      assertTrue(b >= '0' && b <= 'o');
    }
  }

  @Test
  void integrityValuesAreThoseOfYcsb() throws Exception {
    Properties properties = settings("dataintegrity=true", "recordcount=10").properties();
    Measurements.setProperties(properties);
    CoreWorkload stock = new CoreWorkload();
    stock.init(properties);
    CapturingDb db = new CapturingDb();
    stock.doInsert(db, null);
    for (Map.Entry<String, ByteIterator> field : db.values.entrySet()) {
      assertEquals(field.getValue().toString(),
          text(IntegrityCheck.value(db.key.getBytes(StandardCharsets.US_ASCII), field.getKey(), 100)));
    }
    assertEquals(10, db.values.size());
  }

  /** Keeps what stock CoreWorkload inserts. */
  private static final class CapturingDb extends BasicDB {
    private String key;
    private Map<String, ByteIterator> values;

    @Override
    public Status insert(String table, String givenKey, Map<String, ByteIterator> givenValues) {
      key = givenKey;
      values = givenValues;
      return Status.OK;
    }
  }

  @Test
  void saltIsTwoBytesOfTheChecksumBeforeTheKey() {
    byte[] plain = "123456789".getBytes(StandardCharsets.US_ASCII);
    // The check value of CRC-32 for these nine digits is 0xCBF43926.
    byte[] salted = new KeyCodec(settings("keysalt=crc32")).encode(plain);
    assertEquals((byte) 0xF4, salted[0]);
    assertEquals((byte) 0x39, salted[1]);
    assertArrayEquals(plain, java.util.Arrays.copyOfRange(salted, 2, salted.length));
    assertArrayEquals(plain, new KeyCodec(settings()).encode(plain));
  }

  @Test
  void whatCannotBeIsRefused() {
    assertThrows(SettingException.class, () -> workload("readproportion=0", "updateproportion=0"));
    assertThrows(SettingException.class, () -> workload("scanproportion=1", "batchsize=10", "recordcount=100"));
    assertThrows(SettingException.class, () -> workload("tablecount=4", "requestdistribution=latest"));
    assertThrows(SettingException.class, () -> workload("dataintegrity=true", "fieldlengthdistribution=uniform"));
    assertThrows(SettingException.class, () -> workload("tables=client", "tablecount=3", "clients=2"));
  }
}
