package dohyo.aerospike;

import com.aerospike.client.AerospikeException;
import com.aerospike.client.BatchRead;
import com.aerospike.client.BatchWrite;
import com.aerospike.client.Bin;
import com.aerospike.client.Key;
import com.aerospike.client.Operation;
import com.aerospike.client.Record;
import com.aerospike.client.ResultCode;
import com.aerospike.client.policy.BatchWritePolicy;
import com.aerospike.client.policy.GenerationPolicy;
import com.aerospike.client.policy.RecordExistsAction;
import com.aerospike.client.policy.WritePolicy;
import dohyo.binding.Binding;
import dohyo.binding.Columns;
import dohyo.binding.Outcome;
import dohyo.binding.Row;
import dohyo.binding.RowSink;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.BiConsumer;
import java.util.function.Function;
import site.ycsb.Status;

/**
 * Layout {@code packed=N}: about N records are stored in a single record of Aerospike, as one value ({@link Block}).
 * The index takes 64 bytes of memory per record of Aerospike, so it is N times smaller.
 *
 * <p>A write reads the block, changes it and writes all of it. If another client has written the block since the read,
 * the write is retried until {@code operationtimeout} has passed. The server counts these retries as {@code
 * fail_generation}; for a new block, only as {@code client_write_error}.
 */
final class Packed implements Layout {
  private final AerospikeConnection connection;
  private final String namespace;
  private final Packing packing;

  Packed(AerospikeConnection connection, String namespace, Packing packing) {
    this.connection = connection;
    this.namespace = namespace;
    this.packing = packing;
  }

  @Override
  public void read(String table, byte[] key, Columns columns, RowSink sink, BiConsumer<Status, Throwable> answered) {
    connection.get(block(table, key), null, found -> emit(found, key, columns, 0, sink), answered);
  }

  @Override
  public void write(Row row, boolean create, BiConsumer<Status, Throwable> answered) {
    change(block(row.table(), row.key()), block -> put(block, row, create), connection.deadline())
        .whenComplete(answered);
  }

  @Override
  public CompletableFuture<Status> delete(String table, byte[] key) {
    return change(block(table, key), block -> block.remove(key) ? Status.OK : Status.NOT_FOUND, connection.deadline());
  }

  /** Reads a block and changes it. Writes it back if the status of the change is OK. */
  private CompletableFuture<Status> change(Key key, Function<Block, Status> change, long deadline) {
    return connection.get(key, null).thenCompose(found -> {
      Block block = Block.of(found);
      Status changed = change.apply(block);
      if (!changed.isOk()) {
        return CompletableFuture.completedFuture(changed);
      }
      return write(key, found, block).thenApply(done -> Status.OK).exceptionallyCompose(error -> {
        if (!isConflict(code(error)) || System.nanoTime() >= deadline) {
          return CompletableFuture.failedFuture(error);
        }
        connection.conflict();
        return change(key, change, deadline);
      });
    });
  }

  private CompletableFuture<Status> write(Key key, Record found, Block block) {
    WritePolicy policy = connection.writePolicy(
        found == null ? RecordExistsAction.CREATE_ONLY : RecordExistsAction.REPLACE_ONLY);
    if (found != null) {
      policy.generationPolicy = GenerationPolicy.EXPECT_GEN_EQUAL;
      policy.generation = found.generation;
    }
    return Binding.future(answered -> {
      if (block.size() == 0) {
        connection.delete(policy, key, answered);
      } else {
        connection.put(policy, key, new Bin[] {new Bin(Block.BIN, block.toBytes())}, answered);
      }
    });
  }

  @Override
  public CompletableFuture<Status> scan(String table, byte[] key, int count, Columns columns, RowSink sink) {
    long deadline = connection.deadline();
    Key start = block(table, key);
    int[] taken = {0};
    return connection.get(start, null).thenCompose(first -> {
      emitAll(Block.of(first).from(key), count, columns, taken, sink);
      return new Scan(connection, start, null, count - taken[0], found -> {
        emitAll(Block.of(found).all(), count, columns, taken, sink);
        return count - taken[0];
      }, deadline).run();
    }).thenApply(done -> Status.OK);
  }

  private static void emitAll(Iterable<ByteBuffer> records, int count, Columns columns, int[] taken, RowSink sink) {
    for (ByteBuffer record : records) {
      if (taken[0] < count) {
        Block.emit(record, columns, taken[0]++, sink);
      }
    }
  }

