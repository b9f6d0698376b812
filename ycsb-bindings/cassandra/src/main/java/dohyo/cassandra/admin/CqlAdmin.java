package dohyo.cassandra.admin;

import com.datastax.driver.core.Cluster;
import com.datastax.driver.core.ConsistencyLevel;
import com.datastax.driver.core.Metadata;
import com.datastax.driver.core.Row;
import com.datastax.driver.core.Session;
import com.datastax.driver.core.SimpleStatement;
import com.datastax.driver.core.SocketOptions;
import com.datastax.driver.core.exceptions.AuthenticationException;
import com.datastax.driver.core.exceptions.DriverException;
import com.datastax.driver.core.exceptions.UnauthorizedException;
import dohyo.admin.Admin;
import dohyo.binding.KeyColumns;
import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import dohyo.cassandra.Access;
import dohyo.cassandra.Answers;
import dohyo.cassandra.CassandraConnection;
import dohyo.cassandra.EventLoops;
import dohyo.cassandra.Query;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Administers ScyllaDB and any version of Cassandra with requests that need only CQL. */
public final class CqlAdmin implements AutoCloseable {
  /** Name and password of the default user in a new Cassandra, and in ScyllaDB before 5.4. */
  private static final String DEFAULT_USER = "cassandra";
  /** Keyspace that stores the users. ScyllaDB 6.0 and newer stores them on every node without it. */
  private static final String USERS = "system_auth";
  private static final int CONNECT_MILLIS = 20_000;
  private static final int ANSWER_MILLIS = 120_000;
  /** Number of token ranges into which a count is divided, so that no query exceeds the server's timeout. */
  private static final int SLICES = 64;

  private final Settings arguments;
  private final KeyColumns key;
  private final Cluster cluster;
  private final Session session;

  /**
   * Connects to a cluster.
   *
   * @param arguments host, port, keyspace, tables, keycolumns. For the tables: trial, strategy, replication,
   *                  fieldcount, fieldnameprefix, keytype (if keycolumns is empty), columntype, compression,
   *                  chunk (KiB that Cassandra compresses at once; 0 for its default), compaction (empty for the
   *                  server's default), rows (per partition in the row cache). For the
   *                  conditions: write_acks, read_acks. For the rows: recordcount, countlimit. If the server
   *                  requires it: connection, a file with the binding's properties for user, password and TLS
   * @throws SettingException        if the connection file cannot be read
   * @throws AuthenticationException if the server rejects user or password
   * @throws IOException             if no server answers
   */
  public CqlAdmin(Settings arguments) throws IOException {
    this(arguments, Admin.properties(arguments, "connection"));
  }

  /**
   * Connects as another user.
   *
   * @param arguments see the other constructor
   * @param access    the binding's properties for user, password and TLS
   */
  CqlAdmin(Settings arguments, Settings access) throws IOException {
    this.arguments = arguments;
    key = KeyColumns.of(arguments, Query.KEY);
    Cluster.Builder driver = Cluster.builder().addContactPoints(arguments.required("host").split(","))
        .withPort(arguments.number("port", 9042, 1, 65535)).withoutMetrics().withoutJMXReporting()
        .withNettyOptions(new EventLoops(1)).withLoadBalancingPolicy(CassandraConnection.routing(access))
        .withSocketOptions(
            new SocketOptions().setConnectTimeoutMillis(CONNECT_MILLIS).setReadTimeoutMillis(ANSWER_MILLIS));
    Access.configure(access, driver);
    cluster = driver.build();
    try {
      session = cluster.connect();
    } catch (AuthenticationException e) {
      cluster.close();
      throw e;
    } catch (DriverException | IllegalArgumentException e) {
      cluster.close();
      throw new IOException("cannot connect: " + Access.reason(e) + "; check server and address", e);
    }
  }

  @Override
  public void close() {
    cluster.close();
  }

  /**
   * Creates the keyspace and the tables that do not exist. Each table has the trial's mark as its comment.
   *
   * @throws IOException if the keyspace or a table exists without this trial's mark; in that case nothing is created
   */
  public void createTables() throws IOException {
    String mark = Admin.mark(arguments);
    Map<String, String> there = comments();
    requireOwn(there, mark);
    if (there.isEmpty()) {
      createKeyspace();
    }
    createTables(there.keySet(), mark, "");
  }

