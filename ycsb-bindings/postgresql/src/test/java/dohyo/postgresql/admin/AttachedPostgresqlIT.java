package dohyo.postgresql.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dohyo.admin.Attached;
import dohyo.binding.Settings;
import dohyo.contract.AttachedJdbcContract;
import dohyo.postgresql.PostgresqlLogin;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Map;
import org.junit.jupiter.api.Test;

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

  /** Tests a database with an autovacuum worker. For this role, WITH (FORCE) cannot end it: it belongs to no user. */
  @Test
  void aRoleWithNothingButCreatedbRemovesADatabaseThatAutovacuumIsIn() throws Exception {
    query("CREATE ROLE creator LOGIN CREATEDB PASSWORD 'pw'");
    Path access = Files.writeString(own("creator"), "postgresql.user=creator\npostgresql.password=pw\n");
    try {
      run("schema", "connection", access.toString());
      inside("INSERT INTO usertable SELECT int4send(n) FROM generate_series(1, 200000) n");
      inside("DELETE FROM usertable");
      inside("ALTER TABLE usertable SET (autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1)");
      query("ALTER SYSTEM SET autovacuum_naptime = '1s'");
      query("SELECT pg_reload_conf()");
      String workers = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'autovacuum worker' AND datname = '%s'";
      while (query(workers.formatted(place)).isEmpty()) {
        Thread.sleep(100);
      }
      assertEquals(true, run("remove", "connection", access.toString()).get("removed"));
    } finally {
      query("DROP DATABASE IF EXISTS " + place + " WITH (FORCE)");
      query("ALTER SYSTEM RESET autovacuum_naptime");
      query("SELECT pg_reload_conf()");
      query("DROP ROLE creator");
    }
  }

  @Override
  protected String everything() {
    return "SELECT datname FROM pg_database UNION ALL SELECT relname FROM pg_class ORDER BY 1";
  }
}
