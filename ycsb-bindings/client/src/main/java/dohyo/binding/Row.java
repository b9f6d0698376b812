package dohyo.binding;

/**
 * One record on its way to the database.
 *
 * @param table   table name
 * @param key     key as the database stores it (already salted, see {@link KeyCodec})
 * @param columns names of the fields to write
 * @param values  one value per column, same order; the arrays belong to the binding from here on
 */
public record Row(String table, byte[] key, Columns columns, byte[][] values) {
}
