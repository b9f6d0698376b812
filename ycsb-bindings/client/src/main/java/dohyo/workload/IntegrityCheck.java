package dohyo.workload;

import dohyo.binding.Columns;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import site.ycsb.Status;

/**
 * Checks the values of {@code dataintegrity=true}. A value is the key, the field name and repeated hash codes of the
 * text so far, joined by colons and cut to length. YCSB's CoreWorkload writes the same values, so this client and the
 * stock client can check data that the other has loaded.
 *
 * <p>One instance checks the records of one read. Each record must have every requested field exactly once with its
 * whole value, and no other field.
 */
final class IntegrityCheck implements ReadCheck {
  private final List<byte[]> keys;
  private final Columns columns;
  private final int length;
  // For each record, the fields with the right value. One thread delivers the fields of a record, and the completion of
  // the request publishes them to the checking thread.
  private final Set<String>[] right;
  private final boolean[] wrong;

  /**
   * Creates the check of one read.
   *
   * @param keys    the workload's keys, one per record
   * @param columns requested fields
   * @param length  length of each value in bytes
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

  @Override
  public Status checked(int row, Status status) {
    boolean good = !wrong[row] && right[row].size() == columns.size() && right[row].containsAll(columns.names());
    return !status.isOk() || good ? status : WRONG;
  }
}
