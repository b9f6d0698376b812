"""Computes a summary and the data for charts from logs that any YCSB client wrote elsewhere.

Rules for grouping the logs:

- Each folder and subfolder becomes a line of the comparison, with its name. Files without logs of YCSB are skipped.
- Several client logs in one folder come from clients of one run: counts are summed, rates use the longest run time.
- Logs that contain only INSERT, or whose client was started with `-load`, are the load; the others are the run. Runs
  that were appended to one file become separate lines: `name #2`.
- Logs with only status lines are the standard error of a client whose results are in the folder. If there are more of
  them than results, a client was cut off, and the run is marked incomplete.
- Percentiles come from `*.hdr` logs in the folder if these contain exactly the operations that the result lines count.
"""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median

from dohyo import folders as contained
from dohyo.bad_input import BadInputError, unknown
from dohyo.evidence.client_folder import differ
from dohyo.evidence.events import Timeline
from dohyo.evidence.hdr_log import Interval, Latencies, beginning, divided, merge_log
from dohyo.evidence.latency_slots import MOST_SLOTS, Slot
from dohyo.evidence.result_lines import Operation, failures
from dohyo.evidence.rows import Run, rows, together
from dohyo.evidence.text_file import Warn, is_binary
from dohyo.figures import formatted, instant, whole
from dohyo.foreign import outcomes
from dohyo.foreign.ycsb_log import ClientLog, read_log, whole_setting
from dohyo.metrics import Row
from dohyo.operations import INTENDED, OVERALL, is_call
from dohyo.report import page
from dohyo.report.material import MeasuredRun
from dohyo.scenario.phases import LOAD, RUN
from dohyo.scenario.properties import of_the_workload
from dohyo.statistics import ALIKE
from dohyo.summary.comparison import comparisons, neighbours
from dohyo.summary.conditions import Conditions
from dohyo.summary.equality import unequal
from dohyo.summary.results import Summary, Trial
from dohyo.tables.table import MIXED

UNKNOWN_CONDITIONS = "logs of clients do not contain the versions and settings of servers, so conditions may be unequal"
_UNMERGED = "cannot be merged from text"
# Longest plausible run of a client (23 days). Without this limit, a damaged log could exhaust the memory.
_LONGEST_SECONDS = 2_000_000
# Properties that define the workload; deleteproportion exists only in some forks of YCSB.
_WORKLOAD = of_the_workload() | {"deleteproportion"}
# Tolerance for the times of clients: status lines contain whole seconds, and the clocks of hosts differ.
_APART_SECONDS = 2.0
_GO_THREADS = 200  # the largest default number of threads in any version of go-ycsb
# Maximum ratio between the run times of two clients in one run, and of a run time to the time in which both ran.
_MOST_LONGER = 2.0
# Maximum difference, beyond what chance explains, between an operation type's shares in the logs of two clients.
_SAME_SHARE = 0.02
_Group = defaultdict[str, list[ClientLog]]  # the clients' logs of a run and its load, by phase


@dataclass(frozen=True)
class ForeignRun(MeasuredRun):
    """One run or one load of other clients. Slots from status lines are as long as the lines' intervals."""

    # Latencies of each operation type for which histogram logs contain every operation.
    latencies: dict[str, Latencies] = field(default_factory=dict)
    logs: list[ClientLog] = field(default_factory=list)  # logs of the clients; empty if there are only histogram logs


@dataclass(frozen=True)
class Collected:
    """The results of all logs in the given folders."""

    summary: Summary
    runs: list[ForeignRun]
    folders: dict[str, Path]  # for each trial's name, the folder of its logs
    passed_over: list[Path]  # files that contain no output of YCSB


