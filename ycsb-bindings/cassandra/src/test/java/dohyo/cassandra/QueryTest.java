package dohyo.cassandra;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dohyo.binding.Columns;
import dohyo.binding.KeyColumns;
import dohyo.binding.Settings;
import dohyo.cassandra.Query.Verb;
import java.util.List;
import java.util.Properties;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.Test;

class QueryTest {
  private static final Columns TWO = Columns.of(List.of("field0", "fi\"eld"));

  @Test
  void keysOfOneColumnAreFoundByToken() {
    KeyColumns key = columns("");
    assertEquals("SELECT * FROM \"t\" WHERE \"y_id\" = ?", cql(Verb.READ, null, key));
    assertEquals("SELECT \"y_id\", \"field0\", \"fi\"\"eld\" FROM \"t\" WHERE \"y_id\" IN ?",
        cql(Verb.READ_IN, TWO, key));
    assertEquals("SELECT * FROM \"t\" WHERE token(\"y_id\") >= token(?) LIMIT ?", cql(Verb.SCAN, null, key));
    assertEquals("INSERT INTO \"t\" (\"field0\", \"fi\"\"eld\", \"y_id\") VALUES (?, ?, ?)",
        cql(Verb.INSERT, TWO, key));
    assertEquals("UPDATE \"t\" SET \"field0\" = ?, \"fi\"\"eld\" = ? WHERE \"y_id\" = ?", cql(Verb.UPDATE, TWO, key));
    assertEquals("DELETE FROM \"t\" WHERE \"y_id\" = ?", cql(Verb.DELETE, null, key));
    assertEquals("\"y_id\"", Query.primaryKey(key));
  }

  @Test
  void theLastOfSeveralColumnsIsTheClusteringColumn() {
    KeyColumns key = columns("host int 10, user bigint 5, when timestamp");
    String alike = " WHERE \"host\" = ? AND \"user\" = ? AND \"when\" = ?";
    assertEquals("SELECT \"host\", \"user\", \"when\", \"field0\", \"fi\"\"eld\" FROM \"t\"" + alike,
        cql(Verb.READ, TWO, key));
    assertEquals("SELECT * FROM \"t\" WHERE \"host\" = ? AND \"user\" = ? AND \"when\" >= ? LIMIT ?",
        cql(Verb.SCAN, null, key));
    assertEquals("INSERT INTO \"t\" (\"field0\", \"fi\"\"eld\", \"host\", \"user\", \"when\") VALUES (?, ?, ?, ?, ?)",
        cql(Verb.INSERT, TWO, key));
    assertEquals("UPDATE \"t\" SET \"field0\" = ?, \"fi\"\"eld\" = ?" + alike, cql(Verb.UPDATE, TWO, key));
    assertEquals("DELETE FROM \"t\"" + alike, cql(Verb.DELETE, null, key));
    assertEquals("(\"host\", \"user\"), \"when\"", Query.primaryKey(key));
    assertEquals("\"host\", \"user\"", Query.partitionKey(key));
  }

  @Test
  void parenthesesSayWhichColumnsArePartitionKey() {
    KeyColumns key = columns("(host int 10), user bigint 5, when timestamp");
    assertEquals("(\"host\"), \"user\", \"when\"", Query.primaryKey(key));
    assertEquals("\"host\"", Query.partitionKey(key));
    assertEquals("SELECT * FROM \"t\" WHERE \"host\" = ? AND (\"user\", \"when\") >= (?, ?) LIMIT ?",
        cql(Verb.SCAN, null, key));
    assertEquals("(\"host\", \"user\"), \"when\"",
        Query.primaryKey(columns("(host int 10, user text(2) 5), when timestamp")));
  }

  /** Parses quoted texts like the server. Each must end at its closing quote and give the original text. */
  @RepeatedTest(1000)
  void quotesHoldWhatever(RepetitionInfo repetition) {
    String nasty = "`'\"\\;-- #/*%_$\n\r\t\0abé土\u202e";
    Random random = new Random(repetition.getCurrentRepetition());
    String text = random.ints(random.nextInt(65), 0, nasty.length()).mapToObj(i -> nasty.substring(i, i + 1))
        .collect(Collectors.joining());
    Matcher name = Pattern.compile("\"((?:[^\"]|\"\")*+)\"").matcher(Query.quoted(text));
    assertTrue(name.matches());
    assertEquals(text, name.group(1).replace("\"\"", "\""));
    Matcher literal = Pattern.compile("'((?:[^']|'')*+)'").matcher(Query.literal(text));
    assertTrue(literal.matches());
    assertEquals(text, literal.group(1).replace("''", "'"));
  }

  private static String cql(Verb verb, Columns columns, KeyColumns key) {
    return new Query(verb, "t", columns).cql(key);
  }

  private static KeyColumns columns(String text) {
    Properties properties = new Properties();
    properties.setProperty("keycolumns", text);
    return KeyColumns.of(new Settings(properties), Query.KEY);
  }
}
