package dohyo.postgresql.admin;

import dohyo.admin.Admin;
import dohyo.admin.Attached;
import dohyo.binding.Settings;
import dohyo.jdbc.admin.AttachedJdbc;
import dohyo.jdbc.admin.JdbcServer;
import dohyo.postgresql.PostgresqlDialect;
import dohyo.postgresql.PostgresqlLogin;
import java.io.IOException;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Administers a trial's database on an attached PostgreSQL. The argument {@code database} names the database to connect
 * to before the trial's database exists. There, verbs read the catalogue, and create or drop the trial's database.
 */
public final class AttachedPostgresql extends AttachedJdbc<JdbcServer> {
  /** SQLSTATE duplicate_database. */
  private static final String EXISTS = "42P04";
  /** SQLSTATE object_in_use. */
  private static final String IN_USE = "55006";
  /**
   * Number of plain drops before WITH (FORCE). A plain drop waits 5 s for connections to end, and ends autovacuum
   * workers (CountOtherDBBackends). WITH (FORCE) can end these workers only if the user is a superuser or a member of
   * pg_signal_backend (TerminateOtherDBBackends).
   */
  private static final int PLAIN_DROPS = 2;
  /** First version in which DROP DATABASE can end connections to the database. */
  private static final int FORCES = 13;

  /** Query for objects that do not come from the template (FirstNormalObjectId), with the comments of tables. */
  private static final String OBJECTS = """
      SELECT 'the table ' || quote_ident(nspname) || '.' || quote_ident(relname), obj_description(c.oid, 'pg_class')
      FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
      WHERE c.oid >= 16384 AND relkind IN ('r', 'p', 'v', 'm', 'f') AND nspname NOT LIKE 'pg\\_%'
      UNION ALL SELECT 'the sequence ' || quote_ident(nspname) || '.' || quote_ident(relname), NULL
      FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
      WHERE c.oid >= 16384 AND relkind = 'S' AND nspname NOT LIKE 'pg\\_%'
      UNION ALL SELECT 'the function ' || oid::regprocedure, NULL FROM pg_proc WHERE oid >= 16384
      UNION ALL SELECT 'the type ' || oid::regtype, NULL FROM pg_type
      WHERE oid >= 16384 AND (typtype IN ('e', 'd', 'r') OR typtype = 'c' AND EXISTS (
        SELECT FROM pg_class c WHERE c.oid = typrelid AND relkind = 'c'))
      UNION ALL SELECT 'the schema ' || quote_ident(nspname), NULL FROM pg_namespace
      WHERE oid >= 16384 AND nspname NOT LIKE 'pg\\_%'
      UNION ALL SELECT 'the extension ' || quote_ident(extname), NULL FROM pg_extension WHERE oid >= 16384
      UNION ALL SELECT 'the large object ' || oid, NULL FROM pg_largeobject_metadata""";

  /** Connection to the trial's database; null until it is first used. */
  private JdbcServer inside;

  AttachedPostgresql(Settings arguments) throws SQLException {
    super(arguments, new PostgresqlDialect(), to(arguments, arguments.text("database", "postgres")));
  }

  private static JdbcServer to(Settings arguments, String database) throws SQLException {
    return new JdbcServer(new PostgresqlLogin(connection(arguments, "postgresql.url",
        "jdbc:postgresql://" + arguments.required("server") + "/" + database)));
  }

  /** Runs one verb of {@link Attached}. */
  public static void main(String[] args) {
    Admin.main("PostgreSQL", Attached.verbs(AttachedPostgresql::new), args);
  }

  @Override
  public void close() throws IOException {
    try {
      leave();
    } catch (SQLException e) {
      throw new IOException(e);
    } finally {
      super.close();
    }
  }

  private void leave() throws SQLException {
    if (inside != null) {
      inside.close();
      inside = null;
    }
  }

  @Override
  protected JdbcServer inside() throws SQLException {
    if (inside == null) {
      inside = to(arguments(), place());
    }
    return inside;
  }

