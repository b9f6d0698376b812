package dohyo.jdbc.admin;

import dohyo.admin.Admin;
import dohyo.admin.Wait;
import dohyo.binding.Settings;
import dohyo.jdbc.Dialect;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Administers a running primary and its replicas for Ansible. The argument {@code connection} is a file with the
 * binding's properties, because a command line would show the password.
 *
 * @param <S> type of a server
 */
public abstract class JdbcAdmin<S extends JdbcServer> implements AutoCloseable {
  /** Timeout of a statement in seconds, unless the verb's own timeout is longer. A vacuum is one statement. */
  private static final int CALL_SECONDS = 600;
  private static final int MAX_CALL_SECONDS = 86_400;

  private final Settings arguments;
  private final Dialect dialect;
  private final S primary;
  private final List<S> replicas = new ArrayList<>();

  /** Opens the connections for a verb. */
  @FunctionalInterface
  protected interface Opening {
    JdbcAdmin<?> with(Settings arguments) throws Exception;
  }

  protected JdbcAdmin(Settings arguments, Dialect dialect, S primary) {
    this.arguments = arguments;
    this.dialect = dialect;
    this.primary = primary;
  }

  /** Reads the binding's properties from the file that the arguments name. */
  protected static Settings connection(Settings arguments) {
    arguments.required("connection");
    Properties properties = Admin.properties(arguments, "connection").properties();
    int seconds = Math.max(CALL_SECONDS, arguments.number("timeout", CALL_SECONDS, 1, Integer.MAX_VALUE));
    properties.setProperty("operationtimeout", Math.min(seconds, MAX_CALL_SECONDS) + "000");
    return new Settings(properties);
  }

  /** Returns the verbs that all JDBC systems support: schema, settle, count and stats. */
  protected static Map<String, Admin.Verb> verbs(Opening opening) {
    return Map.of(
        "schema", arguments -> answer(opening, arguments, JdbcAdmin::schema),
        "settle", arguments -> answer(opening, arguments, JdbcAdmin::settle),
        "count", arguments -> answer(opening, arguments, JdbcAdmin::count),
        "stats", arguments -> answer(opening, arguments, JdbcAdmin::stats));
  }

  @FunctionalInterface
  private interface Work {
    Map<String, ?> on(JdbcAdmin<?> admin) throws Exception;
  }

  private static Map<String, ?> answer(Opening opening, Settings arguments, Work work) throws Exception {
    try (JdbcAdmin<?> admin = opening.with(arguments)) {
      return work.on(admin);
    }
  }

  @Override
  public final void close() throws SQLException {
    for (S server : servers()) {
      server.close();
    }
  }

  protected final Settings arguments() {
    return arguments;
  }

  protected final S primary() {
    return primary;
  }

  protected final List<S> replicas() {
    return replicas;
  }

  protected final List<S> servers() {
    return Stream.concat(Stream.of(primary), replicas.stream()).toList();
  }

  /** Returns the addresses {@code HOST:PORT} in the argument {@code replicas}. */
  protected final List<String> replicaPlaces() {
    return Stream.of(arguments.text("replicas", "").split(",")).filter(place -> !place.isEmpty()).toList();
  }

  /**
   * Returns the number of replicas that receive changes from the primary. With semi-synchronous replication, only
   * replicas that acknowledge are counted.
   */
  protected abstract int connected() throws Exception;

  /** Creates the tables that do not exist. */
  protected abstract void create() throws Exception;

  /** Reads the conditions back from the servers. */
  protected abstract Map<String, Object> conditions() throws Exception;

  /** Returns the process id of the primary. */
  protected abstract long pid() throws Exception;

  /** Waits until every replica has all changes that the primary has committed so far. */
  protected abstract void waitForCopies(Wait wait) throws Exception;

  /** Writes to disk the changes that are only in a server's memory. */
  protected abstract void flush(S server, Wait wait) throws Exception;

  /** Throws an exception if a server has violated its reported conditions. */
  protected void check(S server) throws Exception {
  }

  /** Returns queries for the server's own statistics. The keys become parts of the file names. */
  protected abstract Map<String, String> views() throws Exception;

  /** Waits for the replicas, creates the tables, then reads the conditions back. */
  private Map<String, ?> schema() throws Exception {
    new Wait(arguments, dialect.name() + "_replica_timeout").until(() -> {
      int here = connected();
      return here >= replicas.size() ? "" : "%d of %d replicas have connected to the primary %s; see their logs"
          .formatted(here, replicas.size(), primary.place());
    });
    create();
    return Map.of("conditions", conditions(), "pid", pid());
  }

