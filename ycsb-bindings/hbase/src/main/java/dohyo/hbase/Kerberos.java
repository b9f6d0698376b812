package dohyo.hbase;

import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CommonConfigurationKeysPublic;
import org.apache.hadoop.hbase.security.User;
import org.apache.hadoop.hbase.security.provider.SaslClientAuthenticationProviders;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * Who this process is where servers ask for Kerberos: {@code principal} with the key in {@code keytab}, a file of this
 * host. {@code krb5conf}, another one, is what else /etc/krb5.conf is.
 */
final class Kerberos {
  private Kerberos() {
  }

  /** Has the driver log in when it connects, and again before a ticket expires. */
  static void configure(Settings settings, Configuration configuration) {
    if (!configuration.get(User.HBASE_SECURITY_CONF_KEY, "").equals("kerberos")) {
      return;
    }
    if (settings.has("krb5conf")) {
      System.setProperty("java.security.krb5.conf", file(settings, "krb5conf"));
    }
    configuration.set("hbase.client.keytab.principal", settings.required("principal"));
    configuration.set("hbase.client.keytab.file", file(settings, "keytab"));
    configuration.set(CommonConfigurationKeysPublic.HADOOP_SECURITY_AUTHENTICATION, "kerberos");
    UserGroupInformation.setConfiguration(configuration);
    // One for all connections: RpcConnectionRegistry's first one, without a login, would have it without any.
    SaslClientAuthenticationProviders.getInstance(configuration);
  }

  private static String file(Settings settings, String key) {
    String path = settings.required(key);
    if (!Files.isReadable(Path.of(path))) {
      throw new SettingException(key + "=" + path + ": no file that this user may read, on the host of the client");
    }
    return path;
  }
}
