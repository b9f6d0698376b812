package dohyo.aerospike.admin;

import com.aerospike.client.AerospikeClient;
import com.aerospike.client.AerospikeException;
import com.aerospike.client.Bin;
import com.aerospike.client.Host;
import com.aerospike.client.Info;
import com.aerospike.client.Key;
import com.aerospike.client.Record;
import com.aerospike.client.ResultCode;
import com.aerospike.client.cluster.Node;
import com.aerospike.client.policy.ClientPolicy;
import dohyo.admin.Admin;
import dohyo.admin.Wait;
import dohyo.aerospike.Access;
import dohyo.aerospike.Block;
import dohyo.binding.Settings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Administers a running Aerospike, 6.0 or newer, through its info protocol. All verbs have the arguments hosts, port
 * and namespace, as in the binding's properties. If the servers require a login, the argument access names a file with
 * the properties of {@link Access}, because a command line would show the password.
 */
public final class AerospikeAdmin {
  /** User name and password of the only account in a new cluster. */
  private static final String NEW_CLUSTER = "admin";
  private static final List<String> ROLES = List.of("read-write", "data-admin", "sys-admin");
  private static final String SETTLING =
      "migrate_partitions_remaining|rw_in_progress|storage-engine\\..*\\.(write_q|defrag_q)";
  private static final int MEBIBYTE = 1 << 20;
  /** Name of the set that has one record for each table. The record's bin contains the trial's mark. */
  private static final String MARKS = "dohyo";
  private static final String MARK = "mark";

  private AerospikeAdmin() {
  }

  /** Runs one verb: account, ready, schema, settle or stats. */
  public static void main(String[] args) {
    Admin.main("Aerospike", Map.of("account", AerospikeAdmin::account, "ready", AerospikeAdmin::ready,
        "schema", AerospikeAdmin::schema, "settle", AerospikeAdmin::settle, "stats", AerospikeAdmin::stats), args);
  }

  /**
   * Logs in with the default account of a new cluster, creates the account in {@code access}, and gives the default
   * account the same password. Argument: nodes, see ready.
   */
  private static Map<String, ?> account(Settings arguments) throws IOException {
    Settings access = access(arguments);
    String user = access.required("aerospike.user");
    String password = access.required("aerospike.password");
    access.properties().setProperty("aerospike.user", NEW_CLUSTER);
    access.properties().setProperty("aerospike.password", NEW_CLUSTER);
    try (AerospikeClient client = client(access)) {
      requireNodes(client.getNodes(), arguments.number("nodes", 1, 1, 1000));
      try {
        client.createUser(null, user, password, ROLES);
      } catch (AerospikeException e) {
        if (e.getResultCode() != ResultCode.USER_ALREADY_EXISTS) {
          throw e;
        }
      }
      client.changePassword(null, NEW_CLUSTER, password);
      return Map.of();
    }
  }

  /**
   * Fails unless the cluster has the expected number of nodes (argument nodes), no partition migrates, and a write
   * succeeds. An open port does not prove any of these.
   */
  private static Map<String, ?> ready(Settings arguments) throws IOException {
    try (AerospikeClient client = connect(arguments)) {
      int nodes = arguments.number("nodes", 1, 1, 1000);
      requireNodes(client.getNodes(), nodes);
      String namespace = arguments.required("namespace");
      setRoster(client.getNodes(), namespace);
      List<String> busy = busy(client, namespace, "migrate_partitions_remaining");
      if (!busy.isEmpty()) {
        throw new IOException("partitions migrate: " + String.join(", ", busy));
      }
      Key key = new Key(namespace, null, "dohyo");
      client.put(null, key, new Bin("ready", 1));
      client.delete(null, key);
      return Map.of("nodes", nodes);
    }
  }

  private static void requireNodes(Node[] seen, int nodes) throws IOException {
    for (Node node : seen) {
      String size = pairs(info(node, "statistics"), ";").get("cluster_size");
      if (seen.length != nodes || !size.equals(String.valueOf(nodes))) {
        throw new IOException("%s sees %s nodes, the client %d, not %d".formatted(node, size, seen.length, nodes));
      }
    }
  }

