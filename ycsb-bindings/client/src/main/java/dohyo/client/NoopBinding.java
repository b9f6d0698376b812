package dohyo.client;

import dohyo.binding.Binding;
import dohyo.binding.Columns;
import dohyo.binding.Row;
import dohyo.binding.RowSink;
import dohyo.binding.Settings;
import java.util.concurrent.CompletableFuture;
import site.ycsb.Status;

/** Does nothing and succeeds, to measure the client's own cost ({@code -db noop}). */
public final class NoopBinding extends Binding {
  private static final CompletableFuture<Status> OK = CompletableFuture.completedFuture(Status.OK);

  @Override
  public String[] loops(Settings settings) {
    return new String[] {"events", "threads"}; // support both, so that both can be measured
  }

  @Override
  protected void connect(Settings settings) {
    // There is no connection.
  }

  @Override
  protected void disconnect() {
    // There is no connection.
  }

  @Override
  public CompletableFuture<Status> readRow(String table, byte[] key, Columns columns, RowSink sink) {
    return OK;
  }

  @Override
  public CompletableFuture<Status> insertRow(Row row) {
    return OK;
  }

  @Override
  public CompletableFuture<Status> updateRow(Row row) {
    return OK;
  }

  @Override
  public CompletableFuture<Status> deleteRow(String table, byte[] key) {
    return OK;
  }

  @Override
  public CompletableFuture<Status> scanRows(String table, byte[] key, int count, Columns columns, RowSink sink) {
    return OK;
  }
}
