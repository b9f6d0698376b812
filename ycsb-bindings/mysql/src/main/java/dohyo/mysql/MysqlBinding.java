package dohyo.mysql;

import dohyo.binding.Settings;
import dohyo.jdbc.JdbcBinding;
import dohyo.jdbc.Login;

/** Binding for MySQL and MariaDB, with any storage engine. */
public final class MysqlBinding extends JdbcBinding {
  /** Creates a binding that connects with {@code mysql.url}, {@code mysql.user} and {@code mysql.password}. */
  public MysqlBinding() {
    super(new MysqlDialect());
  }

  @Override
  protected Login login(Settings settings) {
    return new MysqlLogin(settings);
  }
}
