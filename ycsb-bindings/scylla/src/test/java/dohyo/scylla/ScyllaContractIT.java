package dohyo.scylla;

import static java.util.Map.entry;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.datastax.driver.core.Cluster;
import com.datastax.driver.core.ShardingInfo;
import dohyo.binding.Binding;
import dohyo.binding.Columns;
import dohyo.binding.Row;
import dohyo.binding.Settings;
import dohyo.cassandra.CassandraContractIT;
import dohyo.cassandra.admin.CqlAdmin;
import dohyo.scylla.admin.ScyllaAdmin;
import dohyo.scylla.admin.WebPages;
import java.io.IOException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Runs the contract with ScyllaDB's driver, on a real ScyllaDB or on a real Cassandra, which it supports, too. */
class ScyllaContractIT extends CassandraContractIT {
  /** Address of the REST interface; empty for a Cassandra. */
  private final String api = server.properties().getProperty("server.api", "");

  @Override
  protected Binding newBinding() {
    return new ScyllaBinding();
  }

  @Override
  protected long readsServed(String table) throws Exception {
    return api.isEmpty() ? super.readsServed(table)
        : Long.parseLong(new WebPages(api).get("/column_family/metrics/read/" + keyspace + ":" + table).strip());
  }

  /** Returns the number rounded up to the same number of connections for each shard. */
  @Override
  protected int connections(int wanted) {
    ShardingInfo shards = admin.getCluster().getMetadata().getAllHosts().iterator().next().getShardingInfo();
    return shards == null ? wanted : -Math.floorDiv(-wanted, shards.getShardsCount()) * shards.getShardsCount();
  }

  /**
   * An empty key is an invalid request. A key that is too large is an error of ScyllaDB, on which the driver closes the
   * connection with all that is in flight.
   */
  @Override
  protected Row refused() {
    return new Row(TABLE, new byte[0], Columns.of(List.of("field1")), new byte[][] {{1}});
  }

  @ParameterizedTest
  @CsvSource({"none, '', LeveledCompactionStrategy", "lz4, '', ''",
      "none, 'host int 2, object text(4) 3, when timestamp', ''"})
  void administration(String compression, String keyColumns, String compaction) throws IOException {
    Settings arguments = new Settings(server.with(Map.ofEntries(
        entry("host", server.properties().getProperty("hosts")), entry("keycolumns", keyColumns),
        entry("trial", "contract"), entry("keyspace", "admin_" + compression + keyColumns.length()),
        entry("tables", "usertable0,usertable1"), entry("strategy", "NetworkTopologyStrategy"),
        entry("replication", "1"), entry("fieldcount", "2"), entry("keytype", "text"), entry("columntype", "blob"),
        entry("compression", compression), entry("compaction", compaction),
        entry("write_acks", "all"), entry("read_acks", "one"), entry("recordcount", "1"), entry("countlimit", "1"))));
    try (CqlAdmin cql = new CqlAdmin(arguments)) {
      cql.createTables(compression());
      Map<String, Object> conditions = cql.conditions();
      assertEquals(1, conditions.get("replication"));
      assertEquals(compression, conditions.get("compression"));
      // Without a strategy the tables have the server's default.
      assertTrue(cql.compaction().matches((compaction.isEmpty() ? "\\w+" : compaction)), cql.compaction());
      assertEquals(Map.of("usertable0", 0L, "usertable1", 0L), cql.countRows());
      if (!api.isEmpty()) {
        // The version is ScyllaDB's own, with the date and the commit of the build. Tablets came with 6.0.
        String version = conditions.get("version").toString();
        assertTrue(version.matches("\\d+\\.\\d+\\.\\d+.*-.*\\.[0-9a-f]{8,}"), version);
        assertTrue(!cql.hasTablets() || !version.startsWith("5."), version);
      }
    }
  }

  @Override
  protected UnaryOperator<String> compression() {
    return api.isEmpty() ? super.compression() : ScyllaAdmin::compression;
  }

  @Test
  void noOtherDriverIsThere() throws IOException {
    List<URL> drivers = Collections.list(getClass().getClassLoader().getResources(
        Cluster.class.getName().replace('.', '/') + ".class"));
    assertEquals(1, drivers.size(), drivers.toString());
    assertTrue(drivers.get(0).getPath().contains("/scylla-driver-core-"), drivers.toString());
    try (Stream<Path> jars = Files.list(Path.of(System.getProperty("dohyo.bundle")))) {
      List<String> names = jars.map(jar -> jar.getFileName().toString())
          .filter(name -> name.contains("-driver-")).toList();
      assertEquals(1, names.size(), names.toString());
      assertTrue(names.get(0).startsWith("scylla-driver-core-"), names.toString());
    }
  }
}
