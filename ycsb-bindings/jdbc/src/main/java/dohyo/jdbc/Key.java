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
 * The key as the tables have it: bytes in one column, or the columns of {@code keycolumns}, of the types INT, BIGINT
 * (also for a {@code timestamp}, whose milliseconds need no conversion) and VARCHAR of ASCII characters.
 */
public final class Key {
  /** Name of the key's column where it has one, as in the tables of stock YCSB. */
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
   * Sets the first columns of a key as variables that follow one another.
   *
   * @param first number of the first variable, from 1
   * @param count how many columns
   * @return number of the variable after them
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

  /** The same with all columns. */
  int set(PreparedStatement statement, int first, byte[] key) throws SQLException {
    return set(statement, first, key, size());
  }

  /**
   * Puts a key together again.
   *
   * @param found  a result at one of its rows
   * @param places places of the columns in it, from 1
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
