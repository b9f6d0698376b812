package dohyo.aerospike.admin;

import com.aerospike.client.AerospikeClient;
import com.aerospike.client.Bin;
import com.aerospike.client.Host;
import com.aerospike.client.Info;
import com.aerospike.client.Key;
import dohyo.admin.Attached;
import dohyo.contract.AttachedContract;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;

class AttachedAerospikeIT extends AttachedContract {
  private static final String MARK = "mark";
  private final String namespace = server.properties().getProperty("aerospike.namespace");
  private final String hosts = server.properties().getProperty("aerospike.hosts");
  private final AerospikeClient theirs = new AerospikeClient(null, Host.parseHosts(hosts, 0));
  private Object mark;

  @Override
  protected Attached.Opening opening() {
    return AttachedAerospike::new;
  }

  @Override
  protected Map<String, String> words() {
    return Map.of("hosts", hosts, "namespace", namespace, "tables", place + "_usertable", "layout", "bins");
  }

  private Key key() {
    return new Key(namespace, place, MARK);
  }

  @Override
  protected void intrude() {
    mark = theirs.get(null, key()).getValue(MARK);
    theirs.put(null, key(), new Bin(MARK, "another"));
  }

  @Override
  protected void withdraw() {
    theirs.put(null, key(), new Bin(MARK, mark.toString()));
  }

  /** Returns the sets that are not empty, each with its number of records. */
  @Override
  protected List<String> others() {
    return Stream.of(Info.request(theirs.getNodes()[0], "sets/" + namespace).split(";"))
        .filter(set -> !set.contains("objects=0:")).map(set -> set.replaceAll(":(?!set=|objects=)[^:]*", "")).sorted()
        .toList();
  }

  @AfterEach
  void close() {
    theirs.close();
  }
}
