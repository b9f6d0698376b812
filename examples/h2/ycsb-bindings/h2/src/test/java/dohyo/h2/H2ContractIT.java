package dohyo.h2;

import dohyo.binding.Binding;
import dohyo.contract.BindingContract;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Contract test of the binding on a real H2. */
class H2ContractIT extends BindingContract {
  @Override
  protected Binding newBinding() {
    return new H2Binding();
  }

  @Override
  protected void createTable(String name, boolean binaryKeys, List<String> fields) throws SQLException {
    String columns = fields.stream().map(field -> ", " + H2Binding.quoted(field) + " VARBINARY(1048576)")
        .collect(Collectors.joining());
    try (Connection connection = admin(); Statement sql = connection.createStatement()) {
      sql.execute("SET QUERY_STATISTICS TRUE");
      sql.execute("CREATE TABLE " + H2Binding.quoted(name) + " (y_id VARBINARY(60000) PRIMARY KEY" + columns + ")");
    }
  }

  @Override
  protected long readsServed(String table) throws SQLException {
    try (Connection connection = admin(); PreparedStatement sum = connection.prepareStatement(
        "SELECT SUM(EXECUTION_COUNT) FROM INFORMATION_SCHEMA.QUERY_STATISTICS WHERE SQL_STATEMENT LIKE ?")) {
      sum.setString(1, "SELECT % FROM \"" + table + "\" WHERE %");
      try (ResultSet found = sum.executeQuery()) {
        found.next();
        return found.getLong(1);
      }
    }
  }

  private Connection admin() throws SQLException {
    return DriverManager.getConnection("jdbc:h2:tcp://" + server.properties().getProperty("h2.server") + "/./ycsb",
        "sa", "");
  }

  @Override
  protected List<Mode> modes() {
    return List.of(new Mode("one by one", Map.of(), false));
  }

  @Override
  protected Map.Entry<Map<String, String>, String> nowhere() {
    return Map.entry(Map.of("h2.server", "127.0.0.1:1"), "127.0.0.1 port 1");
  }
}