  /** Adds all nodes to the roster. Otherwise, a namespace with strong consistency does not accept writes. */
  private static void setRoster(Node[] nodes, String namespace) throws IOException {
    if (!Boolean.parseBoolean(namespaceConfig(nodes[0], namespace).get("strong-consistency"))) {
      return;
    }
    Map<String, String> roster = pairs(info(nodes[0], "roster:namespace=" + namespace), ":");
    if (!roster.get("observed_nodes").equals(roster.get("roster"))) {
      info(nodes[0], "roster-set:namespace=" + namespace + ";nodes=" + roster.get("observed_nodes"));
      for (Node node : nodes) {
        info(node, "recluster:");
      }
    }
  }

  /**
   * Marks the sets. The marks are records in another set, because a set has no comment and exists only when it has a
   * record. Fails if a set has records but lacks this trial's mark. Then reads the conditions back from all nodes.
   * Arguments: tables; trial; write_acks and read_acks of the client; layout, see the binding's property; pid, a file
   * that begins with the server's process id.
   */
  private static Map<String, ?> schema(Settings arguments) throws IOException {
    try (AerospikeClient client = connect(arguments)) {
      requireEqualNodes(client.getNodes(), arguments.required("namespace"));
      for (String table : Admin.tables(arguments)) {
        claim(client, arguments.required("namespace"), table, Admin.mark(arguments));
      }
      return Map.of("conditions", conditions(client, arguments), "pid", Admin.pid(arguments, "pid"));
    }
  }

  /** Returns the conditions of a namespace. All nodes must report the same settings, see {@link #requireEqualNodes}. */
  static Map<String, Object> conditions(AerospikeClient client, Settings arguments) throws IOException {
    Node node = client.getNodes()[0];
    Map<String, String> namespace = pairs(info(node, "namespace/" + arguments.required("namespace")), ";");
    Map<String, String> config = namespaceConfig(node, arguments.required("namespace"));
    int replication = Integer.parseInt(namespace.get("effective_replication_factor"));
    boolean strong = Boolean.parseBoolean(config.get("strong-consistency"));
    boolean commits = Boolean.parseBoolean(config.getOrDefault("storage-engine.commit-to-device", "false"));

    Map<String, Object> conditions = new LinkedHashMap<>();
    conditions.put("version", info(node, "build"));
    conditions.put("nodes", client.getNodes().length);
    conditions.put("replication", replication);
    String acks = acks(config, "write-commit-level-override", arguments.required("write_acks"));
    conditions.put("write_acks", acks);
    conditions.put("read_acks", acks(config, "read-consistency-level-override", arguments.required("read_acks")));
    conditions.put("write_copies", acks.equals("one") && !strong ? 1 : replication);
    // A read may use other replicas only while partitions migrate.
    conditions.put("read_copies", 1);
    if (!strong && client.getNodes().length > 1) {
      // During a network partition each side accepts writes on its own replicas.
      conditions.put("consistency", "available, not strongly consistent");
    }
    conditions.put("durability", commits ? "disk" : "memory");
    conditions.put("compression", config.getOrDefault("storage-engine.compression", "none"));
    conditions.put("memory", memory(namespace, config));
    conditions.put("endpoints", Arrays.stream(client.getNodes()).map(Node::getHost)
        .map(host -> host.name + ":" + host.port).sorted().toList());
    conditions.put("notes", List.of(
        info(node, "edition"),
        "record layout: " + arguments.text("layout", "bins"),
        "storage engine: " + storage(config),
        "index: " + index(config),
        "namespace mode: " + (strong ? "SC" : "AP"),
        "commit to device: " + (commits ? "on" : "off")));
    return conditions;
  }

  /**
   * Returns the acknowledgements in the scenario's terms.
   *
   * @param config    settings of the namespace
   * @param override  name of the setting that overrides the client's request
   * @param requested acknowledgements that the client requests; quorum is the same as all
   */
  static String acks(Map<String, String> config, String override, String requested) {
    return switch (config.getOrDefault(override, "off")) {
      case "off" -> requested;
      case "all" -> requested.equals("one") ? "all" : requested;
      default -> "one";
    };
  }

  private static void claim(AerospikeClient client, String namespace, String table, String mark) throws IOException {
    Key key = new Key(namespace, MARKS, table);
    Record known = client.get(null, key);
    if (known != null && mark.equals(known.getString(MARK))) {
      return;
    }
    if (objects(client, namespace, table) > 0) {
      throw Admin.foreign("set %s of namespace %s".formatted(table, namespace), "change aerospike_namespace");
    }
    client.put(null, key, new Bin(MARK, mark));
  }

