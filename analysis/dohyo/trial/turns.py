"""Lets trials that are up at the same time take turns, so that only one of them works on the hosts at any time.

Each trial is a separate process. The trials share a folder on the control machine. An empty file, named after the
turn's number, marks each turn that is over. Another file marks each trial that has ended, even if it had turns left.
The folder also contains measurements that all trials share.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

T = TypeVar("T")
# Seconds between two checks of the folder.
LOOK_SECONDS = 0.05


@dataclass(frozen=True)
class Turns:
    """The turns of all trials that are up at the same time, in order.

    :ivar folder: folder of the files
    :ivar order: for each turn, the name of the trial that has it
    """

    folder: Path
    order: Sequence[str]

    def is_due(self, number: int) -> bool:
        """Returns whether all turns before this one are over."""
        return all(map(self.is_over, range(number)))

    def is_over(self, number: int) -> bool:
        """Returns whether a turn is over, which is also true if its trial has ended.

        :raises FileNotFoundError: if a user has removed the folder: no turn would ever be over
        """
        self.folder.stat()
        return (self.folder / f"{number}.over").exists() or (self.folder / f"{self.order[number]}.ended").exists()

    def begin(self) -> None:
        """Creates the folder, or empties it if it exists."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for file in self.folder.iterdir():
            file.unlink()

    def end(self, name: str) -> None:
        """Records that a trial has ended."""
        (self.folder / f"{name}.ended").touch()


class OwnTurns:
    """The turns of one trial. A trial that takes no turns never waits.

    :param settings: variable trial_turns (``folder``, ``order``, ``name`` of the trial); empty if there are no turns
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._turns = Turns(Path(settings["folder"]), settings["order"]) if settings else None
        numbers = (number for number, name in enumerate(settings.get("order", [])) if name == settings["name"])
        self._numbers: Iterator[int] = iter([*numbers])

    def wait(self) -> int | None:
        """Waits for the next turn of the trial. Returns its number, or None for a trial without turns."""
        if self._turns is None:
            return None
        number = next(self._numbers)
        # Do not check a turn again once it is over, because checks disturb the trials that are measuring.
        for earlier in range(number):
            while not self._turns.is_over(earlier):
                time.sleep(LOOK_SECONDS)
        return number

    def once(self, name: str, make: Callable[[], T]) -> T:
        """Returns the result of a function. Only the first trial calls it; the others read the result from a file."""
        if self._turns is None:
            return make()
        file = self._turns.folder / f"{name}.json"
        if file.exists():
            return cast(T, json.loads(file.read_text("utf-8")))
        result = make()
        file.write_text(json.dumps(result), encoding="utf-8")
        return result

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Waits for the trial's next turn, and ends the turn after the block.

        If the block fails, the turn is not over until this trial has stopped its servers and ended; the others wait.
        """
        number = self.wait()
        yield
        if self._turns is not None:
            (self._turns.folder / f"{number}.over").touch()
