package dohyo.hbase;

import dohyo.binding.Binding;
import dohyo.binding.Settings;
import dohyo.binding.Shared;
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
import site.ycsb.DBException;

/** The one connection of this process, with its tables. */
final class SharedConnection implements Shared.Connection {
  /** Waits grow from one to the next: these last over a minute, so that time ends them and not their number. */
  private static final String RETRIES = "15";

  private final AsyncConnection connection;
  private final ConcurrentMap<String, AsyncTable<AdvancedScanResultConsumer>> tables = new ConcurrentHashMap<>();

  SharedConnection(Settings settings) throws DBException {
    long millis = Binding.operationTimeout(settings);
    Configuration configuration = configuration(settings, millis);
    CompletableFuture<AsyncConnection> opening = ConnectionFactory.createAsyncConnection(configuration);
    try {
      connection = opening.get(millis, TimeUnit.MILLISECONDS);
    } catch (ExecutionException | TimeoutException e) {
      opening.thenAccept(SharedConnection::close);
      throw new DBException("cannot reach HBase through ZooKeeper at " + configuration.get(HConstants.ZOOKEEPER_QUORUM)
          + " port " + configuration.get(HConstants.ZOOKEEPER_CLIENT_PORT) + ": "
          + (e.getCause() == null ? "no answer within " + millis + " ms" : e.getCause().getMessage())
          + "; check that the server is up, and that hbase.zookeeper.quorum and"
          + " hbase.zookeeper.property.clientPort name it", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new DBException("interrupted while connecting to HBase", e);
    }
  }

  @Override
  public void close() {
    close(connection);
  }

  /** A table, whose callbacks run on the network threads: no thread hop per record. */
  AsyncTable<AdvancedScanResultConsumer> table(String name) {
    return tables.computeIfAbsent(name, table -> connection.getTable(TableName.valueOf(table)));
  }

  private static void close(AsyncConnection connection) {
    try {
      connection.close();
    } catch (IOException e) {
      // The process is about to end or the server is gone: there is nothing left to save.
    }
  }

  static Configuration configuration(Settings settings, long millis) {
    Configuration configuration = HBaseConfiguration.create();
    String bound = Long.toString(millis);
    // Whatever happens to the server, an operation is answered in time: a value or an error.
    configuration.set(HConstants.HBASE_CLIENT_OPERATION_TIMEOUT, bound);
    configuration.set(HConstants.HBASE_CLIENT_META_OPERATION_TIMEOUT, bound);
    configuration.set(HConstants.HBASE_RPC_TIMEOUT_KEY, bound);
    configuration.set(HConstants.HBASE_CLIENT_SCANNER_TIMEOUT_PERIOD, bound);
    configuration.set(HConstants.HBASE_CLIENT_RETRIES_NUMBER, RETRIES);
    configuration.set(HConstants.ZK_SESSION_TIMEOUT, bound);
    configuration.set("zookeeper.registry.async.get.timeout", bound);
    for (String key : settings.properties().stringPropertyNames()) {
      if (key.startsWith("hbase.") || key.startsWith("zookeeper.")) {
        configuration.set(key, settings.text(key, ""));
      }
    }
    return configuration;
  }
}
