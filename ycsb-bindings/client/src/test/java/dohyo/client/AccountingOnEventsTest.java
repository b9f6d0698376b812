package dohyo.client;

/** The same on the threads that bring the answers. */
class AccountingOnEventsTest extends AccountingTest {
  @Override
  String loop() {
    return "events";
  }
}
