"""From an experiment's evidence (`results/<id>/raw`) to its summary.

Everything in a summary can be recomputed from the evidence: `summarise` reads nothing else and writes nothing.
A trial gets numbers only when all its clients report a valid run and their logs agree with each other.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar, cast, get_args

from msgspec import UNSET, Struct, structs

from dohyo.bad_input import BadInputError
from dohyo.evidence import accounting, canary, manifest, records, row_count
from dohyo.evidence.conducted import Client, nodes
from dohyo.evidence.conducted import client as conducted_client
from dohyo.evidence.events import COLLAPSE_SECONDS, Event
from dohyo.evidence.hdr_log import Latencies
from dohyo.evidence.healing import HealingLogs
from dohyo.evidence.host_metrics import HostMetrics, HostUse, Taken, busy
from dohyo.evidence.json_values import mapping, read_object
from dohyo.evidence.over_time import MOST_SLOTS
from dohyo.evidence.rows import LOAD, PROBE, RUN, Run, in_sequence, rows
from dohyo.evidence.servers import Servers, Step
from dohyo.figures import instant, point_name, scaled
from dohyo.figures import size as size_of
from dohyo.metrics import Row
from dohyo.operations import OVERALL, is_call, is_failure
from dohyo.scenario import faults as scenario_faults
from dohyo.scenario import published
from dohyo.scenario.phases import EQUAL, MAX, OWN
from dohyo.scenario.properties import find as find_property
from dohyo.scenario.properties import of_the_workload
from dohyo.scenario.setup import NOT_KNOWN
from dohyo.statistics import ALIKE, trend
from dohyo.summary import conditions, differences, in_parallel, knee, probes, validity
from dohyo.summary.asked import asked
from dohyo.summary.batch import Batch
from dohyo.summary.comparison import at_points, comparisons, neighbours, target_of
from dohyo.summary.conditions import CONDITIONS, STATED, Conditions
from dohyo.summary.phase import Phase, add_all, parts_of
from dohyo.summary.precision import judged
from dohyo.summary.probes import Search
from dohyo.summary.results import Ended, Status, Summary, Trial
from dohyo.summary.rounds import Counted, Rounds, rows_of

R = TypeVar("R", bound=Struct)
T = TypeVar("T")

# Properties that each client reports.
_REPORTED = ("batchsize", "inflight", "tablecount", "readbeforewrite", "retries", "arrival", "loop")

# Below this a data set fits the memory of every machine that runs a database, caches included: such a run says
# nothing about disks.
SMALL_DATA_BYTES = 1_000_000_000

# A throughput that has changed by more than this from the first to the last third of its windows is not steady.
UNSTEADY = 1.2

# Written before a trial begins: what is known without it, such as how the trial ended, is too little.
_NO_STATE = "state.json: is missing"

# Bound of what is known over time of all runs of a trial together, in slots: six of half an hour by the second.
_MOST_SLOTS_OF_A_TRIAL = 6 * MOST_SLOTS


def summarise(
    experiment: Path,
    seen: Callable[[Trial, Sequence[Phase]], None] | None = None,
    *,
    only: Container[str] | None = None,
) -> Summary:
    """Summarises all trials of an experiment.

    Trials that did not finish, and files that are missing or broken, become reasons and warnings.

    :param experiment: the folder with `raw/<trial>/…` and perhaps `published/`
    :param seen: gets each trial with its load and runs as they were read, which are not kept
    :param only: names of trials, as if there were no others
    :raises FileNotFoundError: when there is no `raw` folder
    """
    raw = experiment / "raw"
    warnings: list[str] = []
    facts = records.read(experiment / "experiment.json", records.ExperimentFacts, warnings.append)
    planned, adds_rounds = facts.plan, facts.until_decided or bool(facts.precision)
    there = {folder.name: folder for folder in raw.iterdir() if folder.is_dir()} if raw.is_dir() else {}
    if not raw.is_dir() and not planned:
        raise FileNotFoundError(f"{experiment} is not the folder of an experiment: it has no folder 'raw'")
    if facts == records.ExperimentFacts() and any(map(manifest.is_there, there.values())):
        warnings.append(f"{experiment / 'experiment.json'}: is missing")
    stated, file = facts.scenario_sha256, experiment / "scenario.properties"
    if stated and manifest.checksum(file) != stated:
        warnings.append(f"{file}: {'was changed after the experiment began' if file.exists() else 'is missing'}")
    of_plan = {each.name: each for each in facts.trials if each.name is not None}
    trials: list[Trial] = []
    rounds: dict[tuple[str, str], Rounds] = {}
    workloads: dict[str, dict[str, str]] = {}
    longest: dict[tuple[str, str], float] = {}
    runs: dict[str, str] = {}
    for name in sorted(name for name in {*there, *planned} if only is None or name in only):
        if name not in there:
            trials.append(_lost(name, of_plan.get(name, records.PlannedFacts()).system or name))
            warnings.append(f"{raw / name}: {trials[-1].reason}")
            workloads[name] = {}
            continue
        evidence = _TrialEvidence(there[name], warnings)
        trial = evidence.trial_or_why_not()
        copied = evidence.copied(runs)
        if planned and trial.name not in planned:
            why: str | None = _of_another_experiment(trial, planned)
        else:
            why = evidence.planned_otherwise(of_plan.get(name, records.PlannedFacts()), facts.equal_targets)
        if why is None and trial.status == "ok":
            why = copied or evidence.out_of(facts)
        if why:
            trial, evidence.measured = _without_numbers(trial, why), {}
        trials.append(trial)
        if seen is not None:
            seen(trial, evidence.phases)
        workloads[trial.name] = evidence.workload()
        if seconds := evidence.seconds():
            at = (trial.system, point_name(trial.point))
            longest[at] = max(longest.get(at, 0.0), seconds)
        if trial.round is not None:
            least = facts.rounds if adds_rounds else None
            rounds.setdefault((trial.system, point_name(trial.point)), Rounds(least)).add(trial, evidence.measured)
    warnings += _mixed(trials, workloads)
    merged = [each.merged() for each in rounds.values()]
    reference = published.kept(experiment / "published", warnings.append)
    summary = Summary(
        name=experiment.resolve().name,
        trials=trials,
        merged=merged,
        comparisons=comparisons(merged or trials, trials),
        neighbours=neighbours(merged or trials, trials, facts.alike or ALIKE),
        alike=facts.alike or ALIKE,
        round_seconds=sum(longest.values()) or None,
        unequal=unequal(merged or trials),
        notes=notes_of(merged or trials, trials),
        warnings=warnings,
        canary=canary.compare({trial.name: trial.canary for trial in trials}),
        published=reference,
        differences=differences.of_experiment(reference, trials, facts),
    )
    ended = cast(Ended, facts.rounds_ended) if facts.rounds_ended in get_args(Ended) else None
    return judged(summary, None if facts.until_decided else facts.precision, ended) if adds_rounds else summary


def joined(parts: Sequence[Summary]) -> Summary:
    """The ranking of trials that were summarised one by one, while others are still to come.

    :param parts: at least one
    """
    trials = [trial for part in parts for trial in part.trials]
    merged = [trial for part in parts for trial in part.merged]
    return Summary(parts[0].name, trials, merged, comparisons(merged or trials, trials))


def is_experiment(folder: Path) -> bool:
    """Whether a folder is that of an experiment. Logs of others may be in a folder named raw, too."""
    left = ("state.json", "trial.json", "conditions.json", "client.json")
    return (folder / "experiment.json").is_file() or any(
        next((folder / "raw").glob(f"{below}{name}"), None) for name in left for below in ("*/", "*/*/*/")
    )


def read_trial(folder: Path) -> Trial:
    """Summarises one trial from its folder in `raw/`, as far as it has come."""
    return _TrialEvidence(folder, []).trial()


def own_target(folder: Path) -> float:
    """The rate of the phase `own` in operations per second of all clients: a share of the last run of `max`.

    :param folder: of a trial in `raw/`, as far as it has come
    :raises BadInputError: if there is no such rate
    """
    return _TrialEvidence(folder, []).own_target()


def unequal(trials: Sequence[Trial]) -> dict[str, dict[str, str]]:
    """The conditions that are not the same (or not known) for all trials that ran: condition → trial → value.

    Trials are compared within a point of the matrix, that is where they agree in the dimensions that all of them have.
    """
    result: dict[str, dict[str, str]] = {}
    for name, of in _differing(trials):
        if not _is_exceeded(name, of):
            result.setdefault(name, {}).update({trial.name: _stated(trial, name) for trial in of})
    return result


def _differing(trials: Sequence[Trial]) -> Iterator[tuple[str, list[Trial]]]:
    """Each condition that is not the same for the trials at a point, with these."""
    # A load before runs may be sent again, and says nothing of the runs.
    points = at_points([trial for trial in trials if any(not trial.is_aside(row) for row in trial.rows)])
    for name in (name for name, condition in CONDITIONS.items() if condition.equal == "systems"):
        for at_point in points:
            compared = [trial for trial in at_point if _is_compared(trial, name)]
            if len({_stated(trial, name) for trial in compared}) > 1:
                yield name, compared


def _is_exceeded(name: str, differing: Sequence[Trial]) -> bool:
    """Whether a condition would be equal if those that give more than was asked for, and cannot give less, gave that.

    These are then at no advantage.
    """
    return len({trial.exceeded.get(name) or _stated(trial, name) for trial in differing}) == 1


def _is_compared(trial: Trial, name: str) -> bool:
    """Whether a condition of a trial can be unequal to that of others."""
    of = trial.conditions
    # What reads from a primary needs no quorum of reads to be strong.
    if name == "read_acks" and of.consistency in ("strong", NOT_KNOWN) and of.read_acks == "one":
        return False
    # Of servers that are not ours nobody can tell. Their deviations say so; that it differs is not known.
    value = getattr(of, name)
    return value != NOT_KNOWN and not (value is None and name in STATED and of.attached)


def _of_another_experiment(trial: Trial, planned: Sequence[str]) -> str:
    """Why a trial that the experiment has not planned has no numbers in it."""
    return (
        f"raw/{trial.name} is of another experiment: experiment.json plans {', '.join(planned)}; two"
        " experiments are mixed in one folder"
    )


def _without_numbers(trial: Trial, why: str) -> Trial:
    return replace(
        trial, status="invalid", reason=why, rows=[], clients=[], nodes=[], search=None, faults=[], accounting=None
    )


def _lost(name: str, system: str) -> Trial:
    """A trial that was planned, and has no folder."""
    return Trial(name, system, system, "invalid", "its evidence is missing")


def _mixed(trials: Sequence[Trial], workloads: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Trials at one point of the matrix that measured something else than the first of them."""
    found = []
    for first, *others in at_points([trial for trial in trials if workloads[trial.name] and trial.rows]):
        usual = workloads[first.name]
        for other in others:
            own = workloads[other.name]
            differs = [key for key in sorted({*usual, *own}) if usual.get(key) != own.get(key)]
            if differs:
                said = ", ".join(
                    f"{key} {own.get(key, 'not given')} instead of {usual.get(key, 'not given')}" for key in differs
                )
                found.append(f"raw/{other.name} is of another scenario than raw/{first.name}: {said}")
    return found


