package dohyo.client;

/** Runs the same tests with {@code client.loop=events}. */
class KnownTruthOnEventsTest extends KnownTruthTest {
  @Override
  String loop() {
    return "events";
  }
}
