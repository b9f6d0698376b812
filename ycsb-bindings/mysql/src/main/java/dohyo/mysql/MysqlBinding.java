package dohyo.mysql;

import dohyo.binding.Binding;
import dohyo.binding.Columns;
import dohyo.binding.Outcome;
import dohyo.binding.Row;
import dohyo.binding.RowSink;
import dohyo.binding.Settings;
import dohyo.binding.Transport;
import dohyo.mysql.Sql.Verb;
import java.nio.ByteBuffer;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * MySQL and MariaDB over JDBC, with statements that the server has prepared. Every statement is a transaction of its
 * own. A table has the key in {@code YCSB_KEY}, or with {@code keycolumns} in those columns, and a column per field;
 * the single key and values go as raw bytes.
 *
 * <p>An insert and an update are the same statement, as in Cassandra and HBase: it writes the fields given, whether
 * the record is there or not. A batch of writes is one statement with many rows, a batch of reads one
 * {@code SELECT … IN}, or of keys with several columns one with an alternative per key. A client thread has one
 * connection, or with {@code inflight} above 1 as many ({@code mysql.connections}, at the most 32 unless given):
 * operations beyond that wait in the client.
 */
public final class MysqlBinding extends Binding {
  /** The protocol counts a statement's variables with 16 bits. */
  private static final int VARIABLES = 65_535;
  /**
   * Of a read with alternatives: with more than 16,000 ranges in the making MariaDB leaves the index aside
   * (optimizer_max_sel_args), and MySQL with more than 8 MB of them (range_optimizer_max_mem_size).
   */
  private static final int RANGES = 8_000;
  /** Rows that the driver takes at once, so that a long scan does not come as one answer of any size. */
  private static final int SCAN_PAGE = 1000;

  private Links links;

  @Override
  protected void connect(Settings settings) throws DBException {
    links = new Links(settings);
  }

  @Override
  protected void disconnect() {
    if (links != null) {
      links.close();
      links = null;
    }
  }

  @Override
  public Optional<Transport> transport() {
    return Optional.ofNullable(links);
  }

  @Override
  public CompletableFuture<Status> readRow(String table, byte[] key, Columns columns, RowSink sink) {
    return links.run(link -> {
      Link.Prepared read = link.prepared(new Sql(Verb.READ, table, columns, 1));
      link.key().set(read.statement(), 1, key);
      try (ResultSet found = read.statement().executeQuery()) {
        if (!found.next()) {
          return Status.NOT_FOUND;
        }
        hand(found, read.names(), 0, sink);
        return Status.OK;
      }
    }, error -> error);
  }

  @Override
  public CompletableFuture<Status> insertRow(Row row) {
    return links.run(link -> {
      upsert(link, Verb.UPSERT, row.columns(), List.of(row));
      return Status.OK;
    }, error -> error);
  }

  @Override
  public CompletableFuture<Status> updateRow(Row row) {
    return insertRow(row);
  }

  @Override
  public CompletableFuture<Status> deleteRow(String table, byte[] key) {
    return links.run(link -> {
      PreparedStatement delete = link.prepared(new Sql(Verb.DELETE, table, null, 1)).statement();
      link.key().set(delete, 1, key);
      delete.executeUpdate();
      return Status.OK;
    }, error -> error);
  }

  @Override
  public CompletableFuture<Status> scanRows(String table, byte[] key, int count, Columns columns, RowSink sink) {
    return links.run(link -> {
      Link.Prepared scan = link.prepared(new Sql(Verb.SCAN, table, columns, 1));
      int variable = 1;
      for (int columnsAlike = link.key().size(); columnsAlike > 0; columnsAlike--) {
        variable = link.key().set(scan.statement(), variable, key, columnsAlike);
      }
      scan.statement().setInt(variable, count);
      scan.statement().setFetchSize(count > SCAN_PAGE ? SCAN_PAGE : 0);
      try (ResultSet found = scan.statement().executeQuery()) {
        for (int row = 0; found.next(); row++) {
          hand(found, scan.names(), row, sink);
        }
      }
      return Status.OK;
    }, error -> error);
  }

