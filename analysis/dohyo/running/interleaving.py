"""Measures trials whose servers run at the same time: the trials take turns (docs/interleaving.md)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from dohyo.planning.plan import PlannedTrial, first_start
from dohyo.systems.catalogue import all_systems
from dohyo.trial.turns import Turns

# Seconds between two checks of whose turn it is.
LOOK_SECONDS = 0.1


def turns_of(start: Sequence[PlannedTrial], folder: Path) -> Turns:
    """Returns the turns of trials that start together: all loads, blocks with a window of each trial, and all ends.

    The order within a block is random, so that no system always follows the same other system. The same trials always
    get the same order.

    :param folder: folder of the experiment
    """
    names = [trial.name for trial in start]
    draw = random.Random(",".join(names))  # noqa: S311 - it only decides an order
    blocks = [name for _ in range(start[0].scenario.repeats) for name in draw.sample(names, len(names))]
    return Turns(folder / "turns" / names[0], [*names, *blocks, *names])


def starts(trials: Sequence[PlannedTrial]) -> Iterator[list[PlannedTrial]]:
    """Yields the groups of trials whose servers run at the same time, in the order of measurement."""
    remaining = list(trials)
    while remaining:
        start = first_start(remaining)
        del remaining[: len(start)]
        yield start


def apart(trials: Sequence[PlannedTrial]) -> list[str]:
    """Returns the systems that are measured one at a time although the scenario interleaves windows."""
    alone = (start[0] for start in starts(trials) if len(start) == 1)
    return list(dict.fromkeys(trial.system for trial in alone if trial.scenario.interleaves))


def whole(
    trials: Sequence[PlannedTrial], missing: Sequence[PlannedTrial], skipped: Sequence[PlannedTrial] = ()
) -> list[PlannedTrial]:
    """Returns the trials to repeat: missing trials, and trials that started together with a missing one.

    The reason is that ratios are computed among trials that started together.

    :param trials: all planned trials
    :param skipped: missing trials of unavailable systems; trials that started together with them are not repeated
    """
    repeated = []
    for start in starts(trials):
        is_broken = any(trial in missing and trial not in skipped for trial in start)
        repeated += [trial for trial in start if is_broken or trial in missing]
    return repeated


def variables(trial: PlannedTrial, start: Sequence[PlannedTrial], folder: Path) -> dict[str, Any]:
    """Returns the variables of trial.yml for a trial that takes turns, or {} if the trial starts alone."""
    if len(start) < 2:
        return {}
    turns = turns_of(start, folder)
    roles = {member.name: all_systems()[member.system].role for member in start}
    return {
        "trial_turns": {"folder": str(turns.folder), "order": list(turns.order), "name": trial.name},
        "trial_lane": roles[trial.name],
        "trial_beside": [role for name, role in roles.items() if name != trial.name],
        "trial_group": str(turns.folder),
    }


def measure(
    start: Sequence[PlannedTrial],
    turns: Turns,
    carry_out: Callable[[PlannedTrial], None],
    check: Callable[[], None],
) -> None:
    """Measures trials that start together, each in a thread. A trial begins when its first turn is due.

    :param carry_out: function that measures one trial, and handles its failure
    :param check: called repeatedly; raises an exception if no further trial may begin
    """
    turns.begin()

    def one(trial: PlannedTrial) -> None:
        try:
            carry_out(trial)
        finally:
            turns.end(trial.name)

    with ThreadPoolExecutor(len(start)) as pool:
        pending = []
        for number, trial in enumerate(start):
            while not turns.is_due(number):
                time.sleep(LOOK_SECONDS)
                check()
            pending.append(pool.submit(one, trial))
    for future in pending:
        future.result()
