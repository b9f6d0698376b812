package dohyo.aerospike;

import com.aerospike.client.Key;
import com.aerospike.client.Record;
import com.aerospike.client.cluster.Partition;
import com.aerospike.client.query.KeyRecord;
import com.aerospike.client.query.PartitionFilter;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.ToIntFunction;

/**
 * Reads the records after a given record. Aerospike orders keys by digest, a hash of set and key, within 4096
 * partitions. A scan follows this order from one partition to the next, as a scan follows the order of tokens in
 * Cassandra. Each partition needs its own request, because Aerospike has no request that reads in this order across
 * partitions. The scan doubles the number of partitions that it reads at a time until it has enough records.
 */
final class Scan {
  private static final int PARTITIONS = 4096;
  private static final int MAX_AT_ONCE = 128;

  private final AerospikeConnection connection;
  private final Key start;
  private final String[] bins;
  private final ToIntFunction<Record> consumer;
  private final long deadline;
  private int missing;

  /**
   * Prepares a scan.
   *
   * @param start    key after which the scan begins; the record need not exist
   * @param bins     bins to read, {@code null} for all
   * @param missing  number of records to read
   * @param consumer takes a record and returns how many more are needed
   * @param deadline time by which the scan must have finished, as a value of {@link System#nanoTime}
   */
  Scan(AerospikeConnection connection, Key start, String[] bins, int missing, ToIntFunction<Record> consumer,
      long deadline) {
    this.connection = connection;
    this.start = start;
    this.bins = bins;
    this.missing = missing;
    this.consumer = consumer;
    this.deadline = deadline;
  }

  CompletableFuture<Void> run() {
    return from(Partition.getPartitionId(start.digest), 1);
  }

  private CompletableFuture<Void> from(int first, int count) {
    if (missing <= 0 || first >= PARTITIONS) {
      return CompletableFuture.completedFuture(null);
    }
    int end = Math.min(first + count, PARTITIONS);
    List<CompletableFuture<List<KeyRecord>>> answers = new ArrayList<>(end - first);
    for (int partition = first; partition < end; partition++) {
      PartitionFilter filter = partition == Partition.getPartitionId(start.digest)
          ? PartitionFilter.after(start) : PartitionFilter.id(partition);
      answers.add(connection.records(start.namespace, start.setName, filter, bins, missing, deadline));
    }
    return CompletableFuture.allOf(answers.toArray(CompletableFuture[]::new)).thenCompose(all -> {
      for (CompletableFuture<List<KeyRecord>> answer : answers) {
        for (KeyRecord found : answer.join()) {
          if (missing > 0) {
            missing = consumer.applyAsInt(found.record);
          }
        }
      }
      return from(end, Math.min(2 * count, MAX_AT_ONCE));
    });
  }
}
