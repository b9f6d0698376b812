package dohyo.binding;

import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32;

/**
 * Turns the workload's key into the key that the database stores.
 *
 * <p>{@code keysalt=none} stores it as it is. {@code keysalt=crc32} puts two bytes in front, taken from the CRC-32 of
 * the key written as an 8-byte big-endian number: its bytes 5 and 6 counted from 0, which are bits 8 to 23 of the
 * checksum. The scheme is that of the published heavyweights comparison; it spreads sequential keys over the regions
 * of an ordered store such as HBase.
 */
public final class KeyCodec {
  private final boolean salted;

  /**
   * Reads {@code keysalt}.
   *
   * @param settings the client's properties
   * @throws SettingException if the value is neither {@code none} nor {@code crc32}
   */
  public KeyCodec(Settings settings) {
    this.salted = settings.choice("keysalt", "none", "crc32").equals("crc32");
  }

  /**
   * Encodes a key given as bytes.
   *
   * @param key key of the workload
   * @return the stored key; the same array where nothing is added
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

  public byte[] encode(String key) {
    return encode(key.getBytes(StandardCharsets.UTF_8));
  }
}
