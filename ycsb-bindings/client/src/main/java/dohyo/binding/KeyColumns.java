package dohyo.binding;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Columns of a record's key in the database: those of {@code keycolumns}, or a single column with the whole key.
 *
 * <p>{@code keycolumns=host int 10, user bigint 1000, object text(32) 100, when timestamp} lists the columns in their
 * order. Each has a type, and each except the last has a number of values. A mixed radix converts record number n to
 * column values: the first is n mod 10, the second (n / 10) mod 1000, and so on. The last column contains the remaining
 * quotient, so every record has a unique key. New records run through all combinations of the other columns before they
 * use the next value of the last column.
 *
 * <p>Parentheses enclose the columns that select a record's partition, in a database that has partitions: {@code (host
 * int 10), user bigint 1000, when timestamp}. Without parentheses all columns except the last select it.
 *
 * <p>The bytes of a key are its columns one after another. Each column has a fixed width and is big-endian, so keys
 * sort like the values of the columns. {@code int} takes 4 bytes and {@code bigint} 8. {@code timestamp} takes 8 bytes:
 * {@link #EPOCH} plus the value, in milliseconds since 1970. {@code text(N)} holds the value in N decimal digits.
 */
public final class KeyColumns {
  /** First timestamp, 2020-01-01 00:00 UTC, in milliseconds since 1970. */
  public static final long EPOCH = 1_577_836_800_000L;

  /** Maximum length of a key in bytes. In MySQL, keys are VARBINARY(255); other systems permit more. */
  private static final int MAX_BYTES = 255;
  /** Maximum number of columns: MySQL's limit for an index. */
  private static final int MAX_COLUMNS = 16;
  private static final Pattern COLUMN = Pattern.compile(
      "([a-z][a-z0-9_]{0,39}) +(int|bigint|timestamp|text\\(([1-9][0-9]{0,2})\\))(?: +([1-9][0-9]{0,17}))?");

  /** Type of a column. */
  public enum Type {
    /** The whole key, with any number of bytes. Only a single column has this type. */
    KEY,
    INT, BIGINT, TIMESTAMP, TEXT
  }

  /**
   * A column of a key.
   *
   * @param name   name of the column
   * @param type   type of the column
   * @param start  offset in the key, in bytes
   * @param length length in bytes, -1 if the column is the whole key
   * @param values number of values; for the last column, the number of values of its type
   */
  public record Column(String name, Type type, int start, int length, long values) {
    /** Returns the bytes of this column, as a view of the key's array. */
    public ByteBuffer of(byte[] key) {
      return ByteBuffer.wrap(key, start, length < 0 ? key.length : length);
    }

    /** Returns the value of this column as a number: for a timestamp, the milliseconds since 1970. */
    public long number(byte[] key) {
      return switch (type) {
        case INT -> of(key).getInt();
        case TEXT -> Long.parseLong(text(of(key)));
        default -> of(key).getLong();
      };
    }
  }

  private final String text;
  private final List<Column> columns;
  private final int partition;
  private final int length;

  private KeyColumns(String text, List<Column> columns, int partition) {
    this.text = text;
    this.columns = List.copyOf(columns);
    this.partition = partition;
    Column last = columns.get(columns.size() - 1);
    this.length = last.start() + last.length();
  }

  /**
   * Reads {@code keycolumns}.
   *
   * @param settings the client's properties
   * @param single   name of the single column if the property is not set
   * @return the columns
   * @throws SettingException if the property has an invalid value
   */
  public static KeyColumns of(Settings settings, String single) {
    String text = settings.text("keycolumns", "");
    if (text.isEmpty()) {
      return new KeyColumns("", List.of(new Column(single, Type.KEY, 0, -1, Long.MAX_VALUE)), 1);
    }
    String[] parts = text.split(",", -1);
    if (parts.length < 2 || parts.length > MAX_COLUMNS) {
      throw refused(text, "must have 2 to " + MAX_COLUMNS + " columns, not " + parts.length + " (docs/keys.md)");
    }
    List<Column> columns = new ArrayList<>();
    Set<String> names = new HashSet<>();
    boolean grouped = text.strip().startsWith("(");
    int partition = grouped ? 0 : parts.length - 1;
    int start = 0;
    for (int i = 0; i < parts.length; i++) {
      String part = i == 0 && grouped ? parts[0].strip().substring(1) : parts[i].strip();
      if (partition == 0 && part.endsWith(")") && i < parts.length - 1) {
        part = part.substring(0, part.length() - 1);
        partition = i + 1;
      }
      Column column = column(text, part, start, i == parts.length - 1);
      if (!names.add(column.name())) {
        throw refused(text, "the name " + column.name() + " occurs twice");
      }
      columns.add(column);
      start += column.length();
    }
    if (partition == 0) {
      throw refused(text, "the parenthesis must be closed before the last column");
    }
    if (start > MAX_BYTES) {
      throw refused(text, "a key has " + start + " bytes; at most " + MAX_BYTES + " are allowed; make texts shorter");
    }
    return new KeyColumns(text, columns, partition);
  }

  private static Column column(String text, String part, int start, boolean last) {
    Matcher found = COLUMN.matcher(part);
    if (!found.matches() || last != (found.group(4) == null)) {
      throw refused(text, "'" + part + (last ? "' must be a name and int, bigint, text(N) or timestamp (docs/keys.md)"
          : "' must be a name, int, bigint, text(N) or timestamp, and a number"));
    }
    Type type = found.group(3) == null ? Type.valueOf(found.group(2).toUpperCase(Locale.ROOT)) : Type.TEXT;
    int length = switch (type) {
      case INT -> Integer.BYTES;
      case TEXT -> Integer.parseInt(found.group(3));
      default -> Long.BYTES;
    };
    long room = switch (type) {
      case INT -> 1L << 31;
      case TEXT -> length > 18 ? Long.MAX_VALUE : (long) Math.pow(10, length);
      case TIMESTAMP -> Long.MAX_VALUE - EPOCH;
      default -> Long.MAX_VALUE;
    };
    long values = last ? room : Long.parseLong(found.group(4));
    if (values > room) {
      throw refused(text, "'" + part + "': the type has room for " + room + " values");
    }
    return new Column(found.group(1), type, start, length, values);
  }

  private static SettingException refused(String text, String why) {
    return new SettingException("keycolumns=" + text + ": " + why);
  }

  /** Returns whether {@code keycolumns} defines several columns. Otherwise, a key is a single column of any length. */
  public boolean several() {
    return columns.size() > 1;
  }

  /** Returns the columns in order. */
  public List<Column> columns() {
    return columns;
  }

  /** Returns the names of the columns in order. */
  public List<String> names() {
    return columns.stream().map(Column::name).toList();
  }

  /**
   * Returns how many of the first columns select a record's partition. If there are several columns, the last one is
   * never among them.
   */
  public int partition() {
    return partition;
  }

  public Column last() {
    return columns.get(columns.size() - 1);
  }

  /**
   * Returns the key of a record. Requires several columns.
   *
   * @param number the record's number, from 0
   * @throws SettingException if the number is too large for the last column
   */
  public byte[] key(long number) {
    ByteBuffer key = ByteBuffer.allocate(length);
    long rest = number;
    for (Column column : columns) {
      boolean last = column == last();
      long value = last ? rest : rest % column.values();
      rest /= column.values();
      if (last && value >= column.values()) {
        throw refused(text, "no room for record " + number + " in the last column; give it a larger type");
      }
      switch (column.type()) {
        case INT -> key.putInt((int) value);
        case TIMESTAMP -> key.putLong(EPOCH + value);
        case TEXT -> putDigits(key, value, column.length());
        default -> key.putLong(value);
      }
    }
    return key.array();
  }

  private static void putDigits(ByteBuffer key, long value, int digits) {
    long rest = value;
    for (int at = key.position() + digits - 1; at >= key.position(); at--, rest /= 10) {
      key.put(at, (byte) ('0' + rest % 10));
    }
    key.position(key.position() + digits);
  }

  /** Returns the bytes of a {@code TEXT} column as text. */
  public static String text(ByteBuffer column) {
    return StandardCharsets.US_ASCII.decode(column).toString();
  }
}
