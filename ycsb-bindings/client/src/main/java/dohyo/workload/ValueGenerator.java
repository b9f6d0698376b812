package dohyo.workload;

import dohyo.binding.Settings;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * Generates field values of a given size and entropy, eight bytes per step. Each thread has its own instance.
 *
 * <p>{@code valueentropy} is the entropy in bits per byte, from 0 to 8. Up to 6, the bytes are printable characters
 * from {@code '0'} on; 6 yields 64 different ones, similar to YCSB's own generator. With 7 the bytes are any ASCII
 * characters; with 8 they are incompressible. The numbers come from wyrand (Wang Yi, wyhash), with its constants and
 * one 128-bit product per step. Every value is new, so a compressor benefits only from the small alphabet.
 */
public final class ValueGenerator {
  private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final long INCREMENT = 0xA0761D6478BD642FL;
  private static final long FLIP = 0xE7037ED1A0B428DBL;
  private static final long EVERY_BYTE = 0x0101010101010101L;

  private final long mask;
  private final long offset;
  private long state;

  /**
   * Creates a generator.
   *
   * @param settings the client's properties; only {@code valueentropy} is read
   * @param seed     start of the sequence; different for every thread
   * @throws dohyo.binding.SettingException if {@code valueentropy} is not between 0 and 8
   */
  public ValueGenerator(Settings settings, long seed) {
    int bits = settings.number("valueentropy", 6, 0, 8);
    this.mask = EVERY_BYTE * ((1 << bits) - 1);
    this.offset = bits <= 6 ? EVERY_BYTE * '0' : 0;
    this.state = seed;
  }

  /**
   * Returns a new value.
   *
   * @param length length in bytes
   */
  public byte[] next(int length) {
    byte[] value = new byte[length];
    long s = state;
    int at = 0;
    for (; at + Long.BYTES <= length; at += Long.BYTES) {
      LONGS.set(value, at, (mix(s += INCREMENT) & mask) + offset);
    }
    if (at < length) {
      for (long rest = (mix(s += INCREMENT) & mask) + offset; at < length; at++, rest >>>= 8) {
        value[at] = (byte) rest;
      }
    }
    state = s;
    return value;
  }

  private static long mix(long s) {
    long t = s ^ FLIP;
    return Math.multiplyHigh(s, t) ^ s * t;
  }
}