def _stated(trial: Trial, name: str) -> str:
    """A condition in words, phase by phase where it differs from phase to phase."""
    value = getattr(trial.conditions, name)
    phases = [f"{phase} {own[name]}" for phase, own in trial.by_phase.items() if own.get(name) is not None]
    return ", ".join(phases) if value is None and phases else "unknown" if value is None else str(value)


def notes_of(compared: Sequence[Trial], trials: Sequence[Trial]) -> list[str]:
    """What a reader must know of the experiment as a whole."""
    steady = [*_collapsed(compared), *_unsteady(compared, trials), *_on_levels(compared), *_cold(trials)]
    return [*_stricter(compared), *steady, *_without_equal(trials), *_of_a_part(trials)]


def _stricter(trials: Sequence[Trial]) -> list[str]:
    """Who gives more than was asked for, beside others that do not."""
    found = [
        f"stricter {name.replace('_', ' ')}: {trial.system} {_stated(trial, name)}, asked for {trial.exceeded[name]};"
        " it cannot do with less, which is fair to the others"
        for name, of in _differing(trials)
        if _is_exceeded(name, of)
        for trial in of
        if name in trial.exceeded
    ]
    return list(dict.fromkeys(found))


def _of_a_part(trials: Sequence[Trial]) -> list[str]:
    scales = {(trial.conditions.scale, trial.conditions.full_recordcount) for trial in trials}
    notes = [
        f"{scaled(scale, full)}: not the full scenario" for scale, full in sorted(s for s in scales if None not in s)
    ]
    sizes = {(trial.conditions.recordcount, trial.conditions.record_bytes) for trial in trials}
    for count, record_bytes in sorted((r, b) for r, b in sizes if r is not None and b is not None):
        size = count * record_bytes
        if size < SMALL_DATA_BYTES:
            data = f"{count:,} records \N{MULTIPLICATION SIGN} {record_bytes:,} B = {size_of(size)}"
            notes.append(f"small data: {data}: fits every cache; not a sizing result")
    return notes


