package dohyo.aerospike;

import dohyo.binding.KeyColumns;
import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.zip.CRC32;

/**
 * Assigns records to blocks. With {@code insertorder=ordered} a key ends with the record's number. N records with
 * consecutive numbers share a block. With {@code keycolumns}, the records of a block have consecutive values of the
 * last column and equal values of the others. For hashed or salted keys, a checksum of the key selects one of as many
 * blocks as N records each would fill. So a block has N of the loaded records on average.
 */
final class Packing {
  private final int size;
  private final boolean byNumber;
  private final KeyColumns columns;
  private final long blocks;

  /**
   * Reads the properties that determine keys.
   *
   * @param size     records per block
   * @param settings the client's properties
   * @throws SettingException if one of them has an invalid value
   */
  Packing(int size, Settings settings) {
    this.size = size;
    byNumber = settings.text("insertorder", "hashed").equals("ordered")
        && settings.text("keysalt", "none").equals("none");
    columns = KeyColumns.of(settings, "key");
    long after = settings.whole("recordcount", 1000, 0, Long.MAX_VALUE) - settings.whole("insertstart", 0, 0,
        Long.MAX_VALUE);
    blocks = Math.max(1, settings.whole("insertcount", after, 0, Long.MAX_VALUE) / size);
  }

  /**
   * Returns the key of the block for a record.
   *
   * @param key key of the record
   */
  byte[] block(byte[] key) {
    if (columns.several()) {
      KeyColumns.Column last = columns.last();
      return number(Arrays.copyOf(key, last.start()), last.number(key) / size);
    }
    int digits = key.length;
    while (digits > 0 && key[digits - 1] >= '0' && key[digits - 1] <= '9' && key.length - digits < 18) {
      digits--;
    }
    if (!byNumber || digits == key.length) {
      CRC32 sum = new CRC32();
      sum.update(key);
      return number(new byte[0], sum.getValue() % blocks);
    }
    long number = 0;
    for (int i = digits; i < key.length; i++) {
      number = number * 10 + key[i] - '0';
    }
    return number(Arrays.copyOf(key, digits), number / size);
  }

  private static byte[] number(byte[] prefix, long number) {
    return ByteBuffer.allocate(prefix.length + Long.BYTES).put(prefix).putLong(number).array();
  }
}