def collect(tops: Sequence[Path], records_each: Mapping[str, int] | None = None, *, repeats: bool = False) -> Collected:
    """Reads all logs in the folders and their subfolders. A file counts as a folder with one log.

    :param records_each: number of records per operation for each system whose logs do not state it; "" stands for all
        other systems; the default is one record
    :param repeats: whether the logs in a folder are repeats of one run instead of clients of one run
    :raises BadInputError: if a folder does not exist or cannot be read, or if `records_each` names an unknown system
    """
    for top in tops:
        _check(top)
        contained.check(top, hidden=False)
    names = _names(tops)
    warnings: list[str] = []
    sizes = dict(records_each or {})
    trials: list[Trial] = []
    runs: list[ForeignRun] = []
    folders: dict[str, Path] = {}
    passed_over: list[Path] = []
    for top, top_name in names.items():
        for folder, files in _walk(top, warnings.append):
            of_top = folder == top
            name = top_name if of_top else f"{top_name}/{folder.relative_to(top)}"
            # If there is a single top folder, leave out its name, because all names would begin with it.
            system = name if of_top or len(names) > 1 else str(folder.relative_to(top))
            size = sizes.get(system, sizes.get(""))
            read = _Folder(name, system, folder, files, warnings.append, size, repeats)
            passed_over += read.passed_over
            for trial, of_trial in read.trials():
                trials.append(trial)
                runs += of_trial
                folders[trial.name] = folder
    systems = list(dict.fromkeys(trial.system for trial in trials))
    for system in sizes:
        if system and system not in systems:
            raise unknown("system", system, systems, f"of --records-per-operation; known systems: {', '.join(systems)}")
    trials = _comparable(trials)
    # An unknown condition does not count as unequal; few logs state the number of threads, for example.
    different = {key: values for key, values in unequal(trials).items() if "unknown" not in values.values()}
    valid = [trial for trial in trials if trial.status == "ok"]
    summary = Summary(
        name=" ".join(names.values()),
        trials=trials,
        comparisons=comparisons(valid),
        neighbours=neighbours(valid, valid, ALIKE),
        unequal=different,
        notes=[
            *_not_the_same(runs),
            *_added_up(runs, repeats=repeats),
            *_without_target(trials),
            *_without_percentiles(trials),
            *[UNKNOWN_CONDITIONS][: len(trials)],
        ],
        warnings=warnings,
    )
    return Collected(summary, runs, folders, passed_over)


def _added_up(runs: Sequence[ForeignRun], *, repeats: bool) -> list[str]:
    """Returns a note on logs whose counts were summed as clients of one run, although their times are not known."""
    untimed = [run for run in runs if len(run.logs) > 1 and any(log.began is None for log in run.logs)]
    counts = {run.trial.system: len(run.logs) for run in untimed}
    parts = ", ".join(f"{count} of {system}" for system, count in counts.items())
    if repeats or not parts:
        return []
    return [f"logs were added up as clients of one run: {parts}; if they are repeats, use tabulate --repeats"]


def _not_the_same(runs: Sequence[ForeignRun]) -> list[str]:
    """Returns a note on systems that differ from the first in the mix of operations or in a property of both logs."""
    differences = []
    valid = [run for run in runs if run.logs and run.trial.status == "ok"]
    for phase in (RUN, LOAD):
        logs = [(run.trial.system, run.logs[0]) for run in valid if run.phase == phase]
        differences += _other_mix(logs)
        for name, log in logs[1:]:
            first, usual, values = logs[0][0], _scenario(logs[0][1]), _scenario(log)
            differs = [key for key in usual if key in values and key in _WORKLOAD and values[key] != usual[key]]
            differences += [f"{name} has {key} {values[key]}, {first} {usual[key]}" for key in differs]
        intended = [name for name, log in logs if log.latencies_are_intended]
        if len(intended) not in (0, len(logs)):
            differences.append(f"only the latencies of {', '.join(intended)} are from the intended start")
    more = f" (and {len(differences) - 1} more)" if len(differences) > 1 else ""
    return [f"not measured alike: {differences[0]}{more}"] if differences else []


def _without_target(trials: Sequence[Trial]) -> list[str]:
    names = [trial.system for trial in trials if trial.rows and not trial.target_is_known]
    return [f"not known whether a target rate was set: {', '.join(names)}"] if names else []


