package dohyo.client;

import dohyo.binding.Binding;
import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import java.util.List;
import java.util.Locale;
import java.util.ServiceLoader;
import site.ycsb.DB;

/** Finds the binding that {@code -db} names. */
final class Bindings {
  private Bindings() {
  }

  /**
   * Creates an instance of the binding for one logical client.
   *
   * @param settings the client's properties; {@code db} is the short name or the class of a binding on the class path,
   *                 or a class that extends YCSB's {@link DB}
   * @throws SettingException if there is no such binding
   */
  static Binding create(Settings settings) {
    String name = settings.text("db", "site.ycsb.BasicDB");
    for (ServiceLoader.Provider<Binding> found : providers()) {
      if (shortName(found.type()).equals(name) || found.type().getName().equals(name)) {
        return found.get();
      }
    }
    try {
      DB db = (DB) Class.forName(name).getDeclaredConstructor().newInstance();
      return db instanceof Binding binding ? binding : new StockBinding(db);
    } catch (ReflectiveOperationException | LinkageError | ClassCastException e) {
      throw new SettingException("db=" + name + ": no such binding; use "
          + String.join(", ", providers().stream().map(found -> shortName(found.type())).toList())
          + ", or a class that extends site.ycsb.DB");
    }
  }

  private static List<ServiceLoader.Provider<Binding>> providers() {
    return ServiceLoader.load(Binding.class).stream().toList();
  }

  private static String shortName(Class<?> type) {
    return type.getSimpleName().replaceAll("Binding$", "").toLowerCase(Locale.ROOT);
  }
}
