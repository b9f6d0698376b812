import dohyo.binding.Binding;
import dohyo.binding.Columns;
import dohyo.binding.Row;
import dohyo.binding.RowSink;
import dohyo.binding.Settings;
import dohyo.binding.Shared;
import dohyo.binding.Transport;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import site.ycsb.DBException;
import site.ycsb.Status;

/** Binding for Dohyo's client that uses no database: an event loop answers each request after a fixed time. */
public final class DelayBinding extends Binding {
  private static final Shared<DelayLoop> SHARED = new Shared<>(settings -> new DelayLoop());

  private DelayLoop loop;

  @Override
  public String[] loops(Settings settings) {
    return new String[] {"events", "threads"};
  }

  @Override
  public Optional<Transport> transport() {
    return Optional.of(loop);
  }

  @Override
  protected void connect(Settings settings) throws DBException {
    loop = SHARED.open(settings);
  }

  @Override
  protected void disconnect() {
    SHARED.release();
  }

  @Override
  public CompletableFuture<Status> readRow(String table, byte[] key, Columns columns, RowSink sink) {
    return loop.send();
  }

  @Override
  public CompletableFuture<Status> insertRow(Row row) {
    return loop.send();
  }

  @Override
  public CompletableFuture<Status> updateRow(Row row) {
    return loop.send();
  }

  @Override
  public CompletableFuture<Status> deleteRow(String table, byte[] key) {
    return loop.send();
  }

  @Override
  public CompletableFuture<Status> scanRows(String table, byte[] key, int count, Columns columns, RowSink sink) {
    return loop.send();
  }
}
