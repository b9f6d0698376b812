package dohyo.cassandra;

import com.datastax.driver.core.BoundStatement;
import com.datastax.driver.core.Cluster;
import com.datastax.driver.core.ConsistencyLevel;
import com.datastax.driver.core.HostDistance;
import com.datastax.driver.core.PoolingOptions;
import com.datastax.driver.core.ProtocolVersion;
import com.datastax.driver.core.Session;
import com.datastax.driver.core.SimpleStatement;
import com.datastax.driver.core.SocketOptions;
import com.datastax.driver.core.Statement;
import com.datastax.driver.core.exceptions.DriverException;
import com.datastax.driver.core.policies.ConstantReconnectionPolicy;
import com.datastax.driver.core.policies.DCAwareRoundRobinPolicy;
import com.datastax.driver.core.policies.LoadBalancingPolicy;
import com.datastax.driver.core.policies.TokenAwarePolicy;
import dohyo.binding.Binding;
import dohyo.binding.KeyColumns;
import dohyo.binding.Settings;
import dohyo.binding.SettingException;
import dohyo.binding.Shared;
import dohyo.binding.Transport;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import site.ycsb.DBException;

/** The connection that all logical clients of this process share, and its statements. */
public final class CassandraConnection implements Shared.Connection, Transport {
  /**
   * Maximum that protocol v4 allows: its stream ids have 15 bits. With the driver's default, 1024, requests might wait.
   */
  private static final int REQUESTS_PER_CONNECTION = 32768;
  private static final long RECONNECT_MILLIS = 1000;

  /** A statement whose variables have no values yet. */
  interface Template {
    /**
     * Creates a request.
     *
     * @param values values of the statement's variables, in order
     */
    Statement with(ByteBuffer... values);
  }

  private final int eventLoops;
  private final LimitedRetries retries;

  private final Cluster cluster;
  private final Session session;
  private final ConsistencyLevel reads;
  private final ConsistencyLevel writes;
  private final KeyColumns key;
  private final boolean prepares;
  private final ConcurrentMap<Query, CompletableFuture<Template>> templates = new ConcurrentHashMap<>();

  /**
   * Connects to the cluster.
   *
   * @param settings the client's properties
   * @param driver   builder with the options that only this product's driver has
   * @throws DBException      if the server cannot be reached, or the keyspace does not exist
   * @throws SettingException if a property has an invalid value
   */
  public CassandraConnection(Settings settings, Cluster.Builder driver) throws DBException {
    key = KeyColumns.of(settings, Query.KEY);
    reads = consistency(settings, "cassandra.readconsistencylevel");
    writes = consistency(settings, "cassandra.writeconsistencylevel");
    prepares = settings.choice("cassandra.statements", "prepared", "text").equals("prepared");
    String hosts = settings.text("hosts", "");
    if (hosts.isEmpty()) {
      throw new SettingException("hosts: no value; name the contact points, as in hosts=10.0.0.1,10.0.0.2");
    }
    int port = settings.number("port", 9042, 1, 65535);
    String keyspace = settings.text("cassandra.keyspace", "ycsb");
    eventLoops = Transport.eventLoops(settings, "cassandra.eventloops");
    retries = new LimitedRetries(Binding.retries(settings));
    cluster = cluster(settings, driver, hosts.split("\\s*,\\s*"), port);
    try {
      session = cluster.connect(Query.quoted(keyspace));
    } catch (DriverException | IllegalArgumentException e) {
      cluster.close();
      throw new DBException("cannot open keyspace " + keyspace + " at " + hosts + " port " + port + ": "
          + Access.reason(e) + "; check server and address", e);
    }
  }

  @Override
  public void close() {
    cluster.close();
  }

  @Override
  public int connections() {
    Session.State state = session.getState();
    return state.getConnectedHosts().stream().mapToInt(state::getOpenConnections).sum();
  }

  @Override
  public int eventLoops() {
    return eventLoops;
  }

  @Override
  public long retries() {
    return retries.count();
  }