  /** Creates the keyspace. Throws the driver's AlreadyExistsException if it exists. */
  void createKeyspace() {
    session.execute("CREATE KEYSPACE %s WITH replication = %s".formatted(Query.quoted(keyspace()),
        replication(arguments.required("strategy"), arguments.number("replication", 1, 1, Integer.MAX_VALUE))));
  }

  /**
   * Creates the tables that do not exist.
   *
   * @param there   names of existing tables
   * @param mark    comment of each table
   * @param options further options, beginning with AND; may be empty
   */
  void createTables(Set<String> there, String mark, String options) {
    String prefix = arguments.text("fieldnameprefix", "field");
    String type = arguments.choice("columntype", "blob", "text", "float");
    String columns = IntStream.range(0, arguments.number("fieldcount", 10, 1, Integer.MAX_VALUE))
        .mapToObj(field -> Query.quoted(prefix + field) + " " + type).collect(Collectors.joining(", "));
    String keyColumns = key.columns().stream().map(column -> Query.quoted(column.name()) + " " + cqlType(column))
        .collect(Collectors.joining(", "));
    for (String table : Admin.tables(arguments)) {
      if (!there.contains(table)) {
        session.execute("CREATE TABLE %s (%s, %s, PRIMARY KEY (%s)) WITH compression = %s"
            .formatted(quoted(table), keyColumns, columns, Query.primaryKey(key), compression())
            + " AND comment = " + Query.literal(mark) + compactionOption() + caching() + options);
      }
    }
  }

  private String compactionOption() {
    String strategy = arguments.text("compaction", "");
    return strategy.isEmpty() ? "" : " AND compaction = {'class': " + Query.literal(strategy) + "}";
  }

  private String caching() {
    String rows = arguments.text("rows", "NONE");
    return rows.equals("NONE") ? ""
        : " AND caching = {'keys': 'ALL', 'rows_per_partition': " + Query.literal(rows) + "}";
  }

  /** Returns the comment of each table in the keyspace; empty if the keyspace does not exist. */
  Map<String, String> comments() {
    return session.execute("SELECT table_name, comment FROM system_schema.tables WHERE keyspace_name = ?", keyspace())
        .all().stream().collect(Collectors.toMap(row -> row.getString(0), row -> row.getString(1)));
  }

  /** Returns whether the keyspace exists. */
  boolean hasKeyspace() {
    return value("SELECT keyspace_name FROM system_schema.keyspaces WHERE keyspace_name = ?", keyspace()).isPresent();
  }

  private void requireOwn(Map<String, String> comments, String mark) throws IOException {
    String another = isScylla() ? "change scylla_keyspace" : "change cassandra_keyspace";
    for (String table : Admin.tables(arguments)) {
      if (comments.containsKey(table) && !mark.equals(comments.get(table))) {
        throw Admin.foreign("the table " + keyspace() + "." + table, another);
      }
    }
    if (!comments.containsValue(mark) && hasKeyspace()) {
      throw Admin.foreign("the keyspace " + keyspace(), another);
    }
  }

  /** Returns the quoted name of a table, including the keyspace. */
  private String quoted(String table) {
    return Query.quoted(keyspace()) + "." + Query.quoted(table);
  }

  private String cqlType(KeyColumns.Column column) {
    return column.type() == KeyColumns.Type.KEY ? arguments.choice("keytype", "text", "blob")
        : column.type().name().toLowerCase(Locale.ROOT);
  }

  private String compression() {
    String compressor = switch (arguments.choice("compression", "none", "lz4", "zstd", "gz")) {
      case "lz4" -> "LZ4Compressor";
      case "zstd" -> "ZstdCompressor";
      case "gz" -> "DeflateCompressor";
      default -> "";
    };
    if (isScylla()) {
      return "{'sstable_compression': '" + compressor + "'}";
    }
    int chunk = arguments.number("chunk", 0, 0, Integer.MAX_VALUE);
    return compressor.isEmpty() ? "{'enabled': 'false'}"
        : "{'class': '" + compressor + "'" + (chunk == 0 ? "" : ", 'chunk_length_in_kb': '" + chunk + "'") + "}";
  }

