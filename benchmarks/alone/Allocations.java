import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;

/**
 * An agent ({@code -javaagent}) that says twice a second how many bytes the live threads of its process have allocated,
 * so that any client can be measured in the same way. Threads that have ended are missing in the sum: a client's own
 * threads last as long as its window.
 */
public final class Allocations {
  private static final long PAUSE_NANOS = 500_000_000;

  private Allocations() {
  }

  /** Begins before the client does. */
  public static void premain(String arguments) {
    Thread thread = new Thread(Allocations::tell, "allocations");
    thread.setDaemon(true);
    thread.start();
  }

  private static void tell() {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    while (true) {
      LockSupport.parkNanos(PAUSE_NANOS);
      long[] bytes = threads.getThreadAllocatedBytes(threads.getAllThreadIds());
      // A thread that ended meanwhile has -1.
      System.err.println("allocated " + Arrays.stream(bytes).filter(each -> each > 0).sum() + " bytes by "
          + System.currentTimeMillis() + " ms");
    }
  }
}
