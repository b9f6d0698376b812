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

/** Where the server is, and how to open a connection to it. */
public final class MysqlLogin implements Login {
  private static final String PREFIX = "jdbc:mariadb://";

  private final Settings settings;
  private final String url;
  private final Properties options = new Properties();

  /**
   * Reads {@code mysql.url}, {@code mysql.user} and {@code mysql.password}; {@code mysql.useSSL}, and {@code mysql.ca},
   * the certificates to trust, as PEM in Base64 on one line; without it those that this JVM trusts. Does not connect.
   *
   * @throws SettingException if the URL is not one of the driver's
   */
  public MysqlLogin(Settings settings) {
    this(settings, settings.text("mysql.url", PREFIX + "127.0.0.1:3306/ycsb"));
  }

  /**
   * The same account at another server.
   *
   * @param url in place of {@code mysql.url}
   */
  private MysqlLogin(Settings settings, String url) {
    String millis = Long.toString(Binding.operationTimeout(settings));
    this.url = url;
    this.settings = settings;
    if (!url.startsWith(PREFIX)) {
      throw new SettingException("mysql.url=" + place() + ": must begin with " + PREFIX + ", for MySQL too");
    }
    options.putAll(Map.of(
        "user", settings.text("mysql.user", "root"),
        "password", settings.text("mysql.password", ""),
        "connectTimeout", millis,
        "socketTimeout", millis,
        "useServerPrepStmts", "true",
        // The binding keeps the statements, by something quicker to compare than their text.
        "cachePrepStmts", "false",
        // A value that does not fit is refused, in whatever row of a statement and by whatever engine.
        "sessionVariables", "sql_mode='STRICT_ALL_TABLES'",
        // For MySQL's own way of logging in without TLS.
        "allowPublicKeyRetrieval", "true"));
    if (settings.flag("mysql.useSSL", false)) {
      options.put("sslMode", "verify-full");
      if (settings.has("mysql.ca")) {
        // The driver takes the text of a PEM file in the place of its name.
        options.put("serverSslCert", new String(Base64.getDecoder().decode(settings.required("mysql.ca")),
            StandardCharsets.US_ASCII));
      }
    }
  }

  @Override
  public Connection connect() throws SQLException {
    return new Driver().connect(url, options);
  }

  /** The same database and account on another server, {@code HOST:PORT}. */
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
