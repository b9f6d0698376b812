"""Replaces the module `time` for programs that wait."""

import time


class Clock:
    """A clock on which a wait of any length takes a millisecond."""

    def __init__(self) -> None:
        self.slept = 0.0

    def time(self) -> float:
        return time.time() + self.slept

    def time_ns(self) -> int:
        return round(self.time() * 1e9)

    def monotonic(self) -> float:
        return time.monotonic() + self.slept

    def clock_gettime(self, number: int) -> float:
        return time.clock_gettime(number) + self.slept

    def sleep(self, seconds: float) -> None:
        self.slept += seconds
        time.sleep(min(seconds, 0.001))
