package dohyo.aerospike;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.aerospike.client.AerospikeClient;
import com.aerospike.client.AerospikeException;
import com.aerospike.client.Bin;
import com.aerospike.client.Info;
import com.aerospike.client.Key;
import dohyo.binding.Columns;
import dohyo.binding.Outcome;
import dohyo.binding.Row;
import dohyo.binding.RowSink;
import dohyo.contract.Server;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import site.ycsb.Status;

/**
 * Kills one node of a cluster of three nodes on 127.0.0.2 to 127.0.0.4. The nodes run the program and the adapted
 * configuration of the running server.
 */
@Timeout(120)
class AerospikeThreeNodesIT {
  private static final String TABLE = "three";
  private static final Columns COLUMNS = Columns.of(List.of("field0"));
  private static final int RECORDS = 1000;

  private final Server server = Server.running();
  private final String port = server.properties().getProperty("aerospike.port");
  private final String namespace = server.properties().getProperty("aerospike.namespace");
  private final List<Process> nodes = new ArrayList<>();

  @TempDir
  private Path folder;

  @Test
  void whatGoesToADeadNodeFailsAndIsCountedUntilTheOthersHaveNoticed() throws Exception {
    Path process = Path.of("/proc", server.properties().getProperty("server.pid"));
    String running = Files.readString(process.resolve("cwd/conf/aerospike.conf"));
    assumeTrue(running.contains("address 127.0.0.1\n"), "the running server is not on 127.0.0.1");
    for (int i = 0; i < 3; i++) {
      nodes.add(start(Files.readSymbolicLink(process.resolve("exe")), running, i));
    }
    awaitCluster();

    AerospikeBinding db = new AerospikeBinding();
    db.setProperties(server.with(Map.of("aerospike.hosts", hosts(), "operationtimeout", "3000", "inflight", "2")));
    db.init();
    try {
      write(db, all()).forEach((key, status) -> assertEquals(Status.OK, status, key));
      nodes.get(2).destroyForcibly().waitFor();
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(40);
      Map<String, Integer> failures = new HashMap<>();
      List<String> open = all();
      // Without the property retries, the binding does not retry, so the test repeats each failed write.
      while (!open.isEmpty() && System.nanoTime() < end) {
        read(db).forEach((key, status) -> assertFalse(Outcome.isNotFound(status), "read of " + key));
        Map<String, Status> written = write(db, open);
        written.values().stream().filter(status -> !status.isOk())
            .forEach(status -> failures.merge(status.getName(), 1, Integer::sum));
        open = open.stream().filter(key -> !written.get(key).isOk()).toList();
      }
      assertEquals(List.of(), open, "not written within 40 s; failures so far: " + failures);
      assertFalse(failures.isEmpty(), "no write was sent to the dead node");
      assertTrue(failures.keySet().stream().allMatch(name -> name.matches("[A-Z_]+")), failures.toString());
      read(db).forEach((key, status) -> assertEquals(Status.OK, status, "read of " + key));
    } finally {
      db.cleanup();
    }
  }

  @AfterEach
  void stopNodes() throws InterruptedException {
    for (Process node : nodes) {
      node.destroyForcibly().waitFor();
    }
  }

  private Process start(Path program, String running, int node) throws IOException {
    Path home = folder.resolve("node" + node);
    Files.createDirectories(home.resolve("aerospike/smd"));
    Files.createDirectories(home.resolve("lua"));
    String seeds = IntStream.range(0, 3).filter(other -> other != node)
        .mapToObj(other -> "mesh-seed-address-port " + address(other) + " $1\n").collect(Collectors.joining());
    // Set a name for each node: the default comes from its port and network card, which are the same for all three.
    String own = running.replace("cluster-name dohyo", "cluster-name three\nnode-id a" + node)
        .replaceAll("(?s)(?<=heartbeat \\{.{0,60}port )(\\d+)\n", "$1\n" + seeds)
        .replace("address 127.0.0.1\n", "address " + address(node) + "\n")
        .replaceAll("(?m)^(\\s*(?:work-directory|pidfile|user-path|file)) .*/", "$1 " + home + "/")
        .replace("replication-factor 1\n", "replication-factor 2\n");
    Path config = Files.writeString(home.resolve("aerospike.conf"), own);
    return new ProcessBuilder(program.toString(), "--foreground", "--config-file", config.toString())
        .redirectErrorStream(true).redirectOutput(home.resolve("log").toFile()).start();
  }

  private void awaitCluster() throws IOException, InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (!formed()) {
      for (int i = 0; i < 3; i++) {
        assertTrue(nodes.get(i).isAlive(), Files.readString(folder.resolve("node" + i + "/log")));
      }
      assertTrue(System.nanoTime() < end, "no cluster of three after 30 s");
      Thread.sleep(200);
    }
  }

  private boolean formed() {
    try (AerospikeClient client = new AerospikeClient(address(0), Integer.parseInt(port))) {
      client.put(null, new Key(namespace, TABLE, "first"), new Bin("field0", new byte[1]));
      return client.getNodes().length == 3 && List.of(client.getNodes()).stream()
          .allMatch(node -> Info.request(node, "statistics").contains(";cluster_size=3;"));
    } catch (AerospikeException e) {
      return false;
    }
  }

  private String hosts() {
    return IntStream.range(0, 3).mapToObj(node -> address(node) + ":" + port).collect(Collectors.joining(","));
  }

  private static String address(int node) {
    return "127.0.0." + (node + 2);
  }

  private static List<String> all() {
    return IntStream.range(0, RECORDS).mapToObj(i -> "key" + i).toList();
  }

  private static Map<String, Status> write(AerospikeBinding db, List<String> keys) {
    return wait(keys, key -> db.insertRow(new Row(TABLE, bytes(key), COLUMNS, new byte[][] {bytes(key)}))
        .exceptionally(db::failed));
  }

  private static Map<String, Status> read(AerospikeBinding db) {
    return wait(all(), key -> db.readRow(TABLE, bytes(key), null, RowSink.DISCARD).exceptionally(db::failed));
  }

  private static Map<String, Status> wait(List<String> keys,
      Function<String, CompletableFuture<Status>> command) {
    Map<String, CompletableFuture<Status>> started = keys.stream().collect(Collectors.toMap(key -> key, command));
    return started.entrySet().stream().collect(Collectors.toMap(Map.Entry::getKey, e -> e.getValue().join()));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
