package dohyo.workload;

/** What an operation does; the labels are those of YCSB's result lines. */
public enum OperationType {
  INSERT("INSERT"),
  READ("READ"),
  UPDATE("UPDATE"),
  SCAN("SCAN"),
  READ_MODIFY_WRITE("READ-MODIFY-WRITE"),
  /** Not sent to the database: the check of what a read returned ({@code dataintegrity}, {@code verify}). */
  VERIFY("VERIFY");

  private final String label;

  OperationType(String label) {
    this.label = label;
  }

  public String label() {
    return label;
  }
}
