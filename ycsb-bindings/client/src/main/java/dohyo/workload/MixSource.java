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
final class MixSource implements RequestSource {
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
  public Request next() {
    OperationType type = proportions.draw(random.nextDouble());
    return switch (type) {
      case INSERT -> insert();
      case SCAN -> scan();
      default -> onExisting(type);
    };
  }

  private Request insert() {
    // Inserts go to the tables round-robin, so a batch for one table would take every n-th number; it stays one record.
    long[] counts = new long[layout.tableCount() == 1 ? batchSize : 1];
    long[] keynums = new long[counts.length];
    for (int i = 0; i < counts.length; i++) {
      counts[i] = keys.nextInsert();
      keynums[i] = keys.keynum(counts[i]);
    }
    List<byte[]> names = names(keynums);
    return new Request.Insert(table(keynums), names, counts.length > 1, layout.allColumns(),
        values(names, layout.allColumns()), counts);
  }

  private Request scan() {
    long[] start = chooser.next(1);
    return new Request.Scan(table(start), names(start), readColumns(), scanLengths.next());
  }

  private Request onExisting(OperationType type) {
    long[] keynums = chooser.next(batchSize);
    List<byte[]> names = names(keynums);
    String table = table(keynums);
    boolean batched = batchSize > 1;
    Columns read = type == OperationType.UPDATE ? null : readColumns();
    if (type == OperationType.READ) {
      return new Request.Read(table, names, batched, read, maker.checkedLength());
    }
    Columns written = maker.updateColumns();
    byte[][][] values = values(names, written);
    return type == OperationType.UPDATE ? new Request.Update(table, names, batched, written, values)
        : new Request.ReadModifyWrite(table, names, batched, read, maker.checkedLength(), written, values);
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
    if (request instanceof Request.Insert insert) {
      for (int i = 0; i < insert.counts().length; i++) {
        keys.acknowledge(insert.counts()[i], statuses[i].isOk());
      }
    }
  }
}
