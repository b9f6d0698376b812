package dohyo.aerospike;

import com.aerospike.client.Record;
import dohyo.binding.Columns;
import dohyo.binding.Row;
import dohyo.binding.RowSink;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * Stores several records as one value, in the order of their keys. A record consists of the length of the key (2
 * bytes), the key, the length of the fields (4 bytes), and the fields. A field consists of the length of the name (1
 * byte), the name, the length of the value (4 bytes), and the value.
 */
public final class Block {
  /** Name of the only bin of a block. */
  static final String BIN = "block";

  private static final int MAX_KEY_LENGTH = 0xffff;
  private static final int MAX_NAME_LENGTH = 0xff;

  private final NavigableMap<byte[], ByteBuffer> records = new TreeMap<>(Arrays::compareUnsigned);

  /** Decodes a block. Returns an empty block for {@code null}. */
  public static Block of(Record found) {
    Block block = new Block();
    byte[] bytes = found == null ? null : (byte[]) found.getValue(BIN);
    if (bytes != null) {
      ByteBuffer from = ByteBuffer.wrap(bytes);
      while (from.hasRemaining()) {
        byte[] key = new byte[from.getShort() & MAX_KEY_LENGTH];
        from.get(key);
        block.records.put(key, next(from, from.getInt()));
      }
    }
    return block;
  }

  byte[] toBytes() {
    int size = 0;
    for (Map.Entry<byte[], ByteBuffer> record : records.entrySet()) {
      size += Short.BYTES + record.getKey().length + Integer.BYTES + record.getValue().remaining();
    }
    ByteBuffer to = ByteBuffer.allocate(size);
    records.forEach((key, fields) ->
        to.putShort((short) key.length).put(key).putInt(fields.remaining()).put(fields.duplicate()));
    return to.array();
  }

  boolean has(byte[] key) {
    return records.containsKey(key);
  }

  public int size() {
    return records.size();
  }

  /** Returns the record with this key, and all records after it. */
  Iterable<ByteBuffer> from(byte[] key) {
    return records.tailMap(key, true).values();
  }

  Iterable<ByteBuffer> all() {
    return records.values();
  }

  /** Removes a record. Returns whether it existed. */
  boolean remove(byte[] key) {
    return records.remove(key) != null;
  }

  /**
   * Writes fields of a record and keeps its other fields.
   *
   * @throws IllegalArgumentException if the key or the name of a field is too long
   */
  void put(Row row) {
    if (row.key().length > MAX_KEY_LENGTH) {
      throw new IllegalArgumentException("a key of " + row.key().length + " bytes: a packed record's key has at most "
          + MAX_KEY_LENGTH);
    }
    Map<String, ByteBuffer> fields = new LinkedHashMap<>();
    ByteBuffer known = records.get(row.key());
    if (known != null) {
      forEach(known, fields::put);
    }
    for (int i = 0; i < row.values().length; i++) {
      fields.put(row.columns().names().get(i), ByteBuffer.wrap(row.values()[i]));
    }
    records.put(row.key(), encode(fields));
  }

  /** Passes the fields of a record to the sink. Returns whether the record exists. */
  boolean emit(byte[] key, Columns columns, int row, RowSink sink) {
    ByteBuffer fields = records.get(key);
    if (fields == null) {
      return false;
    }
    emit(fields, columns, row, sink);
    return true;
  }

  static void emit(ByteBuffer fields, Columns columns, int row, RowSink sink) {
    if (sink != RowSink.DISCARD) {
      forEach(fields, (name, value) -> {
        if (columns == null || columns.names().contains(name)) {
          sink.field(row, name, value);
        }
      });
    }
  }

  /** Receives one field. */
  @FunctionalInterface
  private interface FieldSink {
    void field(String name, ByteBuffer value);
  }

  private static void forEach(ByteBuffer fields, FieldSink sink) {
    ByteBuffer from = fields.duplicate();
    while (from.hasRemaining()) {
      String name = StandardCharsets.UTF_8.decode(next(from, from.get() & MAX_NAME_LENGTH)).toString();
      sink.field(name, next(from, from.getInt()));
    }
  }

  private static ByteBuffer encode(Map<String, ByteBuffer> fields) {
    int size = 0;
    Map<byte[], ByteBuffer> encoded = new LinkedHashMap<>();
    for (Map.Entry<String, ByteBuffer> field : fields.entrySet()) {
      byte[] name = field.getKey().getBytes(StandardCharsets.UTF_8);
      if (name.length > MAX_NAME_LENGTH) {
        throw new IllegalArgumentException("field " + field.getKey() + ": the name of a field in a packed record has at"
            + " most " + MAX_NAME_LENGTH + " bytes");
      }
      size += Byte.BYTES + name.length + Integer.BYTES + field.getValue().remaining();
      encoded.put(name, field.getValue());
    }
    ByteBuffer to = ByteBuffer.allocate(size);
    encoded.forEach((name, value) ->
        to.put((byte) name.length).put(name).putInt(value.remaining()).put(value.duplicate()));
    return to.flip();
  }

  private static ByteBuffer next(ByteBuffer from, int length) {
    ByteBuffer part = from.slice(from.position(), length);
    from.position(from.position() + length);
    return part;
  }
}