  /** Fails unless all nodes report the same version, size, replication, consistency, storage, index and overrides. */
  static void requireEqualNodes(Node[] nodes, String namespace) throws IOException {
    Map<String, List<String>> answers = new LinkedHashMap<>();
    for (Node node : nodes) {
      Map<String, String> counters = pairs(info(node, "statistics") + ";" + info(node, "namespace/" + namespace), ";");
      Map<String, String> config = namespaceConfig(node, namespace);
      String answer = "%s %s, cluster_size=%s, effective_replication_factor=%s".formatted(info(node, "edition"),
          info(node, "build"), counters.get("cluster_size"), counters.get("effective_replication_factor"))
          + Stream.of("strong-consistency", "storage-engine", "storage-engine.commit-to-device",
              "storage-engine.compression", "index-type", "write-commit-level-override",
              "read-consistency-level-override")
              .filter(config::containsKey).map(key -> ", " + key + "=" + config.get(key)).collect(Collectors.joining());
      answers.computeIfAbsent(answer, any -> new ArrayList<>()).add(node.getHost().toString());
    }
    if (answers.size() > 1) {
      throw new IOException("the nodes have different settings: " + answers.entrySet().stream()
          .map(entry -> String.join(" ", entry.getValue()) + ": " + entry.getKey()).collect(Collectors.joining("; ")));
    }
  }

  private static String storage(Map<String, String> config) {
    boolean files = config.keySet().stream().anyMatch(key -> key.matches("storage-engine\\.file\\[\\d+]"));
    String engine = config.getOrDefault("storage-engine", "memory");
    return engine.equals("device") && files ? "file" : engine;
  }

  /** Returns where the index is. Older servers report {@code mem} for an index in the memory of the process. */
  private static String index(Map<String, String> config) {
    String type = config.getOrDefault("index-type", "mem");
    return type.equals("mem") ? "memory" : type;
  }

  private static String memory(Map<String, String> namespace, Map<String, String> config) {
    String total = namespace.getOrDefault("data_total_bytes", config.getOrDefault("memory-size", "0"));
    return Long.parseLong(total) / MEBIBYTE + " MiB " + (storage(config).equals("memory") ? "of memory" : "on disk")
        + " for data, index in " + index(config);
  }

  /**
   * Reads a namespace's settings. The argument was renamed in 7.0, so both names are sent; a server ignores one.
   */
  private static Map<String, String> namespaceConfig(Node node, String namespace) throws IOException {
    return pairs(info(node, "get-config:context=namespace;id=" + namespace + ";namespace=" + namespace), ";");
  }

  /**
   * Waits until no partition migrates, no write is in progress and all data is on its device. Then counts the rows.
   * Arguments: tables; layout, see the binding's property; timeout in seconds; recordcount and countlimit.
   */
  private static Map<String, ?> settle(Settings arguments) throws Exception {
    Wait wait = new Wait(arguments, "aerospike_settle_timeout");
    try (AerospikeClient client = connect(arguments)) {
      wait.untilQuiet(() -> String.join(", ", busy(client, arguments.required("namespace"), SETTLING)));
      long seconds = wait.seconds();
      return Map.of("seconds", seconds, "rows", countRows(client, arguments));
    }
  }

  /** Returns, for all nodes, the counters whose names match {@code names} and whose values are not 0. */
  private static List<String> busy(AerospikeClient client, String namespace, String names) throws IOException {
    List<String> busy = new ArrayList<>();
    for (Node node : client.getNodes()) {
      Map<String, String> counters = pairs(info(node, "statistics") + ";" + info(node, "namespace/" + namespace), ";");
      counters.forEach((name, value) -> {
        if (name.matches(names) && !value.equals("0")) {
          busy.add(node.getHost() + " " + name + "=" + value);
        }
      });
    }
    return busy;
  }

  /**
   * Returns the number of rows of each table. With packed records it reads the blocks, because the server counts only
   * blocks.
   */
  static Map<String, Long> countRows(AerospikeClient client, Settings arguments) throws IOException {
    String namespace = arguments.required("namespace");
    if (arguments.text("layout", "bins").startsWith("packed")) {
      return Admin.countRows(arguments, table -> packedRows(client, namespace, table));
    }
    Map<String, Long> rows = new LinkedHashMap<>();
    for (String table : Admin.tables(arguments)) {
      rows.put(table, objects(client, namespace, table));
    }
    return rows;
  }

