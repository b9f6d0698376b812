package dohyo.mysql.admin;

import dohyo.admin.Attached;
import dohyo.binding.Settings;
import dohyo.contract.AttachedJdbcContract;
import dohyo.mysql.MysqlLogin;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Map;

class AttachedMysqlIT extends AttachedJdbcContract {
  AttachedMysqlIT() {
    super("mysql");
  }

  @Override
  protected Attached.Opening opening() {
    return AttachedMysql::new;
  }

  @Override
  protected Map<String, String> words() {
    return Map.of("server", url.getAuthority(), "engine", "InnoDB", "fieldlength", "100");
  }

  @Override
  protected Connection connect(Settings settings) throws SQLException {
    return new MysqlLogin(settings).connect();
  }

  @Override
  protected String everything() {
    return "SELECT concat_ws('.', TABLE_SCHEMA, TABLE_NAME, CREATE_TIME)"
        + " FROM information_schema.TABLES WHERE TABLE_SCHEMA <> 'information_schema' ORDER BY 1";
  }
}
