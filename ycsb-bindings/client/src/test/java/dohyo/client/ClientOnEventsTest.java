package dohyo.client;

/** The same on the threads that bring the answers. */
class ClientOnEventsTest extends ClientTest {
  @Override
  String loop() {
    return "events";
  }
}
