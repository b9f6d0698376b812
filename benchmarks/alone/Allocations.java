import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;

/**
 * A Java agent ({@code -javaagent}) that prints twice per second how many bytes the live threads of its process have
 * allocated. All clients are measured with it, in the same way. The sum does not include threads that have ended, but a
 * client's own threads live until the end of its window.
 */
public final class Allocations {
  private static final long PAUSE_NANOS = 500_000_000;

  private Allocations() {
  }

  /** Starts the agent's thread; the JVM calls this before the client starts. */
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
      // The value is -1 for a thread that has ended.
      System.err.println("allocated " + Arrays.stream(bytes).filter(each -> each > 0).sum() + " bytes by "
          + System.currentTimeMillis() + " ms");
    }
  }
}
