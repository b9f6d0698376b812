package dohyo.mysql.admin;

import dohyo.admin.Wait;
import dohyo.jdbc.Login;
import dohyo.jdbc.admin.JdbcServer;
import dohyo.mysql.MysqlDialect;
import java.io.IOException;
import java.sql.SQLException;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** Connection of an administrator to one running MariaDB or MySQL, a primary or a replica. */
public final class MysqlServer extends JdbcServer {
  /** Connects to the server. */
  public MysqlServer(Login login) throws SQLException {
    super(login);
  }

  String product() throws SQLException {
    return connection().getMetaData().getDatabaseProductName();
  }

  boolean isMariaDb() throws SQLException {
    return product().equals("MariaDB");
  }

  Map<String, String> variables() throws SQLException {
    return pairs("SHOW GLOBAL VARIABLES");
  }

  // ---- replication: MariaDB calls the servers master and slave, MySQL source and replica ----

  /** Makes this server follow a primary from its first transaction on. Waits until replication is running. */
  void follow(String host, int port, String user, String password, Wait timeout) throws Exception {
    String[] words = isMariaDb()
        ? new String[] {"CHANGE MASTER TO MASTER_", "MASTER_", "MASTER_USE_GTID = slave_pos"}
        : new String[] {"CHANGE REPLICATION SOURCE TO SOURCE_", "SOURCE_",
            "SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1"};
    execute("STOP REPLICA"); // in a copied load, replication may already be running
    execute(("%1$sHOST = %4$s, %2$sPORT = %5$d, %2$sUSER = %6$s, %2$sPASSWORD = %7$s, %2$sCONNECT_RETRY = 1,"
        + " %2$sSSL = 0, %3$s").formatted(words[0], words[1], words[2], MysqlDialect.literal(host), port,
        MysqlDialect.literal(user), MysqlDialect.literal(password)));
    execute("START REPLICA");
    timeout.until(() -> follows() ? "" : "%s does not follow %s:%d: %s".formatted(place(), host, port, replication()));
  }

  private boolean follows() throws SQLException {
    Map<String, String> status = replication();
    return "Yes".equals(status.get("io_running")) && "Yes".equals(status.get("sql_running"));
  }

  /**
   * Returns the relevant part of SHOW REPLICA STATUS: whether replication is running, the last errors, and the lag.
   * The result is empty on a primary.
   */
  private Map<String, String> replication() throws SQLException {
    Map<String, String> status = new TreeMap<>();
    for (Map<String, String> row : rows("SHOW REPLICA STATUS")) {
      row.forEach((name, value) -> {
        String known = name.toLowerCase(Locale.ROOT).replaceFirst("^(slave|replica)_", "");
        if (known.matches("io_running|sql_running|last_io_error|last_sql_error|seconds_behind_(master|source)")
            && value != null && !value.isEmpty()) {
          status.put(known, value);
        }
      });
    }
    return status;
  }

  /** Returns the position of the last transaction that the primary has committed, for {@link #waitFor}. */
  String position() throws SQLException {
    return value(isMariaDb() ? "SELECT @@gtid_binlog_pos" : "SELECT @@gtid_executed").replace("\n", "");
  }

  /**
   * Waits until this replica has applied all transactions up to a position of its primary.
   *
   * @throws IOException if replication has stopped, or takes too long
   */
  void waitFor(String position, Wait timeout) throws Exception {
    String wait = isMariaDb() ? "SELECT MASTER_GTID_WAIT(%s, 1)" : "SELECT WAIT_FOR_EXECUTED_GTID_SET(%s, 1)";
    timeout.until(() -> {
      if ("0".equals(value(wait.formatted(MysqlDialect.literal(position))))) {
        return "";
      }
      if (!follows()) {
        throw new IOException("the replica %s has stopped following the primary: %s".formatted(place(), replication()));
      }
      return "the replica %s has not caught up with the primary (%s)".formatted(place(), replication());
    });
  }

  /** Returns the number of replicas that receive changes from this primary. */
  int replicas() throws SQLException {
    return (int) rows("SHOW PROCESSLIST").stream().filter(row -> row.get("Command").startsWith("Binlog Dump")).count();
  }

  /** Returns how this primary waits for its replicas. */
  SemiSync semiSync() throws SQLException {
    Map<String, String> known = pairs("SHOW GLOBAL VARIABLES LIKE 'rpl_semi_sync_%'");
    known.putAll(pairs("SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_%'"));
    Map<String, String> plain = new TreeMap<>();
    known.forEach((name, value) -> plain.put(name.toLowerCase(Locale.ROOT)
        .replaceFirst("rpl_semi_sync_(master|source)_", "").replace("slave", "replica"), value));
    return new SemiSync(
        "ON".equals(plain.get("enabled")) && "ON".equals(plain.get("status")),
        Integer.parseInt(plain.getOrDefault("clients", "0")),
        Integer.parseInt(plain.getOrDefault("wait_for_replica_count", "1")),
        plain.getOrDefault("wait_point", ""),
        Long.parseLong(plain.getOrDefault("yes_tx", "0")),
        Long.parseLong(plain.getOrDefault("no_tx", "0")));
  }

  /**
   * State of semi-synchronous replication on a primary.
   *
   * @param on       whether it is active, and has not fallen back to asynchronous replication
   * @param clients  number of replicas that acknowledge
   * @param waitsFor number of replicas for which a write waits; always one in MariaDB
   * @param point    step of the commit at which a write waits
   * @param yes      number of transactions that replicas have acknowledged
   * @param no       number of transactions that replicas have not acknowledged
   */
  record SemiSync(boolean on, int clients, int waitsFor, String point, long yes, long no) {
    /** Returns how many replicas have a write when it is acknowledged. */
    int acknowledge() {
      return on ? Math.min(waitsFor, clients) : 0;
    }
  }
}
