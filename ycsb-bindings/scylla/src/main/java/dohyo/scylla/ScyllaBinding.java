package dohyo.scylla;

import com.datastax.driver.core.Cluster;
import dohyo.binding.Settings;
import dohyo.binding.Shared;
import dohyo.cassandra.CassandraBinding;
import dohyo.cassandra.CassandraConnection;

/**
 * Binding for ScyllaDB. It is the binding for Cassandra, with the same properties, but uses ScyllaDB's own driver. That
 * driver keeps {@code cassandra.coreconnections} connections per host, and at least one to each shard. It sends a
 * statement over a connection to the shard that owns the key.
 *
 * <p>With {@code scylla.shardawareness=true} (default) a connection selects its shard through the server's shard-aware
 * port. With {@code false}, for networks that translate port numbers, the shard is random.
 */
public final class ScyllaBinding extends CassandraBinding {
  private static final Shared<CassandraConnection> CONNECTION = new Shared<>(
      settings -> new CassandraConnection(settings, driver(settings)));

  public ScyllaBinding() {
    super(CONNECTION);
  }

  /** Returns the driver's builder with the options that only this driver has. */
  static Cluster.Builder driver(Settings settings) {
    Cluster.Builder driver = Cluster.builder();
    return settings.flag("scylla.shardawareness", true) ? driver : driver.withoutAdvancedShardAwareness();
  }
}
