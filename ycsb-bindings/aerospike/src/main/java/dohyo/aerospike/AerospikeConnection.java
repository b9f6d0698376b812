package dohyo.aerospike;

import com.aerospike.client.AerospikeClient;
import com.aerospike.client.AerospikeException;
import com.aerospike.client.BatchRecord;
import com.aerospike.client.Bin;
import com.aerospike.client.Info;
import com.aerospike.client.Key;
import com.aerospike.client.Record;
import com.aerospike.client.ResultCode;
import com.aerospike.client.async.EventLoopType;
import com.aerospike.client.async.EventLoops;
import com.aerospike.client.async.EventPolicy;
import com.aerospike.client.async.NettyEventLoops;
import com.aerospike.client.async.NioEventLoops;
import com.aerospike.client.cluster.ConnectionStats;
import com.aerospike.client.cluster.NodeStats;
import com.aerospike.client.listener.BatchOperateListListener;
import com.aerospike.client.listener.DeleteListener;
import com.aerospike.client.listener.RecordListener;
import com.aerospike.client.listener.RecordSequenceListener;
import com.aerospike.client.listener.WriteListener;
import com.aerospike.client.policy.BatchPolicy;
import com.aerospike.client.policy.ClientPolicy;
import com.aerospike.client.policy.CommitLevel;
import com.aerospike.client.policy.Policy;
import com.aerospike.client.policy.QueryDuration;
import com.aerospike.client.policy.QueryPolicy;
import com.aerospike.client.policy.ReadModeAP;
import com.aerospike.client.policy.ReadModeSC;
import com.aerospike.client.policy.RecordExistsAction;
import com.aerospike.client.policy.WritePolicy;
import com.aerospike.client.query.KeyRecord;
import com.aerospike.client.query.PartitionFilter;
import com.aerospike.client.query.Statement;
import dohyo.binding.Binding;
import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import dohyo.binding.Shared;
import dohyo.binding.Transport;
import io.netty.channel.nio.NioEventLoopGroup;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BiConsumer;
import java.util.function.Function;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * Connection of this process: Aerospike's client with the commands that the layouts need. Each command is answered
 * within {@code operationtimeout}, or fails with an {@link AerospikeException}.
 *
 * <p>If a logical client has its own thread and one operation in flight, this thread waits for the server. An event
 * loop would halve the rate. All other commands use the event loops.
 */
final class AerospikeConnection implements Shared.Connection, Transport {
  /** Maximum number of records in a query that is declared to the server as a short query. */
  private static final int SHORT_QUERY = 100;
  /** Number of connections per event loop and node. It is high, because a connection has only one command in flight. */
  private static final int CONNECTIONS_PER_LOOP = 16;
  private static final int MIN_CONNECTIONS = 128;
  /** Number of commands that the driver requires of an event loop (EventLoopBase). Each has a connection. */
  private static final int MIN_COMMANDS = 5;

  private final boolean waits;
  private final long millis;
  private final CommitLevel commitLevel;
  private final Policy reads = new Policy();
  private final WritePolicy writes = new WritePolicy();
  private final BatchPolicy batchReads;
  private final BatchPolicy batchWrites;
  private final EventLoops loops;
  private final AerospikeClient client;
  private final LongAdder conflicts = new LongAdder();

  AerospikeConnection(Settings settings) throws DBException {
    waits = settings.number("inflight", 1, 1, Integer.MAX_VALUE) == 1
        && settings.choice("client.loop", "threads", "events").equals("threads");
    millis = Binding.operationTimeout(settings);
    commitLevel = CommitLevel.valueOf("COMMIT_" + settings.choice("aerospike.commitlevel", "ALL", "MASTER"));
    reads.readModeAP = ReadModeAP.valueOf(settings.choice("aerospike.readmode", "ONE", "ALL"));
    reads.readModeSC = ReadModeSC.valueOf(settings.choice("aerospike.screadmode", "SESSION", "LINEARIZE"));
    timeouts(reads, settings);
    timeouts(writes, settings);
    batchReads = new BatchPolicy(reads);
    batchWrites = new BatchPolicy(writes);
    boolean inline = settings.flag("aerospike.inline", false);
    batchReads.allowInlineSSD = inline;
    batchWrites.allowInlineSSD = inline;
    int threads = Transport.eventLoops(settings, "aerospike.eventloops");
    int connections = settings.number("aerospike.maxconnections",
        Math.max(MIN_CONNECTIONS, threads * CONNECTIONS_PER_LOOP), threads * MIN_COMMANDS, 100_000);
    Access access = new Access(settings);
    loops = loops(threads, connections, access.isEncrypted());
    client = connect(settings, connections, access);
    if (reads.readModeSC == ReadModeSC.LINEARIZE && !isStrong(settings.text("aerospike.namespace", "ycsb"))) {
      // A server of the Community Edition rejects linearizable reads.
      reads.readModeSC = ReadModeSC.SESSION;
      batchReads.readModeSC = ReadModeSC.SESSION;
    }
  }

