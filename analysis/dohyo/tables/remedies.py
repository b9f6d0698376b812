"""Builds the commands that the screen suggests: they fix a reason against the verdict, or measure a skipped system."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from dohyo.bad_input import BadInputError
from dohyo.evidence import experiment_folder, records
from dohyo.evidence.records import ExperimentFacts
from dohyo.places import ANSIBLE, DOHYO, ROOT, RUN, command, named, shown
from dohyo.scenario import loading
from dohyo.scenario.scenario import Scenario
from dohyo.summary.precision import undecided
from dohyo.summary.results import Summary
from dohyo.summary.trust import LEAST_ROUNDS, Reason
from dohyo.systems.catalogue import all_systems

# Number of rounds to suggest if fewer were measured.
_ROUNDS = 5
# Factor by which a warm-up or a window that was too short is lengthened.
_LONGER = 3
# Places where a sentence may be cut.
_CLAUSE = re.compile(r"(?=[;:,] | \(| and )")
_ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"

_Options = Callable[[Summary, Scenario | None], Sequence[str]]


class Again:
    """Commands that measure the experiment in a folder again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def show(self) -> str:
        """Returns the command that prints the screen again."""
        return command(DOHYO, "show", named(self.folder))

    def line(self, reason: Reason, summary: Summary, width: int) -> str:
        """Returns a reason with the command that fixes it, in at most `width` columns if its short form fits.

        The reason is shown in full, or shortened to its first clauses, or in its short form.
        """
        fixes = [f" Try: {fix}" for fix in self._mend(reason, summary)] or [""]
        text = reason.text.removesuffix(".")
        lines = [
            f"{form}{'.' if fix and not form.endswith(_ELLIPSIS) else ''}{fix}"
            for fix in fixes
            for form in (clauses(text, width - len(fix) - bool(fix)), reason.short)
            if form
        ]
        return next((line for line in lines if len(line) <= width), reason.short)

    def skipped(self, names: Sequence[str], width: int) -> str:
        """Returns a line with the skipped systems and, if it fits in `width`, a command to fetch or list them."""
        text = not_measured(names)
        systems = all_systems()
        fetched = [name for name in names if name in systems and systems[name].licence]
        fetch = self._command("--fetch", ",".join(fetched)) if fetched else ""
        lines = [f"{text}. Try: {fix}" for fix in (fetch, command(RUN, "--list", "--details")) if fix]
        return next((line for line in lines if len(line) <= width), text)

    def _mend(self, reason: Reason, summary: Summary) -> list[str]:
        """Returns the command that fixes the reason and, as a shorter form, only its options; empty without a fix."""
        if re.match("no valid numbers|invalid rounds|interrupted rounds", reason.short):
            return [command(RUN, "--resume", named(self.folder))]
        if reason.short == "clients on the servers' host":
            return [f"a cluster, {shown(ROOT / 'docs/cluster.md')}"]
        for pattern, options in _MENDS:
            if re.match(pattern, reason.short):
                arguments = options(summary, self._scenario)
                return list(filter(None, (self._command(*arguments), shlex.join(arguments))))
        return []

    def _command(self, *options: str) -> str:
        """Returns the command that measures the experiment again with these options; empty if unknown."""
        return command(RUN, *self._words, *options) if self._words else ""

    @cached_property
    def _facts(self) -> ExperimentFacts:
        return records.read(self.folder / experiment_folder.FACTS, ExperimentFacts, lambda _: None)

    @cached_property
    def _scenario(self) -> Scenario | None:
        """Returns the scenario as measured; None if it cannot be read, for example after an update."""
        if self._facts.scenario is None:
            return None
        try:
            return loading.load(self.folder / "scenario.properties", name=self._facts.scenario, hosts=self._facts.hosts)
        except (BadInputError, OSError):
            return None

    @cached_property
    def _words(self) -> list[str]:
        """Returns the arguments that select the scenario: its name if that file is unchanged, otherwise a path."""
        measured, facts = self._scenario, self._facts
        if measured is None or measured.role_variables.get("attached"):
            return []
        inventory = []
        if facts.inventory:
            # Do not suggest an inventory outside the checkout, such as one that came with the experiment.
            path = Path(str(facts.inventory))
            if not path.is_relative_to(ANSIBLE / "inventories"):
                return []
            inventory = ["--inventory", shown(path)]
        systems = ["--systems", ",".join(measured.systems)] if facts.named else []
        if file := loading.scenario_files().get(measured.name):
            for full in (False, True):
                with suppress(BadInputError, OSError):
                    now = loading.load(file, {"systems": ",".join(measured.systems)}, hosts=facts.hosts, full=full)
                    if _content(now) == _content(measured):
                        return [measured.name, *(["--full"] if full else []), *systems, *inventory]
        return [shown(self.folder / "scenario.properties"), *inventory]


