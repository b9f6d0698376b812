package dohyo.binding;

/**
 * A record to write.
 *
 * @param table   table name
 * @param key     stored key, already salted (see {@link KeyCodec})
 * @param columns names of the fields to write
 * @param values  one value per column, in the same order; the binding owns the arrays
 */
public record Row(String table, byte[] key, Columns columns, byte[][] values) {
}
