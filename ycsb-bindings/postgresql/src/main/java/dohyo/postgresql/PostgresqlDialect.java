package dohyo.postgresql;

import dohyo.jdbc.Dialect;
import java.sql.SQLException;
import java.util.Set;

/** SQL and error codes of PostgreSQL. */
public final class PostgresqlDialect implements Dialect {
  /** Codes of serialization_failure, deadlock_detected and lock_not_available (PostgreSQL's manual, appendix A). */
  private static final Set<String> ROLLED_BACK = Set.of("40001", "40P01", "55P03");

  @Override
  public String name() {
    return "postgresql";
  }

  @Override
  public String quoted(String name) {
    return '"' + name.replace("\"", "\"\"") + '"';
  }

  /** Returns a text in quotes, for statements that do not accept variables. */
  public static String literal(String text) {
    return "'" + text.replace("'", "''") + "'";
  }

  @Override
  public String onConflict(String key) {
    return "ON CONFLICT (" + key + ") DO UPDATE SET";
  }

  @Override
  public String replaces() {
    return "%1$s = EXCLUDED.%1$s";
  }

  @Override
  public String completes(String table) {
    return "%1$s = COALESCE(EXCLUDED.%1$s, " + table.replace("%", "%%") + ".%1$s)";
  }

  @Override
  public boolean comparesRows() {
    return true;
  }

  @Override
  public boolean writesTwice() {
    return false;
  }

  @Override
  public boolean isRolledBack(SQLException error) {
    return ROLLED_BACK.contains(code(error));
  }

  @Override
  public String code(SQLException error) {
    return error.getSQLState() == null ? "" : error.getSQLState();
  }
}