def _without_percentiles(trials: Sequence[Trial]) -> list[str]:
    names = [trial.system for trial in trials if any(_UNMERGED in note for note in trial.notes)]
    reason = "percentiles of several clients need histogram logs (hdrhistogram.fileoutput=true)"
    return [f"no percentiles for {', '.join(names)}: {reason}"] if names else []


def _comparable(trials: Sequence[Trial]) -> list[Trial]:
    """Removes records per second unless all trials state them, because systems are ranked by a single figure."""
    valid = [trial for trial in trials if trial.status == "ok"]
    rates = [row for trial in valid for row in trial.rows if row.operation == OVERALL and not trial.is_aside(row)]
    if all(row.records_per_second for row in rates):
        return list(trials)

    def without(row: Row) -> Row:
        return replace(row, records_per_second=None) if row.operation == OVERALL else row

    return [replace(trial, rows=[without(row) for row in trial.rows]) for trial in trials]


def _names(tops: Sequence[Path]) -> dict[Path, str]:
    """Returns a name for each distinct folder: the shortest end of its path that is unique."""
    parts = {path.parts: top for path, top in {top.resolve(): top for top in tops}.items()}

    def is_one(end: tuple[str, ...]) -> bool:
        return sum(path[-len(end) :] == end for path in parts) == 1

    return {
        top: str(Path(*next(end for index in range(len(path) - 1, -1, -1) if is_one(end := path[index:]))))
        for path, top in parts.items()
    }


def _check(top: Path) -> None:
    try:
        top.stat()
    except FileNotFoundError as error:
        raise BadInputError(f"there is no folder {top}") from error
    except OSError as error:
        raise BadInputError(f"{top} cannot be read: {error.strerror or error}") from error


def _walk(top: Path, warn: Warn) -> Iterator[tuple[Path, list[Path]]]:
    """Yields the folder and its subfolders, each with its files. Hidden names and Dohyo's reports are skipped."""
    if not top.is_dir():
        yield top, [top]
        return

    def closed(error: OSError) -> None:
        warn(f"{error.filename}: cannot be read: {error.strerror or error}")

    folders = []
    for folder, below, files in os.walk(top, onerror=closed):
        below[:] = [name for name in below if not name.startswith(".")]
        names = [name for name in files if not name.startswith(".") and name != page.FILE]
        folders.append((Path(folder), sorted(Path(folder, name) for name in names)))
    yield from sorted(folders)


