package dohyo.hbase.admin;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hbase.thirdparty.com.google.gson.JsonElement;
import org.apache.hbase.thirdparty.com.google.gson.JsonObject;

/** Reads the status of HDFS from the pages of its NameNode, without an HDFS client. */
final class HdfsPages {
  /** Pattern of a file: {@code /hbase/WALs/… 83 bytes, replicated: replication=3, 1 block(s), OPENFORWRITE:}. */
  private static final Pattern FILE = Pattern.compile("^/.* bytes, replicated: replication=(\\d+),");
  /** Pattern of a block that is being written, with the number of DataNodes that acknowledge each write. */
  private static final Pattern OPEN_BLOCK = Pattern.compile("^\\d+\\. .* Expected_repl=(\\d+)");

  private final InfoPages pages;

  /**
   * Files below a folder.
   *
   * @param count  number of files
   * @param copies minimum number of copies of any file, finished or still being written; 0 without files
   */
  record Files(long count, int copies) {
    private Files with(int more, String number) {
      int given = Integer.parseInt(number);
      return new Files(count + more, copies == 0 ? given : Math.min(copies, given));
    }
  }

  /**
   * Creates a reader of the pages. Does not connect yet.
   *
   * @param address such as http://127.0.0.1:9870
   */
  HdfsPages(String address) {
    pages = new InfoPages(address);
  }

  /** Lets the NameNode check all files below a folder, including those that are being written. */
  Files files(String folder) throws IOException {
    Files files = new Files(0, 0);
    String check = "fsck?files=1&blocks=1&openforwrite=1&path=%s&ugi=%s"
        .formatted(encoded(folder), encoded(UserGroupInformation.getLoginUser().getShortUserName()));
    try (BufferedReader lines = new BufferedReader(new InputStreamReader(pages.get(check), StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        Matcher file = FILE.matcher(line);
        Matcher block = OPEN_BLOCK.matcher(line);
        if (file.find()) {
          files = files.with(1, file.group(1));
        } else if (block.find()) {
          files = files.with(0, block.group(1));
        }
      }
    }
    if (files.count == 0) {
      throw new IOException("HDFS has no files in " + folder + ": see the NameNode's log");
    }
    return files;
  }

  /** Returns a note on DataNodes, under-replicated blocks and settings, to be reported with the conditions. */
  String note() throws IOException {
    JsonObject state = new JsonObject();
    for (JsonElement bean : pages.beans("Hadoop:service=NameNode,name=FSNamesystem*")) {
      bean.getAsJsonObject().entrySet().forEach(entry -> state.add(entry.getKey(), entry.getValue()));
    }
    return "HDFS: %s DataNodes, %s blocks with too few copies, minimum per write: %s".formatted(
        state.get("NumLiveDataNodes"), state.get("UnderReplicatedBlocks"),
        pages.configuration().get("dfs.namenode.replication.min"));
  }

  private static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }
}
