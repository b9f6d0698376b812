package dohyo.mysql.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MysqlAdminTest {
  /** Lowering the maximum also lowers the low-water mark, which must therefore be saved first. */
  @Test
  void theLowWaterMarkOfDirtyPagesIsSavedBeforeTheMaximumChanges() {
    List<String> names = MysqlAdmin.SETTLING.stream().map(MysqlAdmin.Variable::name).toList();
    assertEquals(List.of("innodb_max_dirty_pages_pct_lwm", "innodb_max_dirty_pages_pct"), names.subList(2, 4));
  }

  @ParameterizedTest
  @ValueSource(strings = {"ON", "DETECT_AND_RECOVER", "fast"})
  void aDoublewriteBufferProtectsPages(String value) {
    assertTrue(MysqlAdmin.protectsPages(Map.of("innodb_doublewrite", value)));
  }

  @ParameterizedTest
  @ValueSource(strings = {"OFF", "DETECT_ONLY"})
  void withoutItsCopiesPagesAreNotProtected(String value) {
    assertFalse(MysqlAdmin.protectsPages(Map.of("innodb_doublewrite", value)));
  }
}
