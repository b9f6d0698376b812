package dohyo.postgresql.admin;

import dohyo.admin.Admin;
import dohyo.admin.Wait;
import dohyo.binding.KeyColumns;
import dohyo.binding.Settings;
import dohyo.jdbc.Key;
import dohyo.jdbc.admin.JdbcAdmin;
import dohyo.jdbc.admin.JdbcServer;
import dohyo.postgresql.PostgresqlDialect;
import dohyo.postgresql.PostgresqlLogin;
import java.io.IOException;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Administers a running PostgreSQL for Ansible. */
public final class PostgresqlAdmin extends JdbcAdmin<JdbcServer> {
  private static final PostgresqlDialect DIALECT = new PostgresqlDialect();
  /** Views that have one row, or one row per database. Some versions do not have all views. */
  private static final List<String> COUNTERS =
      List.of("pg_stat_database", "pg_stat_bgwriter", "pg_stat_checkpointer", "pg_stat_wal");

  private PostgresqlAdmin(Settings arguments) throws SQLException {
    super(arguments, DIALECT, new JdbcServer(login(arguments)));
    for (String place : replicaPlaces()) {
      replicas().add(new JdbcServer(login(arguments).at(place)));
    }
  }

  private static PostgresqlLogin login(Settings arguments) {
    return new PostgresqlLogin(connection(arguments));
  }

  /** Runs one verb: schema, settle, count or stats. */
  public static void main(String[] words) {
    Admin.main("PostgreSQL", verbs(PostgresqlAdmin::new), words);
  }

  @Override
  protected int connected() throws SQLException {
    return number("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'");
  }

  @Override
  protected void create() throws SQLException, IOException {
    String mark = Admin.mark(arguments());
    Map<String, String> there = primary().pairs("SELECT relname, obj_description(oid, 'pg_class') FROM pg_class"
        + " WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace");
    for (Map.Entry<String, String> table : there.entrySet()) {
      if (!mark.equals(table.getValue())) {
        throw Admin.foreign("the table %s.%s on %s".formatted(
            primary().value("SELECT current_database()"), table.getKey(), primary().place()), "move it away");
      }
    }
    boolean lz4 = arguments().text("compression", "none").equals("lz4") && number(
        "SELECT count(*) FROM pg_settings WHERE name = 'default_toast_compression' AND 'lz4' = ANY (enumvals)") == 1;
    for (String table : Admin.tables(arguments())) {
      if (!there.containsKey(table)) {
        // Several statements in one message form a single transaction.
        primary().execute(statements(arguments(), table, lz4));
      }
    }
  }

  /**
   * Returns the statements that create a table.
   *
   * @param arguments keycolumns, fieldcount, fieldnameprefix and trial
   * @param table     table name
   * @param lz4       whether large values are compressed with LZ4; otherwise they are not compressed
   */
  public static String statements(Settings arguments, String table, boolean lz4) {
    KeyColumns key = KeyColumns.of(arguments, Key.SINGLE);
    String prefix = arguments.text("fieldnameprefix", "field");
    List<String> fields = IntStream.range(0, arguments.number("fieldcount", 10, 1, Integer.MAX_VALUE))
        .mapToObj(field -> DIALECT.quoted(prefix + field)).toList();
    String columns = Stream.concat(
        key.columns().stream().map(column -> DIALECT.quoted(column.name()) + " " + type(column) + " NOT NULL"),
        fields.stream().map(field -> field + " bytea")).collect(Collectors.joining(",\n  "));
    String primary = key.names().stream().map(DIALECT::quoted).collect(Collectors.joining(", "));
    String storage = fields.stream()
        .map(field -> "ALTER " + field + (lz4 ? " SET COMPRESSION lz4" : " SET STORAGE EXTERNAL"))
        .collect(Collectors.joining(", "));
    String name = DIALECT.quoted(table);
    return "CREATE TABLE " + name + " (\n  " + columns + ",\n  PRIMARY KEY (" + primary + ")\n);\nALTER TABLE "
        + name + " " + storage
        + ";\nCOMMENT ON TABLE " + name + " IS " + PostgresqlDialect.literal(Admin.mark(arguments));
  }

  private static String type(KeyColumns.Column column) {
    return switch (column.type()) {
      case KEY -> "bytea";
      case INT -> "integer";
      case TEXT -> "varchar(" + column.length() + ") COLLATE \"C\"";
      default -> "bigint";
    };
  }

