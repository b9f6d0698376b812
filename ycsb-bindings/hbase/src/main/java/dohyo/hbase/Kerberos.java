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
 * Logs this process in if the servers require Kerberos. The identity is {@code principal}, and its key is in {@code
 * keytab}, a file on this host. {@code krb5conf} is a file that replaces /etc/krb5.conf.
 */
final class Kerberos {
  private Kerberos() {
  }

  /** Makes the driver log in when it connects, and again before a ticket expires. */
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
    // Initialize the providers, which all connections share. Otherwise the first connection of RpcConnectionRegistry,
    // which has no login, would initialize them without Kerberos.
    SaslClientAuthenticationProviders.getInstance(configuration);
  }

  private static String file(Settings settings, String key) {
    String path = settings.required(key);
    if (!Files.isReadable(Path.of(path))) {
      throw new SettingException(key + "=" + path + ": not a file that this user can read on the client's host");
    }
    return path;
  }
}
