import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.Vector;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.Status;

/**
 * Counterpart of Dohyo's binding {@code noop} for the stock client. It sends nothing but, like a real binding, reads
 * every value, because stock YCSB generates a value only when it is read.
 */
public class SinkDb extends DB {
  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> values) {
    int bytes = 0;
    for (ByteIterator value : values.values()) {
      bytes += value.toArray().length;
    }
    return bytes >= 0 ? Status.OK : Status.ERROR;
  }

  @Override
  public Status update(String table, String key, Map<String, ByteIterator> values) {
    return insert(table, key, values);
  }

  @Override
  public Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
    return Status.OK;
  }

  @Override
  public Status scan(String table, String startkey, int recordcount, Set<String> fields,
      Vector<HashMap<String, ByteIterator>> result) {
    return Status.OK;
  }

  @Override
  public Status delete(String table, String key) {
    return Status.OK;
  }
}
