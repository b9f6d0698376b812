package dohyo.client;

/** Runs the tests of the base class with {@code client.loop=events}. */
class ClientOnEventsTest extends ClientTest {
  @Override
  String loop() {
    return "events";
  }
}