@dataclass
class _Folder:
    """The logs in one folder, and their totals."""

    name: str
    system: str
    path: Path
    files: Sequence[Path]
    warn: Warn
    records_each: int | None
    repeats: bool
    missing: list[str] = field(default_factory=list)  # reasons why results are missing, such as unreadable files
    logs: list[ClientLog] = field(default_factory=list)
    passed_over: list[Path] = field(default_factory=list)
    latencies: dict[str, Latencies] = field(default_factory=dict)
    timelines: dict[str, Timeline] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Reads the files."""
        histograms = []
        for path in self.files:
            is_histograms = path.name.removesuffix(".gz").endswith(".hdr")
            if _is_empty(path) and (is_histograms or path.suffix != ".err"):
                self.warn(f"{path}: the file is empty")
                self.missing.append(f"{path.name} is empty")
            elif is_histograms:
                histograms.append(path)
            elif logs := [] if is_binary(path) else read_log(path, self._unreadable(path)):
                self.logs += logs
            else:
                self.passed_over.append(path)
        self.groups = self._grouped()
        self._read_histograms(histograms)
        if not self.groups and self.latencies:
            self.groups.append(_Group(list))  # only histogram logs: these contain counts and latencies as well

    def _unreadable(self, path: Path) -> Warn:
        """Returns a function that passes warnings on. A file that cannot be read counts as missing results."""

        def warn(message: str) -> None:
            self.warn(message)
            _, unreadable, why = message.partition(": cannot be read: ")
            if unreadable:
                self.missing.append(f"{path.name} cannot be read: {why}")

        return warn

    def _read_histograms(self, paths: Sequence[Path]) -> None:
        """Merges the histogram logs. Times are relative to the start of the earliest log of the phase."""
        begun = {path: beginning(path) for path in paths}
        phases = {path: self._phase_of(operation or "") for path, (operation, _) in begun.items()}
        for path, (operation, start) in begun.items():
            starts = [begin for file, (_, begin) in begun.items() if begin is not None and phases[file] == phases[path]]
            later = (start or 0.0) - min(starts, default=0.0)
            # Several clients have separate logs: a-READ.hdr, a-UPDATE.hdr, b-READ.hdr, …
            client = path.name.removesuffix(".gz").removesuffix(f"{operation}.hdr")
            timeline = self.timelines.setdefault(phases[path], Timeline())
            merge_log(path, self.latencies, self._unreadable(path), partial(_add_later, timeline, client, later))

    def _phase_of(self, operation: str) -> str:
        """Returns the phase of a histogram log, load or run, according to the operation types in the result lines."""
        loaded, measured = (
            {_plain(name) for group in self.groups for log in group[phase] for name in log.operations}
            for phase in (LOAD, RUN)
        )
        only_loaded = bool(loaded) and not any(group[RUN] for group in self.groups)
        return LOAD if only_loaded or _plain(operation) in loaded - measured else RUN

    def trials(self) -> list[tuple[Trial, list[ForeignRun]]]:
        """Returns each trial with the data of its run and of its load."""
        return [self._trial(group, number) for number, group in enumerate(self.groups, 1)]

    def _grouped(self) -> list[_Group]:
        with_results = [log for log in self.logs if log.has_results]
        without_results = _without_copies([log for log in self.logs if not log.has_results])
        broken_off = _pair(with_results, without_results)
        if with_results:
            for log in broken_off:
                self.missing.append(f"{log.name} has no results ({log.status_operations or 0:,} operations)")
        else:
            with_results = broken_off
        groups: list[_Group] = []
        seen: dict[tuple[Path, str, bool], int] = {}
        for log in with_results:
            position = 0 if self.repeats else seen.get((log.path, log.source, log.is_load), 0)
            seen[log.path, log.source, log.is_load] = position + 1
            if position == len(groups):
                groups.append(_Group(list))
            groups[position][LOAD if log.is_load else RUN].append(log)
        return groups

    def _trial(self, group: _Group, number: int) -> tuple[Trial, list[ForeignRun]]:
        only = len(self.groups) == 1
        suffix = "" if number == 1 else f" #{number}"
        trial = Trial(self.name + suffix, self.system + suffix, self.system + suffix, "ok")
        result: list[Row] = []
        notes: list[str] = []
        problems: list[str] = []
        measured: list[ForeignRun] = []
        phases: tuple[str, ...] = (RUN, LOAD)
        for phase in phases:
            logs = group[phase]
            if logs or (phase == RUN and only and not group[LOAD]):
                clients = [_of_client(log, self.records_each) for log in logs]
                run = together(clients)
                usable = self._usable(run, only and not (group[LOAD] and group[RUN]))
                over_time = self._over_time(phase, logs, run, usable)
                numbered = None if phase == LOAD else 1
                measured.append(ForeignRun(trial, phase, numbered, False, run, *over_time, latencies=usable, logs=logs))
                result += _with_other_failures(rows(phase, clients if self.repeats else [run], usable), run)
                notes += _notes(phase, logs, run, result, repeats=self.repeats)
                missing, whole = _missing(phase, logs)
                problems += [*missing, *outcomes.problems(phase, run, whole=whole)]
        all_logs = [*group[RUN], *group[LOAD]]
        reasons = [f"{log.name}: {cut}" for log in all_logs if (cut := _cut(log))] + self.missing
        if not all_logs:
            reasons.append("histogram logs without result lines")
        doubts = [
            *(doubt for log in all_logs for doubt in log.doubts),
            *(doubt for phase in phases for doubt in self._unlike(group[phase])),
        ]
        for doubt in doubts:
            if not any(doubt in log.doubts for log in self.logs):  # doubts about a log were reported while it was read
                self.warn(f"{self.path}: {doubt}")
        failed = [f"{log.name}: no operation succeeded: {_why(log)}" for log in all_logs if log.succeeded == 0]
        # Drop the results if one client had no successful operation: the sum of the others is a different scenario.
        if failed:
            result, measured = [], []
        trial = replace(
            trial,
            status="failed" if failed else "invalid" if doubts or problems else "incomplete" if reasons else "ok",
            reason="; ".join([*failed, *problems, *doubts, *reasons]) or None,
            conditions=_conditions(group[RUN] or group[LOAD], repeats=self.repeats),
            target_is_known=all(log.target_is_known for log in group[RUN] or group[LOAD]),
            notes=notes,
            rows=[row for row in result if row != Row(row.phase, OVERALL, 1)],
            load_is_measured=bool(group[LOAD]) and not group[RUN],
        )
        return trial, [replace(run, trial=trial) for run in measured]

    def _unlike(self, logs: Sequence[ClientLog]) -> list[str]:
        """Returns why the logs cannot come from clients, or repeats, of one run."""
        differences = [*_copies(logs), *_differences(logs), *_other_mix([(log.name, log) for log in logs])]
        return differences if self.repeats else [*differences, *_apart(logs), *_longer(logs)]

    def _over_time(
        self, phase: str, logs: Sequence[ClientLog], run: Run, usable: Mapping[str, Latencies]
    ) -> tuple[list[int], list[Slot]]:
        """Returns the operations per second and per slot, from histogram logs of the whole run or from status lines."""
        timeline = self.timelines.get(phase)
        if timeline is None or not timeline.operations <= usable.keys():
            return _from_status_lines(logs)
        throughput = timeline.seconds.throughput(run.seconds)
        return throughput, list(timeline.latencies.slots())

    def _usable(self, run: Run, only: bool) -> dict[str, Latencies]:
        """Returns the histograms whose counts agree with the run's operations. If it is the `only` run, types without
        result lines are included.
        """
        result = {}
        for name, latencies in self.latencies.items():
            stated, highest_us = run.by_operation.get(name), 1000 * (latencies.max_ms or 0.0)
            if stated is None:
                if only:
                    result[name] = latencies
            elif stated.operations == latencies.count and not differ(highest_us, stated.max_us):
                result[name] = latencies
            elif run.seconds is None:  # without result lines: histograms are more complete than status lines
                del run.by_operation[name]
                result[name] = latencies
            else:
                counts = [
                    f"{whole(count)} operations up to {formatted(most_us, ',.0f')} µs"
                    for count, most_us in ((latencies.count, highest_us), (stated.operations, stated.max_us))
                ]
                self.warn(f"{self.path}: {name}: histogram logs (unused) have {counts[0]}, result lines {counts[1]}")
        return result


def _add_later(timeline: Timeline, client: str, seconds: float, operation: str, interval: Interval) -> None:
    """Adds an interval of a client's log to a timeline that began some seconds before the log."""
    timeline.add(client, operation, interval._replace(since_start=interval.since_start + seconds))


