package dohyo.mysql;

import dohyo.binding.Binding;
import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import dohyo.jdbc.Login;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Base64;
import java.util.Map;
import java.util.Properties;
import org.mariadb.jdbc.Driver;

/** Address of a MySQL or MariaDB server and the settings for connecting to it. */
public final class MysqlLogin implements Login {
  private static final String PREFIX = "jdbc:mariadb://";

  private final Settings settings;
  private final String url;
  private final Properties options = new Properties();

  /**
   * Reads {@code mysql.url} (default {@code jdbc:mariadb://127.0.0.1:3306/ycsb}), {@code mysql.user} (default root) and
   * {@code mysql.password}. Reads {@code mysql.useSSL}, and {@code mysql.ca}, the certificates to trust as PEM in
   * Base64 on one line (default: the JVM's certificates). Does not connect.
   *
   * @throws SettingException if the driver does not support the URL
   */
  public MysqlLogin(Settings settings) {
    this(settings, settings.text("mysql.url", PREFIX + "127.0.0.1:3306/ycsb"));
  }

  /**
   * Creates a login with the same account on another server.
   *
   * @param url replaces {@code mysql.url}
   */
  private MysqlLogin(Settings settings, String url) {
    String millis = Long.toString(Binding.operationTimeout(settings));
    this.url = url;
    this.settings = settings;
    if (!url.startsWith(PREFIX)) {
      throw new SettingException("mysql.url=" + place() + ": must begin with " + PREFIX + ", also for MySQL");
    }
    options.putAll(Map.of(
        "user", settings.text("mysql.user", "root"),
        "password", settings.text("mysql.password", ""),
        "connectTimeout", millis,
        "socketTimeout", millis,
        "useServerPrepStmts", "true",
        // The binding has its own cache, whose keys are faster to compare than the text of statements.
        "cachePrepStmts", "false",
        // Reject values that do not fit the column, in any row of a statement and with any engine.
        "sessionVariables", "sql_mode='STRICT_ALL_TABLES'",
        // MySQL's default login without TLS needs the server's public key.
        "allowPublicKeyRetrieval", "true"));
    if (settings.flag("mysql.useSSL", false)) {
      options.put("sslMode", "verify-full");
      if (settings.has("mysql.ca")) {
        // The driver accepts the text of a PEM file instead of its name.
        options.put("serverSslCert", new String(Base64.getDecoder().decode(settings.required("mysql.ca")),
            StandardCharsets.US_ASCII));
      }
    }
  }

  @Override
  public Connection connect() throws SQLException {
    return new Driver().connect(url, options);
  }

  /**
   * Returns a login with the same database and account on another server.
   *
   * @param server address {@code HOST:PORT}
   */
  public MysqlLogin at(String server) {
    return new MysqlLogin(settings, url.replaceFirst("^" + PREFIX + "[^/?]*", PREFIX + server));
  }

  @Override
  public String server() {
    return url.replaceFirst("^" + PREFIX + "([^/?]*).*", "$1");
  }

  @Override
  public String place() {
    return url.replaceFirst("\\?.*", "");
  }
}
