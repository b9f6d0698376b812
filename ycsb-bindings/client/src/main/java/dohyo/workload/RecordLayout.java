package dohyo.workload;

import dohyo.binding.Columns;
import dohyo.binding.KeyColumns;
import dohyo.binding.Settings;
import dohyo.binding.SettingException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import site.ycsb.Utils;

/**
 * Tables, keys and fields of the records. All threads share one instance.
 *
 * <p>Keys are those of YCSB: {@code user} and the key number. The number is hashed with {@link Utils#hash} unless
 * {@code insertorder=ordered}, and padded with zeros to {@code zeropadding} digits. With {@code keycolumns} the columns
 * of a key are computed from the key number ({@link KeyColumns}).
 *
 * <p>Each of the {@code tablecount} tables has a contiguous range of the key numbers below {@code recordcount}. The
 * first ranges may have one record more than the others. Later inserts are assigned to the tables round-robin.
 */
public final class RecordLayout {
  private static final byte[] PREFIX = "user".getBytes(StandardCharsets.US_ASCII);

  private static final long[] POWERS_OF_TEN =
      LongStream.iterate(1, power -> power * 10).limit(19).toArray();

  private final String[] tables;
  private final long recordCount;
  private final long recordsPerTable;
  private final int longerTables;
  private final boolean hashed;
  private final KeyColumns keyColumns;
  private final int padding;
  private final Columns all;
  private final Columns[] single;

  /**
   * Reads {@code table}, {@code tablecount}, {@code recordcount}, {@code insertorder}, {@code keycolumns}, {@code
   * zeropadding}, {@code fieldcount} and {@code fieldnameprefix}.
   *
   * @param settings the client's properties
   * @throws SettingException if one of them is out of range, or {@code keycolumns} contradicts the others
   */
  public RecordLayout(Settings settings) {
    int count = settings.number("tablecount", 1, 1, 10_000);
    String table = settings.text("table", "usertable");
    tables = count == 1 ? new String[] {table}
        : IntStream.range(0, count).mapToObj(i -> table + i).toArray(String[]::new);
    // As in YCSB, 0 means that the property is not set.
    long given = settings.whole("recordcount", 0, 0, Long.MAX_VALUE / 2);
    recordCount = given == 0 ? Integer.MAX_VALUE : given;
    if (recordCount < count) {
      throw new SettingException("recordcount=" + recordCount + ": must be at least tablecount=" + count);
    }
    recordsPerTable = recordCount / count;
    longerTables = (int) (recordCount % count);
    hashed = settings.choice("insertorder", "hashed", "ordered").equals("hashed");
    padding = settings.number("zeropadding", 1, 0, 1_000);
    int fields = settings.number("fieldcount", 10, 1, 10_000);
    String prefix = settings.text("fieldnameprefix", "field");
    List<String> names = IntStream.range(0, fields).mapToObj(i -> prefix + i).toList();
    all = Columns.of(names);
    single = names.stream().map(name -> Columns.of(List.of(name))).toArray(Columns[]::new);
    keyColumns = KeyColumns.of(settings, "key");
    if (keyColumns.several()) {
      check(settings.text("keycolumns", ""), names);
    }
  }

  private void check(String given, List<String> fields) {
    if (hashed) {
      throw new SettingException("keycolumns=" + given + ": columns come from record numbers;"
          + " set insertorder=ordered");
    }
    for (String name : keyColumns.names()) {
      if (fields.stream().anyMatch(name::equalsIgnoreCase)) {
        throw new SettingException("keycolumns=" + given + ": a field is also called " + name + "; rename the column");
      }
    }
    keyColumns.key(recordCount - 1);
  }

  public long recordCount() {
    return recordCount;
  }

  public int tableCount() {
    return tables.length;
  }

  public Columns allColumns() {
    return all;
  }

  /** Returns a set of columns that contains only that field. */
  public Columns column(int field) {
    return single[field];
  }

  public int fieldCount() {
    return single.length;
  }

  public String table(int index) {
    return tables[index];
  }

  /** Returns the number of records in the smallest table after the load. */
  public long recordsPerTable() {
    return recordsPerTable;
  }

  /** Returns the index of the table of a record. */
  public int tableOf(long keynum) {
    if (keynum >= recordCount) {
      return (int) ((keynum - recordCount) % tables.length);
    }
    long ofLonger = longerTables * (recordsPerTable + 1);
    return (int) (keynum < ofLonger ? keynum / (recordsPerTable + 1)
        : longerTables + (keynum - ofLonger) / recordsPerTable);
  }

  /**
   * Returns the first key number of a table. For {@code table} equal to the number of tables it is {@code recordcount}.
   */
  public long firstOf(int table) {
    return table * recordsPerTable + Math.min(table, longerTables);
  }

  /** Returns the key number after the last record of a table. */
  public long endOf(int table) {
    return firstOf(table + 1);
  }

  /**
   * Returns how many records of a range are in the table of its first record.
   *
   * @param from first key number of the range, below {@code recordcount}
   * @param end  key number after the range, above {@code from}
   * @param most upper limit of the result
   * @return a number from 1 to {@code most}
   */
  int neighbours(long from, long end, int most) {
    return (int) Math.min(most, Math.min(end, endOf(tableOf(from))) - from);
  }

  /** Returns the key of a record. */
  public byte[] key(long keynum) {
    if (keyColumns.several()) {
      return keyColumns.key(keynum);
    }
    long number = hashed ? Utils.hash(keynum) : keynum;
    byte[] key = new byte[PREFIX.length + Math.max(digits(number), padding)];
    System.arraycopy(PREFIX, 0, key, 0, PREFIX.length);
    for (int at = key.length - 1; at >= PREFIX.length; at--, number /= 10) {
      key[at] = (byte) ('0' + number % 10);
    }
    return key;
  }

  private static int digits(long number) {
    int digits = 1;
    while (digits < POWERS_OF_TEN.length && number >= POWERS_OF_TEN[digits]) {
      digits++;
    }
    return digits;
  }
}
