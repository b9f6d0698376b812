package dohyo.hbase;

import dohyo.binding.Binding;
import dohyo.binding.Settings;
import dohyo.binding.Shared;
import dohyo.binding.Transport;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.AdvancedScanResultConsumer;
import org.apache.hadoop.hbase.client.AsyncConnection;
import org.apache.hadoop.hbase.client.AsyncTable;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.ipc.NettyRpcClientConfigHelper;
import org.apache.hbase.thirdparty.io.netty.channel.SingleThreadEventLoop;
import org.apache.hbase.thirdparty.io.netty.channel.nio.NioEventLoopGroup;
import org.apache.hbase.thirdparty.io.netty.channel.socket.nio.NioSocketChannel;
import org.apache.hbase.thirdparty.io.netty.util.concurrent.DefaultThreadFactory;
import org.apache.hbase.thirdparty.io.netty.util.concurrent.EventExecutor;
import site.ycsb.DBException;

/** The connection that all logical clients of this process share, and its tables. */
public final class HBaseConnection implements Shared.Connection, Transport {
  /** Maximum number of attempts to connect. The pauses grow, so the timeout is normally reached first. */
  private static final String RETRIES = "15";
  private static final int CLOSE_SECONDS = 15;
  private static final String EVENT_LOOPS = NettyRpcClientConfigHelper.HBASE_NETTY_EVENTLOOP_RPCCLIENT_THREADCOUNT_KEY;

  private final NioEventLoopGroup eventLoops;
  private final Retries retries;
  private final AsyncConnection connection;
  private final ConcurrentMap<String, AsyncTable<AdvancedScanResultConsumer>> tables = new ConcurrentHashMap<>();

  HBaseConnection(Settings settings) throws DBException {
    long millis = Binding.operationTimeout(settings);
    Configuration configuration = configuration(settings, millis);
    int loops = Transport.eventLoops(settings, EVENT_LOOPS);
    retries = new Retries(settings, configuration);
    eventLoops = new NioEventLoopGroup(loops, new DefaultThreadFactory("hbase-event-loop", true));
    NettyRpcClientConfigHelper.setEventLoopConfig(configuration, eventLoops, NioSocketChannel.class);
    try {
      if (!settings.has(HConstants.HBASE_CLIENT_IPC_POOL_SIZE)) {
        // A channel belongs to one event loop, so with fewer channels some loops would be idle.
        configuration.setInt(HConstants.HBASE_CLIENT_IPC_POOL_SIZE,
            Transport.connectionsPerServer(loops, regionServers(configuration, millis)));
      }
      // Let the driver send each operation only once, because the class Retries repeats it. After a failure, the driver
      // still drops the location of a moved region from its cache.
      configuration.setInt(HConstants.HBASE_CLIENT_RETRIES_NUMBER, 0);
      connection = connect(configuration, millis);
    } catch (DBException e) {
      eventLoops.shutdownGracefully();
      throw e;
    }
  }

  /**
   * Checks that the servers answer.
   *
   * @param settings the binding's properties
   * @param millis   timeout in milliseconds
   * @throws DBException if there is no answer in time; the message contains ZooKeeper's address
   */
  public static void reach(Settings settings, long millis) throws DBException {
    regionServers(configuration(settings, millis), millis);
  }

  /**
   * Returns the number of region servers. Uses a separate connection, because the driver fixes the number of channels
   * when it connects.
   */
  private static int regionServers(Configuration configuration, long millis) throws DBException {
    AsyncConnection connection = connect(configuration, millis);
    try {
      return Math.max(1, of(connection.getAdmin().getRegionServers(), configuration, millis).size());
    } finally {
      close(connection);
    }
  }

  private static AsyncConnection connect(Configuration configuration, long millis) throws DBException {
    CompletableFuture<AsyncConnection> opening = ConnectionFactory.createAsyncConnection(configuration);
    try {
      return of(opening, configuration, millis);
    } catch (DBException e) {
      opening.thenAccept(HBaseConnection::close);
      throw e;
    }
  }

  private static <T> T of(CompletableFuture<T> answer, Configuration configuration, long millis) throws DBException {
    try {
      return answer.get(millis, TimeUnit.MILLISECONDS);
    } catch (ExecutionException | TimeoutException e) {
      throw new DBException("cannot reach HBase by ZooKeeper " + configuration.get(HConstants.ZOOKEEPER_QUORUM)
          + " port " + configuration.get(HConstants.ZOOKEEPER_CLIENT_PORT) + ": "
          + (e.getCause() == null ? "no answer within " + millis + " ms" : e.getCause().getMessage())
          + "; check server and address", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new DBException("interrupted while connecting to HBase", e);
    }
  }

  @Override
  public void close() {
    close(connection);
    eventLoops.shutdownGracefully(0, CLOSE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
  }

  @Override
  public int connections() {
    int channels = 0;
    for (EventExecutor loop : eventLoops) {
      channels += ((SingleThreadEventLoop) loop).registeredChannels();
    }
    return channels;
  }

  @Override
  public int eventLoops() {
    return eventLoops.executorCount();
  }

  @Override
  public long retries() {
    return retries.count();
  }

  Retries requests() {
    return retries;
  }

  /** Returns a table. Its callbacks run on the network threads, which saves a thread switch per record. */
  AsyncTable<AdvancedScanResultConsumer> table(String name) {
    return tables.computeIfAbsent(name, table -> connection.getTable(TableName.valueOf(table)));
  }

  private static void close(AsyncConnection connection) {
    try {
      connection.close();
    } catch (IOException e) {
      // Ignore the failure, because the process is about to end, or the server is gone.
    }
  }

  /**
   * Returns the driver's configuration.
   *
   * @param settings the binding's properties; {@code hbase.…} and {@code zookeeper.…} override this method's defaults
   * @param millis   timeout of one operation in milliseconds; each attempt gets an equal share of it
   * @throws dohyo.binding.SettingException if a property has an invalid value
   */
  public static Configuration configuration(Settings settings, long millis) {
    Configuration configuration = HBaseConfiguration.create();
    String bound = Long.toString(millis);
    // Every operation must end in time, with a value or an error. Each attempt gets an equal share of that time.
    String tryMillis = Long.toString(Math.max(1, millis / (Binding.retries(settings) + 1)));
    configuration.set(HConstants.HBASE_CLIENT_OPERATION_TIMEOUT, tryMillis);
    configuration.set(HConstants.HBASE_CLIENT_META_OPERATION_TIMEOUT, tryMillis);
    configuration.set(HConstants.HBASE_RPC_TIMEOUT_KEY, tryMillis);
    configuration.set(HConstants.HBASE_CLIENT_SCANNER_TIMEOUT_PERIOD, tryMillis);
    configuration.set(HConstants.HBASE_CLIENT_RETRIES_NUMBER, RETRIES);
    configuration.set(HConstants.ZK_SESSION_TIMEOUT, bound);
    configuration.set("zookeeper.registry.async.get.timeout", bound);
    for (String key : settings.properties().stringPropertyNames()) {
      if (key.startsWith("hbase.") || key.startsWith("zookeeper.")) {
        configuration.set(key, settings.text(key, ""));
      }
    }
    Kerberos.configure(settings, configuration);
    return configuration;
  }
}
