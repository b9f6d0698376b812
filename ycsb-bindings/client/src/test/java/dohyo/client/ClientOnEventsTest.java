package dohyo.client;

/** Runs the same tests with {@code client.loop=events}. */
class ClientOnEventsTest extends ClientTest {
  @Override
  String loop() {
    return "events";
  }
}
