package dohyo.aerospike;

import dohyo.binding.Columns;
import dohyo.binding.Row;
import dohyo.binding.RowSink;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import site.ycsb.Status;

/**
 * Stores the workload's records in records of Aerospike. The methods correspond to those of {@link
 * dohyo.binding.Binding}. They may fail with an {@link com.aerospike.client.AerospikeException}.
 */
interface Layout {
  void read(String table, byte[] key, Columns columns, RowSink sink, BiConsumer<Status, Throwable> answered);

  /**
   * Writes a record.
   *
   * @param create   whether to create a missing record; otherwise its status is {@link Status#NOT_FOUND}
   * @param answered receives the status or the exception
   */
  void write(Row row, boolean create, BiConsumer<Status, Throwable> answered);

  CompletableFuture<Status> delete(String table, byte[] key);

  CompletableFuture<Status> scan(String table, byte[] key, int count, Columns columns, RowSink sink);

  CompletableFuture<Status[]> read(String table, List<byte[]> keys, Columns columns, RowSink sink);

  CompletableFuture<Status[]> write(List<Row> rows, boolean create);
}
