package dohyo.client;

/** The same on the threads that bring the answers. */
class KnownTruthOnEventsTest extends KnownTruthTest {
  @Override
  String loop() {
    return "events";
  }
}
