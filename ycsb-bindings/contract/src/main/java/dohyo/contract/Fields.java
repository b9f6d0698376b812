package dohyo.contract;

import dohyo.binding.RowSink;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/** Collects the fields of each row that is read. */
final class Fields implements RowSink {
  private final ConcurrentMap<Integer, Map<String, ByteBuffer>> rows = new ConcurrentHashMap<>();

  @Override
  public void field(int row, String column, ByteBuffer value) {
    ByteBuffer copy = ByteBuffer.allocate(value.remaining()).put(value.duplicate()).flip();
    rows.computeIfAbsent(row, none -> new ConcurrentHashMap<>()).put(column, copy);
  }

  /** Returns the fields of a row; empty if none arrived. */
  Map<String, ByteBuffer> row(int row) {
    return rows.getOrDefault(row, Map.of());
  }

  int size() {
    return rows.size();
  }
}
