package dohyo.client;

/** Runs the same tests with {@code client.loop=events}. */
class AccountingOnEventsTest extends AccountingTest {
  @Override
  String loop() {
    return "events";
  }
}