  /**
   * Reads the conditions that CQL shows: version, nodes, replication, write_acks, read_acks, write_copies, read_copies,
   * compression and endpoints. The caller may add to the map.
   */
  public Map<String, Object> conditions() {
    Metadata metadata = cluster.getMetadata();
    int replication = metadata.getKeyspace(Query.quoted(keyspace())).getReplication().entrySet().stream()
        .filter(entry -> !entry.getKey().equals("class")).mapToInt(entry -> Integer.parseInt(entry.getValue())).sum();
    Map<String, Object> conditions = new LinkedHashMap<>();
    conditions.put("version", version());
    conditions.put("nodes", metadata.getAllHosts().size());
    conditions.put("replication", replication);
    conditions.put("write_acks", arguments.required("write_acks"));
    conditions.put("read_acks", arguments.required("read_acks"));
    conditions.put("write_copies", copies("write_acks", replication));
    conditions.put("read_copies", copies("read_acks", replication));
    conditions.put("compression", ofTables("compression", CqlAdmin::compressionOf));
    conditions.put("endpoints", metadata.getAllHosts().stream()
        .map(host -> host.getEndPoint().resolve()).map(InetSocketAddress.class::cast)
        .map(address -> address.getAddress().getHostAddress() + ":" + address.getPort()).sorted().toList());
    return conditions;
  }

  /** Returns the driver's metadata of the cluster. */
  Metadata metadata() {
    return cluster.getMetadata();
  }

  /** Returns the data center of the clients, because the driver connects only to nodes of that one. */
  String dataCenter() {
    return value("SELECT data_center FROM system.local").orElseThrow();
  }

  /** Returns the replication settings of a keyspace in CQL syntax. */
  private String replication(String strategy, int copies) {
    String where = strategy.equals("SimpleStrategy") ? "replication_factor" : dataCenter();
    return "{'class': %s, %s: %d}".formatted(Query.literal(strategy), Query.literal(where), copies);
  }

  /** Changes the replication of a system keyspace. A repair must then create the copies. */
  void copy(String systemKeyspace, int copies) {
    execute("ALTER KEYSPACE %s WITH replication = %s".formatted(systemKeyspace,
        replication("NetworkTopologyStrategy", copies)));
  }

  /**
   * Replaces the default user, whose password is public, with the user in the connection file. Replicates the users to
   * every node. Fails until one of the two users exists; a new server creates the default user seconds after its start.
   *
   * @param arguments see the constructor, and nodes
   * @return the keyspace whose copies a repair must make; empty if no repair is needed, as with one node
   */
  public static Optional<String> replaceDefaultUser(Settings arguments) throws IOException {
    Settings access = Admin.properties(arguments, "connection");
    Properties known = new Properties();
    known.putAll(access.properties());
    known.putAll(Map.of("cassandra.username", DEFAULT_USER, "cassandra.password", DEFAULT_USER));
    try (CqlAdmin first = new CqlAdmin(arguments, new Settings(known))) {
      first.execute("CREATE ROLE IF NOT EXISTS %s WITH PASSWORD = %s AND LOGIN = true AND SUPERUSER = true".formatted(
          Query.quoted(access.required("cassandra.username")), Query.literal(access.required("cassandra.password"))));
    } catch (AuthenticationException e) {
      // The default user does not exist yet, or an earlier call removed it, or the server's settings name another user.
    }
    try (CqlAdmin own = new CqlAdmin(arguments, access)) {
      own.execute("DROP ROLE IF EXISTS " + DEFAULT_USER);
      int nodes = arguments.number("nodes", 1, 1, Integer.MAX_VALUE);
      if (nodes == 1 || own.metadata().getKeyspace(USERS) == null) {
        return Optional.empty();
      }
      own.copy(USERS, nodes);
      return Optional.of(USERS);
    }
  }

  /** Executes a statement without a result. */
  void execute(String statement) {
    session.execute(statement);
  }

