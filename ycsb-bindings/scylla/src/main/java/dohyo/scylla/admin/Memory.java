package dohyo.scylla.admin;

import java.io.IOException;
import java.util.List;

/**
 * Memory that a node has divided among its shards.
 *
 * @param shards    number of shards, one per core that the node uses
 * @param megabytes sum over all shards, in MiB
 */
record Memory(int shards, long megabytes) {
  /** Gauge in bytes, with one line for each shard: {@code name{shard="0"} 1073741824}. */
  private static final String METRIC = "scylla_memory_total_memory{";

  /**
   * Reads the memory from the metrics of a node.
   *
   * @param metrics the node's page for Prometheus, in text format
   * @throws IOException if the page lacks the metric
   */
  static Memory of(String metrics) throws IOException {
    List<String> lines = metrics.lines().filter(line -> line.startsWith(METRIC)).toList();
    if (lines.isEmpty()) {
      throw new IOException("the server has no metric that begins with " + METRIC);
    }
    double bytes = lines.stream().map(line -> line.substring(line.indexOf('}') + 1).strip().split(" ")[0])
        .mapToDouble(Double::parseDouble).sum();
    return new Memory(lines.size(), Math.round(bytes / (1 << 20)));
  }
}
