package dohyo.mysql;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dohyo.binding.Columns;
import dohyo.mysql.Sql.Verb;
import java.net.SocketTimeoutException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLSyntaxErrorException;
import java.util.List;
import org.junit.jupiter.api.Test;

class SqlTest {
  private static final Columns TWO = Columns.of(List.of("field0", "fi`eld"));

  @Test
  void readsAndScansInOrder() {
    assertEquals("SELECT * FROM `t` WHERE `YCSB_KEY` = ?", text(Verb.READ, null, 1));
    assertEquals("SELECT `field0`, `fi``eld` FROM `t` WHERE `YCSB_KEY` = ?", text(Verb.READ, TWO, 1));
    assertEquals("SELECT `YCSB_KEY`, `field0`, `fi``eld` FROM `t` WHERE `YCSB_KEY` IN (?, ?)", text(Verb.READ, TWO, 2));
    assertEquals("SELECT * FROM `t` WHERE `YCSB_KEY` >= ? ORDER BY `YCSB_KEY` LIMIT ?", text(Verb.SCAN, null, 1));
  }

  @Test
  void writesManyRowsInOneStatement() {
    assertEquals("INSERT INTO `t` (`YCSB_KEY`, `field0`, `fi``eld`) VALUES (?, ?, ?), (?, ?, ?) ON DUPLICATE KEY UPDATE"
        + " `field0` = VALUES(`field0`), `fi``eld` = VALUES(`fi``eld`)", text(Verb.UPSERT, TWO, 2));
    assertEquals("INSERT INTO `t` (`YCSB_KEY`, `a`) VALUES (?, ?) ON DUPLICATE KEY UPDATE"
        + " `a` = COALESCE(VALUES(`a`), `a`)",
        text(Verb.UPSERT_SOME, Columns.of(List.of("a")), 1));
  }

  @Test
  void keysOfSeveralColumns() {
    List<String> key = List.of("a", "b", "when");
    String alike = "`a` = ? AND `b` = ? AND `when` = ?";
    assertEquals("SELECT * FROM `t` WHERE " + alike, text(Verb.READ, null, 1, key));
    assertEquals("SELECT `a`, `b`, `when`, `field0`, `fi``eld` FROM `t` WHERE " + alike + " OR " + alike,
        text(Verb.READ, TWO, 2, key));
    assertEquals("SELECT `field0`, `fi``eld` FROM `t` WHERE `a` = ? AND `b` = ? AND `when` >= ? OR `a` = ? AND `b` > ?"
        + " OR `a` > ? ORDER BY `a`, `b`, `when` LIMIT ?", text(Verb.SCAN, TWO, 1, key));
    assertEquals("DELETE FROM `t` WHERE " + alike, text(Verb.DELETE, null, 1, key));
    assertEquals("INSERT INTO `t` (`a`, `b`, `when`, `field0`, `fi``eld`) VALUES (?, ?, ?, ?, ?), (?, ?, ?, ?, ?) ON"
        + " DUPLICATE KEY UPDATE `field0` = VALUES(`field0`), `fi``eld` = VALUES(`fi``eld`)",
        text(Verb.UPSERT, TWO, 2, key));
  }

  @Test
  void aFileIsSplitAtSemicolonsThatEndALine() {
    assertEquals(List.of("CREATE TABLE a (\n  b INT\n) COMMENT='x; y'", "CREATE TABLE c (d INT)"),
        MysqlAdmin.statements("-- first\nCREATE TABLE a (\n  b INT\n) COMMENT='x; y';\nCREATE TABLE c (d INT);\n"));
  }

  @Test
  void errorsAreNamedAfterTheNetworkOrTheServersNumber() {
    assertEquals("SQLSYNTAX_ERROR_1146", Link.status(new SQLSyntaxErrorException("no table", "42S02", 1146)).getName());
    assertEquals("SOCKET_TIMEOUT", Link.status(new SQLNonTransientConnectionException("gone", "08000",
        new SocketTimeoutException("Read timed out"))).getName());
  }

  private static String text(Verb verb, Columns columns, int rows) {
    return text(verb, columns, rows, List.of(Key.SINGLE));
  }

  private static String text(Verb verb, Columns columns, int rows, List<String> key) {
    return new Sql(verb, "t", columns, rows).text(key);
  }
}