  @Override
  public CompletableFuture<Status[]> read(String table, List<byte[]> keys, Columns columns, RowSink sink) {
    Map<Key, BatchRead> blocks = new LinkedHashMap<>();
    for (byte[] key : keys) {
      blocks.computeIfAbsent(block(table, key), block -> new BatchRead(block, true));
    }
    return connection.read(List.copyOf(blocks.values())).thenApply(done -> {
      Status[] statuses = new Status[keys.size()];
      for (int i = 0; i < statuses.length; i++) {
        BatchRead read = blocks.get(block(table, keys.get(i)));
        statuses[i] = read.resultCode == ResultCode.OK
            ? emit(read.record, keys.get(i), columns, i, sink) : ResultCodes.status(read.resultCode);
      }
      return statuses;
    });
  }

  @Override
  public CompletableFuture<Status[]> write(List<Row> rows, boolean create) {
    Map<Key, List<Integer>> byBlock = new LinkedHashMap<>();
    for (int i = 0; i < rows.size(); i++) {
      Row row = rows.get(i);
      byBlock.computeIfAbsent(block(row.table(), row.key()), none -> new ArrayList<>()).add(i);
    }
    Status[] statuses = new Status[rows.size()];
    return write(rows, create, byBlock, statuses, connection.deadline()).thenApply(done -> statuses);
  }

  /** Reads, changes and writes the blocks. Retries blocks that another client has written since the read. */
  private CompletableFuture<Void> write(List<Row> rows, boolean create, Map<Key, List<Integer>> byBlock,
      Status[] statuses, long deadline) {
    List<BatchRead> reads = byBlock.keySet().stream().map(key -> new BatchRead(key, true)).toList();
    return connection.read(reads).thenCompose(found -> {
      List<BatchWrite> writes = new ArrayList<>(reads.size());
      for (BatchRead read : reads) {
        Block block = Block.of(read.record);
        boolean changed = false;
        for (int i : byBlock.get(read.key)) {
          statuses[i] = readable(read.resultCode)
              ? put(block, rows.get(i), create) : ResultCodes.status(read.resultCode);
          changed |= statuses[i].isOk();
        }
        if (changed) {
          writes.add(new BatchWrite(policy(read.record), read.key,
              new Operation[] {Operation.put(new Bin(Block.BIN, block.toBytes()))}));
        }
      }
      return writes.isEmpty() ? CompletableFuture.completedFuture(List.<BatchWrite>of()) : connection.write(writes);
    }).thenCompose(written -> {
      Map<Key, List<Integer>> again = new LinkedHashMap<>();
      for (BatchWrite write : written) {
        if (isConflict(write.resultCode) && System.nanoTime() < deadline) {
          connection.conflict();
          again.put(write.key, byBlock.get(write.key));
        } else if (write.resultCode != ResultCode.OK) {
          byBlock.get(write.key).stream().filter(i -> statuses[i].isOk())
              .forEach(i -> statuses[i] = ResultCodes.status(write.resultCode));
        }
      }
      return again.isEmpty() ? CompletableFuture.completedFuture(null)
          : write(rows, create, again, statuses, deadline);
    });
  }

  private static Status put(Block block, Row row, boolean create) {
    if (!create && !block.has(row.key())) {
      return Status.NOT_FOUND;
    }
    try {
      block.put(row);
      return Status.OK;
    } catch (IllegalArgumentException e) {
      return Outcome.of(e);
    }
  }

  private BatchWritePolicy policy(Record found) {
    BatchWritePolicy policy = new BatchWritePolicy();
    policy.commitLevel = connection.commitLevel();
    policy.recordExistsAction = found == null ? RecordExistsAction.CREATE_ONLY : RecordExistsAction.REPLACE_ONLY;
    if (found != null) {
      policy.generationPolicy = GenerationPolicy.EXPECT_GEN_EQUAL;
      policy.generation = found.generation;
    }
    return policy;
  }

  private Key block(String table, byte[] key) {
    return new Key(namespace, table, packing.block(key));
  }

  private static Status emit(Record found, byte[] key, Columns columns, int row, RowSink sink) {
    return Block.of(found).emit(key, columns, row, sink) ? Status.OK : Status.NOT_FOUND;
  }

  private static boolean readable(int code) {
    return code == ResultCode.OK || code == ResultCode.KEY_NOT_FOUND_ERROR;
  }

  /** Returns whether another client has written, created or deleted the block since it was read. */
  private static boolean isConflict(int code) {
    return code == ResultCode.GENERATION_ERROR || code == ResultCode.KEY_EXISTS_ERROR
        || code == ResultCode.KEY_NOT_FOUND_ERROR;
  }

  private static int code(Throwable error) {
    Throwable cause = error instanceof CompletionException ? error.getCause() : error;
    return cause instanceof AerospikeException failure ? failure.getResultCode() : ResultCode.OK;
  }
}
