package dohyo.workload;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class InsertCounterTest {
  @Test
  void oneInsertMayBeOutstandingWhileMillionsAreDone() {
    InsertCounter inserts = new InsertCounter(1000);
    assertEquals(999, inserts.last());
    long slow = inserts.next();
    for (int i = 0; i < 3_000_000; i++) {
      inserts.completed(inserts.next());
    }
    assertEquals(999, inserts.last());
    inserts.completed(slow);
    assertEquals(3_001_000, inserts.last());
  }

  @Test
  void threadsThatFinishInAnyOrderComeToTheSame() throws InterruptedException {
    InsertCounter inserts = new InsertCounter(0);
    List<Thread> threads = new ArrayList<>();
    for (int t = 0; t < 4; t++) {
      Random random = new Random(t);
      threads.add(new Thread(() -> {
        List<Long> open = new ArrayList<>();
        for (int round = 0; round < 10; round++) {
          for (int i = 0; i < 20_000; i++) {
            open.add(inserts.next());
          }
          Collections.shuffle(open, random);
          open.forEach(inserts::completed);
          open.clear();
        }
      }));
    }
    for (Thread thread : threads) {
      thread.start();
    }
    for (Thread thread : threads) {
      thread.join();
    }
    inserts.completed(inserts.next());
    assertEquals(800_000, inserts.last());
  }
}
