package dohyo.binding;

import java.nio.ByteBuffer;

/** Receives the fields of the records that a read or a scan returns, one field per call. */
@FunctionalInterface
public interface RowSink {
  /** Ignores all fields. */
  RowSink DISCARD = (row, column, value) -> { };

  /**
   * Receives one field. The driver's threads call this method. Different rows of a batch may come from different
   * threads at the same time.
   *
   * @param row    position of the record in the batch or in the scan, from 0
   * @param column field name
   * @param value  the field's bytes between position and limit, valid only during the call
   */
  void field(int row, String column, ByteBuffer value);
}