def _why(log: ClientLog) -> str:
    by_outcome = outcomes.operations_by_outcome(log.operations).values()
    statuses = dict.fromkeys(status for counts in by_outcome for status in counts if counts[status] and status != "OK")
    return log.exception or ", ".join(statuses) or "the log contains no exception"


def _missing(phase: str, logs: Sequence[ClientLog]) -> tuple[list[str], bool | None]:
    """Describes missing operations, and returns whether all operations were executed (None if not known)."""
    texts = []
    is_known = bool(logs)
    for log in logs:
        count = log.planned
        size = log.batch_size if log.batches and log.batch_size is not None else 1
        done = log.succeeded if phase == LOAD else log.counted if log.has_all_types else log.overall_operations
        # Older clients divide the operations evenly among the threads, and skip the remainder.
        default = _GO_THREADS if log.is_go else 1
        rest = (default if log.threads is None else log.threads) - 1
        if count is None or done is None:
            is_known = False
        elif log.has_results and (missing := count - done * size) > rest:
            noun = "records" if phase == LOAD else "operations"
            why = "" if log.is_go or outcomes.failed_calls(log.operations) >= missing else ": threads gave up"
            texts.append(f"{log.name}: {missing:,} of {count:,} {noun} are missing{why}")
    return texts, not texts if is_known else None


