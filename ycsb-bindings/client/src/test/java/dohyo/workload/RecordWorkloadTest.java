package dohyo.workload;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dohyo.binding.KeyCodec;
import dohyo.binding.KeyColumns;
import dohyo.binding.Outcome;
import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.stream.Stream;
import java.util.zip.Deflater;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import site.ycsb.BasicDB;
import site.ycsb.ByteIterator;
import site.ycsb.Status;
import site.ycsb.generator.ScrambledZipfianGenerator;
import site.ycsb.generator.ZipfianGenerator;
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

  /** Gives access to a protected method of CoreWorkload. */
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

  @ParameterizedTest
  @CsvSource({"3000000001, 1, 7", "1000000000001, 3, 5", "10, 3, 1", "1, 3, 4"})
  void noOperationIsLostWhenTheyAreDivided(long count, int clients, int threads) {
    long sum = 0;
    for (int client = 0; client < clients; client++) {
      RecordWorkload workload = workload("clients=" + clients, "clientnumber=" + client, "operationcount=" + count);
      for (int thread = 0; thread < threads; thread++) {
        long part = workload.operations(thread, threads);
        assertTrue(part == count / (clients * threads) || part == count / (clients * threads) + 1);
        sum += part;
      }
    }
    assertEquals(count, sum);
  }

  @Test
  void theSameRecordsArePopularInAllClients() {
    Set<String> hottest = new HashSet<>();
    for (int client = 0; client < 3; client++) {
      RequestSource source = workload("recordcount=1000", "requestdistribution=zipfian", "readproportion=0.5",
          "updateproportion=0", "insertproportion=0.5", "operationcount=1000", "clients=3", "clientnumber=" + client)
          .source(0, 1);
      Map<String, Integer> seen = new HashMap<>();
      for (int i = 0; i < 20_000; i++) {
        Request request = source.next();
        // The inserts stay open, so that only loaded records are requested.
        if (request.type() == OperationType.READ) {
          seen.merge(text(request.keys().get(0)), 1, Integer::sum);
        }
      }
      hottest.add(Collections.max(seen.entrySet(), Map.Entry.comparingByValue()).getKey());
    }
    assertEquals(1, hottest.size(), "the hottest record of each client: " + hottest);
  }

  @Test
  void aLoadBeyondTwoBillionHasItsKeys() {
    RecordWorkload workload = workload("dotransactions=false", "recordcount=3000000000", "insertorder=ordered",
        "insertstart=2999999990", "batchsize=4");
    RequestSource source = workload.source(0, 1);
    Set<String> keys = new HashSet<>();
    for (Request next; (next = source.next()) != null;) {
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
        RequestSource source = workload("recordcount=100", "tablecount=6", "tables=" + tables, "clients=3",
            "clientnumber=" + client, "insertproportion=1", "readproportion=0", "updateproportion=0",
            "insertorder=ordered", "operationcount=200").source(0, 1);
        for (int i = 0; i < 200; i++) {
          Request next = source.next();
          source.finished(next, Status.OK);
          assertTrue(keys.add(text(next.keys().get(0))), "no other client inserts it");
          int table = Integer.parseInt(next.table().substring("usertable".length()));
          assertTrue(tables.equals("shared") || table / 2 == client, "each has two tables of its own");
        }
      }
      for (long keynum = 100; keynum < 700; keynum++) {
        assertTrue(keys.contains("user" + keynum), keynum + " is left out with tables=" + tables);
      }
    }
  }

  @ParameterizedTest
  @CsvSource({"1, shared", "6, shared", "6, client"})
  void aLaterRunGoesOnWhereTheClientsHaveEnded(int tables, String whose) {
    Set<String> keys = new HashSet<>();
    long[] inserted = new long[3];
    for (int run = 0; run < 3; run++) {
      for (int client = 0; client < 3; client++) {
        RecordWorkload workload = workload("recordcount=100", "tablecount=" + tables, "tables=" + whose, "clients=3",
            "clientnumber=" + client, "insertproportion=1", "readproportion=0", "updateproportion=0",
            "insertorder=ordered", "operationcount=200", "inserted=" + inserted[client]);
        RequestSource source = workload.source(0, 1);
        // The clients have different speeds.
        for (int i = 0; i < 50 + 17 * client; i++) {
          Request next = source.next();
          source.finished(next, Status.OK);
          assertTrue(keys.add(next.table() + " " + text(next.keys().get(0))), "no other client, and no earlier run");
        }
        inserted[client] += 50 + 17 * client;
        assertEquals(inserted[client], workload.inserted());
      }
    }
    assertArrayEquals(new long[] {150, 201, 252}, inserted);
    assertEquals(603, keys.size());
  }

  @Test
  void latestKnowsWhatEarlierRunsOfItsClientHaveInserted() {
    RequestSource source = workload("recordcount=100", "requestdistribution=latest", "insertorder=ordered",
        "clients=2", "clientnumber=1", "inserted=1000", "readproportion=1", "updateproportion=0",
        "operationcount=1000").source(0, 1);
    int ofEarlierRuns = 0;
    Set<Integer> seen = new HashSet<>();
    for (int i = 0; i < 5000; i++) {
      int keynum = Integer.parseInt(text(source.next().keys().get(0)).substring("user".length()));
      seen.add(keynum);
      if (keynum >= 100) {
        assertEquals(1, keynum % 2, "only its own records: 101, 103, … 2099");
        assertTrue(keynum <= 2099);
        ofEarlierRuns++;
      }
    }
    assertTrue(seen.contains(2099), "the newest record is the most popular");
    assertTrue(ofEarlierRuns > 2500);
  }

  @Test
  void aClientWithTablesOfItsOwnLeavesTheOthersAlone() {
    RequestSource source = workload("recordcount=100", "tablecount=4", "tables=client", "clients=2", "clientnumber=1",
        "readproportion=0.5", "updateproportion=0.5").source(0, 1);
    Set<String> seen = new HashSet<>();
    for (int i = 0; i < 200; i++) {
      seen.add(source.next().table());
    }
    assertEquals(Set.of("usertable2", "usertable3"), seen);
  }

  @ParameterizedTest
  @CsvSource({"7, 3, 1", "7, 3, 4", "3, 5, 15", "2, 4, 6", "1, 20, 4"})
  void rangesOfFiveBillionMeet(int clients, int threads, int tables) {
    long count = 5_000_000_000L;
    long reached = 0;
    for (int client = 0; client < clients; client++) {
      Settings settings = settings("recordcount=" + count, "tablecount=" + tables, "clients=" + clients,
          "clientnumber=" + client);
      RecordLayout layout = new RecordLayout(settings);
      Division division = new Division(settings, layout);
      assertEquals(reached, division.edge(0, 11), "where a client begins does not depend on its threads");
      for (int thread = 0; thread < threads; thread++) {
        assertEquals(reached, division.edge(thread, threads));
        reached = division.edge(thread + 1, threads);
        long size = reached - division.edge(thread, threads);
        assertEquals((double) count / clients / threads, size, 2);
        if (clients * threads % tables == 0) {
          assertEquals(layout.tableOf(division.edge(thread, threads)), layout.tableOf(reached - 1), "one table each");
        }
      }
    }
    assertEquals(count, reached);
  }

  @Test
  void aThreadWalksThroughItsRangeInBatchesOfNeighboursOverAndOver() {
    Map<String, Integer> asked = new HashMap<>();
    Set<String> loaded = new HashSet<>();
    for (int client = 0; client < 2; client++) {
      for (int thread = 0; thread < 3; thread++) {
        String[] pairs = {"recordcount=203", "tablecount=2", "clients=2", "clientnumber=" + client, "batchsize=10",
            "threadcount=3", "insertorder=ordered", "requestdistribution=ranges", "readproportion=0.5",
            "updateproportion=0.5", "dotransactions=false"};
        List<Request> load = all(workload(pairs).source(thread, 3));
        pairs[pairs.length - 1] = "dotransactions=true";
        RequestSource run = workload(pairs).source(thread, 3);
        for (int round = 0; round < 2; round++) {
          for (Request written : load) {
            Request next = run.next();
            assertEquals(written.table(), next.table());
            assertEquals(texts(written), texts(next), "the same batches that it loaded");
            texts(next).forEach(key -> asked.merge(key, 1, Integer::sum));
          }
        }
        load.forEach(written -> loaded.addAll(texts(written)));
        assertEquals(1, load.stream().map(Request::table).distinct().count());
      }
    }
    assertEquals(203, loaded.size());
    assertEquals(loaded, asked.keySet());
    assertEquals(Set.of(2), Set.copyOf(asked.values()), "each record once per round, by one thread");
  }

  private static List<Request> all(RequestSource source) {
    return Stream.iterate(source.next(), request -> request != null, request -> source.next()).toList();
  }

  private static List<String> texts(Request request) {
    return request.keys().stream().map(RecordWorkloadTest::text).toList();
  }

  @ParameterizedTest
  @Timeout(60)
  @ValueSource(strings = {"uniform", "zipfian", "latest", "hotspot", "sequential", "exponential", "ranges"})
  void fiveBillionRecordsAreAskedForAtOnce(String distribution) {
    RequestSource source = workload("recordcount=5000000000", "insertorder=ordered", "threadcount=3",
        "hotspotdatafraction=0.6", "hotspotopnfraction=0.5", "requestdistribution=" + distribution, "readproportion=1",
        "updateproportion=0").source(2, 3);
    int beyond = 0;
    for (int i = 0; i < 10_000; i++) {
      long keynum = Long.parseLong(text(source.next().keys().get(0)).substring("user".length()));
      assertTrue(keynum >= 0 && keynum < 5_000_000_000L, keynum + " does not exist");
      // The hot records are the first 3 billion. A sixth of them and all others are above 2.5 billion.
      beyond += keynum >= 2_500_000_000L ? 1 : 0;
    }
    double expected = switch (distribution) {
      case "uniform" -> 0.5;
      case "hotspot" -> 0.5 / 6 + 0.5;
      case "sequential" -> 0;
      case "ranges" -> 1;
      default -> -1;
    };
    if (expected >= 0) {
      assertEquals(expected, beyond / 10_000.0, 0.03);
    } else {
      assertTrue(beyond > 1_000, beyond + " of 10,000");
    }
  }

  @Test
  void readsAndInsertsTakeOneKeyAfterTheOther() {
    RecordWorkload workload = workload("recordcount=100", "insertorder=ordered", "insertproportion=0.8",
        "scanproportion=0.2", "readproportion=0", "updateproportion=0", "requestdistribution=next", "minscanlength=500",
        "maxscanlength=500", "clients=2", "clientnumber=1", "inserted=1000");
    RequestSource source = workload.source(0, 1);
    int scans = 0;
    for (int i = 0; i < 1000; i++) {
      Request next = source.next();
      assertEquals("user" + (101 + 2 * (1000 + i)), text(next.keys().get(0)));
      if (next instanceof Request.Scan scan) {
        assertEquals(500, scan.length());
        scans++;
      }
      source.finished(next, Status.OK);
    }
    assertEquals(200, scans, 50);
    assertEquals(2000, workload.inserted());
    assertEquals(scans, workload.passedOver());
    assertEquals(0, workload.unacknowledgedInserts());
  }

  @Test
  void newRecordsBeyondTwoBillionAreCountedOn() {
    RequestSource source = workload("recordcount=5000000000", "insertorder=ordered", "insertproportion=0.5",
        "readproportion=0.5", "updateproportion=0", "requestdistribution=latest", "clients=7", "clientnumber=6")
        .source(0, 1);
    long expected = 5_000_000_006L;
    for (int i = 0; i < 1_000; i++) {
      Request request = source.next();
      if (request.type() == OperationType.INSERT) {
        assertEquals("user" + expected, text(request.keys().get(0)));
        expected += 7;
      }
      source.finished(request, Status.OK);
    }
  }

  @Test
  void aTimeSeriesGoesOnPartitionByPartition() {
    Set<String> acknowledged = new HashSet<>();
    String[] series = {"keycolumns=series bigint 100, time timestamp", "recordcount=250", "insertorder=ordered",
        "insertproportion=0.8", "readproportion=0.2", "updateproportion=0", "requestdistribution=latest",
        "dotransactions=false", "clients=1"};
    workloadKeys(series).forEach(acknowledged::add);
    assertEquals(250, acknowledged.size());
    // After the load, partition 49 has three points and partition 50 has two.
    assertTrue(acknowledged.contains(point(49, 2)));
    assertTrue(acknowledged.contains(point(50, 1)));
    series[7] = "dotransactions=true";
    RequestSource source = workload(series).source(0, 1);
    ArrayDeque<Request> inFlight = new ArrayDeque<>();
    long written = 250;
    int recent = 0;
    int reads = 0;
    for (int i = 0; i < 20_000; i++) {
      Request next = source.next();
      String key = text(next.keys().get(0));
      if (next.type() == OperationType.INSERT) {
        assertEquals(point(written % 100, written / 100), key, "the next point of the next partition");
        written++;
      } else {
        assertTrue(acknowledged.contains(key), key);
        reads++;
        recent += ByteBuffer.wrap(next.keys().get(0)).getLong(8) - KeyColumns.EPOCH >= written / 100 - 10 ? 1 : 0;
      }
      inFlight.add(next);
      if (inFlight.size() == 50) {
        Request answered = inFlight.remove();
        source.finished(answered, Status.OK);
        acknowledged.add(text(answered.keys().get(0)));
      }
    }
    assertEquals(16_000, written - 250, 230, "four standard deviations of a binomial");
    assertTrue(recent > reads / 2, recent + " of " + reads + " reads requested one of the last 1,000 records");
  }

  private static List<String> workloadKeys(String... pairs) {
    return all(workload(pairs).source(0, 1)).stream().flatMap(request -> texts(request).stream()).toList();
  }

  /** Returns the key of a point, with each byte as a character. */
  private static String point(long series, long time) {
    return text(ByteBuffer.allocate(16).putLong(series).putLong(1_577_836_800_000L + time).array());
  }

  @Test
  void columnsAreMadeByMixedRadixAndLieOneAfterAnother() {
    RecordLayout layout = new RecordLayout(settings("insertorder=ordered", "recordcount=5000000000",
        "keycolumns=host int 10, user bigint 1000, object text(32) 100, when timestamp"));
    ByteBuffer expected = ByteBuffer.allocate(52).putInt(7).putLong(890)
        .put("00000000000000000000000000000056".getBytes(StandardCharsets.US_ASCII)).putLong(1_577_836_801_234L);
    assertArrayEquals(expected.array(), layout.key(1_234_568_907L));
    assertEquals("00000000" + "0000000000000000" + "30".repeat(32) + "0000016f5e66e800",
        HexFormat.of().formatHex(layout.key(0)));
  }

  @Test
  void keysAreUniqueAndInTheOrderOfTheirColumns() {
    KeyColumns columns = KeyColumns.of(settings("keycolumns=(a int 3,b text(2) 100), c timestamp 5, d text(3)"), "key");
    Set<String> keys = new TreeSet<>();
    for (int i = 0; i < 3 * 100 * 5 * 7; i++) {
      assertTrue(keys.add(text(columns.key(i))));
    }
    Iterator<String> inOrder = keys.iterator();
    for (int a = 0; a < 3; a++) {
      for (int b = 0; b < 100; b++) {
        for (int c = 0; c < 5; c++) {
          for (int d = 0; d < 7; d++) {
            assertEquals(text(columns.key(a + 3 * (b + 100 * (c + 5L * d)))), inOrder.next());
          }
        }
      }
    }
    assertThrows(SettingException.class, () -> columns.key(1500 * 1000));
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "when timestamp | must have 2 to 16 columns, not 1",
      "host int 10, host timestamp | the name host occurs twice",
      "Host int 10, when timestamp | 'Host int 10' must be a name",
      "host int, when timestamp | 'host int' must be a name",
      "host int 10, when timestamp 5 | int, bigint, text(N) or timestamp (docs/keys.md)",
      "host text(0) 10, when timestamp | 'host text(0) 10' must be a name",
      "host date 10, when timestamp | 'host date 10' must be a name",
      "host int 0, when timestamp | 'host int 0' must be a name",
      "host int 2147483649, when timestamp | room for 2147483648 values",
      "host text(2) 101, when timestamp | room for 100 values",
      "host text(200) 10, user text(60) 10, when int | a key has 264 bytes; at most 255 are allowed",
      "(host int 10, when timestamp | the parenthesis must be closed before the last column",
      "(host int 10, when timestamp) | 'when timestamp)' must be a name",
      "host int 10), when timestamp | 'host int 10)' must be a name",
      "host int 10, when text(2) | no room for record 1999",
      "host int 10, field0 timestamp | a field is also called field0"})
  void columnsThatCannotBeAreRefusedByName(String columns, String reason) {
    SettingException refused = assertThrows(SettingException.class, () -> new RecordLayout(
        settings("insertorder=ordered", "recordcount=2000", "keycolumns=" + columns)));
    assertTrue(refused.getMessage().startsWith("keycolumns=" + columns + ": "), refused.getMessage());
    assertTrue(refused.getMessage().contains(reason), refused.getMessage());
  }

  @Test
  void columnsNeedTheRecordsNumberAndNoSalt() {
    String columns = "keycolumns=host int 10, when timestamp";
    assertThrows(SettingException.class, () -> new RecordLayout(settings(columns)), "insertorder=hashed");
    assertThrows(SettingException.class, () -> new KeyCodec(settings(columns, "keysalt=crc32")), "keysalt=crc32");
    assertThrows(SettingException.class, () -> new KeyCodec(settings(columns)).encode("user1"), "user1");
    byte[] key = {1, 2, 3};
    assertArrayEquals(key, new KeyCodec(settings(columns)).encode(key));
  }

  @Test
  void popularityIsThatOfYcsbHoweverManyThereAre() {
    for (int n : new int[] {1, 2, 3, 999, 1_000, 1_001, 100_000}) {
      double sum = 0;
      for (int i = n; i >= 1; i--) {
        sum += Math.pow(i, -0.99);
      }
      assertEquals(sum, Zipfian.zeta(n), 1e-11 * sum);
    }
    // YCSB's constant is the sum over 10^10 numbers.
    assertEquals(ScrambledZipfianGenerator.ZETAN, Zipfian.zeta(10_000_000_000L), 1e-8);
    Zipfian ours = new Zipfian(new SplittableRandom());
    ZipfianGenerator stock = new ZipfianGenerator(10_000);
    int[] tops = new int[2];
    for (int i = 0; i < 100_000; i++) {
      tops[0] += ours.next(10_000) < 100 ? 1 : 0;
      tops[1] += stock.nextValue() < 100 ? 1 : 0;
    }
    // Four standard deviations of the difference of two such counts are below 900.
    assertEquals(tops[1], tops[0], 900);
    for (int n = 1; n < 5; n++) {
      Set<Long> seen = new HashSet<>();
      for (int i = 0; i < 10_000; i++) {
        seen.add(ours.next(n));
      }
      assertEquals(n, seen.size(), "all of " + n);
    }
  }

  /** Returns the first draws of a thread: operations, records, fields and values. */
  private static List<String> drawn(int thread, String... pairs) {
    String[] all = Stream.concat(Stream.of("recordcount=1000", "threadcount=3", "clients=2"), Stream.of(pairs))
        .toArray(String[]::new);
    RequestSource source = workload(all).source(thread, 3);
    return Stream.generate(source::next).limit(100).map(each -> String.join(" ", each.type().label(), each.table(),
        "" + texts(each), each instanceof Request.Reading read ? "" + read.readColumns() : "",
        each instanceof Request.Writing write ? write.writeColumns() + Arrays.deepToString(write.values()) : "",
        each instanceof Request.Scan scan ? scan.columns() + " " + scan.length() : "")).toList();
  }

  @ParameterizedTest
  @CsvSource({"uniform, 1, 1", "zipfian, 1, 1", "latest, 1, 1", "hotspot, 1, 1", "sequential, 1, 1",
      "exponential, 1, 1", "ranges, 1, 1", "uniform, 7, 4", "zipfian, 7, 4", "hotspot, 7, 4", "ranges, 7, 4"})
  void theSameSeedDrawsTheSame(String distribution, int batch, int tables) {
    for (String lengths : List.of("uniform", "zipfian")) {
      String[] mix = {"requestdistribution=" + distribution, "batchsize=" + batch, "tablecount=" + tables,
          "readproportion=0.3", "updateproportion=0.3", "scanproportion=" + (batch == 1 ? 0.2 : 0),
          "readmodifywriteproportion=0.2", "readallfields=false", "scanlengthdistribution=" + lengths,
          "fieldlengthdistribution=" + lengths, "seed=42", "clientnumber=0"};
      List<String> expected = drawn(1, mix);
      assertEquals(expected, drawn(1, mix));
      assertNotEquals(expected, drawn(2, mix), "of another thread");
      mix[mix.length - 1] = "clientnumber=1";
      assertNotEquals(expected, drawn(1, mix), "of another client");
      mix[mix.length - 1] = "clientnumber=0";
      mix[mix.length - 2] = "seed=43";
      assertNotEquals(expected, drawn(1, mix), "of the next seed");
      mix[mix.length - 2] = "table=usertable";
      assertNotEquals(drawn(1, mix), drawn(1, mix), "without a seed");
    }
  }

  @Test
  void theNextRunRequestsTheSameRecordsAndWritesOtherValues() {
    String[] update = {"seed=42", "recordcount=1000", "readproportion=0", "updateproportion=1", "verify.run=1"};
    RequestSource first = workload(update).source(0, 1);
    update[4] = "verify.run=2";
    RequestSource second = workload(update).source(0, 1);
    for (int i = 0; i < 1000; i++) {
      Request.Update one = (Request.Update) first.next();
      Request.Update two = (Request.Update) second.next();
      assertArrayEquals(one.keys().get(0), two.keys().get(0));
      assertEquals(one.writeColumns(), two.writeColumns());
      assertFalse(Arrays.equals(one.values()[0][0], two.values()[0][0]), "an update changes the record");
    }
  }

  @Test
  void theLoadAndARunDoNotWriteTheSameValues() {
    String[] load = {"seed=42", "recordcount=1000", "dotransactions=false"};
    Set<String> loaded = new HashSet<>();
    all(workload(load).source(0, 1)).forEach(each -> Stream.of(((Request.Insert) each).values()[0])
        .map(value -> text(value)).forEach(loaded::add));
    RequestSource run = workload("seed=42", "recordcount=1000", "readproportion=0", "updateproportion=1")
        .source(0, 1);
    for (int i = 0; i < 1000; i++) {
      assertTrue(loaded.add(text(((Request.Update) run.next()).values()[0][0])));
    }
  }

  @ParameterizedTest
  @Timeout(60)
  @CsvSource({"9, 6, 1", "10, 4, 2", "7, 7, 1", "11, 3, 3"})
  void noTableIsLeftEmpty(int records, int tables, int batch) {
    for (String distribution : List.of("uniform", "zipfian", "sequential", "ranges")) {
      RequestSource source = workload("recordcount=" + records, "tablecount=" + tables, "batchsize=" + batch,
          "requestdistribution=" + distribution, "insertorder=ordered").source(0, 1);
      Set<String> seen = new HashSet<>();
      for (int i = 0; i < 2_000; i++) {
        Request next = source.next();
        seen.addAll(texts(next));
      }
      assertEquals(records, seen.size(), distribution + " requests all records");
    }
  }

  @ParameterizedTest
  @Timeout(60)
  @CsvSource(delimiter = '|', value = {
      "recordcount=10 tablecount=4 batchsize=3 | batchsize=3: the smallest table has 2 records",
      "recordcount=100 insertcount=5 batchsize=10 | batchsize=10: a batch needs different records, but insertcount=5",
      "recordcount=100 insertstart=100 | insertstart=100: must be a whole number from 0 to 99",
      "recordcount=3 requestdistribution=hotspot | hotspotdatafraction=0.2 of 3 records is none; raise it",
      "recordcount=100 requestdistribution=hotspot hotspotdatafraction=1 | of 100 records is all; lower it",
      "recordcount=100 requestdistribution=hotspot hotspotopnfraction=1 batchsize=50 | draws only 20 records",
      "recordcount=100 requestdistribution=exponential exponential.frac=1e-9 batchsize=2 | draws only 1 record",
      "recordcount=5 requestdistribution=ranges clients=2 threadcount=3 | no record for thread 0 of 3; raise",
      "recordcount=2 requestdistribution=zipfian operationcount=4000000000000000000 insertproportion=1 | few of "
  })
  void whatWouldNeverEndIsRefused(String pairs, String message) {
    SettingException refused = assertThrows(SettingException.class, () -> workload(pairs.split(" ")));
    assertTrue(refused.getMessage().contains(message), refused.getMessage());
  }

  @Test
  void proportionsAreKept() {
    RequestSource source = workload("recordcount=100", "readproportion=0.5", "updateproportion=0.3",
        "insertproportion=0.15", "readmodifywriteproportion=0.05", "operationcount=20000").source(0, 1);
    Map<OperationType, Integer> seen = new EnumMap<>(OperationType.class);
    for (int i = 0; i < 20_000; i++) {
      Request request = source.next();
      seen.merge(request.type(), 1, Integer::sum);
      source.finished(request, Status.OK);
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
    RequestSource source = workload.source(0, 1);
    for (int i = 0; i < 50; i++) {
      Set<String> keys = new HashSet<>();
      source.next().keys().forEach(key -> keys.add(text(key)));
      assertEquals(100, keys.size());
      assertTrue(there.containsAll(keys));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"uniform", "zipfian", "latest", "hotspot", "sequential", "exponential", "ranges"})
  void onlyThePartThatWasLoadedIsRequested(String distribution) {
    RequestSource source = workload("recordcount=1000", "insertstart=300", "insertcount=200", "insertorder=ordered",
        "readproportion=0.5", "updateproportion=0", "insertproportion=0.5", "operationcount=5000", "clients=2",
        "clientnumber=1", "requestdistribution=" + distribution).source(0, 1);
    Set<Long> requested = new HashSet<>();
    long inserted = 1001;
    for (int i = 0; i < 5000; i++) {
      Request request = source.next();
      long keynum = Long.parseLong(text(request.keys().get(0)).substring("user".length()));
      if (request.type() == OperationType.INSERT) {
        assertEquals(inserted, keynum);
        inserted += 2;
        source.finished(request, Status.OK);
      } else {
        boolean isNew = keynum > 1000 && keynum < inserted && keynum % 2 == 1;
        assertTrue(keynum >= 300 && keynum < 500 || isNew, keynum + " was never written");
        requested.add(keynum);
      }
    }
    assertTrue(requested.size() > 90, "half of the part, as a client walks through its range");
  }

  @Test
  void zipfianHasItsHotKey() {
    RequestSource source = workload("recordcount=1000", "readproportion=1", "updateproportion=0",
        "requestdistribution=zipfian").source(0, 1);
    Map<String, Integer> seen = new HashMap<>();
    for (int i = 0; i < 20_000; i++) {
      seen.merge(text(source.next().keys().get(0)), 1, Integer::sum);
    }
    // The first of 10^10 items has a share of 1 / zeta = 3.8 % (ScrambledZipfianGenerator.ZETAN = 26.47).
    assertEquals(20_000 / 26.47, seen.values().stream().mapToInt(Integer::intValue).max().orElseThrow(), 130);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 10})
  void newRecordsOfBatchesMayBePopular(int batch) {
    RequestSource source = workload("recordcount=100", "requestdistribution=zipfian", "readproportion=0.5",
        "updateproportion=0", "insertproportion=0.5", "insertorder=ordered", "operationcount=1000",
        "batchsize=" + batch).source(0, 1);
    long newest = 0;
    for (int i = 0; i < 1000; i++) {
      Request request = source.next();
      if (request.type() == OperationType.READ) {
        for (byte[] key : request.keys()) {
          newest = Math.max(newest, Long.parseLong(text(key).substring("user".length())));
        }
      } else {
        source.finished(request, Outcome.each(Status.OK, batch));
      }
    }
    // About half of the operations insert a batch.
    assertTrue(newest > 100 + 400L * batch, newest + " is the newest record that was read");
  }

  @Test
  void newRecordsAreReadOnlyOnceTheyAreThere() {
    RecordWorkload workload = workload("recordcount=10", "requestdistribution=latest", "readproportion=0.5",
        "updateproportion=0", "insertproportion=0.5", "insertorder=ordered");
    RequestSource source = workload.source(0, 1);
    Set<String> there = new HashSet<>();
    for (int i = 0; i < 10; i++) {
      there.add("user" + i);
    }
    for (int i = 0; i < 2_000; i++) {
      Request request = source.next();
      String key = text(request.keys().get(0));
      if (request.type() == OperationType.READ) {
        assertTrue(there.contains(key), key);
      } else {
        there.add(key);
        source.finished(request, Status.OK);
      }
    }
    assertTrue(there.size() > 800);
  }

  @Test
  void anUpdateWritesOneFieldOrAll() {
    assertEquals(1, update().writeColumns().size());
    assertEquals(10, update("writeallfields=true").writeColumns().size());
    assertEquals(100, update().values()[0][0].length);
  }

  private static Request.Update update(String... more) {
    String[] pairs = Arrays.copyOf(more, more.length + 3);
    pairs[more.length] = "recordcount=10";
    pairs[more.length + 1] = "readproportion=0";
    pairs[more.length + 2] = "updateproportion=1";
    return (Request.Update) workload(pairs).source(0, 1).next();
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
    assertTrue(size >= value.length * expected / 8, "compressible below its entropy: values repeat");
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

  @Test
  void theStockClientMeasuresAReadModifyWriteAsAWhole() throws Exception {
    Properties properties = settings("recordcount=10", "readproportion=0", "updateproportion=0",
        "readmodifywriteproportion=1").properties();
    Measurements.setProperties(properties);
    RecordWorkload workload = new RecordWorkload();
    workload.init(properties);
    Object state = workload.initThread(properties, 0, 1);
    assertTrue(workload.doTransaction(new CapturingDb(), state));
    assertTrue(Measurements.getMeasurements().getSummary().contains("READ-MODIFY-WRITE"));
  }

  /** Captures the records that stock CoreWorkload inserts. */
  private static final class CapturingDb extends BasicDB {
    private String key;
    private Map<String, ByteIterator> values;

    @Override
    public Status read(String table, String givenKey, Set<String> fields, Map<String, ByteIterator> result) {
      return Status.OK;
    }

    @Override
    public Status update(String table, String givenKey, Map<String, ByteIterator> givenValues) {
      return Status.OK;
    }

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
    // A load has no scans.
    assertDoesNotThrow(
        () -> workload("scanproportion=1", "batchsize=10", "recordcount=100", "dotransactions=false"));
    assertThrows(SettingException.class, () -> workload("tablecount=4", "requestdistribution=latest"));
    assertThrows(SettingException.class, () -> workload("tablecount=4", "requestdistribution=next"));
    assertThrows(SettingException.class, () -> workload("dataintegrity=true", "fieldlengthdistribution=uniform"));
    assertThrows(SettingException.class, () -> workload("tables=client", "tablecount=3", "clients=2"));
    assertThrows(SettingException.class, () -> workload("seed=1", "fieldlengthdistribution=histogram"));
  }
}
