package dohyo.workload;

/** Type of an operation, with its label in YCSB's result lines. */
public enum OperationType {
  INSERT("INSERT"),
  READ("READ"),
  UPDATE("UPDATE"),
  SCAN("SCAN"),
  READ_MODIFY_WRITE("READ-MODIFY-WRITE"),
  /** Check of the values that a read returned ({@code dataintegrity}, {@code verify}). It does not send a request. */
  VERIFY("VERIFY");

  private final String label;

  OperationType(String label) {
    this.label = label;
  }

  public String label() {
    return label;
  }
}