  private boolean isStrong(String namespace) {
    return client.getNodes().length > 0 && Info.request(client.getInfoPolicyDefault(), client.getNodes()[0],
        "get-config:context=namespace;id=" + namespace + ";namespace=" + namespace).contains("strong-consistency=true");
  }

  /** Sets the timeouts of a policy. Each attempt gets an equal share of the operation's timeout. */
  private void timeouts(Policy policy, Settings settings) {
    policy.maxRetries = Binding.retries(settings);
    policy.totalTimeout = (int) millis;
    policy.socketTimeout = settings.number("aerospike.sockettimeout",
        (int) Math.max(1, millis / (policy.maxRetries + 1)), 1, (int) millis);
    policy.sleepBetweenRetries = 0;
  }

  private static EventLoops loops(int threads, int connections, boolean encrypted) {
    EventPolicy policy = new EventPolicy();
    // With this limit, a command without a free connection waits in an unbounded queue until its timeout. Otherwise the
    // driver would reject it at once.
    policy.maxCommandsInProcess = connections / threads;
    policy.maxCommandsInQueue = 0;
    // The driver's own loops need no other library, but do not support TLS. Epoll loops were not faster.
    return encrypted ? new NettyEventLoops(policy, new NioEventLoopGroup(threads), EventLoopType.NETTY_NIO)
        : new NioEventLoops(policy, threads, true, "aerospike");
  }

  private AerospikeClient connect(Settings settings, int connections, Access access) throws DBException {
    ClientPolicy policy = new ClientPolicy();
    policy.eventLoops = loops;
    policy.asyncMaxConnsPerNode = connections;
    // A waiting thread occupies a connection, and the driver rejects a command if none is free.
    policy.maxConnsPerNode = Math.max(connections, settings.number("threadcount", 1, 1, Integer.MAX_VALUE));
    policy.timeout = (int) Math.min(millis, policy.timeout);
    // By default, after 100 errors in a second, the driver fails further commands without sending them.
    policy.maxErrorRate = 0;
    try {
      access.configure(policy);
      return new AerospikeClient(policy, access.hosts());
    } catch (AerospikeException e) {
      loops.close();
      throw new DBException("cannot reach Aerospike at " + settings.text("aerospike.hosts", "localhost") + " port "
          + settings.text("aerospike.port", "3000") + ": " + e.getMessage() + "; check server, address and user", e);
    } catch (SettingException e) {
      loops.close();
      throw e;
    }
  }

  @Override
  public void close() {
    client.close();
    loops.close();
  }

  @Override
  public int connections() {
    int open = 0;
    for (NodeStats node : client.getClusterStats().nodes) {
      open += open(node.sync) + (node.async == null ? 0 : open(node.async));
    }
    return open;
  }

  private static int open(ConnectionStats connections) {
    return connections.inUse + connections.inPool;
  }

  /**
   * Returns the number of event loops. If each thread waits for its own commands, only batches and scans use the loops.
   */
  @Override
  public int eventLoops() {
    return loops.getSize();
  }

  @Override
  public long retries() {
    return client.getClusterStats().retryCount + conflicts.sum();
  }

  /** Counts a write that is retried because another client has written the same block. */
  void conflict() {
    conflicts.increment();
  }

  /** Returns the time by which a command that starts now must have finished, as a value of {@link System#nanoTime}. */
  long deadline() {
    return System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
  }

  /** Returns a policy for writes, which the caller may change. */
  WritePolicy writePolicy(RecordExistsAction action) {
    WritePolicy policy = new WritePolicy(writes);
    policy.commitLevel = commitLevel;
    policy.recordExistsAction = action;
    return policy;
  }

  CommitLevel commitLevel() {
    return commitLevel;
  }

  /**
   * Reads a record.
   *
   * @param bins     names of bins; {@code null} for all
   * @param decode   converts the record ({@code null} if there is none); called on the thread that receives the answer
   * @param answered receives the result or the exception
   */
  <T> void get(Key key, String[] bins, Function<Record, T> decode, BiConsumer<T, Throwable> answered) {
    if (waits) {
      answered.accept(decode.apply(client.get(reads, key, bins)), null);
    } else {
      client.get(loops.next(), new ReadAnswer<>(decode, answered), reads, key, bins);
    }
  }

  /** Reads a record; the result is {@code null} if there is none. */
  CompletableFuture<Record> get(Key key, String[] bins) {
    return Binding.future(answered -> get(key, bins, Function.identity(), answered));
  }

  void put(WritePolicy policy, Key key, Bin[] bins, BiConsumer<Status, Throwable> answered) {
    if (waits) {
      client.put(policy, key, bins);
      answered.accept(Status.OK, null);
    } else {
      client.put(loops.next(), new WriteAnswer(answered), policy, key, bins);
    }
  }

