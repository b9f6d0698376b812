package dohyo.client;

/** Runs the tests of the base class with {@code client.loop=events}. */
class KnownTruthOnEventsTest extends KnownTruthTest {
  @Override
  String loop() {
    return "events";
  }
}
