package dohyo.workload;

import java.nio.ByteBuffer;
import java.util.zip.CRC32C;

/**
 * First bytes of each value with {@code verify=acknowledged}: checksum, key number, writer, run and sequence number.
 * They are printable characters of six bits each, so that any column type can store them. The checksum is a CRC-32C of
 * all bytes after it, combined with the value's length and the number of its field.
 *
 * @param key      number of the record
 * @param writer   number of the client that wrote it
 * @param run      number of the run that wrote it, 0 for the load
 * @param sequence number of the write among the run's writes to this cell (see {@link Ledger}), 0 for the load
 */
record Stamp(long key, int writer, int run, int sequence) {
  /** Length of a stamp in bytes, and the minimum length of a value. */
  static final int LENGTH = 29;
  /** Sequence number in values of records that the {@link Ledger} does not track: their writes are not counted. */
  static final int UNCOUNTED = (1 << 30) - 1;
  /** Highest number of a run in a trial. */
  static final int MAX_RUN = (1 << 18) - 1;

  private static final int KEY = 6;
  private static final int WRITER = 17;
  private static final int RUN = 21;
  private static final int SEQUENCE = 24;

  /**
   * Overwrites the beginning of a value with the stamp.
   *
   * @param value the value, at least {@link #LENGTH} bytes
   * @param field number of the field
   */
  void write(byte[] value, int field) {
    digits(value, KEY, WRITER, key);
    digits(value, WRITER, RUN, writer);
    digits(value, RUN, SEQUENCE, run);
    digits(value, SEQUENCE, LENGTH, sequence);
    CRC32C crc = new CRC32C();
    crc.update(value, KEY, value.length - KEY);
    digits(value, 0, KEY, crc.getValue() ^ mark(field, value.length));
  }

  /**
   * Reads the stamp of a value.
   *
   * @param field number of the field
   * @return the stamp; {@code null} if the value is shorter than a stamp or its checksum is wrong
   */
  static Stamp read(ByteBuffer value, int field) {
    int length = value.remaining();
    if (length < LENGTH) {
      return null;
    }
    int start = value.position();
    ByteBuffer behind = value.duplicate();
    behind.position(start + KEY);
    CRC32C crc = new CRC32C();
    crc.update(behind);
    long rest = crc.getValue() ^ mark(field, length);
    for (int at = start + KEY - 1; at >= start; at--, rest >>>= 6) {
      if (value.get(at) != (byte) ('0' + (rest & 63))) {
        return null;
      }
    }
    return new Stamp(number(value, start + KEY, start + WRITER), (int) number(value, start + WRITER, start + RUN),
        (int) number(value, start + RUN, start + SEQUENCE), (int) number(value, start + SEQUENCE, start + LENGTH));
  }

  private static long mark(int field, int length) {
    return (field * 0x9E3779B9L + length * 0x85EBCA6BL) & 0xFFFFFFFFL;
  }

  private static void digits(byte[] value, int from, int end, long number) {
    long rest = number;
    for (int at = end - 1; at >= from; at--, rest >>>= 6) {
      value[at] = (byte) ('0' + (rest & 63));
    }
  }

  private static long number(ByteBuffer value, int from, int end) {
    long number = 0;
    for (int at = from; at < end; at++) {
      number = number << 6 | (value.get(at) - '0' & 63);
    }
    return number;
  }
}
