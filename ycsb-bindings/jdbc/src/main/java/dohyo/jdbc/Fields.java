package dohyo.jdbc;

import dohyo.binding.RowSink;
import dohyo.binding.Settings;
import java.nio.ByteBuffer;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;

/**
 * Converts field values to the type of the columns: {@code NAME.columntype=bytes}, or {@code int} for values of four
 * bytes. {@code NAME} is the name of the {@link Dialect}.
 */
final class Fields {
  private final boolean integers;

  Fields(Dialect dialect, Settings settings) {
    integers = settings.choice(dialect.name() + ".columntype", "bytes", "int").equals("int");
  }

  /** Sets a variable of a statement. {@code null} becomes SQL's NULL. */
  void set(PreparedStatement statement, int variable, byte[] value) throws SQLException {
    if (integers && value != null) {
      statement.setInt(variable, ByteBuffer.wrap(value).getInt());
    } else {
      statement.setBytes(variable, value);
    }
  }

  /**
   * Passes the fields of a row to the sink.
   *
   * @param found result, positioned on the row
   * @param names names of the result's columns; {@code null} for columns of the key
   * @param row   position of the record in the batch or in the scan, from 0
   * @param sink  receives the fields that are not NULL
   */
  void hand(ResultSet found, String[] names, int row, RowSink sink) throws SQLException {
    if (sink == RowSink.DISCARD) {
      return;
    }
    for (int i = 0; i < names.length; i++) {
      ByteBuffer value = names[i] == null ? null : value(found, i + 1);
      if (value != null) {
        sink.field(row, names[i], value);
      }
    }
  }

  private ByteBuffer value(ResultSet found, int column) throws SQLException {
    if (integers) {
      int value = found.getInt(column);
      return found.wasNull() ? null : ByteBuffer.allocate(Integer.BYTES).putInt(value).flip();
    }
    byte[] value = found.getBytes(column);
    return value == null ? null : ByteBuffer.wrap(value);
  }
}
