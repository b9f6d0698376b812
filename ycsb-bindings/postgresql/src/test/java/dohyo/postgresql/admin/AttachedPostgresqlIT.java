package dohyo.postgresql.admin;

import dohyo.admin.Attached;
import dohyo.binding.Settings;
import dohyo.contract.AttachedJdbcContract;
import dohyo.postgresql.PostgresqlLogin;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Map;

class AttachedPostgresqlIT extends AttachedJdbcContract {
  AttachedPostgresqlIT() {
    super("postgresql");
  }

  @Override
  protected Attached.Opening opening() {
    return AttachedPostgresql::new;
  }

  @Override
  protected Map<String, String> words() {
    return Map.of("server", url.getAuthority());
  }

  @Override
  protected Connection connect(Settings settings) throws SQLException {
    return new PostgresqlLogin(settings).connect();
  }

  @Override
  protected String everything() {
    return "SELECT datname FROM pg_database UNION ALL SELECT relname FROM pg_class ORDER BY 1";
  }
}
