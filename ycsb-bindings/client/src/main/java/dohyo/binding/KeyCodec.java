package dohyo.binding;

import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32;

/**
 * Converts the workload's keys to the keys that the database stores.
 *
 * <p>{@code keysalt=none} stores the key unchanged. {@code keysalt=crc32} puts two bytes in front of the key: bits 16
 * to 23 and bits 8 to 15 of its CRC-32. These are bytes 5 and 6, counted from 0, of the checksum as an 8-byte
 * big-endian number. The published comparison (workloads/heavyweights) used this salt. It spreads sequential keys over
 * the regions of an ordered store such as HBase. Keys of several columns ({@link KeyColumns}) cannot be salted, because
 * no column could hold the salt.
 */
public final class KeyCodec {
  private final boolean salted;
  private final boolean columns;

  /**
   * Reads {@code keysalt} and {@code keycolumns}.
   *
   * @param settings the client's properties
   * @throws SettingException if one has an invalid value, or both are set
   */
  public KeyCodec(Settings settings) {
    this.salted = settings.choice("keysalt", "none", "crc32").equals("crc32");
    this.columns = KeyColumns.of(settings, "key").several();
    if (salted && columns) {
      throw new SettingException("keysalt=crc32: a key with columns (keycolumns) has no room for a salt;"
          + " set only one of the two");
    }
  }

  /**
   * Encodes a key given as bytes.
   *
   * @param key the workload's key
   * @return the stored key; the same array if there is no salt
   */
  public byte[] encode(byte[] key) {
    if (!salted) {
      return key;
    }
    CRC32 crc = new CRC32();
    crc.update(key);
    long sum = crc.getValue();
    byte[] stored = new byte[key.length + 2];
    stored[0] = (byte) (sum >>> 16);
    stored[1] = (byte) (sum >>> 8);
    System.arraycopy(key, 0, stored, 2, key.length);
    return stored;
  }

  /**
   * Encodes a key given as text, which is what stock YCSB passes.
   *
   * @throws SettingException if {@code keycolumns} is set: a text cannot be converted to columns
   */
  public byte[] encode(String key) {
    if (columns) {
      throw new SettingException("keycolumns: key '" + key + "' is stock YCSB's text;"
          + " run dohyo.client.Client, or leave keycolumns out");
    }
    return encode(key.getBytes(StandardCharsets.UTF_8));
  }
}
