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
 * The columns that a record's key has in the database: those of {@code keycolumns}, or a single one that holds the
 * whole key.
 *
 * <p>{@code keycolumns=host int 10, user bigint 1000, object text(32) 100, when timestamp} names the columns in their
 * order, each with its type and, all but the last, with how many values it has. Record number n gives the values by
 * mixed radix: the first is n mod 10, the second (n / 10) mod 1000, and so on; the last is the remaining quotient.
 * So every record has a key of its own, and new records take the next value of the last column, for each combination of
 * the others in turn.
 *
 * <p>The first columns in parentheses, {@code (host int 10), user bigint 1000, when timestamp}, are those that choose a
 * record's partition in a database that has such; without parentheses all but the last do.
 *
 * <p>The bytes of a key are its columns one after another, each of fixed width and in big-endian order, which is the
 * order of the columns' values: {@code int} has 4 bytes, {@code bigint} 8, {@code timestamp} 8 for the milliseconds
 * since 1970, which are {@link #EPOCH} and the value; {@code text(N)} has the value in N decimal digits.
 */
public final class KeyColumns {
  /** The first point in time, 2020-01-01 00:00 UTC, in milliseconds since 1970. */
  public static final long EPOCH = 1_577_836_800_000L;

  /** As long as the keys of one column may be in MySQL's tables; every other database takes longer ones. */
  private static final int MAX_BYTES = 255;
  /** MySQL's limit of columns in a key. */
  private static final int MAX_COLUMNS = 16;
  private static final Pattern COLUMN = Pattern.compile(
      "([a-z][a-z0-9_]{0,39}) +(int|bigint|timestamp|text\\(([1-9][0-9]{0,2})\\))(?: +([1-9][0-9]{0,17}))?");

  /** What a column holds. */
  public enum Type {
    /** The whole key, bytes of any length: where there is only one column. */
    KEY,
    INT, BIGINT, TIMESTAMP, TEXT
  }

  /**
   * A column.
   *
   * @param name   its name
   * @param type   its type
   * @param start  where it begins in a key, in bytes
   * @param length its bytes, -1 for all there are
   * @param values how many values it has; of the last column how many there can be
   */
  public record Column(String name, Type type, int start, int length, long values) {
    /** The column's bytes of a key; its array is the key's own. */
    public ByteBuffer of(byte[] key) {
      return ByteBuffer.wrap(key, start, length < 0 ? key.length : length);
    }

    /** The column's value of a key as a number; a timestamp's are the milliseconds since 1970. */
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
   * @param single   name of the only column if the property is not set
   * @return the columns
   * @throws SettingException if the property cannot be read as columns
   */
  public static KeyColumns of(Settings settings, String single) {
    String text = settings.text("keycolumns", "");
    if (text.isEmpty()) {
      return new KeyColumns("", List.of(new Column(single, Type.KEY, 0, -1, Long.MAX_VALUE)), 1);
    }
    String[] parts = text.split(",", -1);
    if (parts.length < 2 || parts.length > MAX_COLUMNS) {
      throw refused(text, "has " + parts.length + " columns; from 2 to " + MAX_COLUMNS
          + " are possible, as in host int 10, when timestamp");
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
      throw refused(text, "'" + part + "' must be a name of letters a-z, digits and _, a type (int, bigint, text(N) or"
          + " timestamp) and " + (last ? "nothing else, since it is the last column" : "how many values there are"));
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

  /** Whether the key has several columns, as {@code keycolumns} says; else it is bytes of any length. */
  public boolean several() {
    return columns.size() > 1;
  }

  /** The columns in their order. */
  public List<Column> columns() {
    return columns;
  }

  /** Their names, in their order. */
  public List<String> names() {
    return columns.stream().map(Column::name).toList();
  }

  /** How many of the first columns choose a record's partition; at least one follows, where there are several. */
  public int partition() {
    return partition;
  }

  public Column last() {
    return columns.get(columns.size() - 1);
  }

  /**
   * The key of a record; only of several columns.
   *
   * @param number the record's number, from 0
   * @throws SettingException if the last column has no room for it
   */
  public byte[] key(long number) {
    ByteBuffer key = ByteBuffer.allocate(length);
    long rest = number;
    for (Column column : columns) {
      boolean last = column == last();
      long value = last ? rest : rest % column.values();
      rest /= column.values();
      if (last && value >= column.values()) {
        throw refused(text, "the last column has no room for record " + number + "; give it a larger type, or the"
            + " others more values");
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

  /** The bytes of a column of type {@code TEXT} as text. */
  public static String text(ByteBuffer column) {
    return StandardCharsets.US_ASCII.decode(column).toString();
  }
}
