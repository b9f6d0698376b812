package dohyo.mysql;

import dohyo.jdbc.Dialect;
import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;

/** SQL that MariaDB and MySQL share. */
public final class MysqlDialect implements Dialect {
  /** Code of ER_LOCK_WAIT_TIMEOUT, for which the driver has no exception class. */
  private static final int LOCK_WAIT_TIMEOUT = 1205;

  @Override
  public String name() {
    return "mysql";
  }

  @Override
  public String quoted(String name) {
    return '`' + name.replace("`", "``") + '`';
  }

  /**
   * Returns a text in quotes, for statements that do not accept variables. The quotes are valid in the SQL mode that
   * {@link MysqlLogin} sets.
   */
  public static String literal(String text) {
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'";
  }

  @Override
  public String onConflict(String key) {
    return "ON DUPLICATE KEY UPDATE";
  }

  @Override
  public String replaces() {
    return "%1$s = VALUES(%1$s)";
  }

  @Override
  public String completes(String table) {
    return "%1$s = COALESCE(VALUES(%1$s), %1$s)";
  }

  @Override
  public boolean comparesRows() {
    return false;
  }

  @Override
  public boolean writesTwice() {
    return true;
  }

  @Override
  public boolean isRolledBack(SQLException error) {
    return error instanceof SQLTransactionRollbackException || error.getErrorCode() == LOCK_WAIT_TIMEOUT;
  }

  @Override
  public String code(SQLException error) {
    return error.getErrorCode() == 0 ? "" : String.valueOf(error.getErrorCode());
  }
}
