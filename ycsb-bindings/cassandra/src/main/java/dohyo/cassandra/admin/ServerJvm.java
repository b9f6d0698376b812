package dohyo.cassandra.admin;

import java.io.IOException;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryMXBean;
import java.lang.management.RuntimeMXBean;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import javax.management.Attribute;
import javax.management.JMException;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanServerConnection;
import javax.management.ObjectInstance;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;

/** Connection to the JVM of a Cassandra node over plain JMX. The beans have the same names from 3.11 to 5.0. */
final class ServerJvm implements AutoCloseable {
  private final JMXConnector connector;
  private final MBeanServerConnection beans;

  /** Connects to a JMX port of this host. */
  ServerJvm(int port) throws IOException {
    connector = JMXConnectorFactory.connect(
        new JMXServiceURL("service:jmx:rmi:///jndi/rmi://127.0.0.1:" + port + "/jmxrmi"));
    beans = connector.getMBeanServerConnection();
  }

  @Override
  public void close() throws IOException {
    connector.close();
  }

  long pid() throws IOException {
    return Long.parseLong(runtime().getName().split("@")[0]);
  }

  /** Returns the conditions heap, jdk and gc. */
  Map<String, String> conditions() throws IOException {
    long heap = bean(ManagementFactory.MEMORY_MXBEAN_NAME, MemoryMXBean.class).getHeapMemoryUsage().getMax();
    String collectors = ManagementFactory.getPlatformMXBeans(beans, GarbageCollectorMXBean.class).stream()
        .map(GarbageCollectorMXBean::getName).sorted().collect(Collectors.joining(", "));
    return Map.of("heap", heap / (1 << 20) + " MiB",
        "jdk", runtime().getSystemProperties().get("java.runtime.version"),
        "gc", collectors);
  }

  /**
   * Returns the number of nodes that this node considers alive and whose tokens it knows, including itself. A new node
   * is alive before it has tokens, and until then a coordinator would write the node's records to other nodes.
   */
  int nodesInRing() throws IOException, JMException {
    ObjectName storage = new ObjectName("org.apache.cassandra.db:type=StorageService");
    Set<Object> nodes = new HashSet<>((Collection<?>) beans.getAttribute(storage, "LiveNodes"));
    nodes.retainAll(((Map<?, ?>) beans.getAttribute(storage, "TokenToEndpointMap")).values());
    return nodes.size();
  }

  void flush(String keyspace) throws IOException, JMException {
    beans.invoke(new ObjectName("org.apache.cassandra.db:type=StorageService"), "forceKeyspaceFlush",
        new Object[] {keyspace, new String[0]}, new String[] {String.class.getName(), String[].class.getName()});
  }

  /** Returns the sum of a metric over all tables of a keyspace. */
  long ofTables(String keyspace, String metric) throws IOException, JMException {
    return sum("org.apache.cassandra.metrics:type=Table,keyspace=" + keyspace + ",scope=*,name=" + metric);
  }

  void dropCaches() throws IOException, JMException {
    ObjectName caches = new ObjectName("org.apache.cassandra.db:type=Caches");
    for (String operation : List.of("invalidateKeyCache", "invalidateRowCache")) {
      beans.invoke(caches, operation, new Object[0], new String[0]);
    }
  }

  /** Returns the size of the chunk cache in bytes; 0 if there is none. */
  long chunkCacheBytes() throws IOException, JMException {
    return sum("org.apache.cassandra.metrics:type=Cache,scope=ChunkCache,name=Size");
  }

  private long sum(String pattern) throws IOException, JMException {
    long sum = 0;
    for (ObjectName bean : beans.queryNames(new ObjectName(pattern), null)) {
      sum += ((Number) beans.getAttribute(bean, "Value")).longValue();
    }
    return sum;
  }

  int pendingCompactions() throws IOException, JMException {
    return ((Number) beans.getAttribute(
        new ObjectName("org.apache.cassandra.metrics:type=Compaction,name=PendingTasks"), "Value")).intValue();
  }

  /** Returns the bytes that each active compaction has completed. */
  List<Long> activeCompactions() throws IOException, JMException {
    return ((Collection<?>) beans.getAttribute(new ObjectName("org.apache.cassandra.db:type=CompactionManager"),
        "Compactions")).stream().map(each -> Long.valueOf(((Map<?, ?>) each).get("completed").toString())).toList();
  }

  /**
   * Returns the server's metrics: the attributes of each bean that are numbers or texts. Beans are sorted by name.
   *
   * @param patterns names of beans, with the wildcards of {@link ObjectName}
   */
  Map<String, Map<String, Object>> metrics(List<String> patterns) throws IOException, JMException {
    Map<String, String[]> attributes = new HashMap<>(); // per class, because there are hundreds of beans
    Map<String, Map<String, Object>> metrics = new TreeMap<>();
    for (String pattern : patterns) {
      for (ObjectInstance bean : beans.queryMBeans(new ObjectName(pattern), null)) {
        ObjectName name = bean.getObjectName();
        if (!attributes.containsKey(bean.getClassName())) {
          attributes.put(bean.getClassName(), Arrays.stream(beans.getMBeanInfo(name).getAttributes())
              .filter(MBeanAttributeInfo::isReadable).map(MBeanAttributeInfo::getName).toArray(String[]::new));
        }
        Map<String, Object> values = new TreeMap<>();
        for (Attribute attribute : beans.getAttributes(name, attributes.get(bean.getClassName())).asList()) {
          Object value = attribute.getValue();
          if (value instanceof Number number && Double.isNaN(number.doubleValue())) {
            continue; // no values yet; JSON has no NaN
          }
          if (value instanceof Number || value instanceof String) {
            values.put(attribute.getName(), value);
          }
        }
        metrics.put(name.getCanonicalName(), values);
      }
    }
    return metrics;
  }

  private RuntimeMXBean runtime() throws IOException {
    return bean(ManagementFactory.RUNTIME_MXBEAN_NAME, RuntimeMXBean.class);
  }

  private <T> T bean(String name, Class<T> type) throws IOException {
    return ManagementFactory.newPlatformMXBeanProxy(beans, name, type);
  }
}
