package dohyo.scylla;

import com.datastax.driver.core.Cluster;
import com.datastax.driver.core.Statement;
import com.datastax.driver.core.StatementWrapper;
import dohyo.binding.Settings;
import dohyo.binding.Shared;
import dohyo.cassandra.CassandraBinding;
import dohyo.cassandra.SharedSession;
import site.ycsb.DBException;

/**
 * ScyllaDB through prepared CQL statements: the binding for Cassandra, with its properties, over ScyllaDB's own driver.
 * That driver always keeps {@code cassandra.coreconnections} connections per host, but at least one to each of its
 * shards, and sends a statement over one to the shard that owns the key.
 *
 * <p>{@code scylla.shardawareness=true} (default): a connection names its shard when it is opened, through the server's
 * shard-aware port; {@code false} leaves the shard to chance, for networks that change port numbers on
 * the way.
 *
 * <p>{@code scylla.lwtrouting=false} (default): conditional statements ({@code IF …}), which the server marks when they
 * are prepared, find their host as all others do; {@code true} leaves them to the driver, which tries the replicas of a
 * key in one fixed order. What this binding sends today carries no condition.
 */
public final class ScyllaBinding extends CassandraBinding {
  private static final Shared<SharedSession> SESSION = new Shared<>(
      settings -> new SharedSession(settings, driver(settings)));

  private boolean lwtRouting;

  public ScyllaBinding() {
    super(SESSION);
  }

  @Override
  protected void connect(Settings settings) throws DBException {
    lwtRouting = settings.flag("scylla.lwtrouting", false);
    super.connect(settings);
  }

  @Override
  protected Statement routed(Statement statement) {
    return lwtRouting || !statement.isLWT() ? statement : new Plain(statement);
  }

  /** The driver's builder with what only this driver knows. */
  static Cluster.Builder driver(Settings settings) {
    Cluster.Builder driver = Cluster.builder();
    return settings.flag("scylla.shardawareness", true) ? driver : driver.withoutAdvancedShardAwareness();
  }

  /** Hides the server's mark: the driver has no other way to keep a conditional statement with its policy. */
  private static final class Plain extends StatementWrapper {
    Plain(Statement conditional) {
      super(conditional);
    }
  }
}