  @Override
  protected String status() throws SQLException {
    return PostgresqlAdmin.status(inside());
  }

  @Override
  public boolean exists() throws SQLException {
    return !server().value("SELECT count(*) FROM pg_database WHERE datname = " + PostgresqlDialect.literal(place()))
        .equals("0");
  }

  @Override
  public boolean make() throws SQLException {
    try {
      // Use template0: template1 may contain objects of the site, which have no mark and would count as foreign.
      server().execute("CREATE DATABASE " + quoted() + " TEMPLATE template0");
      return true;
    } catch (SQLException e) {
      if (EXISTS.equals(e.getSQLState())) {
        return false;
      }
      throw e;
    }
  }

  @Override
  public void createTables() throws SQLException {
    boolean lz4 = arguments().text("compression", "none").equals("lz4") && !inside().value(
        "SELECT count(*) FROM pg_settings WHERE name = 'default_toast_compression' AND 'lz4' = ANY (enumvals)")
        .equals("0");
    for (String table : Admin.tables(arguments())) {
      inside().execute(PostgresqlAdmin.statements(arguments(), table, lz4));
    }
  }

  @Override
  public List<String> foreign() throws SQLException {
    String mark = Admin.mark(arguments());
    return inside().pairs(OBJECTS).entrySet().stream().filter(each -> !mark.equals(each.getValue()))
        .map(Map.Entry::getKey).toList();
  }

  @Override
  public String remove() throws SQLException {
    leave();
    int version = Integer.parseInt(server().value("SELECT current_setting('server_version_num')"));
    boolean forces = version / 10_000 >= FORCES;
    for (int tries = PLAIN_DROPS; tries > 0; tries--) {
      try {
        server().execute("DROP DATABASE " + quoted());
        return "";
      } catch (SQLException e) {
        if (!IN_USE.equals(e.getSQLState()) || tries == 1 && !forces) {
          throw e;
        }
      }
    }
    server().execute("DROP DATABASE " + quoted() + " WITH (FORCE)");
    return "";
  }

  /** Vacuums only the trial's tables. A checkpoint would affect the whole server. */
  @Override
  public boolean flush() throws SQLException {
    for (String table : Admin.tables(arguments())) {
      inside().execute("VACUUM (ANALYZE) " + new PostgresqlDialect().quoted(table));
    }
    return true;
  }

  @Override
  public Map<String, Object> conditions() throws SQLException {
    Map<String, String> settings = server().pairs("SELECT name, setting FROM pg_settings");
    String commit = settings.getOrDefault("synchronous_commit", "");
    // Some settings are missing unless the user is a member of pg_read_all_settings.
    String standbys = settings.get("synchronous_standby_names");
    boolean waits = standbys == null || !standbys.isEmpty() && !commit.matches("off|local");
    Map<String, Object> conditions = conditionsOf(1);
    conditions.put("version", settings.get("server_version").replaceAll(" .*", ""));
    // Without full page images, the storage itself may write whole pages.
    conditions.put("durability", commit.isEmpty() || waits && commit.equals("remote_write") ? UNKNOWN
        : commit.equals("off") || !"on".equals(settings.get("fsync")) ? "memory"
        : "on".equals(settings.get("full_page_writes")) ? "disk" : UNKNOWN);
    conditions.put("compression", exists() ? PostgresqlAdmin.compression(inside(), settings) : UNKNOWN);
    conditions.put("notes", List.of(Stream.of("fsync", "synchronous_commit", "full_page_writes", "wal_level",
        "synchronous_standby_names", "shared_buffers").map(name -> name + " " + settings.getOrDefault(name, UNKNOWN))
        .collect(Collectors.joining(", "))));
    return conditions;
  }

  @Override
  public long clock() throws SQLException {
    return Long.parseLong(server().value("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"));
  }

  @Override
  public List<String> missingRights() throws SQLException {
    return server().value("SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user").equals("t")
        ? List.of() : List.of("CREATEDB");
  }
}