def not_measured(names: Sequence[str]) -> str:
    """Returns a line with the skipped systems."""
    return f"not measured: {', '.join(names)}"


def clauses(text: str, room: int) -> str:
    """Returns a sentence, or its first parts with an ellipsis; empty if they fill less than half of `room` columns."""
    if len(text) <= room:
        return text
    ends = [match.start() for match in _CLAUSE.finditer(text) if room // 2 < match.start() < room]
    return f"{text[: ends[-1]]}{_ELLIPSIS}" if ends else ""


def _content(scenario: Scenario) -> list[str]:
    return [line for line in scenario.text().splitlines() if not line.startswith("#")]


def _rounds(summary: Summary, _: Scenario | None) -> list[str]:
    measured = max((trial.round or 1 for trial in summary.trials), default=1)
    return ["--rounds", str(max(_ROUNDS, 2 * measured) if measured >= LEAST_ROUNDS else _ROUNDS)]


def _exactness(summary: Summary, scenario: Scenario | None) -> list[str]:
    """Returns options for the number of rounds that makes all rates precise enough."""
    short = summary.precision.short if summary.precision else []
    needed = max((entry.rounds + (entry.more or 2 * entry.rounds) for entry in short), default=_ROUNDS)
    return _further(max((entry.rounds for entry in short), default=1), needed, scenario)


def _decision(summary: Summary, scenario: Scenario | None) -> list[str]:
    """Returns options for the number of rounds that decides all neighbours in the ranking."""
    measured = max((trial.round or 1 for trial in summary.trials), default=1)
    needed = measured + max((pair.more or 2 * measured for pair in undecided(summary)), default=_ROUNDS)
    return _further(measured, needed, scenario)


def _further(measured: int, needed: int, scenario: Scenario | None) -> list[str]:
    """Returns options for `needed` rounds: a larger budget if the scenario allows that many, otherwise their number."""
    if scenario is None or scenario.most_rounds < needed or math.isinf(scenario.budget):
        return ["--rounds", str(needed)]
    return ["--set", f"budget={math.ceil(scenario.budget / 60 * needed / measured)}m"]


def _warm_up(_: Summary, scenario: Scenario | None) -> list[str]:
    return ["--set", f"warmuptime={_LONGER * (scenario.warmup if scenario else 0) or 60}"]


def _window(_: Summary, scenario: Scenario | None) -> list[str]:
    return ["--duration", f"{_LONGER * (scenario.duration if scenario else 0) or 60}s"]


def _always(*options: str) -> _Options:
    return lambda _, __: options


# Options that fix a reason, by a pattern for the beginning of its short form.
_MENDS: tuple[tuple[str, _Options], ...] = (
    ("less exact", _exactness),
    ("not decided", _decision),
    ("too noisy|a preliminary|some comparisons are preliminary|one round|[0-9]+ rounds|(the )?hosts ", _rounds),
    ("not steady", _warm_up),
    ("changes of level|collapsed|p99 not compared", _window),
    ("small data", _always("--set", "datasize=4*ram")),
    ("unequal ", _always("--strict-conditions")),
    ("scale ", _always("--scale", "1")),
    ("a client's host was busy", _always("--doctor")),
    ("other processes used|the hypervisor took|rounds under different conditions", _always()),
)
