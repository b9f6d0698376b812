package dohyo.cassandra.admin;

import com.datastax.driver.core.TableMetadata;
import com.datastax.driver.core.exceptions.AlreadyExistsException;
import com.datastax.driver.core.exceptions.DriverException;
import dohyo.admin.Admin;
import dohyo.admin.Attached;
import dohyo.binding.Settings;
import dohyo.cassandra.Query;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Administers a trial's keyspace in an attached cluster that speaks CQL: Cassandra, DataStax, ScyllaDB or Keyspaces.
 * The arguments are those of {@link CqlAdmin}, where {@code host} is a list of hosts, and those of {@link Attached}.
 */
public final class AttachedCql implements Attached {
  /** Column of system_schema.tables since Cassandra 5.0: false if a dropped table leaves no snapshot. */
  private static final String SNAPSHOT = "allow_auto_snapshot";
  /** Tables with a server's settings: that of ScyllaDB, with JSON values, and that of Cassandra 4.0 and newer. */
  private static final List<String> SETTINGS = List.of("system.config", "system_views.settings");
  /** Permission to create the keyspace. The server grants its creator all other permissions on it. */
  private static final String RIGHT = "CREATE";

  private final Settings arguments;
  private final CqlAdmin cql;

  AttachedCql(Settings arguments) throws IOException {
    arguments.properties().setProperty("keyspace", arguments.required("place"));
    this.arguments = arguments;
    cql = new CqlAdmin(arguments);
  }

  /** Runs one verb of {@link Attached}. */
  public static void main(String[] args) {
    Admin.main("CQL", Attached.verbs(AttachedCql::new), args);
  }

  @Override
  public void close() {
    cql.close();
  }

  @Override
  public String what() {
    return "the keyspace " + cql.keyspace() + " on " + arguments.required("host");
  }

  @Override
  public boolean exists() {
    return cql.hasKeyspace();
  }

  @Override
  public boolean make() throws IOException {
    int copies = arguments.number("replication", 1, 1, Integer.MAX_VALUE);
    String center = cql.dataCenter();
    long nodes = cql.metadata().getAllHosts().stream().filter(host -> center.equals(host.getDatacenter())).count();
    if (copies > nodes) {
      throw new IOException("replication %d needs that many nodes, but %s in %s has %d; lower replication"
          .formatted(copies, center, arguments.required("host"), nodes));
    }
    try {
      cql.createKeyspace();
      return true;
    } catch (AlreadyExistsException e) {
      return false;
    }
  }

  @Override
  public void createTables() {
    cql.createTables(Set.of(), Admin.mark(arguments), leavesSnapshots() ? "" : " AND " + SNAPSHOT + " = false");
  }

  private boolean leavesSnapshots() {
    TableMetadata tables = cql.metadata().getKeyspace("system_schema").getTable("tables");
    return tables == null || tables.getColumn(SNAPSHOT) == null;
  }

  @Override
  public List<String> foreign() {
    String mark = Admin.mark(arguments);
    List<String> found = new ArrayList<>(cql.comments().entrySet().stream()
        .filter(table -> !mark.equals(table.getValue())).map(table -> "the table " + table.getKey()).toList());
    // A run creates none of the following objects, so any of them is foreign.
    Map<String, String> others = new LinkedHashMap<>();
    others.put("views", "view_name");
    others.put("types", "type_name");
    others.put("functions", "function_name");
    others.put("aggregates", "aggregate_name");
    others.forEach((table, column) -> found.addAll(
        cql.values("SELECT " + column + " FROM system_schema." + table + " WHERE keyspace_name = ?", cql.keyspace())));
    return found;
  }

  @Override
  public String remove() {
    cql.execute("DROP KEYSPACE " + Query.quoted(cql.keyspace()));
    return leavesSnapshots() ? "snapshots; on each node: nodetool clearsnapshot --all -- " + cql.keyspace() : "";
  }

  @Override
  public Map<String, Object> conditions() {
    Map<String, String> settings = settings();
    boolean made = exists();
    Map<String, Object> conditions = new LinkedHashMap<>(made ? cql.conditions()
        : Map.of("version", cql.version(), "nodes", cql.metadata().getAllHosts().size(), "notes", List.of()));
    // Some servers, such as Keyspaces, do not report the number of replicas.
    if (Integer.valueOf(0).equals(conditions.get("replication"))) {
      conditions.put("replication", UNKNOWN);
      conditions.put("write_copies", null);
      conditions.put("read_copies", null);
    }
    String sync = settings.getOrDefault("commitlog_sync", "");
    conditions.put("durability", sync.isEmpty() ? UNKNOWN : CqlAdmin.durability(settings));
    conditions.put("notes", Stream.concat(
        cql.isScylla() ? Stream.concat(CqlAdmin.protection(settings), cql.scyllaNotes(settings))
            : CqlAdmin.protection(settings.getOrDefault("authenticator", ""),
                settings.getOrDefault("client_encryption_options.enabled", "").equals("true"),
                settings.getOrDefault("server_encryption_options.internode_encryption", "").equals("all")),
        Stream.of("commit log: " + (sync.isEmpty() ? UNKNOWN : sync),
            made ? "compaction: " + cql.compaction() : "",
            leavesSnapshots() ? "nodes with auto_snapshot keep a snapshot of the run's tables after the run" : "")
            .filter(note -> !note.isEmpty())).toList());
    return conditions;
  }

  /** Returns the server's settings; empty if no table contains them or this user may not read the table. */
  private Map<String, String> settings() {
    for (String table : SETTINGS) {
      try {
        Map<String, String> settings = cql.settings(table);
        settings.replaceAll((name, value) -> value.replaceAll("^\"|\"$", ""));
        return settings;
      } catch (DriverException e) {
        continue; // try the table of the other product
      }
    }
    return Map.of();
  }

  @Override
  public Map<String, Long> countRows() {
    return cql.countRows();
  }

  @Override
  public void ping() {
    cql.version();
  }

  @Override
  public long clock() {
    return Long.parseLong(cql.value("SELECT toUnixTimestamp(now()) FROM system.local").orElse("-1"));
  }

  /** Returns CREATE ON ALL KEYSPACES if the user lacks it. A run needs this permission to create its keyspace. */
  @Override
  public List<String> missingRights() {
    Settings access = Admin.properties(arguments, "connection");
    if (!access.has("cassandra.username")) {
      return List.of();
    }
    String user = access.required("cassandra.username");
    try {
      if (cql.values("LIST ROLES OF " + Query.quoted(user)).isEmpty() || cql.isSuperuser(user)) {
        return List.of();
      }
      return cql.permissions(user).anyMatch(RIGHT::equals) ? List.of() : List.of(RIGHT + " ON ALL KEYSPACES");
    } catch (DriverException e) {
      return List.of("the server does not show permissions: " + e.getMessage());
    }
  }
}
