package dohyo.cassandra.admin;

import com.datastax.driver.core.Cluster;
import com.datastax.driver.core.KeyspaceMetadata;
import com.datastax.driver.core.Session;
import dohyo.admin.Attached;
import dohyo.contract.AttachedContract;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;

class AttachedCqlIT extends AttachedContract {
  private final Session theirs = Cluster.builder()
      .addContactPoints(server.properties().getProperty("hosts").split(","))
      .withPort(Integer.parseInt(server.properties().getProperty("port"))).withoutJMXReporting().build().connect();

  @Override
  protected Attached.Opening opening() {
    return AttachedCql::new;
  }

  @Override
  protected Map<String, String> words() {
    return Map.of("host", server.properties().getProperty("hosts"), "port", server.properties().getProperty("port"),
        "strategy", "SimpleStrategy", "keytype", "text", "columntype", "blob",
        "compaction", "SizeTieredCompactionStrategy");
  }

  @Override
  protected void intrude() {
    theirs.execute("CREATE TYPE " + place + ".theirs (a int)");
  }

  @Override
  protected void withdraw() {
    theirs.execute("DROP TYPE " + place + ".theirs");
  }

  @Override
  protected List<String> others() {
    return theirs.getCluster().getMetadata().getKeyspaces().stream().map(KeyspaceMetadata::exportAsString).sorted()
        .toList();
  }

  @AfterEach
  void close() {
    theirs.getCluster().close();
  }
}
