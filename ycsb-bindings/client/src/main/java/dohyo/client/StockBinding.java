package dohyo.client;

import dohyo.binding.Binding;
import dohyo.binding.Columns;
import dohyo.binding.KeyColumns;
import dohyo.binding.Row;
import dohyo.binding.RowSink;
import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.Vector;
import java.util.concurrent.CompletableFuture;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;

/** Runs a binding that was written for stock YCSB. It is synchronous and sends a batch's records one after another. */
final class StockBinding extends Binding {
  private final DB db;

  StockBinding(DB db) {
    this.db = db;
  }

  @Override
  protected void connect(Settings settings) throws DBException {
    if (KeyColumns.of(settings, "key").several()) {
      throw new SettingException("keycolumns=" + settings.text("keycolumns", "") + ": " + db.getClass().getName()
          + " is stock YCSB's, whose keys are text; leave keycolumns out");
    }
    db.setProperties(settings.properties());
    db.init();
  }

  @Override
  protected void disconnect() throws DBException {
    db.cleanup();
  }

  @Override
  public CompletableFuture<Status> readRow(String table, byte[] key, Columns columns, RowSink sink) {
    Map<String, ByteIterator> result = new HashMap<>();
    Status status = db.read(table, text(key), fields(columns), result);
    emit(result, 0, sink);
    return CompletableFuture.completedFuture(status);
  }

  @Override
  public CompletableFuture<Status> insertRow(Row row) {
    return CompletableFuture.completedFuture(db.insert(row.table(), text(row.key()), values(row)));
  }

  @Override
  public CompletableFuture<Status> updateRow(Row row) {
    return CompletableFuture.completedFuture(db.update(row.table(), text(row.key()), values(row)));
  }

  @Override
  public CompletableFuture<Status> deleteRow(String table, byte[] key) {
    return CompletableFuture.completedFuture(db.delete(table, text(key)));
  }

  @Override
  public CompletableFuture<Status> scanRows(String table, byte[] key, int count, Columns columns, RowSink sink) {
    Vector<HashMap<String, ByteIterator>> result = new Vector<>();
    Status status = db.scan(table, text(key), count, fields(columns), result);
    for (int row = 0; row < result.size(); row++) {
      emit(result.get(row), row, sink);
    }
    return CompletableFuture.completedFuture(status);
  }

  // Converts each byte to one char, which preserves salted keys.
  private static String text(byte[] key) {
    return new String(key, StandardCharsets.ISO_8859_1);
  }

  private static Set<String> fields(Columns columns) {
    return columns == null ? null : Set.copyOf(columns.names());
  }

  private static Map<String, ByteIterator> values(Row row) {
    Map<String, ByteIterator> values = new HashMap<>();
    for (int i = 0; i < row.values().length; i++) {
      values.put(row.columns().names().get(i), new ByteArrayByteIterator(row.values()[i]));
    }
    return values;
  }

  private static void emit(Map<String, ByteIterator> fields, int row, RowSink sink) {
    fields.forEach((name, value) -> sink.field(row, name, ByteBuffer.wrap(value.toArray())));
  }
}
