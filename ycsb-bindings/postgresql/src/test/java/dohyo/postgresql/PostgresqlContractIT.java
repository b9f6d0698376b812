package dohyo.postgresql;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dohyo.binding.Binding;
import dohyo.binding.Columns;
import dohyo.binding.KeyColumns;
import dohyo.binding.Row;
import dohyo.binding.Settings;
import dohyo.contract.JdbcContract;
import dohyo.jdbc.admin.JdbcServer;
import dohyo.postgresql.admin.PostgresqlAdmin;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Runs the contract on a real PostgreSQL. */
class PostgresqlContractIT extends JdbcContract {
  PostgresqlContractIT() throws SQLException {
    super("postgresql");
    execute("CREATE OR REPLACE FUNCTION report() RETURNS trigger LANGUAGE plpgsql AS"
        + " 'BEGIN PERFORM pg_stat_force_next_flush(); RETURN NULL; END'");
    // Forbid sequential scans, which the server would prefer to the index because the tables are small.
    execute("ALTER ROLE dohyo SET enable_seqscan = off");
  }

  @Override
  protected Connection connect() throws SQLException {
    return new PostgresqlLogin(new Settings(server.properties())).connect();
  }

  @Override
  protected Binding newBinding() {
    return new PostgresqlBinding();
  }

  /** Returns a record whose key takes more than a third of an index page, even if it is compressed. */
  @Override
  protected Row refused() {
    byte[] key = new byte[10_000];
    new Random(1).nextBytes(key);
    return new Row(TABLE, key, Columns.of(List.of("field0")), new byte[][] {{'a'}});
  }

  @Override
  protected String quoted(String name) {
    return new PostgresqlDialect().quoted(name);
  }

  @Override
  protected String type(KeyColumns.Column column) {
    return switch (column.type()) {
      case KEY -> "bytea";
      case INT -> "integer";
      case TEXT -> "varchar(" + column.length() + ") COLLATE \"C\"";
      default -> "bigint";
    };
  }

  @Override
  protected String fieldType() {
    return "bytea";
  }

  @Override
  protected Map.Entry<Map<String, String>, String> lockTimeout() {
    String url = server.properties().getProperty("postgresql.url") + "?options=-c%20lock_timeout=1s";
    return Map.entry(Map.of("postgresql.url", url), "55P03");
  }

  /**
   * Creates a table with a trigger. A server process reports its counters once per second; with the trigger, it reports
   * them after each write. Each test writes after the reads that it counts.
   */
  @Override
  protected void createTable(String table, KeyColumns key, List<String> fields) throws SQLException {
    super.createTable(table, key, fields);
    execute("CREATE TRIGGER report AFTER INSERT OR UPDATE ON " + quoted(table) + " EXECUTE FUNCTION report()");
  }

  /** Returns the number of rows that were fetched through the index, without those that updates fetched. */
  @Override
  protected long readsServed(String table) throws SQLException {
    try (PreparedStatement query = connection.prepareStatement(
        "SELECT idx_tup_fetch - n_tup_upd FROM pg_stat_user_tables WHERE relname = ?")) {
      query.setString(1, table);
      try (ResultSet found = query.executeQuery()) {
        found.next();
        return found.getLong(1);
      }
    }
  }

  @Test
  void aTableOfATrialCarriesItsMark() throws SQLException {
    Settings arguments = new Settings(
        server.with(Map.of("trial", "it's", "fieldnameprefix", "a\"b", "fieldcount", "2")));
    try (JdbcServer admin = new JdbcServer(new PostgresqlLogin(new Settings(server.properties())))) {
      admin.execute(PostgresqlAdmin.statements(arguments, "marked\"", false));
      assertEquals("dohyo it's", admin.value("SELECT obj_description('\"marked\"\"\"'::regclass)"));
      assertTrue(admin.rows("SELECT attname FROM pg_attribute WHERE attrelid = '\"marked\"\"\"'::regclass").toString()
          .contains("a\"b1"));
    }
  }

  @Override
  protected Map.Entry<Map<String, String>, String> nowhere() {
    return Map.entry(Map.of("postgresql.url", "jdbc:postgresql://127.0.0.1:1/ycsb"), "127.0.0.1:1");
  }
}
