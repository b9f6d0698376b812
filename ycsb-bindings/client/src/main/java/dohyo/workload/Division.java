package dohyo.workload;

import dohyo.binding.SettingException;
import dohyo.binding.Settings;

/**
 * How the clients of a run share the tables and the key numbers of new records: {@code clients} of them, of which this
 * one is {@code clientnumber}, and with {@code tables=client} each works on its own share of the {@code tablecount}
 * tables alone.
 *
 * <p>New records are dealt round: with two clients the first inserts {@code recordcount}, {@code recordcount} + 2, …,
 * the second the ones between. {@link RecordLayout#tableOf} deals them to the tables in the same way, so where each
 * client has m tables of its own it takes m numbers at a time, which are those of its tables.
 */
final class Division {
  private final int clients;
  private final int number;
  private final int ownTables;
  private final int firstTable;
  private final int tables;
  private final long recordCount;

  /**
   * Reads {@code clients}, {@code clientnumber} and {@code tables}.
   *
   * @throws SettingException if the tables cannot be divided among the clients
   */
  Division(Settings settings, RecordLayout layout) {
    clients = settings.number("clients", 1, 1, 1_000_000);
    number = settings.number("clientnumber", 0, 0, clients - 1);
    recordCount = layout.recordCount();
    boolean own = settings.choice("tables", "shared", "client").equals("client");
    if (own && layout.tableCount() % clients != 0) {
      throw new SettingException("tables=client: tablecount=" + layout.tableCount() + " must be a multiple of the "
          + clients + " clients, so that each has as many tables");
    }
    tables = own ? layout.tableCount() / clients : layout.tableCount();
    firstTable = own ? number * tables : 0;
    ownTables = own ? tables : 1;
  }

  /** First of the tables that this client works on. */
  int firstTable() {
    return firstTable;
  }

  /** How many tables it works on. */
  int tables() {
    return tables;
  }

  /**
   * The key number of a record.
   *
   * @param count a key number below {@code recordcount}, which stays; from there on the count of this client's inserts
   */
  long keynum(long count) {
    if (count < recordCount) {
      return count;
    }
    long inserted = count - recordCount;
    return recordCount + inserted / ownTables * ownTables * clients + (long) number * ownTables + inserted % ownTables;
  }
}