def _collapsed(trials: Sequence[Trial]) -> list[str]:
    """Whose throughput was low for long. That is a result: the seconds count."""
    found = [
        f"{_name(trial)} in {trial.collapses[0]}" + (f" and {more} more" if (more := len(trial.collapses) - 1) else "")
        for trial in trials
        if trial.collapses
    ]
    if not found:
        return []
    return [
        f"collapsed: the throughput was below half of its mean for {COLLAPSE_SECONDS} s or more: {', '.join(found)};"
        " these seconds count"
    ]


def _name(trial: Trial) -> str:
    return " ".join(filter(None, (trial.system, point_name(trial.point))))


def _unsteady(trials: Sequence[Trial], rounds: Sequence[Trial]) -> list[str]:
    """Whose throughput was another at the end of the measured windows than at their beginning: what its mean says is
    a matter of when one looks. With a target rate it is what was asked for. Of several rounds the worst is named.
    """

    def in_round(trial: Trial, phase: str) -> str:
        return next(
            f" in round {each.round}" if each.round else ""
            for each in rounds
            if (each.system, each.point, each.trends.get(phase)) == (trial.system, trial.point, trial.trends[phase])
        )

    found = [
        " ".join(filter(None, (trial.system, point_name(trial.point), "" if phase == RUN else f"[{phase}]")))
        + f" {'rose' if trend > 1 else 'fell'} by {abs(trend - 1) * 100:.0f} %"
        + in_round(trial, phase)
        for trial in trials
        for phase, trend in trial.trends.items()
        if target_of(trial, phase) is None and not 1 / UNSTEADY < trend < UNSTEADY
    ]
    if not found:
        return []
    return [
        f"not steady: {', '.join(found)} (throughput, from the first to the last third of the measured window); see the"
        " chart over time, and give a longer warmuptime or duration"
    ]


def _on_levels(trials: Sequence[Trial]) -> list[str]:
    """Whose throughput had several levels: the mean is of none of them."""
    found = [f"{_name(trial)} in {'; '.join(trial.level_changes)}" for trial in trials if trial.level_changes]
    if not found:
        return []
    return [f"changes of level: {'; '.join(found)}; the events say what else changed at the same time"]


def _cold(trials: Sequence[Trial]) -> list[str]:
    """Who was still not steady when the longest warm-up that the scenario allows ended."""
    runs: dict[str, list[bool]] = {}
    longest = 0.0
    for trial in trials:
        runs.setdefault(_name(trial), []).extend(run in trial.cold for run in trial.warmups)
        longest = max([longest, *(trial.warmups[run] for run in trial.cold)])
    found = [f"{name} in {sum(cold)} of {len(cold)} runs" for name, cold in runs.items() if any(cold)]
    if not found:
        return []
    return [
        f"not steady when the warm-up ended: {', '.join(found)}, after {longest:.0f} s (the throughput or the JIT"
        " compilers); give a longer warmuptime"
    ]


def _without_equal(trials: Sequence[Trial]) -> list[str]:
    """A note if the phase `equal` was requested but never measured."""
    asked_for = any("equal_share" in trial.asked.workload.get("", {}) for trial in trials)
    if not asked_for or any(row.phase == EQUAL for trial in trials for row in trial.rows):
        return []
    return [
        f"no latencies at an equal rate: there is no valid run of {EQUAL}, whose rate follows from the valid rates of"
        f" {MAX} in the first round"
    ]


