package dohyo.binding;

import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32;

/**
 * Turns the workload's key into the key that the database stores.
 *
 * <p>{@code keysalt=none} stores it as it is. {@code keysalt=crc32} puts two bytes in front, taken from the CRC-32 of
 * the key written as an 8-byte big-endian number: its bytes 5 and 6 counted from 0, which are bits 8 to 23 of the
 * checksum. The scheme is that of the published heavyweights comparison; it spreads sequential keys over the regions
 * of an ordered store such as HBase. Keys of several columns ({@link KeyColumns}) take no salt: no column could hold
 * it.
 */
public final class KeyCodec {
  private final boolean salted;
  private final boolean columns;

  /**
   * Reads {@code keysalt} and {@code keycolumns}.
   *
   * @param settings the client's properties
   * @throws SettingException if one has an impossible value, or both are given
   */
  public KeyCodec(Settings settings) {
    this.salted = settings.choice("keysalt", "none", "crc32").equals("crc32");
    this.columns = KeyColumns.of(settings, "key").several();
    if (salted && columns) {
      throw new SettingException("keysalt=crc32: keys that keycolumns names the columns of have no place for a salt;"
          + " leave one of the two out");
    }
  }

  /**
   * Encodes a key given as bytes.
   *
   * @param key key of the workload
   * @return the stored key; the same array if nothing is added
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
   * Encodes a key given as text, as stock YCSB does.
   *
   * @throws SettingException if keys have columns, which cannot be made from a text
   */
  public byte[] encode(String key) {
    if (columns) {
      throw new SettingException("keycolumns: the key '" + key + "' is a text, as stock YCSB's are, and no typed"
          + " columns; run dohyo.client.Client, or leave keycolumns out");
    }
    return encode(key.getBytes(StandardCharsets.UTF_8));
  }
}
