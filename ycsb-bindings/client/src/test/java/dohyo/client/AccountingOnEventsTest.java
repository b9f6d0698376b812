package dohyo.client;

/** Runs the tests of the base class with {@code client.loop=events}. */
class AccountingOnEventsTest extends AccountingTest {
  @Override
  String loop() {
    return "events";
  }
}