  private static long packedRows(AerospikeClient client, String namespace, String table) {
    LongAdder rows = new LongAdder();
    client.scanAll(null, namespace, table, (key, record) -> rows.add(Block.of(record).size()));
    return rows.sum();
  }

  static long objects(AerospikeClient client, String namespace, String table) throws IOException {
    long copies = 0;
    for (Node node : client.getNodes()) {
      copies += Long.parseLong(pairs(info(node, "sets/" + namespace + "/" + table).replace(";", ""), ":")
          .getOrDefault("objects", "0"));
    }
    String replication = pairs(info(client.getNodes()[0], "namespace/" + namespace), ";")
        .get("effective_replication_factor");
    return copies / Integer.parseInt(replication);
  }

  /** Writes the statistics of this host's server to files in the given folder. */
  private static Map<String, ?> stats(Settings arguments) throws IOException {
    Path folder = Admin.folder(arguments);
    String namespace = arguments.required("namespace");
    Map<String, String> reports = Map.of("statistics", "statistics", "namespace", "namespace/" + namespace,
        "sets", "sets/" + namespace, "latencies", "latencies:", "config-service", "get-config:context=service",
        "config-namespace", "get-config:context=namespace;id=" + namespace + ";namespace=" + namespace);
    try (AerospikeClient client = connect(arguments)) {
      Host host = new Access(access(arguments)).hosts()[0];
      Node node = Arrays.stream(client.getNodes()).filter(each -> each.getHost().name.equals(host.name)).findFirst()
          .orElseThrow(() -> new IOException("the cluster has no node " + host));
      for (Map.Entry<String, String> report : reports.entrySet()) {
        String answer = Info.request(node, report.getValue());
        Files.writeString(folder.resolve("stats-" + report.getKey() + ".txt"),
            String.join("\n", String.valueOf(answer).split(";")) + "\n");
      }
      return Map.of("files", reports.keySet());
    }
  }

  /** Sums the namespace's statistics over all nodes. A flag is true if any node reports true. */
  static List<String> totals(AerospikeClient client, String namespace) throws IOException {
    Map<String, String> totals = new TreeMap<>();
    for (Node node : client.getNodes()) {
      pairs(info(node, "namespace/" + namespace), ";").forEach((name, value) ->
          totals.merge(name, value, AerospikeAdmin::total));
    }
    return totals.entrySet().stream().map(each -> each.getKey() + "=" + each.getValue()).toList();
  }

  private static String total(String one, String other) {
    return (one + other).matches("[0-9]+") ? Long.toString(Long.parseLong(one) + Long.parseLong(other))
        : one.equals("true") ? one : other;
  }

  static AerospikeClient connect(Settings arguments) throws IOException {
    return client(access(arguments));
  }

  private static AerospikeClient client(Settings settings) throws IOException {
    Access access = new Access(settings);
    ClientPolicy policy = new ClientPolicy();
    policy.timeout = 5000;
    access.configure(policy);
    try {
      return new AerospikeClient(policy, access.hosts());
    } catch (AerospikeException e) {
      throw new IOException(settings.required("aerospike.hosts") + ": " + e.getMessage().strip(), e);
    }
  }

  /** Returns the binding's properties for the connection. */
  private static Settings access(Settings arguments) {
    Settings access = Admin.properties(arguments, "access");
    for (String key : List.of("hosts", "port")) {
      if (arguments.has(key)) {
        access.properties().setProperty("aerospike." + key, arguments.required(key));
      }
    }
    return access;
  }

  static String info(Node node, String command) throws IOException {
    String answer = Info.request(node, command);
    if (answer == null || answer.startsWith("ERROR") || answer.startsWith("FAIL")) {
      throw new IOException(node + " answers " + answer + " to " + command);
    }
    return answer;
  }

  private static Map<String, String> pairs(String answer, String separator) {
    return Arrays.stream(answer.strip().split(separator)).map(pair -> pair.split("=", 2))
        .filter(pair -> pair.length == 2)
        .collect(Collectors.toMap(pair -> pair[0], pair -> pair[1], (first, second) -> second));
  }
}