  @Override
  public CompletableFuture<Status[]> readRows(String table, List<byte[]> keys, Columns columns, RowSink sink) {
    return links.run(link -> {
      Status[] statuses = Outcome.each(Status.NOT_FOUND, keys.size());
      int most = link.key().size() == 1 ? VARIABLES : RANGES / link.key().size();
      for (int from = 0; from < keys.size(); from += most) {
        read(link, table, keys, from, Math.min(from + most, keys.size()), columns, sink, statuses);
      }
      return statuses;
    }, error -> Outcome.each(error, keys.size()));
  }

  @Override
  public CompletableFuture<Status[]> insertRows(List<Row> rows) {
    return links.run(link -> write(link, rows), error -> Outcome.each(error, rows.size()));
  }

  @Override
  public CompletableFuture<Status[]> updateRows(List<Row> rows) {
    return insertRows(rows);
  }

  private static void read(Link link, String table, List<byte[]> keys, int from, int to, Columns columns,
      RowSink sink, Status[] statuses) throws SQLException {
    // A key may have been asked for several times: where it stands last, and for each place the one before.
    Map<ByteBuffer, Integer> last = new HashMap<>(2 * (to - from));
    int[] before = new int[to - from];
    Link.Prepared read = link.prepared(new Sql(Verb.READ, table, columns, to - from));
    int variable = 1;
    for (int i = from; i < to; i++) {
      variable = link.key().set(read.statement(), variable, keys.get(i));
      Integer same = last.put(ByteBuffer.wrap(keys.get(i)), i);
      before[i - from] = same == null ? -1 : same;
    }
    boolean alone = read.key()[0] == 0;
    try (ResultSet found = read.statement().executeQuery()) {
      while (found.next()) {
        int i = alone ? from : last.get(link.key().of(found, read.key()));
        for (; i >= 0; i = before[i - from]) {
          hand(found, read.names(), i, sink);
          statuses[i] = Status.OK;
        }
      }
    }
  }

  private static Status[] write(Link link, List<Row> rows) throws SQLException {
    Columns same = rows.get(0).columns();
    boolean alike = rows.stream().allMatch(row -> row.columns().equals(same));
    Verb verb = alike ? Verb.UPSERT : Verb.UPSERT_SOME;
    Columns columns = alike ? same : link.mixed(rows);
    // All clients lock the records of a batch in the same order, and so never wait for each other in a circle.
    List<Row> sorted = new ArrayList<>(rows);
    sorted.sort(Comparator.comparing(Row::key, Arrays::compareUnsigned));
    int most = VARIABLES / (columns.size() + link.key().size());
    try {
      for (int from = 0; from < sorted.size(); from += most) {
        upsert(link, verb, columns, sorted.subList(from, Math.min(from + most, sorted.size())));
      }
      return Outcome.each(Status.OK, rows.size());
    } catch (SQLException e) {
      if (Link.concernsAll(e)) {
        throw e;
      }
    }
    // For one bad record the server refuses the statement, though MyISAM keeps the rows before it: write them singly.
    Status[] statuses = Outcome.each(Status.OK, rows.size());
    for (int i = 0; i < statuses.length; i++) {
      try {
        upsert(link, Verb.UPSERT, rows.get(i).columns(), rows.subList(i, i + 1));
      } catch (SQLException e) {
        if (Link.concernsAll(e)) {
          throw e;
        }
        statuses[i] = Link.status(e);
      }
    }
    return statuses;
  }

  private static void upsert(Link link, Verb verb, Columns columns, List<Row> rows) throws SQLException {
    PreparedStatement write = link.prepared(new Sql(verb, rows.get(0).table(), columns, rows.size())).statement();
    int variable = 1;
    for (Row row : rows) {
      variable = link.key().set(write, variable, row.key());
      if (verb == Verb.UPSERT) {
        for (byte[] value : row.values()) {
          write.setBytes(variable++, value);
        }
      } else {
        for (String column : columns.names()) {
          int place = row.columns().names().indexOf(column);
          write.setBytes(variable++, place < 0 ? null : row.values()[place]);
        }
      }
    }
    write.executeUpdate();
  }

  private static void hand(ResultSet found, String[] names, int row, RowSink sink) throws SQLException {
    if (sink == RowSink.DISCARD) {
      return;
    }
    for (int i = 0; i < names.length; i++) {
      byte[] value = names[i] == null ? null : found.getBytes(i + 1);
      if (value != null) {
        sink.field(row, names[i], ByteBuffer.wrap(value));
      }
    }
  }
}