def _with_other_failures(result: list[Row], run: Run) -> list[Row]:
    """Adds the largest number of errors of a type such as VERIFY or COMMIT to the errors in the row OVERALL."""
    failed = [failures(operation.returns) for name, operation in run.by_operation.items() if not is_call(name)]
    most = max(failed, default=0)
    return [
        replace(row, errors=(row.errors or 0) + most) if most and row.operation == OVERALL else row for row in result
    ]


def _cut(log: ClientLog) -> str | None:
    if log.has_results:
        return log.cut
    if log.status_operations is None:
        done = "only a command line"
    else:
        done = f"{log.status_operations:,} operations after {log.elapsed_seconds} s"
    why = log.cut or (log.exception and f"first error: {log.exception}")
    return f"no results, {done}; {why}" if why else f"no results, {done}"


def _without_copies(logs: Sequence[ClientLog]) -> list[ClientLog]:
    """Removes duplicate logs: some measurement types print status lines to both standard output and standard error."""
    seen: dict[object, ClientLog] = {}
    for log in logs:
        key = (log.last_status, log.command) if log.last_status else id(log)
        seen.setdefault(key, log)
    return list(seen.values())


def _pair(results: Sequence[ClientLog], without_results: Sequence[ClientLog]) -> list[ClientLog]:
    """Joins each log that has results with the log of the client's standard error, which contains the command line.

    In a pair, the last status line and the results state the same number of operations. Other logs are joined in the
    order of their names. Returns the remaining logs without results.
    """
    free = [log for log in results if log.command is None]
    unpaired = []
    for status_log in without_results:
        match = next((log for log in free if log.overall_operations == status_log.status_operations), None)
        if match is None:
            unpaired.append(status_log)
        else:
            free.remove(match)
            _join(match, status_log)
    for log, status_log in zip(free, unpaired, strict=False):
        _join(log, status_log)
    return unpaired[len(free) :]


def _join(results: ClientLog, status_log: ClientLog) -> None:
    results.command, results.began, results.ended = status_log.command, status_log.began, status_log.ended
    results.progress = status_log.progress
    results.doubts += status_log.doubts


