package dohyo.workload;

import dohyo.binding.Columns;
import dohyo.binding.Settings;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import site.ycsb.Status;

/**
 * Draws the requests of the run phase according to their proportions. The records of a batch belong to one table and
 * are all different. Otherwise, databases that process repeated keys of a batch only once would have less work.
 */
final class MixSource implements RequestSource {
  /**
   * Maximum number of draws to find a record that this client may write now. After that, it takes the nearest record.
   */
  private static final int MAX_DRAWS = 16;

  private final RecordLayout layout;
  private final RecordMaker maker;
  private final KeyChooser chooser;
  private final KeyChooser.Shared keys;
  private final Ledger ledger;
  private final Proportions proportions;
  private final Lengths scanLengths;
  private final SplittableRandom random;
  private final int batchSize;
  private final boolean readAll;
  private final boolean readByName;
  private final boolean verified;

  MixSource(Settings settings, RecordLayout layout, KeyChooser.Shared keys, Ledger ledger, KeyChooser chooser,
      Proportions proportions, Lengths scanLengths, SplittableRandom random, int batchSize) {
    this.layout = layout;
    this.maker = new RecordMaker(settings, layout, random);
    this.chooser = chooser;
    this.keys = keys;
    this.ledger = ledger;
    this.proportions = proportions;
    this.scanLengths = scanLengths;
    this.random = random;
    this.batchSize = batchSize;
    this.verified = settings.flag("dataintegrity", false);
    this.readAll = settings.flag("readallfields", true);
    this.readByName = settings.flag("readallfieldsbyname", false);
  }

  @Override
  public Request next() {
    OperationType type = proportions.draw(random.nextDouble());
    return switch (type) {
      case INSERT -> insert();
      case SCAN -> scan();
      default -> onExisting(type);
    };
  }

  private Request insert() {
    // New records are assigned to tables round-robin. With several tables, an insert therefore writes only one record.
    long[] counts = new long[layout.tableCount() == 1 ? batchSize : 1];
    long[] keynums = new long[counts.length];
    for (int i = 0; i < counts.length; i++) {
      counts[i] = keys.nextInsert();
      keynums[i] = keys.keynum(counts[i]);
    }
    List<byte[]> names = names(keynums);
    byte[][][] values = values(names, layout.allColumns());
    return new Request.Insert(table(keynums), names, counts.length > 1, layout.allColumns(), values,
        writes(keynums, layout.allColumns(), values), counts);
  }

  private Request scan() {
    long[] start = chooser.next(1);
    return new Request.Scan(table(start), names(start), readColumns(), scanLengths.next());
  }

  private Request onExisting(OperationType type) {
    long[] keynums = chooser.next(batchSize);
    if (ledger != null && type != OperationType.READ) {
      takeEach(keynums);
    }
    List<byte[]> names = names(keynums);
    String table = table(keynums);
    boolean batched = batchSize > 1;
    Columns read = type == OperationType.UPDATE ? null : readColumns();
    if (type == OperationType.READ) {
      return new Request.Read(table, names, batched, read, check(keynums, names, read));
    }
    Columns written = maker.updateColumns();
    byte[][][] values = values(names, written);
    return type == OperationType.UPDATE ? new Request.Update(table, names, batched, written, values,
            writes(keynums, written, values))
        : new Request.ReadModifyWrite(table, names, batched, read, check(keynums, names, read), written, values,
            writes(keynums, written, values));
  }

  /** Reserves each record, or another one if it is already in the batch, has an open write or is not owned. */
  private void takeEach(long[] keynums) {
    int table = layout.tableOf(keynums[0]);
    for (int i = 0; i < keynums.length; i++) {
      long drawn = keynums[i];
      boolean taken = !Ledger.contains(keynums, i, drawn) && ledger.take(drawn);
      for (int draws = 0; !taken && draws < MAX_DRAWS && drawn >= 0; draws++) {
        drawn = chooser.again(table);
        taken = drawn >= 0 && !Ledger.contains(keynums, i, drawn) && ledger.take(drawn);
      }
      keynums[i] = taken ? drawn : ledger.takeNear(keynums[i], keynums, i);
    }
  }

  private Ledger.Writes writes(long[] keynums, Columns columns, byte[][][] values) {
    return ledger == null ? null : ledger.write(keynums, columns, values);
  }

  private ReadCheck.Maker check(long[] keynums, List<byte[]> names, Columns columns) {
    return ledger == null ? maker.check(names, columns) : () -> ledger.check(keynums, columns);
  }

  private String table(long[] keynums) {
    return layout.table(layout.tableOf(keynums[0]));
  }

  private Columns readColumns() {
    if (!readAll) {
      return maker.anyColumn();
    }
    return readByName || verified ? layout.allColumns() : null;
  }

  private List<byte[]> names(long[] keynums) {
    if (keynums.length == 1) {
      return List.of(layout.key(keynums[0]));
    }
    List<byte[]> names = new ArrayList<>(keynums.length);
    for (long keynum : keynums) {
      names.add(layout.key(keynum));
    }
    return names;
  }

  private byte[][][] values(List<byte[]> names, Columns columns) {
    byte[][][] values = new byte[names.size()][][];
    for (int i = 0; i < values.length; i++) {
      values[i] = maker.values(names.get(i), columns);
    }
    return values;
  }

  @Override
  public void finished(Request request, Status... statuses) {
    if (request instanceof Request.Writing writing && writing.writes() != null) {
      writing.writes().finished(statuses);
    }
    if (request instanceof Request.Insert insert) {
      for (int i = 0; i < insert.counts().length; i++) {
        keys.acknowledge(insert.counts()[i], statuses[i].isOk());
      }
    }
  }
}
