package dohyo.workload;

import dohyo.binding.Columns;
import dohyo.binding.Settings;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import site.ycsb.Status;

/**
 * The run phase: operations drawn by their proportions. The records of a batch are different ones of one table: a
 * batch of 100 works on 100 records, so that no database can save work on a hot key that another one, with another
 * batch form, has to do.
 */
final class MixSource implements OperationSource {
  private final RecordLayout layout;
  private final RecordMaker maker;
  private final KeyChooser chooser;
  private final KeyChooser.Shared keys;
  private final Proportions proportions;
  private final Lengths scanLengths;
  private final SplittableRandom random;
  private final int batchSize;
  private final boolean readAll;
  private final boolean readByName;
  private final boolean verified;

  MixSource(Settings settings, RecordLayout layout, KeyChooser.Shared keys, KeyChooser chooser,
      Proportions proportions, Lengths scanLengths, SplittableRandom random, int batchSize) {
    this.layout = layout;
    this.maker = new RecordMaker(settings, layout, random);
    this.chooser = chooser;
    this.keys = keys;
    this.proportions = proportions;
    this.scanLengths = scanLengths;
    this.random = random;
    this.batchSize = batchSize;
    this.verified = settings.flag("dataintegrity", false);
    this.readAll = settings.flag("readallfields", true);
    this.readByName = settings.flag("readallfieldsbyname", false);
  }

  @Override
  public Operation next() {
    OperationType type = proportions.draw(random.nextDouble());
    return switch (type) {
      case INSERT -> insert();
      case SCAN -> scan();
      default -> onExisting(type);
    };
  }

  private Operation insert() {
    // Later inserts go round the tables, so a batch for one table would take every n-th number; it stays one record.
    long[] counts = new long[layout.tableCount() == 1 ? batchSize : 1];
    long[] keynums = new long[counts.length];
    for (int i = 0; i < counts.length; i++) {
      counts[i] = keys.nextInsert();
      keynums[i] = keys.keynum(counts[i]);
    }
    int table = layout.tableOf(keynums[0]);
    List<byte[]> names = names(keynums);
    Operation operation = new Operation(OperationType.INSERT, layout.table(table), names, null, layout.allColumns(),
        values(names, layout.allColumns()), 0, counts.length > 1, null);
    operation.insertedKeys(counts);
    return operation;
  }

  private Operation scan() {
    long[] start = chooser.next(1);
    return new Operation(OperationType.SCAN, layout.table(layout.tableOf(start[0])), names(start), readColumns(), null,
        null, scanLengths.next(), false, null);
  }

  private Operation onExisting(OperationType type) {
    long[] keynums = chooser.next(batchSize);
    List<byte[]> names = names(keynums);
    boolean reads = type != OperationType.UPDATE;
    Columns read = reads ? readColumns() : null;
    Columns written = type == OperationType.READ ? null : maker.updateColumns();
    return new Operation(type, layout.table(layout.tableOf(keynums[0])), names, read, written,
        written == null ? null : values(names, written), 0, batchSize > 1,
        reads ? maker.check(names, read) : null);
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
  public void finished(Operation operation) {
    long[] counts = operation.insertedKeys();
    Status[] statuses = operation.statuses();
    for (int i = 0; i < counts.length; i++) {
      // The stock client keeps statuses to itself, and all of its runs begin at recordcount.
      keys.acknowledge(counts[i], statuses == null || statuses[i].isOk());
    }
  }
}