def _from_status_lines(logs: Sequence[ClientLog]) -> tuple[list[int], list[Slot]]:
    """Returns the operations in each second, spread evenly between status lines, and time slots without latencies.

    Both are empty unless all clients printed status lines, because a sum without one client would be wrong.
    """
    points_of_logs = [[(0, 0), *(point for point in log.progress.points if point[0] > 0)] for log in logs]
    if not points_of_logs or any(len(points) < 3 for points in points_of_logs):
        return [], []
    # Shift the times of clients that began later, if all status lines contain the time of day.
    began = [log.began for log in logs]
    starts = [start for start in began if start is not None]
    later = [round(start - min(starts)) for start in starts] if len(starts) == len(began) else [0] * len(points_of_logs)
    whole = max(points[-1][0] + shift for points, shift in zip(points_of_logs, later, strict=True))
    if whole > _LONGEST_SECONDS:
        return [], []
    counts = [0] * whole
    for points, shift in zip(points_of_logs, later, strict=True):
        for (begin, before), (end, after) in pairwise(points):
            for part, count in enumerate(divided(max(0, after - before), end - begin)):
                counts[begin + shift + part] += count
    usual = max(median(after[0] - before[0] for before, after in pairwise(points)) for points in points_of_logs)
    width = max(1, round(usual), -(-whole // MOST_SLOTS))
    slots = [Slot(second, width, sum(counts[second : second + width]), {}, {}) for second in range(0, whole, width)]
    return counts, slots


def _plain(operation: str) -> str:
    """Returns the type of call, such as READ for both Intended-READ and READ-FAILED."""
    return operation.removeprefix(INTENDED).partition("-")[0]


def _is_empty(path: Path) -> bool:
    try:
        return path.stat().st_size == 0
    except OSError:
        return False  # the code that reads the file reports the reason


def _apart(logs: Sequence[ClientLog]) -> list[str]:
    """Finds clients that ran together for less than half of the time: the sum of their rates was never reached."""
    timed = [(log.began, log.ended, log.name) for log in logs if log.began is not None and log.ended is not None]
    if len(timed) < 2:
        return []
    first = min(timed, key=lambda entry: entry[1])
    last = max(timed)
    overlap, longest = first[1] - last[0], max(ended - began for began, ended, _ in timed)
    if first is last or overlap + _APART_SECONDS >= longest / _MOST_LONGER:
        return []
    after = f"only {overlap:.0f} s after" if overlap > 0 else "before"
    end = f"{first[2]} ended at {instant(first[1])}"
    return [f"{end}, {after} {last[2]} began at {instant(last[0])}; use two folders, or --repeats"]


def _copies(logs: Sequence[ClientLog]) -> list[str]:
    """Finds logs with the same run time and latencies, which would count twice. No two runs have the same means."""
    results = [(log.runtime_ms, log.operations) for log in logs]
    return [
        f"{log.name} has the same results as {logs[first].name}: one is a copy"
        for position, log in enumerate(logs)
        if any(operation.mean_us for operation in log.operations.values())
        and (first := results.index(results[position])) < position
    ]


def _longer(logs: Sequence[ClientLog]) -> list[str]:
    """Finds clients that ran much longer than others, so that for most of the time not all clients ran."""
    timed = sorted((log.runtime_ms / 1000, log.name) for log in logs if log.runtime_ms)
    if not timed or timed[-1][0] <= _MOST_LONGER * timed[0][0]:
        return []
    (least, short), (most, long) = timed[0], timed[-1]
    return [f"{long} ran for {most:,.1f} s, {short} for {least:,.1f} s, but clients of one run end together"]


def _other_mix(logs: Sequence[tuple[str, ClientLog]]) -> list[str]:
    """Finds logs with different operation types, or with shares that differ by more than chance explains.

    :param logs: the logs, each with its name for messages
    """
    counts = []
    for name, log in logs:
        if log.has_all_types:
            by_outcome = outcomes.operations_by_outcome(log.operations)
            counts.append((name, {operation: sum(count.values()) for operation, count in by_outcome.items()}))
    differences = []
    for name, mix in counts[1:]:
        first, usual = counts[0]
        for operation in dict.fromkeys([*usual, *mix]):
            share, usual_share = (all_of.get(operation, 0) / sum(all_of.values()) for all_of in (mix, usual))
            chance = math.sqrt(1 / sum(mix.values()) + 1 / sum(usual.values())) / 2
            if is_call(operation) and abs(share - usual_share) > _SAME_SHARE + 5 * chance:
                shares = f"{name} has {share:.0%} {operation}, but {first} has {usual_share:.0%}"
                differences.append(f"{shares}: their mixes differ")
                break
    return differences


def _differences(logs: Sequence[ClientLog]) -> list[str]:
    """Finds settings that define the scenario but differ between logs."""
    scenarios = [(log.name, _scenario(log)) for log in logs if log.command is not None or log.properties]
    differences = []
    for name, scenario in scenarios[1:]:
        first, usual = scenarios[0]
        keys = [key for key in {**usual, **scenario} if usual.get(key) != scenario.get(key)]
        if keys:
            stated = ", ".join(f"{key} {scenario.get(key, 'not given')}" for key in keys)
            usual_stated = ", ".join(f"{key} {usual.get(key, 'not given')}" for key in keys)
            kind = "a different experiment" if "-db" in keys else "a different scenario"
            differences.append(f"{name} ran {kind} than {first}: {stated} instead of {usual_stated}")
    return differences


def _scenario(log: ClientLog) -> dict[str, str]:
    """Returns the options that define the scenario, except those that may differ between clients of one run."""
    if log.properties:
        return {key: value for key, value in log.properties.items() if key in _WORKLOAD}
    arguments = (log.command or "").split()
    options: dict[str, str] = {}
    for option, value in pairwise(arguments):
        key, equals, stated = value.partition("=")
        if option in ("-threads", "-target"):
            options[option] = value
        elif option in ("-db", "-P"):
            options[option] = " ".join(filter(None, [options.get(option), Path(value).name]))
        elif option == "-p" and equals and key in _WORKLOAD:
            options[key] = stated
    return options


def _of_client(log: ClientLog, records_each: int | None) -> Run:
    """Returns the totals of one client.

    :param records_each: number of records per operation if the log does not state it; None if the user did not state it
    """
    seconds = None if log.runtime_ms is None else log.runtime_ms / 1000
    if not log.has_results:
        return Run(seconds, log.status_operations, log.status_records, by_operation=log.intervals)
    records, succeeded = log.overall_records, log.succeeded
    per_call = 1 if records is not None else records_each or (log.batch_size if log.batches else 1)
    by_operation = outcomes.with_codes(log.operations, per_call, lists_failures=log.is_go)
    is_stated = log.has_all_types and _tell(by_operation, records_each)
    if records is None and per_call and succeeded is not None and is_stated:
        records = per_call * max(0, succeeded - outcomes.not_found_calls(log.operations))
    return Run(seconds, succeeded, records, by_operation=by_operation)


def _tell(by_operation: Mapping[str, Operation], records_each: int | None) -> bool:
    """Returns whether return codes give the number of records; a SCAN's records per operation must also be known."""
    types = {name: operation for name, operation in by_operation.items() if is_call(name) and "-" not in name}
    return all(operation.returns for operation in types.values()) and (bool(records_each) or "SCAN" not in types)


def _conditions(logs: Sequence[ClientLog], *, repeats: bool) -> Conditions:
    threads = {log.threads for log in logs}
    targets = [target for log in logs if (target := whole_setting(log.target))]
    return Conditions(
        clients=1 if repeats else len(logs) or None,
        threads=threads.pop() if len(threads) == 1 else None,
        target=fmean(targets) if targets else None,
    )


def _notes(phase: str, logs: Sequence[ClientLog], run: Run, result: Sequence[Row], *, repeats: bool) -> list[str]:
    notes = []
    which = "load: " if phase == "load" else ""
    seconds = sorted(log.runtime_ms / 1000 for log in logs if log.runtime_ms)
    began = sorted(log.began for log in logs if log.began is not None)
    if seconds and seconds[-1] > 1.1 * seconds[0] and not repeats:
        notes.append(f"{which}clients ran for {seconds[0]:,.1f} to {seconds[-1]:,.1f} s; rates use the longest")
    if seconds and began and began[-1] - began[0] > 0.1 * seconds[-1] + _APART_SECONDS and not repeats:
        apart = f"clients began up to {began[-1] - began[0]:,.0f} s apart"
        notes.append(f"{which}{apart}: the sum of their rates was reached only while all ran")
    if len(logs) > 1 and any(row.latency_source == "log" and row.phase == phase for row in result):
        notes.append(f"{which}percentiles of {len(logs)} clients {_UNMERGED}; use hdrhistogram.fileoutput=true")
    if any(operation.whole_milliseconds for operation in run.by_operation.values()):
        notes.append(f"{which}percentiles are the lower ends of 1 ms buckets (measurementtype=histogram)")
    if buffered := sum(operation.returns.get("BATCHED_OK", 0) for operation in run.by_operation.values()):
        meaning = "success reported before the server had answered"
        notes.append(f"{which}{buffered:,} records returned BATCHED_OK: {meaning}")
    if names := list(dict.fromkeys(name for log in logs for name in outcomes.mixed(log.operations))):
        notes.append(f"{which}{MIXED}: {', '.join(names)} (YCSB before 0.6)")
    return notes
