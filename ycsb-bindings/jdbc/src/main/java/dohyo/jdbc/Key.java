package dohyo.jdbc;

import dohyo.binding.KeyColumns;
import dohyo.binding.KeyColumns.Column;
import dohyo.binding.Settings;
import java.nio.ByteBuffer;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;

/**
 * Columns of the tables' key: one column of bytes, or the columns of {@code keycolumns}. The latter have the types INT,
 * BIGINT and VARCHAR of ASCII characters. A {@code timestamp} is a BIGINT, so that milliseconds need no conversion.
 */
public final class Key {
  /** Name of the key's column if there is only one, as in the tables of stock YCSB. */
  public static final String SINGLE = "YCSB_KEY";

  private final List<Column> columns;

  Key(Settings settings) {
    columns = KeyColumns.of(settings, SINGLE).columns();
  }

  List<String> names() {
    return columns.stream().map(Column::name).toList();
  }

  int size() {
    return columns.size();
  }

  /**
   * Sets consecutive variables to the first columns of a key.
   *
   * @param first number of the first variable, from 1
   * @param key   the key
   * @param count number of columns
   * @return number of the next variable
   */
  int set(PreparedStatement statement, int first, byte[] key, int count) throws SQLException {
    int variable = first;
    for (Column column : columns.subList(0, count)) {
      ByteBuffer value = column.of(key);
      switch (column.type()) {
        case KEY -> statement.setBytes(variable, key);
        case INT -> statement.setInt(variable, value.getInt());
        case TEXT -> statement.setString(variable, KeyColumns.text(value));
        default -> statement.setLong(variable, value.getLong());
      }
      variable++;
    }
    return variable;
  }

  /** Sets consecutive variables to all columns of a key. Returns the number of the next variable. */
  int set(PreparedStatement statement, int first, byte[] key) throws SQLException {
    return set(statement, first, key, size());
  }

  /**
   * Returns the key of a row.
   *
   * @param found  result, positioned on the row
   * @param places positions of the key's columns in the result, from 1
   */
  ByteBuffer of(ResultSet found, int[] places) throws SQLException {
    Column last = columns.get(columns.size() - 1);
    if (last.length() < 0) {
      return ByteBuffer.wrap(found.getBytes(places[0]));
    }
    ByteBuffer key = ByteBuffer.allocate(last.start() + last.length());
    for (int i = 0; i < places.length; i++) {
      switch (columns.get(i).type()) {
        case INT -> key.putInt(found.getInt(places[i]));
        case TEXT -> key.put(found.getBytes(places[i]));
        default -> key.putLong(found.getLong(places[i]));
      }
    }
    return key.flip();
  }
}