  /**
   * Returns where an acknowledged write is: on disk, or in memory if the server acknowledges it before fsync, as only
   * {@code commitlog_sync=periodic} does. Returns none if ScyllaDB keeps no commit log.
   *
   * @param settings the server's settings, without quotes
   */
  public static String durability(Map<String, String> settings) {
    if (settings.getOrDefault("enable_commitlog", "true").equals("false")) {
      return "none";
    }
    String sync = settings.get("commitlog_sync");
    return switch (sync) {
      case "periodic" -> "memory";
      case "batch", "group" -> "disk";
      default -> sync;
    };
  }

  /**
   * Returns notes on security features. They cost time, and other systems may not have them.
   *
   * @param authenticator the server's setting of that name
   * @param toClients     whether clients connect with TLS
   * @param amongNodes    whether nodes connect to each other with TLS
   */
  public static Stream<String> protection(String authenticator, boolean toClients, boolean amongNodes) {
    return Stream.of(authenticator.contains("PasswordAuthenticator") ? "users have passwords" : "",
        toClients ? "TLS to clients" : "", amongNodes ? "TLS among nodes" : "").filter(note -> !note.isEmpty());
  }

  /** Returns notes on security features from ScyllaDB's settings, in which encryption options are JSON objects. */
  public static Stream<String> protection(Map<String, String> settings) {
    return protection(settings.getOrDefault("authenticator", ""),
        has(settings, "client_encryption_options", "enabled", "true"),
        has(settings, "server_encryption_options", "internode_encryption", "all"));
  }

  private static boolean has(Map<String, String> settings, String options, String key, String value) {
    return Pattern.compile("\"%s\"\\s*:\\s*\"?%s\\b".formatted(key, value))
        .matcher(settings.getOrDefault(options, "")).find();
  }

  /** Returns a note on the size of compressed chunks; empty if no table is compressed. */
  String chunks() {
    String kib = ofTables("compression", options -> options.getOrDefault("chunk_length_in_kb", ""));
    return kib.isEmpty() ? "" : "compressed in chunks of " + kib + " KiB";
  }

  /** Returns a note on how many rows of each partition the row cache holds; empty without a row cache. */
  String cachedRows() {
    String rows = ofTables("caching", options -> options.getOrDefault("rows_per_partition", "NONE"));
    return rows.equals("NONE") ? "" : "row cache: " + rows + " rows of each partition";
  }

  /** Returns the names of the tables' compaction strategies. */
  public String compaction() {
    return ofTables("compaction", options -> className(options.get("class")));
  }

  /** Returns whether ScyllaDB distributes the keyspace in tablets. Version 5.2 lacks the column for this. */
  public boolean hasTablets() {
    String column = "initial_tablets";
    Row row = Answers.next(session.execute(
        "SELECT * FROM system_schema.scylla_keyspaces WHERE keyspace_name = ?", keyspace()));
    return row != null && row.getColumnDefinitions().contains(column) && !row.isNull(column);
  }

  /**
   * Returns notes on the configuration of ScyllaDB.
   *
   * @param settings the settings in system.config
   */
  public Stream<String> scyllaNotes(Map<String, String> settings) {
    return Stream.of("developer mode: " + settings.getOrDefault("developer_mode", "unknown"),
        hasKeyspace() ? "data spread by " + (hasTablets() ? "tablets" : "vnodes") : "")
        .filter(note -> !note.isEmpty());
  }

  /**
   * Reads the server's settings from a virtual table with the columns name and value.
   *
   * @param table system_views.settings (Cassandra 4.0 and newer) or system.config (ScyllaDB)
   */
  public Map<String, String> settings(String table) {
    return session.execute("SELECT name, value FROM " + table).all().stream()
        .filter(row -> !row.isNull("value"))
        .collect(Collectors.toMap(row -> row.getString("name"), row -> row.getString("value")));
  }

  /**
   * Queries a single value.
   *
   * @param query     a statement; the first column of its first row is the value
   * @param variables values for its question marks
   * @return the value as text; empty if there is no row, or the value is null
   */
  public Optional<String> value(String query, Object... variables) {
    return Optional.ofNullable(Answers.next(session.execute(query, variables))).map(row -> row.getObject(0))
        .map(Object::toString);
  }

