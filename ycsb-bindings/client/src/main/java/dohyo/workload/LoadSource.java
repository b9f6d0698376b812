package dohyo.workload;

import dohyo.binding.Settings;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Creates the requests of the load, which insert a contiguous range of records in order. A batch stays in one table.
 */
final class LoadSource implements RequestSource {
  private static final long[] NOT_NEW = {};

  private final RecordLayout layout;
  private final RecordMaker maker;
  private final int batchSize;
  private final boolean batched;
  private final boolean stamped;
  private final int client;
  private final long end;
  private long next;

  /**
   * Creates the source of one thread.
   *
   * @param client number of this client, part of each record's stamp with {@code verify=acknowledged}
   * @param first  first key number
   * @param end    key number after the last one
   */
  LoadSource(Settings settings, RecordLayout layout, SplittableRandom random, int batchSize, int client, long first,
      long end) {
    this.layout = layout;
    this.maker = new RecordMaker(settings, layout, random);
    this.batchSize = batchSize;
    this.batched = batchSize > 1;
    this.stamped = Ledger.isWanted(settings);
    this.client = client;
    this.next = first;
    this.end = end;
  }

  @Override
  public Request next() {
    if (next >= end) {
      return null;
    }
    int table = layout.tableOf(next);
    int count = layout.neighbours(next, end, batchSize);
    List<byte[]> keys = new ArrayList<>(count);
    byte[][][] values = new byte[count][][];
    for (int i = 0; i < count; i++) {
      byte[] key = layout.key(next);
      keys.add(key);
      values[i] = maker.values(key, layout.allColumns());
      if (stamped) {
        Ledger.stampLoaded(next, client, values[i]);
      }
      next++;
    }
    return new Request.Insert(layout.table(table), keys, batched, layout.allColumns(), values, null, NOT_NEW);
  }
}
