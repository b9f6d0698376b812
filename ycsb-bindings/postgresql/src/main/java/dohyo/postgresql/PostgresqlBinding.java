package dohyo.postgresql;

import dohyo.binding.Settings;
import dohyo.jdbc.JdbcBinding;
import dohyo.jdbc.Login;

/** Binding for PostgreSQL. */
public final class PostgresqlBinding extends JdbcBinding {
  /**
   * Creates a binding that uses {@code postgresql.url}, {@code postgresql.user} and {@code postgresql.password}.
   */
  public PostgresqlBinding() {
    super(new PostgresqlDialect());
  }

  @Override
  protected Login login(Settings settings) {
    return new PostgresqlLogin(settings);
  }
}
