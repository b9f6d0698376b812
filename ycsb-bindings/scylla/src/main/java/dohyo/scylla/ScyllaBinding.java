package dohyo.scylla;

import com.datastax.driver.core.Cluster;
import dohyo.binding.Settings;
import dohyo.binding.Shared;
import dohyo.cassandra.CassandraBinding;
import dohyo.cassandra.CassandraConnection;

/**
 * ScyllaDB through prepared CQL statements: the binding for Cassandra, with its properties, over ScyllaDB's own driver.
 * That driver always keeps {@code cassandra.coreconnections} connections per host, but at least one to each of its
 * shards, and sends a statement over one to the shard that owns the key.
 *
 * <p>{@code scylla.shardawareness=true} (default): a connection names its shard when it is opened, through the server's
 * shard-aware port; {@code false} leaves the shard to chance, for networks that change port numbers on
 * the way.
 */
public final class ScyllaBinding extends CassandraBinding {
  private static final Shared<CassandraConnection> CONNECTION = new Shared<>(
      settings -> new CassandraConnection(settings, driver(settings)));

  public ScyllaBinding() {
    super(CONNECTION);
  }

  /** The driver's builder with what only this driver knows. */
  static Cluster.Builder driver(Settings settings) {
    Cluster.Builder driver = Cluster.builder();
    return settings.flag("scylla.shardawareness", true) ? driver : driver.withoutAdvancedShardAwareness();
  }
}
