package dohyo.scylla;

import static java.util.Map.entry;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.datastax.driver.core.Cluster;
import com.datastax.driver.core.ShardingInfo;
import dohyo.binding.Binding;
import dohyo.binding.Settings;
import dohyo.cassandra.CassandraContractIT;
import dohyo.cassandra.admin.CqlAdmin;
import java.io.IOException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Runs the contract with ScyllaDB's driver on a real ScyllaDB, or on a real Cassandra: the driver supports both. */
class ScyllaContractIT extends CassandraContractIT {
  @Override
  protected Binding newBinding() {
    return new ScyllaBinding();
  }

  /** Returns the requested number, rounded up to a multiple of the number of shards. */
  @Override
  protected int connections(int wanted) {
    ShardingInfo shards = admin.getCluster().getMetadata().getAllHosts().iterator().next().getShardingInfo();
    return shards == null ? wanted : -Math.floorDiv(-wanted, shards.getShardsCount()) * shards.getShardsCount();
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
      cql.createTables();
      Map<String, Object> conditions = cql.conditions();
      assertEquals(1, conditions.get("replication"));
      assertEquals(compression, conditions.get("compression"));
      // Without a compaction strategy, the tables have the server's default.
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
