package dohyo.aerospike.admin;

import com.aerospike.client.AerospikeClient;
import com.aerospike.client.AerospikeException;
import com.aerospike.client.Bin;
import com.aerospike.client.Key;
import com.aerospike.client.Record;
import com.aerospike.client.ResultCode;
import com.aerospike.client.policy.RecordExistsAction;
import com.aerospike.client.policy.WritePolicy;
import dohyo.admin.Admin;
import dohyo.admin.Attached;
import dohyo.admin.Wait;
import dohyo.binding.Settings;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Administers a trial's sets in a namespace of an attached Aerospike. One set has the name of the place, and its only
 * record is the mark. The other sets are the tables, whose names begin with that name. Arguments: hosts, port,
 * namespace, tables; access, see {@link AerospikeAdmin}.
 */
public final class AttachedAerospike implements Attached {
  private static final String MARK = "mark";
  private static final int NEVER = -1;

  private final Settings arguments;
  private final AerospikeClient client;
  private final Key mark;

  AttachedAerospike(Settings arguments) throws IOException {
    this.arguments = arguments;
    for (String table : Admin.tables(arguments)) {
      if (!table.startsWith(place() + "_")) {
        throw new IOException("the set " + table + " does not belong to " + place() + "; nothing was done");
      }
    }
    client = AerospikeAdmin.connect(arguments);
    mark = new Key(namespace(), place(), MARK);
  }

  /** Runs one verb of {@link Attached}. */
  public static void main(String[] args) {
    Admin.main("Aerospike", Attached.verbs(AttachedAerospike::new), args);
  }

  private String place() {
    return arguments.required("place");
  }

  private String namespace() {
    return arguments.required("namespace");
  }

  @Override
  public void close() {
    client.close();
  }

  @Override
  public String what() {
    return "the sets %s and %s_… of the namespace %s on %s".formatted(place(), place(), namespace(),
        arguments.required("hosts"));
  }

  private List<String> sets() {
    List<String> sets = new ArrayList<>(Admin.tables(arguments));
    sets.add(place());
    return sets;
  }

  @Override
  public boolean exists() throws IOException {
    for (String set : sets()) {
      if (AerospikeAdmin.objects(client, namespace(), set) > 0) {
        return true;
      }
    }
    return client.exists(null, mark);
  }

  @Override
  public boolean make() throws IOException {
    AerospikeAdmin.requireEqualNodes(client.getNodes(), namespace());
    WritePolicy create = new WritePolicy(client.writePolicyDefault);
    create.recordExistsAction = RecordExistsAction.CREATE_ONLY;
    create.expiration = NEVER; // overrides the namespace's default-ttl
    try {
      client.put(create, mark, new Bin(MARK, Admin.mark(arguments)));
      return true;
    } catch (AerospikeException e) {
      if (e.getResultCode() == ResultCode.KEY_EXISTS_ERROR) {
        return false;
      }
      throw e;
    }
  }

  /** Does nothing, because a client's first record creates the set. */
  @Override
  public void createTables() {
    // See above.
  }

  @Override
  public List<String> foreign() {
    Record known = client.get(null, mark);
    return known != null && Admin.mark(arguments).equals(known.getString(MARK)) ? List.of()
        : List.of("records without its mark");
  }

  @Override
  public String remove() throws Exception {
    // Remove the mark last, so that another attempt can recognize the remaining sets.
    for (String set : sets()) {
      client.truncate(null, namespace(), set, null);
      new Wait(arguments, "the timeout").until(() -> {
        long left = AerospikeAdmin.objects(client, namespace(), set);
        return left == 0 ? "" : "%d records of the set %s are still there".formatted(left, set);
      });
    }
    return "the names of empty sets until the servers restart";
  }

  @Override
  public Map<String, Object> conditions() throws IOException {
    return AerospikeAdmin.conditions(client, arguments);
  }

  @Override
  public Map<String, Long> countRows() throws IOException {
    return AerospikeAdmin.countRows(client, arguments);
  }

  @Override
  public Map<String, List<String>> statistics() throws IOException {
    return Map.of("namespace", AerospikeAdmin.totals(client, namespace()));
  }

  @Override
  public void ping() {
    client.exists(null, mark);
  }

  /** Returns an empty list, because the server reports permissions only to a user administrator. */
  @Override
  public List<String> missingRights() {
    return List.of();
  }
}
