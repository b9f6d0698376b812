package dohyo.mysql.admin;

import dohyo.admin.Admin;
import dohyo.admin.Attached;
import dohyo.binding.Settings;
import dohyo.jdbc.admin.AttachedJdbc;
import dohyo.mysql.MysqlDialect;
import dohyo.mysql.MysqlLogin;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Administers a trial's database on an attached MySQL or MariaDB. It also takes the arguments of {@link Schema}. */
public final class AttachedMysql extends AttachedJdbc<MysqlServer> {
  /** Error code ER_DB_CREATE_EXISTS. */
  private static final int EXISTS = 1007;
  private static final List<String> RIGHTS = List.of("CREATE", "DROP", "SELECT", "INSERT", "UPDATE", "DELETE");

  AttachedMysql(Settings arguments) throws SQLException {
    super(arguments, new MysqlDialect(), new MysqlServer(new MysqlLogin(
        connection(arguments, "mysql.url", "jdbc:mariadb://" + arguments.required("server") + "/"))));
  }

  /** Runs one verb of {@link Attached}. */
  public static void main(String[] args) {
    Admin.main("MySQL", Attached.verbs(AttachedMysql::new), args);
  }

  @Override
  protected MysqlServer inside() throws SQLException {
    server().execute("USE " + quoted());
    return server();
  }

  @Override
  protected String status() {
    return MysqlAdmin.STATUS;
  }

  @Override
  public boolean exists() throws SQLException {
    return !server().value("SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = "
        + MysqlDialect.literal(place())).equals("0");
  }

  @Override
  public boolean make() throws SQLException {
    try {
      server().execute("CREATE DATABASE " + quoted());
      return true;
    } catch (SQLException e) {
      if (e.getErrorCode() == EXISTS) {
        return false;
      }
      throw e;
    }
  }

  @Override
  public void createTables() throws Exception {
    new Schema(arguments()).create(inside());
  }

  @Override
  public List<String> foreign() throws SQLException {
    String here = " = " + MysqlDialect.literal(place());
    String mark = Admin.mark(arguments());
    List<String> found = new ArrayList<>(server().pairs(
        "SELECT TABLE_NAME, TABLE_COMMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA" + here).entrySet().stream()
        .filter(table -> !mark.equals(table.getValue())).map(table -> "the table " + table.getKey()).toList());
    for (String query : List.of("SELECT ROUTINE_NAME, 1 FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA",
        "SELECT EVENT_NAME, 1 FROM information_schema.EVENTS WHERE EVENT_SCHEMA",
        "SELECT TRIGGER_NAME, 1 FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA")) {
      found.addAll(server().pairs(query + here).keySet());
    }
    return found;
  }

  @Override
  public String remove() throws SQLException {
    server().execute("DROP DATABASE " + quoted());
    return "";
  }

  @Override
  public Map<String, Object> conditions() throws SQLException {
    Map<String, String> variables = server().variables();
    Map<String, String> engines = server().pairs("SELECT DISTINCT ENGINE, CREATE_OPTIONS"
        + " FROM information_schema.TABLES WHERE TABLE_SCHEMA = " + MysqlDialect.literal(place()));
    String options = engines.values().stream().distinct().collect(Collectors.joining(", "));
    MysqlServer.SemiSync semiSync = server().semiSync();
    boolean stated = Stream.of("innodb_flush_log_at_trx_commit", "innodb_flush_method", "log_bin", "sync_binlog",
        "read_only", "flush").allMatch(variables::containsKey);
    Map<String, Object> conditions = conditionsOf(1 + semiSync.acknowledge());
    conditions.put("product", server().product());
    conditions.put("version", variables.get("version").replaceAll("-MariaDB.*", ""));
    // Without a doublewrite buffer, the storage itself may write whole pages.
    conditions.put("durability", !stated ? UNKNOWN
        : !MysqlAdmin.durable(engines, List.of(server())) ? "memory"
        : !engines.containsKey("InnoDB") || MysqlAdmin.protectsPages(variables) ? "disk" : UNKNOWN);
    conditions.put("compression", engines.containsKey("InnoDB") ? MysqlAdmin.compression(options, variables) : "none");
    conditions.put("notes", List.of(
        "tables: " + String.join(", ", engines.keySet()) + " " + options,
        Stream.of("innodb_flush_log_at_trx_commit", "innodb_doublewrite", "innodb_flush_method", "sync_binlog",
            "log_bin", "innodb_buffer_pool_size").map(name -> name + " " + variables.getOrDefault(name, UNKNOWN))
            .collect(Collectors.joining(", "))));
    return conditions;
  }

  @Override
  public long clock() throws SQLException {
    return Long.parseLong(server().value("SELECT CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)"));
  }

  @Override
  public List<String> missingRights() throws SQLException {
    List<String> grants = server().rows("SHOW GRANTS").stream().map(row -> row.values().iterator().next())
        .filter(grant -> grant.contains(" ON *.* ") || grant.contains(" ON `dohyo")).toList();
    return RIGHTS.stream().filter(right -> grants.stream().noneMatch(
        grant -> grant.startsWith("GRANT ALL PRIVILEGES") || grant.matches("GRANT (.*, )?" + right + "(,.*)? ON .*")))
        .map(right -> right + " ON `dohyo\\_%`.*").toList();
  }
}