  /** Returns the first column of all rows of a result, as texts. */
  List<String> values(String query, Object... variables) {
    return session.execute(query, variables).all().stream().map(row -> String.valueOf(row.getObject(0))).toList();
  }

  /**
   * Returns the server's version. In ScyllaDB, release_version is the version of a compatible Cassandra, and only
   * superusers may read ScyllaDB's own version.
   */
  String version() {
    String compatible = value("SELECT release_version FROM system.local").orElseThrow();
    try {
      return isScylla() ? value("SELECT version FROM system.versions").orElseThrow() : compatible;
    } catch (UnauthorizedException e) {
      return "unknown (compatible with Cassandra " + compatible + ")";
    }
  }

  /** Returns whether the server is ScyllaDB, not Cassandra. */
  boolean isScylla() {
    return cluster.getMetadata().getKeyspace("system_schema").getTable("scylla_tables") != null;
  }

  /** Returns whether a user has all permissions. */
  boolean isSuperuser(String user) {
    return session.execute("LIST ROLES OF " + Query.quoted(user)).all().stream().anyMatch(row -> row.getBool("super"));
  }

  /** Returns the permissions of a user on all keyspaces. */
  Stream<String> permissions(String user) {
    return session.execute("LIST ALL PERMISSIONS OF " + Query.quoted(user)).all().stream()
        .filter(row -> row.getString("resource").equals("<all keyspaces>")).map(row -> row.getString("permission"));
  }

  /**
   * Implements the verb {@code count} for servers that speak CQL.
   *
   * @param arguments see the constructor
   * @return {@code rows}, see {@link #countRows()}
   */
  public static Map<String, ?> count(Settings arguments) throws IOException {
    try (CqlAdmin cql = new CqlAdmin(arguments)) {
      return Map.of("rows", cql.countRows());
    }
  }

  /** Returns the number of rows of each table, see {@link Admin#countRows}. */
  public Map<String, Long> countRows() {
    return Admin.countRows(arguments, this::countRows);
  }

  private long countRows(String table) {
    long width = Long.MIN_VALUE / SLICES * -2;
    long count = 0;
    for (int slice = 0; slice < SLICES; slice++) {
      long first = Long.MIN_VALUE + slice * width;
      String query = "SELECT count(*) FROM %1$s WHERE token(%2$s) >= %3$d AND token(%2$s) <= %4$d"
          .formatted(quoted(table), Query.partitionKey(key), first, first + width - 1);
      // Count with all replicas, because one replica may lack writes that only other replicas have acknowledged.
      count += Answers.next(session.execute(
          new SimpleStatement(query).setConsistencyLevel(ConsistencyLevel.ALL))).getLong(0);
    }
    return count;
  }

  /** Returns how many replicas must answer at the consistency level that the client sends with every request. */
  private int copies(String which, int replication) {
    String asked = arguments.required(which);
    return switch (ConsistencyLevel.valueOf(asked.toUpperCase(Locale.ROOT))) {
      case ONE, LOCAL_ONE -> 1;
      case QUORUM, LOCAL_QUORUM -> replication / 2 + 1;
      case ALL -> replication;
      default -> throw new SettingException(which + "=" + asked + ": must be one of one, quorum, all");
    };
  }

  private String ofTables(String column, Function<Map<String, String>, String> text) {
    return session.execute("SELECT " + column + " FROM system_schema.tables WHERE keyspace_name = ?", keyspace()).all()
        .stream().map((Row table) -> text.apply(table.getMap(column, String.class, String.class)))
        .distinct().sorted().collect(Collectors.joining(", "));
  }

  private static String compressionOf(Map<String, String> options) {
    String name = options.getOrDefault("class", options.getOrDefault("sstable_compression", ""));
    if (name.isEmpty() || !Boolean.parseBoolean(options.getOrDefault("enabled", "true"))) {
      return "none";
    }
    return switch (className(name)) {
      case "LZ4Compressor" -> "lz4";
      case "ZstdCompressor" -> "zstd";
      case "DeflateCompressor" -> "gz";
      default -> className(name);
    };
  }

  private static String className(String name) {
    return name.replaceAll(".*\\.", "");
  }

  String keyspace() {
    return arguments.required("keyspace");
  }
}