  /** Waits until all replicas have all changes, and all changes are on disk. Then counts the rows of {@code tables}. */
  private Map<String, ?> settle() throws Exception {
    Wait wait = new Wait(arguments, dialect.name() + "_settle_timeout");
    waitForCopies(wait);
    for (S server : servers()) {
      flush(server, wait);
    }
    check(primary);
    return Map.of("seconds", wait.seconds(), "rows", countRows());
  }

  /** Waits until every server has all rows of {@code tables}, then counts the rows on all servers. */
  private Map<String, ?> count() throws Exception {
    waitForCopies(new Wait(arguments, dialect.name() + "_settle_timeout"));
    return Map.of("rows", countRows());
  }

  /** Writes the primary's own statistics to files of {@code folder}. */
  private Map<String, ?> stats() throws Exception {
    Path folder = Admin.folder(arguments);
    for (Map.Entry<String, String> view : views().entrySet()) {
      Files.write(folder.resolve("stats-" + view.getKey() + ".txt"), lines(primary.rows(view.getValue())));
    }
    check(primary);
    return Map.of();
  }

  /**
   * Returns the conditions that follow from the number of copies.
   *
   * @param replication number of copies of every record
   * @param writes      number of copies that have a write when it is acknowledged
   */
  protected final Map<String, Object> conditionsOf(int replication, int writes) {
    Map<String, Object> conditions = new LinkedHashMap<>();
    conditions.put("nodes", replication);
    conditions.put("replication", replication);
    conditions.put("write_acks", acks(writes, replication, arguments.required("write_acks")));
    conditions.put("read_acks", acks(1, replication, arguments.required("read_acks")));
    conditions.put("write_copies", writes);
    conditions.put("read_copies", 1);
    // All reads go to the primary, which has all writes.
    conditions.put("consistency", "strong");
    conditions.put("endpoints", List.of(primary.place()));
    return conditions;
  }

  /** Returns a note on where reads and writes go; empty if there are no replicas. */
  protected final List<String> notesOfReplicas() {
    return replicas.isEmpty() ? List.of() : List.of("reads and writes: the primary %s; replicas: %s".formatted(
        primary.place(), replicas.stream().map(JdbcServer::place).collect(Collectors.joining(", "))));
  }

  /**
   * Returns the acknowledgements in the scenario's terms. With few copies, several terms mean the same. In that case
   * the requested term takes precedence.
   */
  private static String acks(int copies, int replication, String asked) {
    Map<String, Integer> words = new LinkedHashMap<>();
    words.put(asked, switch (asked) {
      case "one" -> 1;
      case "quorum" -> replication / 2 + 1;
      default -> replication;
    });
    words.putIfAbsent("one", 1);
    words.putIfAbsent("all", replication);
    words.putIfAbsent("quorum", replication / 2 + 1);
    return words.entrySet().stream().filter(word -> word.getValue() == copies).map(Map.Entry::getKey).findFirst()
        .orElse("%d of %d".formatted(copies, replication));
  }

  /** Returns the number of rows of each table. Throws an IOException if a replica and the primary differ. */
  private Map<String, Long> countRows() throws SQLException, IOException {
    Map<String, Long> rows = Admin.countRows(arguments, table -> count(primary, table));
    for (Map.Entry<String, Long> table : rows.entrySet()) {
      for (S replica : replicas) {
        long copied = count(replica, table.getKey());
        if (copied != table.getValue()) {
          throw new IOException("the replica %s has %d rows in %s, but the primary %s has %d".formatted(
              replica.place(), copied, table.getKey(), primary.place(), table.getValue()));
        }
      }
    }
    return rows;
  }

  private long count(S server, String table) throws SQLException {
    return Long.parseLong(server.value("SELECT COUNT(*) FROM " + dialect.quoted(table)));
  }

  /** Converts rows to lines of a file that the system's figures.yml reads. */
  static List<String> lines(List<Map<String, String>> rows) {
    return rows.stream().map(row -> row.entrySet().stream()
        .map(field -> field.getKey().matches("Variable_name|Value|Status|Type")
            ? field.getValue() : field.getKey() + "=" + field.getValue())
        .collect(Collectors.joining("\t"))).toList();
  }
}
