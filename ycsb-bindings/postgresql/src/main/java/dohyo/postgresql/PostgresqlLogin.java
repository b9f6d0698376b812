package dohyo.postgresql;

import dohyo.binding.Binding;
import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import dohyo.jdbc.Login;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.postgresql.Driver;
import org.postgresql.ssl.DefaultJavaSSLFactory;

/** Address of a PostgreSQL server and the settings for connecting to it. */
public final class PostgresqlLogin implements Login {
  private static final String PREFIX = "jdbc:postgresql://";

  private final Settings settings;
  private final String url;
  private final int millis;
  private final Properties options = new Properties();

  /**
   * Reads {@code postgresql.url} (default {@code jdbc:postgresql://127.0.0.1:5432/ycsb}), {@code postgresql.user}
   * (default postgres) and {@code postgresql.password}. Reads {@code postgresql.useSSL}, and {@code postgresql.ca}, the
   * certificates to trust as PEM in Base64 on one line (default: the JVM's certificates). Does not connect.
   *
   * @throws SettingException if the driver does not support the URL
   */
  public PostgresqlLogin(Settings settings) {
    this(settings, settings.text("postgresql.url", PREFIX + "127.0.0.1:5432/ycsb"));
  }

  private PostgresqlLogin(Settings settings, String url) {
    this.settings = settings;
    this.url = url;
    millis = (int) Math.min(Binding.operationTimeout(settings), Integer.MAX_VALUE);
    if (!url.startsWith(PREFIX)) {
      throw new SettingException("postgresql.url=" + place() + ": must begin with " + PREFIX);
    }
    String seconds = Long.toString(TimeUnit.MILLISECONDS.toSeconds(millis + 999L));
    options.putAll(Map.of(
        "user", settings.text("postgresql.user", "postgres"),
        "password", settings.text("postgresql.password", ""),
        "connectTimeout", seconds,
        "loginTimeout", seconds,
        // Let the server prepare a statement on first use, so that values are sent as binary.
        "prepareThreshold", "1",
        // The binding has its own cache, whose keys are faster to compare than the text of statements.
        "preparedStatementCacheQueries", "0",
        // By default, the driver uses TLS whenever the server offers it, unlike the drivers of other systems.
        "sslmode", settings.flag("postgresql.useSSL", false) ? "verify-full" : "disable"));
    if (settings.flag("postgresql.useSSL", false)) {
      if (settings.has("postgresql.ca")) {
        options.put("sslfactory", Authority.class.getName());
        options.put("sslfactoryarg", settings.required("postgresql.ca"));
      } else {
        options.put("sslfactory", DefaultJavaSSLFactory.class.getName());
      }
    }
  }

  @Override
  public Connection connect() throws SQLException {
    Connection connection = new Driver().connect(url, options);
    connection.setNetworkTimeout(Runnable::run, millis);
    return connection;
  }

  /**
   * Returns a login with the same database and account on another server.
   *
   * @param server address {@code HOST:PORT}
   */
  public PostgresqlLogin at(String server) {
    return new PostgresqlLogin(settings, url.replaceFirst("^" + PREFIX + "[^/?]*", PREFIX + server));
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
