import dohyo.binding.Settings;
import dohyo.binding.Shared;
import java.util.Map;
import java.util.Set;
import site.ycsb.ByteIterator;
import site.ycsb.DBException;
import site.ycsb.Status;

/** DB for the stock client: like {@link SinkDb}, but inserts, updates and reads wait for {@link DelayLoop}'s answer. */
public final class DelayDb extends SinkDb {
  private static final Shared<DelayLoop> SHARED = new Shared<>(settings -> new DelayLoop());

  private DelayLoop loop;

  @Override
  public void init() throws DBException {
    loop = SHARED.open(new Settings(getProperties()));
  }

  @Override
  public void cleanup() {
    SHARED.release();
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> values) {
    Status made = super.insert(table, key, values);
    return made.isOk() ? loop.send().join() : made;
  }

  @Override
  public Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
    return loop.send().join();
  }
}
