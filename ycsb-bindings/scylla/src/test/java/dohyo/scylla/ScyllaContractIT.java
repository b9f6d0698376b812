package dohyo.scylla;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.datastax.driver.core.Cluster;
import dohyo.binding.Binding;
import dohyo.cassandra.CassandraContractIT;
import java.io.IOException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The contract with ScyllaDB's driver, on a real ScyllaDB or, since it serves that as well, on a real Cassandra. */
class ScyllaContractIT extends CassandraContractIT {
  @Override
  protected Binding newBinding() {
    return new ScyllaBinding();
  }

  @Test
  void noOtherDriverIsThere() throws IOException {
    List<URL> drivers = Collections.list(getClass().getClassLoader().getResources(
        Cluster.class.getName().replace('.', '/') + ".class"));
    assertEquals(1, drivers.size(), drivers.toString());
    assertTrue(drivers.get(0).getPath().contains("/scylla-driver-core-"), drivers.toString());
    try (Stream<Path> jars = Files.list(Path.of(System.getProperty("dohyo.bundle")))) {
      List<String> names = jars.map(jar -> jar.getFileName().toString())
          .filter(name -> name.contains("-driver-")).toList();
      assertEquals(1, names.size(), names.toString());
      assertTrue(names.get(0).startsWith("scylla-driver-core-"), names.toString());
    }
  }
}