  @Override
  protected Map<String, Object> conditions() throws SQLException {
    Map<String, String> settings = settings(primary());
    int replication = 1 + connected();
    String commit = settings.get("synchronous_commit");
    int waitsFor = settings.get("synchronous_standby_names").isEmpty() || commit.matches("off|local") ? 0
        : Math.min(number("SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')"),
            Integer.parseInt(settings.get("synchronous_standby_names").replaceAll("^ANY (\\d+) .*", "$1")));
    Map<String, Object> conditions = conditionsOf(replication, 1 + waitsFor);
    conditions.put("version", settings.get("server_version").replaceAll(" .*", ""));
    conditions.put("durability", isDurable(commit, waitsFor) ? "disk" : "memory");
    conditions.put("compression", compression(primary(), settings));
    conditions.put("memory", "shared buffers %d MiB, and the cache of the operating system".formatted(
        number("SELECT pg_size_bytes(current_setting('shared_buffers')) / 1048576")));
    List<String> notes = new ArrayList<>(notesOfReplicas());
    notes.add("write-ahead log: " + Stream.of("fsync", "synchronous_commit", "full_page_writes", "wal_sync_method",
        "wal_level").map(name -> name + " " + settings.get(name)).collect(Collectors.joining(", "))
        + ", max_wal_size %s MiB, checkpoint_timeout %s s".formatted(
            settings.get("max_wal_size"), settings.get("checkpoint_timeout")));
    if (!replicas().isEmpty()) {
      notes.add(waitsFor == 0 ? "asynchronous replication: writes do not wait for standbys"
          : "synchronous replication: a write waits for %d of %d standbys, log %s".formatted(
              waitsFor, replication - 1, commit.equals("remote_write") ? "in memory" : "on disk"));
    }
    String flags = primary().value("SELECT setting FROM pg_config WHERE name = 'CFLAGS'");
    if (flags.matches("(.* )?-O[s01]( .*)?")) {
      notes.add("the server was compiled with %s, which is slower than -O2; set another postgresql_server"
          .formatted(flags.replaceAll("(.* )?(-O[s01])( .*)?", "$2")));
    }
    conditions.put("notes", notes);
    return conditions;
  }

  private static Map<String, String> settings(JdbcServer server) throws SQLException {
    return server.pairs("SELECT name, setting FROM pg_settings");
  }

  /** Returns whether an acknowledged write survives a power failure on every server that acknowledged it. */
  private boolean isDurable(String commit, int waitsFor) throws SQLException {
    for (JdbcServer server : waitsFor == 0 ? List.of(primary()) : servers()) {
      Map<String, String> settings = settings(server);
      if (!settings.get("fsync").equals("on") || !settings.get("full_page_writes").equals("on")) {
        return false;
      }
    }
    return !commit.equals("off") && (waitsFor == 0 || !commit.equals("remote_write"));
  }

  /** Returns the compression in the scenario's terms. PostgreSQL compresses only rows of more than 2 kB (TOAST). */
  static String compression(JdbcServer server, Map<String, String> settings) throws SQLException {
    List<String> methods = server.rows("SELECT DISTINCT attstorage = 'x' AS compressed, attcompression AS method"
        + " FROM pg_attribute JOIN pg_class ON attrelid = pg_class.oid"
        + " WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        + " AND atttypid = 'bytea'::regtype AND attnum > 0 AND NOT attnotnull").stream()
        .map(column -> !column.get("compressed").equals("t") ? "none" : switch (column.get("method")) {
          case "l" -> "lz4";
          case "p" -> "pglz";
          default -> settings.get("default_toast_compression");
        }).distinct().toList();
    return String.join(", ", methods);
  }

  @Override
  protected long pid() throws SQLException {
    return number("SELECT split_part(pg_read_file('postmaster.pid'), chr(10), 1)");
  }

  private int number(String query) throws SQLException {
    return Integer.parseInt(primary().value(query));
  }

  @Override
  protected void waitForCopies(Wait wait) throws Exception {
    String position = replicas().isEmpty() ? "" : primary().value("SELECT pg_current_wal_flush_lsn()");
    for (JdbcServer replica : replicas()) {
      String missing = "SELECT greatest(0, %s::pg_lsn - pg_last_wal_replay_lsn())"
          .formatted(PostgresqlDialect.literal(position));
      wait.until(() -> {
        String bytes = replica.value(missing);
        return "0".equals(bytes) ? "" : "the standby %s is %s bytes behind the primary's log".formatted(
            replica.place(), bytes);
      });
    }
  }

  /**
   * Vacuums and analyses the tables, as autovacuum would do after a load, and writes all changes to disk. A standby
   * first waits for all changes.
   */
  @Override
  protected void flush(JdbcServer server, Wait wait) throws Exception {
    if (server == primary()) {
      for (String table : Admin.tables(arguments())) {
        server.execute("VACUUM (ANALYZE) " + DIALECT.quoted(table));
      }
    } else {
      waitForCopies(wait);
    }
    server.execute("CHECKPOINT");
  }

  /** Returns the query for the counters of the server and of the connection's database. */
  static String status(JdbcServer server) throws SQLException {
    List<String> counters = new ArrayList<>();
    for (String view : COUNTERS) {
      if (server.value("SELECT to_regclass('%s')".formatted(view)) != null) {
        counters.add(("SELECT '%1$s.' || key AS \"Variable_name\", value AS \"Value\""
            + " FROM %1$s, jsonb_each_text(to_jsonb(%1$s))").formatted(view)
            + (view.endsWith("database") ? " WHERE datname = current_database()" : ""));
      }
    }
    return String.join(" UNION ALL ", counters);
  }

  @Override
  protected Map<String, String> views() throws SQLException {
    Map<String, String> views = new LinkedHashMap<>();
    views.put("status", status(primary()));
    views.put("settings", "SELECT name AS \"Variable_name\", setting AS \"Value\" FROM pg_settings");
    views.put("tables", "SELECT * FROM pg_stat_user_tables");
    views.put("replication", "SELECT * FROM pg_stat_replication");
    views.put("connections", "SELECT pid, client_addr, state, wait_event FROM pg_stat_activity");
    return views;
  }
}