  Session session() {
    return session;
  }

  /**
   * Returns the statement for a verb, table and columns. Never blocks, because the driver's thread calls this method
   * for a write that follows a read. If the preparation failed, the next call repeats it.
   */
  CompletableFuture<Template> template(Query query) {
    CompletableFuture<Template> known = templates.get(query);
    return known != null && !known.isCompletedExceptionally() ? known : templates.compute(query,
        (q, old) -> old != null && !old.isCompletedExceptionally() ? old : template(q, q.cql(key)));
  }

  private CompletableFuture<Template> template(Query query, String cql) {
    ConsistencyLevel level = query.verb().reads() ? reads : writes;
    if (!prepares) {
      return CompletableFuture.completedFuture(values ->
          new SimpleStatement(cql, (Object[]) values).setConsistencyLevel(level).setIdempotent(true));
    }
    return Answers.of(session.prepareAsync(cql), statement -> {
      statement.setConsistencyLevel(level).setIdempotent(true);
      return values -> {
        BoundStatement bound = statement.bind();
        for (int i = 0; i < values.length; i++) {
          bound.setBytesUnsafe(i, values[i]);
        }
        return bound;
      };
    });
  }

  private Cluster cluster(Settings settings, Cluster.Builder driver, String[] hosts, int port)
      throws DBException {
    // Each attempt gets an equal share of the operation's timeout.
    int answerMillis = (int) Math.max(1, Binding.operationTimeout(settings) / (Binding.retries(settings) + 1));
    PoolingOptions pooling = new PoolingOptions()
        .setMaxRequestsPerConnection(HostDistance.LOCAL, REQUESTS_PER_CONNECTION);
    // A connection belongs to one event loop, so with fewer connections some loops would be idle.
    int core = settings.number("cassandra.coreconnections",
        Transport.connectionsPerServer(eventLoops, hosts.length), 1, 1024);
    pooling.setConnectionsPerHost(HostDistance.LOCAL, core,
        settings.number("cassandra.maxconnections", core, core, 1024));
    SocketOptions sockets = new SocketOptions()
        .setConnectTimeoutMillis(settings.number("cassandra.connecttimeoutmillis", 5000, 1, 3_600_000))
        .setReadTimeoutMillis(settings.number("cassandra.readtimeoutmillis", answerMillis, 1, 3_600_000));
    driver.withPort(port)
        .withProtocolVersion(ProtocolVersion.V4)
        .withLoadBalancingPolicy(routing(settings))
        .withRetryPolicy(retries)
        .withReconnectionPolicy(new ConstantReconnectionPolicy(RECONNECT_MILLIS))
        .withPoolingOptions(pooling)
        .withSocketOptions(sockets)
        .withNettyOptions(new EventLoops(eventLoops))
        .withoutJMXReporting();
    Access.configure(settings, driver);
    try {
      return driver.addContactPoints(hosts).build();
    } catch (IllegalArgumentException e) {
      throw new DBException("hosts=" + String.join(",", hosts) + ": " + e.getMessage()
          + "; give names or addresses that this machine can resolve", e);
    }
  }

  /** Returns the policy that chooses the node for a request: a replica of its record, or all nodes in turn. */
  public static LoadBalancingPolicy routing(Settings settings) {
    DCAwareRoundRobinPolicy.Builder ring = DCAwareRoundRobinPolicy.builder();
    if (settings.has("cassandra.localdc")) {
      ring.withLocalDc(settings.text("cassandra.localdc", ""));
    }
    return settings.flag("cassandra.tokenaware", true) ? new TokenAwarePolicy(ring.build()) : ring.build();
  }

  private static ConsistencyLevel consistency(Settings settings, String key) {
    String[] levels = Arrays.stream(ConsistencyLevel.values()).filter(level -> !level.isSerial())
        .map(Enum::name).toArray(String[]::new);
    String chosen = settings.has(key) ? settings.choice(key, levels) : "QUORUM";
    return ConsistencyLevel.valueOf(chosen);
  }
}
