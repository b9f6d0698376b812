package dohyo.aerospike;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.aerospike.client.AerospikeClient;
import com.aerospike.client.Host;
import com.aerospike.client.Info;
import com.aerospike.client.Key;
import dohyo.binding.Binding;
import dohyo.binding.Columns;
import dohyo.binding.Row;
import dohyo.contract.BindingContract;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import site.ycsb.Status;

/** Runs the contract on a real Aerospike. */
class AerospikeContractIT extends BindingContract {
  /** Name that is too long for a bin. A key may have any length, because only its digest is sent. */
  private static final String LONG_NAME = "sixteen-letters!";

  /** Sets that the tests of any class have made. Only these sets are emptied. */
  private static final Set<String> OWN = ConcurrentHashMap.newKeySet();

  private final AerospikeClient client = new AerospikeClient(null, Host.parseHosts(
      server.properties().getProperty("aerospike.hosts"),
      Integer.parseInt(server.properties().getProperty("aerospike.port"))));
  private final String namespace = server.properties().getProperty("aerospike.namespace");

  @Override
  protected Binding newBinding() {
    return new AerospikeBinding();
  }

  /** Claims a set that has no records, or empties a set that a test of this process has claimed. */
  @Override
  protected void createTable(String name, boolean binaryKeys, List<String> fields) {
    if (OWN.add(name)) {
      assertEquals(0, recordsStored(name), "the set " + name + " has records that are not for the tests to remove");
    } else {
      client.truncate(null, namespace, name, null);
    }
  }

  @Override
  protected boolean knowsItsTables() {
    return false;
  }

  /** Returns false, because keys are in the order of their digests. */
  @Override
  protected boolean ordersKeys() {
    return false;
  }

  @Override
  protected Row refused() {
    return new Row(TABLE, "refused".getBytes(), Columns.of(List.of(LONG_NAME)), new byte[][] {{1}});
  }

  @Override
  protected long readsServed(String table) {
    return sum("namespace/" + namespace, ";", "(client|batch_sub)_read_(success|not_found|error|timeout)");
  }

  /** Returns the number of records of a table on the server. */
  final long recordsStored(String table) {
    return sum("sets/" + namespace + "/" + table, ":", "objects");
  }

  final long writesServed() {
    return sum("namespace/" + namespace, ";", "(client|batch_sub)_write_(success|error|timeout)");
  }

  private long sum(String command, String separator, String names) {
    return Arrays.stream(Info.request(client.getNodes()[0], command).split(separator))
        .map(pair -> pair.strip().split("=", 2)).filter(pair -> pair[0].matches(names))
        .mapToLong(pair -> Long.parseLong(pair[1].strip())).sum();
  }

  /** Checks which bins remain. A write of all fields must replace the record, so that the server need not read it. */
  @Test
  protected void aWriteOfAllFieldsReplacesTheRecordAndAnyOtherKeepsTheRest() {
    Columns three = Columns.of(List.of("field0", "field1", "field2"));
    Columns two = Columns.of(List.of("field0", "field1"));
    Columns one = Columns.of(List.of("field1"));
    Binding db = open(Map.of("fieldcount", "2"));
    Map<Columns, Set<String>> left = Map.of(two, Set.copyOf(two.names()), one, Set.copyOf(three.names()));
    Map<String, Function<Row, Status>> writes = Map.of(
        "insert", row -> db.insertRow(row).join(),
        "update", row -> db.updateRow(row).exceptionally(db::failed).join(),
        "insert-batch", row -> db.insertRows(List.of(row)).join()[0],
        "update-batch", row -> db.updateRows(List.of(row)).join()[0]);
    writes.forEach((name, write) -> left.forEach((columns, bins) -> {
      assertEquals(Status.OK, db.insertRow(row(name, three)).join());
      assertEquals(Status.OK, write.apply(row(name, columns)), name);
      assertEquals(bins, client.get(null, new Key(namespace, TABLE, name.getBytes())).bins.keySet(), name + columns);
    }));
    for (String update : List.of("update", "update-batch")) {
      assertEquals(Status.NOT_FOUND, writes.get(update).apply(row("nothing", two)), update);
    }
  }

  private static Row row(String key, Columns columns) {
    return new Row(TABLE, key.getBytes(), columns,
        columns.names().stream().map(String::getBytes).toArray(byte[][]::new));
  }

  @Override
  protected List<Mode> modes() {
    return List.of(new Mode("batch", Map.of(), false));
  }

  @Override
  protected Map.Entry<Map<String, String>, String> nowhere() {
    return Map.entry(Map.of("aerospike.hosts", "127.0.0.1", "aerospike.port", "1"), "127.0.0.1 port 1");
  }

  @AfterAll
  void closeClient() {
    client.close();
  }
}