class _TrialEvidence:
    """Reads one trial's folder."""

    def __init__(self, folder: Path, warnings: list[str]) -> None:
        self.folder = folder
        self.warnings = warnings
        self.measured: Counted = {}
        self.phases: list[Phase] = []
        self._changed: list[str] = []  # what is not as the manifest says
        self._attached = False
        self._stated = self._read("state.json", records.TrialState)
        self._asked = read_object(folder / "trial.json", self._warn)
        self._damaged: list[str] = []  # of trial.json
        self._settings = records.decoded(
            self._asked, records.TrialSettings, lambda what: self._damaged.append(f"trial.json: {what}")
        )
        self.warnings += [f"{folder}/{what}" for what in self._damaged]
        # Which trial has loaded what its servers started from, where that may be another one's.
        self._kept = self._read("kept.json", records.KeptLoad) if self._settings.reuse else records.KeptLoad()

    def trial_or_why_not(self) -> Trial:
        """Its trial; one without numbers where a folder of it is closed to whoever reads it."""
        try:
            return self.trial()
        except OSError as error:
            why = f"{error.filename}: cannot be read: {error.strerror or error}"
            self._warn(why)
            return Trial(self.folder.name, self._system, self._system, "invalid", why)

    def seconds(self) -> float | None:
        """How long the trial took; None where it did not come to its end."""
        try:
            began, ended = (datetime.fromisoformat(at or "") for at in (self._stated.started, self._stated.finished))
        except ValueError:
            return None
        return (ended - began).total_seconds() if self._stated.status == "done" else None

    def workload(self) -> dict[str, str]:
        """The properties that say what is measured, without those of the matrix."""
        own = of_the_workload() - self._settings.point.keys()
        return {key: str(value) for key, value in mapping(self._asked.get("trial_properties")).items() if key in own}

    def trial(self) -> Trial:
        """The trial in its evidence.

        :raises OSError: where a folder of it cannot be read
        """
        self._changed = manifest.problems(self.folder, self._stated.manifest)
        if not (self.folder / "state.json").is_file():
            self._changed.insert(0, _NO_STATE)
        for problem in self._changed:
            self._warn(f"{self.folder}/{problem}")
        content = read_object(self.folder / "conditions.json", self._warn)

        def complain(what: str) -> None:
            self._warn(f"{self.folder / 'conditions.json'}: {what}")

        facts, stated = records.decoded(content, records.ReadBack, complain), conditions.stated(content, complain)
        self._attached = "attached" in stated
        self._at_work = validity.at_work(facts.notes)
        hosts = canary.read(self._read("canary.json", records.CanaryFile))
        self.phases = phases = self._phases(self._folders())
        clients = self._clients(phases)
        load = [phase for phase in phases if phase.kind == LOAD]
        runs = [phase for phase in phases if phase.kind != LOAD]
        # A load that is measured has numbers only in a trial that is good.
        aside, measured_phases = ([], [*load, *runs]) if self._load_is_measured else (load, runs)
        counted = [phase for phase in measured_phases if not phase.discarded]
        system = self._system
        windows = [window for phase in counted for window in phase.window(self._warmup(phase))]
        servers = Servers(self.folder / "server", system, windows, self._steps(load, runs), self._warn)
        healing = HealingLogs(self.folder / "server", system, self._warn)
        host_metrics = self._host_metrics(phases)
        uses = host_metrics.all()
        self._check_samples(uses, counted)
        cpus = {use.host: use.cpus for use in uses if use.cpus}
        taken = [each for each in host_metrics.taken if (each.phase, each.run) in {window.key for window in windows}]
        strong = stated.get("consistency", "").startswith("strong")
        status, reason = self._judged(phases, measured_phases, servers, cpus, taken, strong=strong)

        shown = [phase for phase in measured_phases if status == "ok"]
        if not any(phase.problems for phase in aside):
            shown += aside
        self.measured = {part: _counted([phase for phase in phases if phase.part == part]) for part in parts_of(shown)}
        result = rows_of(self.measured)
        valid = counted if status == "ok" else []
        measured = in_sequence([phase.run for phase in valid])
        of_trial, by_phase = self._conditions(facts, stated, counted or load, taken)
        return Trial(
            name=self.folder.name,
            system=system,
            title=facts.title or system,
            status=status,
            reason=reason,
            point=self._point,
            round=self._settings.round if self._settings.rounds > 1 else None,
            conditions=of_trial,
            by_phase=by_phase,
            deviations=facts.differences,
            exceeded={name: str(asked) for name, asked in facts.exceeded.items()},
            notes=[
                *facts.notes,
                *self._reused(),
                *self._settled(runs),
                *_retried(load),
                *_sent_again([*aside, *counted]),
                *_ended_under_faults(counted),
                *servers.notes(),
                *_missed(counted),
                *_busy(uses, counted),
                *host_metrics.notes(),
                *(hosts.problems if hosts else ()),
            ],
            # Also for discarded runs: what one of them has lost, no later run finds.
            accounting=accounting.of_all(client.report.accounting for run in measured_phases for client in run.clients),
            faults=[found for phase in valid if (found := phase.healed(healing))],
            rows=result,
            load_is_measured=self._load_is_measured,
            trends=_trends(valid),
            collapses=[when for phase in valid for when in phase.collapses(self._warmup(phase))],
            level_changes=[when for phase in valid for when in phase.level_changes(self._warmup(phase))],
            system_failed=any(phase.system_failed for phase in phases),
            warmups={phase.name: self._warmup(phase) for phase in runs},
            cold=[phase.name for phase in valid if phase.conducted.warmup_steady is False],
            load=next(
                (
                    phase.timeline.inserted.curve(phase.run.records, phase.run.seconds)
                    for phase in load
                    if phase in shown
                ),
                None,
            ),
            clients=[
                replace(client, rows=[row for row in client.rows if (row.phase, row.discarded) in self.measured])
                for client in clients
            ],
            nodes=nodes([phase.conducted for phase in counted or load], measured.seconds, measured.records),
            servers=servers.all(),
            spans=list(servers.spans()),
            hosts=uses,
            taken=taken,
            host_metrics=host_metrics,
            events=[
                event
                for phase in phases
                for event in phase.events(
                    self._warmup(phase),
                    [
                        *(self._pauses(servers, phase, result) if phase in measured_phases else []),
                        *phase.level_events(self._warmup(phase), servers, host_metrics),
                    ],
                    measured=phase in measured_phases,
                )
            ],
            canary=hosts,
            search=self._search([phase for phase in counted if phase.kind != LOAD]),
            asked=asked(self._asked),
            configured={**facts.values, **facts.server_settings},
        )

    def _check_samples(self, uses: Sequence[HostUse], counted: Sequence[Phase]) -> None:
        """Warns of hosts whose samples are not of the measured windows, or of less than half of them."""
        measured = sum(phase.run.seconds or 0.0 for phase in counted if phase.window(0))
        kinds = {phase.kind for phase in counted}
        hosts = self.folder / "hosts"
        ill = {host for phase in counted for host in phase.ill}  # without power there is no sample either
        for host in sorted(path.name for path in hosts.iterdir()) if hosts.is_dir() else ():
            covered = sum(use.covered_seconds for use in uses if use.host == host and use.phase in kinds)
            if covered < measured / 2 and host not in ill:
                self._warn(
                    f"{self.folder}/hosts/{host}: has samples of {covered:.0f} of {measured:.0f} measured seconds"
                )

    def _host_metrics(self, phases: Sequence[Phase]) -> HostMetrics:
        """The use of the hosts in the load and in the runs that count."""
        counted = [phase for phase in phases if not phase.discarded]
        windows = [window for phase in counted for window in phase.window(self._warmup(phase))]
        wanted = {host for phase in phases for host in (*phase.conducted.clients, *phase.conducted.nodes)}
        return HostMetrics(self.folder / "hosts", windows, sorted(wanted), self._warn)

    def _steps(self, load: Sequence[Phase], runs: Sequence[Phase]) -> list[Step]:
        """The steps of the trial, in order."""
        in_time = sorted(runs, key=lambda run: (run.number or 0, self._planned.index(run.kind)))
        # Servers that were started again from a copy of it have counted nothing of the load.
        first = (
            [Step(LOAD, LOAD, counts=False)]
            if self._kept.load
            else [Step(phase.name, phase.kind, counts=not phase.discarded) for phase in load]
        )
        return [
            *first,
            *(Step(phase.name, phase.kind, counts=not phase.discarded, restarted=phase.restarted) for phase in in_time),
            *(Step(folder.name, PROBE, counts=False) for folder in self._numbered([PROBE])),
        ]

    def _pauses(self, servers: Servers, phase: Phase, measured: Sequence[Row]) -> list[Event]:
        """Pauses of the servers' JVMs that are long beside what the clients measured."""
        calls = [row for row in measured if (row.phase, row.discarded) == phase.part and is_call(row.operation)]
        known = [row.p99_ms for row in calls if row.p99_ms is not None and not is_failure(row.operation)]
        stated = find_property("operationtimeout")
        timeout = self._settings.properties.operationtimeout
        if timeout is None and stated and stated.default:
            timeout = float(stated.default)
        return servers.events(phase.kind, phase.number, max(known, default=None), timeout)

    def _phases(self, folders: Sequence[Path]) -> list[Phase]:
        """The load and runs in these folders; nothing of them has been read yet."""
        most_slots = min(MOST_SLOTS, max(1, _MOST_SLOTS_OF_A_TRIAL // max(1, len(folders))))
        return [Phase(folder, self._settings.discard, self._warn, most_slots) for folder in folders]

    def _clients(self, phases: Sequence[Phase]) -> list[Client]:
        """Reads all clients' folders into the phases."""
        result = []
        counted = [phase.conducted for phase in phases if phase.kind != LOAD and not phase.discarded]
        conducted = counted or [phase.conducted for phase in phases]
        hosts = sorted({host for phase in phases for host in phase.hosts()})
        size = sum(log.stat().st_size for phase in phases for log in phase.folder.glob("*/*.hdr"))
        batches = [Batch(copy.deepcopy(phases), part) for part in in_parallel.divided(hosts, size)]
        for batch in in_parallel.each(Batch.read, batches):
            self.warnings += batch.warnings
            for phase, read in zip(phases, batch.phases, strict=True):
                phase.add(read)
            result += [conducted_client(host, conducted, of_client) for host, of_client in batch.clients]
        return result

    def _judged(
        self,
        phases: Sequence[Phase],
        measured: Sequence[Phase],
        servers: Servers,
        cpus: Mapping[str, int],
        taken: Sequence[Taken],
        *,
        strong: bool,
    ) -> tuple[Status, str | None]:
        """The trial's status, and why it is not "ok".

        :param measured: the runs, or the load where there are none to be
        :param cpus: processors of the hosts, where they are known
        :param taken: what somebody else took of them in the runs that count
        :param strong: the servers promise that a read sees the last acknowledged write
        """
        status, reason = self._state()
        problems = self._lost(phases) if status == "ok" else []
        problems += [problem for phase in phases for problem in phase.problems]
        counted = [phase for phase in measured if not phase.discarded and not phase.problems]
        problems += self._broken(counted, servers, cpus, taken, strong=strong)
        # A later run does not find what one that is discarded has lost.
        problems += [
            f"{run.name} on {client.host}: {losses}"
            for run in measured
            if run.discarded and run.faults is None
            for client in run.clients
            if client.report.accounting and (losses := accounting.losses(client.report.accounting))
        ]
        wanted = self._settings.repeats
        if status == "ok" and self._load_is_measured and not any(phase.kind == LOAD for phase in measured):
            problems.append("the load has left no results")
        for name in self._planned:
            left = sum(run.kind == name for run in measured)
            if status == "ok" and wanted is not None and left != wanted:
                which = "" if name == RUN else f"{name}: "
                problems.append(f"{which}{left} of {wanted} repeats have left results")
        if all(phase.faults is None for phase in measured):
            problems += filter(None, [self._row_count()])
        if status == "ok" and problems:
            return "failed" if any(phase.system_failed for phase in phases) else "invalid", _first(problems)
        if status == "failed" and (broken := [run for run in measured if run.conducted.failure]):
            # It was measured, and conducting says best why that does not count; the trial may know of a dead
            # server besides.
            why = broken[0].conducted.failure
            also = (reason or "").partition(why)[2]
            failed = any(run.system_failed for run in measured)
            return "failed" if failed else "invalid", f"{broken[0].name}: {why}{also}"
        return status, reason or (_first(problems) if problems else None)

    def _broken(
        self,
        counted: Sequence[Phase],
        servers: Servers,
        cpus: Mapping[str, int],
        taken: Sequence[Taken],
        *,
        strong: bool,
    ) -> list[str]:
        """What is wrong with runs that count, although their clients ended without an error."""
        found = [
            problem
            for phase in counted
            for problem in phase.facts(
                self._warmup(phase),
                self._is_timed(phase),
                self._properties_of(phase.kind).target,
                self._most_not_found(phase.kind),
                cpus,
                duration=self._settings_of(phase.kind).duration if phase.kind != LOAD else None,
                requested=self._requested(phase),
                strong=strong,
                faults=self._faults_of(phase.kind),
            ).problems(phase.name)
        ]
        found += [problem for phase in counted for problem in self._disturbed(phase, taken)]
        compacting = validity.compacting(servers.pending_compactions(LOAD)) if self._planned else None
        return found + ([compacting] if compacting else [])

    def _requested(self, phase: Phase) -> dict[str, Any]:
        """What each client of a phase should report of its work, as far as trial.json says it."""
        settings, properties = self._settings_of(phase.kind), self._properties_of(phase.kind)
        clients = len(phase.clients) + len(phase.missing) if properties.threads_of == "all" else 1
        stated = {name: getattr(properties, name) for name in _REPORTED}
        stated["threads"] = None if settings.threads is None else max(1, settings.threads // clients)
        return {name: value for name, value in stated.items() if value is not None}

    def _faults_of(self, kind: str) -> str | None:
        """The faults that runs of a phase were to have; None: none."""
        asked = self._settings_of(kind).faults
        return None if asked == scenario_faults.NONE else asked

    def _disturbed(self, phase: Phase, taken: Sequence[Taken]) -> list[str]:
        """Whether somebody else took too much of a host's processors."""
        limit = validity.most_taken(self._settings.max_other_cpu, strict=self._settings.strict)
        return [
            f"{phase.name}: {'; '.join([why, *self._at_work])}"
            for each in taken
            if (each.phase, each.run) == (phase.kind, phase.number)
            # Servers that are not ours are others on their hosts, and what is measured.
            and (not self._attached or each.host in phase.conducted.clients)
            for why in validity.taken(each, limit)
        ]

    def _most_not_found(self, kind: str) -> float:
        """The scenario's limit for a phase; for experiments from before that property its default."""
        stated, known = self._settings_of(kind).maxnotfoundrate, find_property("maxnotfoundrate")
        return stated if stated is not None else float((known and known.default) or 0)

    def _row_count(self) -> str | None:
        """What is wrong with the rows that were counted after the last run."""
        loaded = self._settings.properties.records
        # Counted only where runs have inserted records.
        if loaded is None or not (self.folder / "counted.json").is_file():
            return None
        hosts = [host for run in self._numbered([*self._planned, PROBE]) for host in run.iterdir() if host.is_dir()]
        # A broken file is warned of where the run is read.
        reports = [
            (host.name, records.read(host / "client.json", records.ClientReport, lambda _: None)) for host in hosts
        ]
        return row_count.problem(loaded, self._read("counted.json", records.CountedRows).rows, reports)

    def _warmup(self, phase: Phase) -> float:
        stated = (client.report.warmup_seconds for client in phase.clients)
        known = next((seconds for seconds in stated if seconds is not None), None)
        return known if known is not None else self._settings_of(phase.kind).warmup or 0.0

    def _is_timed(self, phase: Phase) -> bool:
        """Whether time ends its window, and not the number of its operations; also where that is not known."""
        return phase.kind != LOAD and self._settings_of(phase.kind).duration != 0

    def _lost(self, phases: Sequence[Phase]) -> list[str]:
        """Evidence of a successful trial that is missing now."""
        needed = [name for name in ("trial.json", "conditions.json") if not (self.folder / name).is_file()]
        by_another = self._kept.load not in (None, self.folder.name)
        needed += [LOAD] if not by_another and not any(phase.kind == LOAD for phase in phases) else []
        found = [*(f"{name}: is missing" for name in needed), *self._changed, *self._damaged]
        # Earlier versions, and several stock clients that somebody has started by hand, have left no manifest either.
        together = [phase for phase in phases if len(phase.clients) > 1 and self._stated.manifest]
        found += [
            f"{phase.name}/clients.json: is missing, or damaged" for phase in together if not phase.conducted.clients
        ]
        found += [why for phase in phases if (why := self._of_another_time(phase))]
        if self._settings.name not in (None, self.folder.name):
            found.append(f"trial.json: is of {self._settings.name}")
        return list(dict.fromkeys(found))

    def _of_another_time(self, phase: Phase) -> str | None:
        """Whether a run was not within the trial's time; both are of the controller's clock."""
        agreed, (first, last) = phase.conducted.agreed, _times(self._stated.started, self._stated.finished)
        if agreed is None:
            return None
        end = agreed + self._warmup(phase) + (phase.run.seconds or 0.0)
        if first <= agreed <= end <= last:
            return None
        until = f" and ended at {instant(end)}" if first <= agreed <= last else ""
        return f"{phase.name}: began at {instant(agreed)}{until}, the trial lasted {_lasted(first, last)}"

    def out_of(self, experiment: records.ExperimentFacts) -> str | None:
        """Whether the trial was not within the experiment's time, which begins once, however often it was resumed."""
        own, of_all = (_times(each.started, each.finished) for each in (self._stated, experiment))
        # A time that is not known contradicts nothing.
        early, late = (math.isfinite(own[at]) and sign * own[at] < sign * of_all[at] for at, sign in ((0, 1), (1, -1)))
        if not early and not late:
            return None
        return f"state.json: the trial lasted {_lasted(*own)}, the experiment {_lasted(*of_all)}"

    def copied(self, runs: dict[str, str]) -> str | None:
        """Whether a client's histogram logs are those of another run, which is no measurement of its own.

        :param runs: by fingerprint, of the trials before; those of this one are added
        """
        found = None
        for phase in self.phases:
            for client in phase.clients:
                own = f"raw/{self.folder.name}/{phase.name}/{client.host}"
                of = runs.setdefault(client.fingerprint, own) if client.fingerprint else own
                found = found or (
                    f"{own}: the intervals of its histogram logs are those of {of}" if of != own else None
                )
        return found

    def planned_otherwise(self, planned: records.PlannedFacts, targets: Mapping[str, float]) -> str | None:
        """Where a trial contradicts experiment.json.

        :param targets: of the phase `equal`, by point
        """
        fixed = targets.get(point_name(self._point))
        given = self._properties_of(EQUAL).target or 0.0
        if fixed and EQUAL in self._planned and given != fixed:
            return f"trial.json: {EQUAL} has the target {given:g} op/s, experiment.json {fixed:g}"
        for key in ("system", "round"):
            stated, own = getattr(planned, key), getattr(self._settings, key)
            if None not in (stated, own) and stated != own:
                return f"trial.json: is of {key} {own}, experiment.json plans {key} {stated}"
        return None

    def _state(self) -> tuple[Status, str | None]:
        if _NO_STATE in self._changed:
            return "invalid", _NO_STATE
        status = self._stated.status
        if status == "done":
            return "ok", None
        if status not in get_args(Status):
            return "failed", f"unknown state {status!r} in state.json"
        default = {"pending": "not started", "running": "not finished", "interrupted": "interrupted"}
        return cast(Status, status), self._stated.reason or default.get(status, "no reason was recorded")

    @property
    def _planned(self) -> list[str]:
        """Names of the phases after the load, in order; experiments from before there were any have runs alone."""
        stated = self._settings.phases
        return [RUN] if stated is UNSET else [phase.name or "" for phase in stated]

    @property
    def _load_is_measured(self) -> bool:
        return self._settings.load.measured or not self._planned

    def _settled(self, runs: Sequence[Phase]) -> list[str]:
        """Notes on where reads came from: after the load, and where servers settled again before runs."""
        files = [self.folder, *(phase.folder for phase in runs)]
        settled = [records.read(folder / "settled.json", records.Settled, self._warn) for folder in files]
        return list(dict.fromkeys(note for each in settled for note in each.notes))

    def _reused(self) -> Iterator[str]:
        """Notes on a load that several trials share, or should have shared."""
        if by := self._kept.load:
            yield (
                f"one load, that of {by}: the servers of its trials started from copies, and no interval covers what"
                " differs from load to load"
            )
        if self._kept.note:
            yield self._kept.note

    def _folders(self) -> list[Path]:
        """Those of the load, then those of each phase's runs."""
        load = self.folder / LOAD
        return [*([load] if load.is_dir() else []), *self._numbered(self._planned)]

    def _numbered(self, names: Sequence[str]) -> list[Path]:
        """The folders of runs, by name in that order, then by number."""
        found = [(path, re.fullmatch(r"([a-z][a-z0-9-]*)-([0-9]{1,9})", path.name)) for path in self.folder.iterdir()]
        runs = [
            (names.index(match[1]), int(match[2]), path)
            for path, match in found
            if match is not None and match[1] in names and path.is_dir()
        ]
        return [path for _, _, path in sorted(runs)]

    def _conditions(
        self, facts: records.ReadBack, stated: Mapping[str, Any], phases: Sequence[Phase], taken: Sequence[Taken]
    ) -> tuple[Conditions, dict[str, dict[str, Any]]]:
        """Returns the conditions, and those that differ from phase to phase."""

        def read(kind: str, of_kind: Sequence[Phase]) -> Conditions:
            settings = self._settings_of(kind)
            warmups = [self._warmup(phase) for phase in of_kind if phase.kind != LOAD]
            return conditions.read(
                conditions.ConditionSources(
                    stated, facts, self._settings, settings, of_kind, warmups, self._load_is_measured, taken
                )
            )

        of_phases = {phase.kind: [each for each in phases if each.kind == phase.kind] for phase in phases}
        of_trial = read(next(iter(of_phases), RUN), phases)
        differing = conditions.by_phase({kind: read(kind, of_kind) for kind, of_kind in of_phases.items()})
        several = dict.fromkeys(name for of_phase in differing.values() for name in of_phase)
        return replace(of_trial, **several), differing

    def _settings_of(self, kind: str) -> records.PhaseSettings:
        """What the trial was to do in a phase, or in its load."""
        asked = self._settings
        phases = [] if asked.phases is UNSET else asked.phases
        # A load's first record counts already.
        load = structs.replace(asked.load, warmup=0.0)
        own = load if kind == LOAD else next((phase for phase in phases if phase.name == kind), records.PhaseSettings())
        return records.PhaseSettings(
            kind,
            asked.properties if own.properties is None else own.properties,
            asked.threads if own.threads is None else own.threads,
            asked.warmup if own.warmup is None else own.warmup,
            asked.duration if own.duration is None else own.duration,
            own.maxnotfoundrate,
            own.faults,
            own.share,
        )

    def _properties_of(self, kind: str) -> records.WorkloadSettings:
        return self._settings_of(kind).properties or records.WorkloadSettings()

    @property
    def _system(self) -> str:
        return self._settings.system or self.folder.name

    @property
    def _point(self) -> dict[str, str]:
        return {key: str(value) for key, value in self._settings.point.items()}

    def own_target(self) -> float:
        """See the function of that name."""
        last = self._phases(self._numbered([MAX]))[-1:]
        self._clients(last)
        found = [row.ops_per_second for row in rows(MAX, [each.run for each in last], {}) if row.operation == OVERALL]
        share = self._settings_of(OWN).share
        why = next((problem for each in last for problem in each.problems), "there is no rate of it")
        if not share or not found or not found[0] or last[0].problems:
            raise BadInputError(f"{self.folder.name}: {OWN} has no rate, as {MAX} is not valid: {why}")
        return knee.rounded(share * found[0])

    def _search(self, runs: Sequence[Phase]) -> Search | None:
        """The result of its probes; nothing else in the trial depends on them.

        :param runs: what counts of the runs before
        """
        settings = probes.stated(self._settings.search)
        if settings is None:
            return None
        tried = []
        tries = self._phases(self._numbered([PROBE]))
        self._clients(tries)
        # While it searches, the samples are still on the hosts.
        windows = [window for phase in tries for window in phase.window(self._warmup(phase))]
        taken = HostMetrics(self.folder / "hosts", windows, [], lambda _: None).taken
        for phase in tries:
            measured = rows(PROBE, [phase.run], phase.latencies)
            targets = [client.report.target for client in phase.clients]
            known = [target for target in targets if target is not None]
            # Each client was given its share of it.
            target = knee.rounded(sum(known)) if known and not phase.missing and len(known) == len(targets) else None
            # Probes do what the last phase does. What is not found makes a system faster, so it is no mere doubt.
            facts = phase.facts(self._warmup(phase), True, None, self._most_not_found((self._planned or [RUN])[-1]), {})
            problems = [*phase.problems, *(f"{phase.name}{why}" for why in validity.not_found(facts))]
            doubts = [*facts.problems(phase.name), *self._disturbed(phase, taken)]
            tried.append(probes.MeasuredProbe(measured, problems, phase.number or 0, target, doubts))
        before = probes.MeasuredProbe(
            rows(RUN, [phase.run for phase in runs], {}), [problem for phase in runs for problem in phase.problems]
        )
        return probes.result(settings, before, tried)

    def _warn(self, message: str) -> None:
        self.warnings.append(message)

    def _read(self, name: str, record: type[R]) -> R:
        return records.read(self.folder / name, record, self._warn)


def _retried(load: Sequence[Phase]) -> list[str]:
    """A note on records of the load that failed and were sent again: otherwise they would leave no trace."""
    reports = [client.report for phase in load for client in phase.clients]
    failures = sum(report.retried_records or 0 for report in reports)
    if not failures:
        return []
    errors = (report.first_error for report in reports if report.retried_records)
    first = next(filter(None, errors), "not known")
    return [f"load: {failures:,} times an insert failed and was sent again; the first error was: {first}"]


def _sent_again(phases: Sequence[Phase]) -> list[str]:
    """How often bindings and drivers sent a request again, phase by phase: no status tells of it."""
    sent: dict[str, int] = {}
    for phase in phases:
        for client in phase.clients:
            sent[phase.kind] = sent.get(phase.kind, 0) + (client.report.retried_requests or 0)
    return [f"{kind}: requests that failed and were sent again: {count:,}" for kind, count in sent.items() if count]


def _ended_under_faults(phases: Sequence[Phase]) -> list[str]:
    """Servers that ended although no fault was to end them: of a run without faults that is why it does not count."""
    return [
        f"{phase.name}, under faults: {facts.reason}"
        for phase in phases
        if phase.faults is not None
        for facts in phase.conducted.nodes.values()
        if facts.state == "ended"
    ]


def _trends(phases: Sequence[Phase]) -> dict[str, float]:
    """By phase, whether the throughput of its runs rose or fell; not of a load, which slows down as its tables grow,
    nor of one with faults.
    """
    of_phases: dict[str, list[list[int]]] = {}
    for phase in phases:
        if phase.kind != LOAD and phase.faults is None:
            of_phases.setdefault(phase.kind, []).append(phase.throughput)
    return {kind: found for kind, series in of_phases.items() if (found := trend(series)) is not None}


def _counted(phases: Sequence[Phase]) -> tuple[list[Run], dict[str, Latencies]]:
    """The runs of one part, and their latencies together."""
    latencies: dict[str, Latencies] = {}
    for phase in phases:
        add_all(latencies, phase.latencies)
    return [phase.run for phase in phases], latencies


def _busy(uses: Sequence[HostUse], runs: Sequence[Phase]) -> list[str]:
    """Notes on clients' hosts without processors to spare."""
    servers = {host for run in runs for host, facts in run.conducted.nodes.items() if facts.cpu_seconds}
    clients = {(run.kind, client.host) for run in runs for client in run.clients}
    return busy(uses, servers, clients)


def _missed(runs: Sequence[Phase]) -> list[str]:
    """Operations that were not sent at a target rate, phase by phase: no latency shows them."""
    missed: dict[str, int] = {}
    for run in runs:
        for client in run.clients:
            missed[run.kind] = missed.get(run.kind, 0) + (client.report.missed_operations or 0)
    return [
        f"{kind}: operations that were due in the window and were not sent in it: {count:,}"
        for kind, count in missed.items()
        if count
    ]


def _times(started: str | None, finished: str | None) -> tuple[float, float]:
    """Begin and end in seconds since 1970; before and after everything where they are not known."""

    def seconds(at: str | None, unknown: float) -> float:
        try:
            return datetime.fromisoformat(at or "").timestamp()
        except (ValueError, OverflowError):
            return unknown

    # They are whole seconds, cut off.
    return seconds(started, -math.inf), seconds(finished, math.inf) + 1


def _lasted(first: float, last: float) -> str:
    """Such times in words."""
    began, ended = (instant(at) if math.isfinite(at) else "an unknown time" for at in (first, last - 1))
    return f"from {began} to {ended}"


def _first(problems: Sequence[str]) -> str:
    return problems[0] if len(problems) == 1 else f"{problems[0]} (and {len(problems) - 1} more)"
