package dohyo.cassandra.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.management.ManagementFactory;
import java.net.ServerSocket;
import java.rmi.registry.LocateRegistry;
import java.rmi.registry.Registry;
import java.rmi.server.UnicastRemoteObject;
import java.util.List;
import java.util.Map;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import javax.management.StandardMBean;
import javax.management.remote.JMXConnectorServer;
import javax.management.remote.JMXConnectorServerFactory;
import javax.management.remote.JMXServiceURL;
import org.junit.jupiter.api.Test;

/** Tests what is read from a node by JMX. */
class ServerJvmTest {
  /** Attributes of Cassandra's bean of the same name. */
  public interface Storage {
    List<String> getLiveNodes();

    Map<String, String> getTokenToEndpointMap();
  }

  @Test
  void aLiveNodeWithoutTokensIsNotYetInTheRing() throws Exception {
    int port;
    try (ServerSocket free = new ServerSocket(0)) {
      port = free.getLocalPort();
    }
    Registry registry = LocateRegistry.createRegistry(port);
    MBeanServer beans = ManagementFactory.getPlatformMBeanServer();
    ObjectName name = new ObjectName("org.apache.cassandra.db:type=StorageService");
    beans.registerMBean(new StandardMBean(new Storage() {
      @Override
      public List<String> getLiveNodes() {
        return List.of("10.0.0.1", "10.0.0.2", "10.0.0.3");
      }

      @Override
      public Map<String, String> getTokenToEndpointMap() {
        return Map.of("-7", "10.0.0.1", "0", "10.0.0.2", "7", "10.0.0.1", "9", "10.0.0.4");
      }
    }, Storage.class), name);
    JMXConnectorServer server = JMXConnectorServerFactory.newJMXConnectorServer(
        new JMXServiceURL("service:jmx:rmi:///jndi/rmi://127.0.0.1:" + port + "/jmxrmi"), null, beans);
    server.start();
    try (ServerJvm jvm = new ServerJvm(port)) {
      assertEquals(2, jvm.nodesInRing());
    } finally {
      server.stop();
      beans.unregisterMBean(name);
      UnicastRemoteObject.unexportObject(registry, true);
    }
  }
}