  /** Deletes a record. The status is NOT_FOUND if there was none. */
  void delete(WritePolicy policy, Key key, BiConsumer<Status, Throwable> answered) {
    if (waits) {
      answered.accept(client.delete(policy, key) ? Status.OK : Status.NOT_FOUND, null);
    } else {
      client.delete(loops.next(), new WriteAnswer(answered), policy, key);
    }
  }

  /** Reads a batch with one request per node. Each record has its own result code, and the future never fails. */
  <R extends BatchRecord> CompletableFuture<List<R>> read(List<R> batch) {
    return operate(batchReads, batch);
  }

  /** Writes a batch with one request per node. Each record has its own result code, and the future never fails. */
  <R extends BatchRecord> CompletableFuture<List<R>> write(List<R> batch) {
    return operate(batchWrites, batch);
  }

  private <R extends BatchRecord> CompletableFuture<List<R>> operate(BatchPolicy policy, List<R> batch) {
    BatchAnswer<R> answer = new BatchAnswer<>(batch);
    try {
      client.operate(loops.next(), answer, policy, answer.records);
    } catch (AerospikeException e) {
      answer.onFailure(e);
    }
    return answer;
  }

  /**
   * Reads records of one partition in the order of their digests, which is the order of the server's index.
   *
   * @param filter   the partition, and optionally a digest to begin after
   * @param count    maximum number of records
   * @param deadline time by which the query must have finished, as a value of {@link System#nanoTime}
   */
  CompletableFuture<List<KeyRecord>> records(String namespace, String set, PartitionFilter filter, String[] bins,
      int count, long deadline) {
    QueryAnswer answer = new QueryAnswer();
    long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
    if (left <= 0) {
      answer.onFailure(new AerospikeException.Timeout(reads, true));
      return answer;
    }
    QueryPolicy policy = new QueryPolicy(reads);
    policy.totalTimeout = (int) left;
    policy.socketTimeout = (int) Math.min(left, policy.socketTimeout);
    policy.expectedDuration = count <= SHORT_QUERY ? QueryDuration.SHORT : QueryDuration.LONG;
    Statement statement = new Statement();
    statement.setNamespace(namespace);
    statement.setSetName(set);
    statement.setMaxRecords(count);
    if (bins != null) {
      statement.setBinNames(bins);
    }
    return Binding.guarded(() -> {
      client.queryPartitions(loops.next(), answer, policy, statement, filter);
      return answer;
    });
  }

  // ---- listeners, which run on the driver's own threads to save a thread switch per record ----

  private record ReadAnswer<T>(Function<Record, T> decode, BiConsumer<T, Throwable> answered)
      implements RecordListener {
    @Override
    public void onSuccess(Key key, Record record) {
      T result;
      try {
        result = decode.apply(record);
      } catch (RuntimeException | Error e) {
        // Also pass on errors: the driver's thread would only log them, and the call would never complete.
        answered.accept(null, e);
        return;
      }
      answered.accept(result, null);
    }

    @Override
    public void onFailure(AerospikeException error) {
      answered.accept(null, error);
    }
  }

  private record WriteAnswer(BiConsumer<Status, Throwable> answered) implements WriteListener, DeleteListener {
    @Override
    public void onSuccess(Key key) {
      answered.accept(Status.OK, null);
    }

    @Override
    public void onSuccess(Key key, boolean existed) {
      answered.accept(existed ? Status.OK : Status.NOT_FOUND, null);
    }

    @Override
    public void onFailure(AerospikeException error) {
      answered.accept(null, error);
    }
  }

  private static final class BatchAnswer<R extends BatchRecord> extends CompletableFuture<List<R>>
      implements BatchOperateListListener {
    private final List<R> batch;
    private final List<BatchRecord> records;

    BatchAnswer(List<R> batch) {
      this.batch = batch;
      this.records = new ArrayList<>(batch);
    }

    @Override
    public void onSuccess(List<BatchRecord> answered, boolean allOk) {
      complete(batch);
    }

    /** Sets the node's error on the records without an answer. Other records keep their results. */
    @Override
    public void onFailure(AerospikeException error) {
      for (R record : batch) {
        if (record.resultCode == ResultCode.NO_RESPONSE) {
          record.setError(error.getResultCode(), true);
        }
      }
      complete(batch);
    }
  }

  private static final class QueryAnswer extends CompletableFuture<List<KeyRecord>> implements RecordSequenceListener {
    private final List<KeyRecord> records = new ArrayList<>();

    @Override
    public void onRecord(Key key, Record record) {
      records.add(new KeyRecord(key, record));
    }

    @Override
    public void onSuccess() {
      complete(records);
    }

    @Override
    public void onFailure(AerospikeException error) {
      completeExceptionally(error);
    }
  }
}
