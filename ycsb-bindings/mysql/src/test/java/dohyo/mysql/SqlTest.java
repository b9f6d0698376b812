package dohyo.mysql;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dohyo.binding.Columns;
import dohyo.binding.Settings;
import dohyo.jdbc.Key;
import dohyo.jdbc.Sql;
import dohyo.jdbc.Sql.Verb;
import dohyo.mysql.admin.Schema;
import java.net.SocketTimeoutException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLSyntaxErrorException;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.Test;

class SqlTest {
  private static final String NASTY = "`'\"\\;-- #/*%_$\n\r\t\0abé土\u202e";
  private static final MysqlDialect DIALECT = new MysqlDialect();
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
  void aTableWithAKeyOfBytes() {
    assertEquals("""
        CREATE TABLE `t` (
          `YCSB_KEY` VARBINARY(255) NOT NULL,
          PRIMARY KEY (`YCSB_KEY`),
          `a``b0` VARBINARY(10),
          `a``b1` VARBINARY(10)
        ) ENGINE=InnoDB ROW_FORMAT=DYNAMIC CHARACTER SET binary COMMENT='dohyo it''s \\\\'""",
        schema(Map.of("fieldlength", "10", "fieldnameprefix", "a`b")).statement("t", true));
  }

  @Test
  void aTableWithColumnsAsItsKey() {
    assertEquals("""
        CREATE TABLE `t` (
          `host` INT NOT NULL,
          `user` BIGINT NOT NULL,
          `object` VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
          `when` BIGINT NOT NULL,
          PRIMARY KEY (`host`, `user`, `object`, `when`),
          `field0` LONGBLOB,
          `field1` LONGBLOB
        ) ENGINE=MyISAM ROW_FORMAT=DYNAMIC CHARACTER SET binary COMMENT='dohyo it''s \\\\'""",
        schema(Map.of("engine", "MyISAM", "compression", "gz",
            "keycolumns", "host int 10, user bigint 1000, object text(32) 100, when timestamp")).statement("t", true));
  }

  @Test
  void aTableWithAUniqueIndexInThePlaceOfAPrimaryKey() {
    assertEquals("""
        CREATE TABLE `t` (
          `host` INT,
          `when` BIGINT,
          UNIQUE INDEX (`host`, `when`),
          `field0` INT,
          `field1` INT
        ) ENGINE=InnoDB ROW_FORMAT=DYNAMIC CHARACTER SET binary COMMENT='dohyo it''s \\\\'""",
        schema(Map.of("key", "unique", "columntype", "int", "fieldlength", "4", "keycolumns",
            "(host int 10), when timestamp")).statement("t", true));
  }

  @Test
  void compressionIsThatOfTheProduct() {
    assertTrue(schema(Map.of("compression", "gz")).statement("t", true).contains(" PAGE_COMPRESSED=1 "));
    assertTrue(schema(Map.of("compression", "gz")).statement("t", false).contains(" COMPRESSION='zlib' "));
    assertTrue(schema(Map.of("compression", "lz4")).statement("t", false).contains(" COMPRESSION='lz4' "));
    assertFalse(schema(Map.of("compression", "lz4")).statement("t", true).contains("COMPRESS"));
  }

  private static Schema schema(Map<String, String> more) {
    Properties arguments = new Properties();
    arguments.putAll(Map.of("trial", "it's \\", "fieldcount", "2"));
    arguments.putAll(more);
    return new Schema(new Settings(arguments));
  }

  /** Parses quoted texts like the server. Each must end at its closing quote and give the original text. */
  @RepeatedTest(1000)
  void quotesHoldWhatever(RepetitionInfo repetition) {
    Random random = new Random(repetition.getCurrentRepetition());
    String text = random.ints(random.nextInt(65), 0, NASTY.length()).mapToObj(i -> NASTY.substring(i, i + 1))
        .collect(Collectors.joining());
    Matcher name = Pattern.compile("`((?:[^`]|``)*+)`").matcher(DIALECT.quoted(text));
    assertTrue(name.matches());
    assertEquals(text, name.group(1).replace("``", "`"));
    Matcher literal = Pattern.compile("'((?:[^'\\\\]|''|\\\\\\\\)*+)'").matcher(MysqlDialect.literal(text));
    assertTrue(literal.matches(), MysqlDialect.literal(text));
    assertEquals(text, literal.group(1).replace("''", "'").replace("\\\\", "\\"));
  }

  @Test
  void errorsAreNamedAfterTheNetworkOrTheServersNumber() {
    assertEquals("SQLSYNTAX_ERROR_1146",
        DIALECT.status(new SQLSyntaxErrorException("no table", "42S02", 1146)).getName());
    assertEquals("SOCKET_TIMEOUT", DIALECT.status(new SQLNonTransientConnectionException("gone", "08000",
        new SocketTimeoutException("Read timed out"))).getName());
  }

  private static String text(Verb verb, Columns columns, int rows) {
    return text(verb, columns, rows, List.of(Key.SINGLE));
  }

  private static String text(Verb verb, Columns columns, int rows, List<String> key) {
    return new Sql(verb, "t", columns, rows).text(DIALECT, key);
  }
}
