package dohyo.workload;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * The values of {@code dataintegrity=true}: each follows from its key and field name, so a read can be checked. They
 * are the very values of YCSB's CoreWorkload (key, field name and running {@link String#hashCode} values, joined by
 * colons and cut to length), so data loaded by either client can be checked by the other.
 */
final class IntegrityCheck {
  private IntegrityCheck() {
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

  static boolean matches(byte[] key, String field, ByteBuffer value) {
    return value.equals(ByteBuffer.wrap(value(key, field, value.remaining())));
  }
}
