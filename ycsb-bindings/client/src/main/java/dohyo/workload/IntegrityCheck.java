package dohyo.workload;

import dohyo.binding.Columns;
import dohyo.binding.RowSink;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import site.ycsb.Status;

/**
 * The values of {@code dataintegrity=true}: each follows from its key and field name, so a read can be checked. They
 * are the very values of YCSB's CoreWorkload (key, field name and running {@link String#hashCode} values, joined by
 * colons and cut to length), so data loaded by either client can be checked by the other.
 *
 * <p>One instance checks the records of one read: each must hold every field that was asked for, once and with its
 * whole value, and no other.
 */
public final class IntegrityCheck implements RowSink {
  /** What becomes of a record that was read and is not what was written. */
  static final Status WRONG = new Status(Status.UNEXPECTED_STATE.getName(),
      "fields are missing, or do not hold what was written (dataintegrity)");

  private final List<byte[]> keys;
  private final Columns columns;
  private final int length;
  // Per record, whose fields come from one thread; the answer that comes after them makes them visible.
  private final Set<String>[] right;
  private final boolean[] wrong;

  /**
   * Makes the check of one read.
   *
   * @param keys    the workload's keys, one per record
   * @param columns fields that are asked for
   * @param length  bytes of each value
   */
  @SuppressWarnings({"unchecked", "rawtypes"})
  IntegrityCheck(List<byte[]> keys, Columns columns, int length) {
    this.keys = keys;
    this.columns = columns;
    this.length = length;
    right = new Set[keys.size()];
    for (int i = 0; i < right.length; i++) {
      right[i] = new HashSet<>(2 * columns.size());
    }
    wrong = new boolean[right.length];
  }

  static byte[] value(byte[] key, String field, int length) {
    StringBuilder text = new StringBuilder(length + 16)
        .append(new String(key, StandardCharsets.ISO_8859_1)).append(':').append(field);
    while (text.length() < length) {
      text.append(':').append(text.toString().hashCode());
    }
    text.setLength(length);
    return text.toString().getBytes(StandardCharsets.ISO_8859_1);
  }

  @Override
  public void field(int row, String column, ByteBuffer value) {
    boolean whole = value.remaining() == length
        && value.equals(ByteBuffer.wrap(value(keys.get(row), column, length)));
    wrong[row] |= !whole || !right[row].add(column);
  }

  /** The status of each record, {@link #WRONG} where it was read and is not right. */
  public Status[] checked(Status[] statuses) {
    Status[] checked = statuses.clone();
    for (int i = 0; i < checked.length; i++) {
      checked[i] = checked(i, statuses[i]);
    }
    return checked;
  }

  /** The status of the only record, {@link #WRONG} where it was read and is not right. */
  public Status checked(Status status) {
    return checked(0, status);
  }

  /** Of the statuses of checked records, those of records that were read, be they right or {@link #WRONG}. */
  public Status[] verified(Status[] checked) {
    return Arrays.stream(checked).filter(status -> status.isOk() || status == WRONG).toArray(Status[]::new);
  }

  private Status checked(int row, Status status) {
    boolean good = !wrong[row] && right[row].size() == columns.size() && right[row].containsAll(columns.names());
    return !status.isOk() || good ? status : WRONG;
  }
}
