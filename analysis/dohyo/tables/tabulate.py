"""`dohyo tabulate FOLDER…`: the table for logs of any YCSB client, measured elsewhere.

Which logs belong together:

- Each folder is one line of comparison, named after it; each of its subfolders is another one. Other programs' files
  are passed over.
- Several client logs in one folder are clients of the same run: counts add up, the rate is over the longest run time.
- Logs with only INSERT (or started with `-load`) are the load, the others the run. Runs appended to one file are
  told apart: `name #2`.
- Logs with only status lines are the other output (stderr) of a client whose results are in the folder; when there are
  more of them than results, a client broke off and the run is marked incomplete.
- `*.hdr` logs in the folder give the percentiles, when they hold as many operations as the result lines count.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Literal

from rich.console import Console

from dohyo.bad_input import BadInputError
from dohyo.evidence.hdr_log import Latencies, merge_log
from dohyo.evidence.rows import Phase, Row, Run, merge, rows
from dohyo.evidence.text_file import Warn, is_binary
from dohyo.evidence.ycsb_log import ClientLog, Operation, read_log
from dohyo.operations import OVERALL, READ_MODIFY_WRITE, is_call
from dohyo.summary.results import Conditions, Summary, Trial
from dohyo.summary.summary import unequal
from dohyo.tables import table

Format = Literal["table", "md", "csv", "json"]

# Status lines tell whole seconds, and hosts' clocks differ.
_APART_SECONDS = 2.0
# Properties of YCSB's workload that are the same for all clients of a run.
_SAME = re.compile(
    r"workload|recordcount|table|field(count|length|lengthdistribution)|(read|write)allfields|requestdistribution"
    r"|(read|update|insert|scan|delete|readmodifywrite)proportion|(min|max)scanlength|dotransactions|batchsize"
)


def tabulate(folders: Sequence[Path], fmt: Format = "table") -> int:
    """Prints what the folders' logs hold to stdout, and a warning per malformed line or file to stderr.

    Returns the exit code: 0, or 1 when there is nothing of YCSB in any folder, or anything of it is missing, broken or
    cannot be true. What is whole is shown all the same.
    Raises BadInputError for a folder that does not exist.
    """
    for folder in folders:
        if not folder.exists():
            raise BadInputError(f"there is no folder {folder}")
    summary = collect(folders)
    for warning in summary.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if not summary.trials:
        print(f"nothing of YCSB in {', '.join(map(str, folders))}", file=sys.stderr)
        return 1
    if fmt == "table":
        table.render(summary, Console())
    else:
        write = {"md": lambda: table.markdown(summary), "csv": summary.csv, "json": summary.json}[fmt]
        sys.stdout.write(write())
    return 1 if summary.warnings or any(trial.status != "ok" for trial in summary.trials) else 0


def collect(folders: Sequence[Path]) -> Summary:
    """Reads all logs below the folders (a single file counts as a folder with one log)."""
    warnings: list[str] = []
    trials: list[Trial] = []
    for top in folders:
        for folder, files in _walk(top, warnings.append):
            name = top.resolve().name if folder == top else f"{top.resolve().name}/{folder.relative_to(top)}"
            trials += _Folder(name, folder, files, warnings.append).trials()
    name = " ".join(folder.resolve().name for folder in folders)
    # Logs from elsewhere rarely tell the number of threads; that says nothing about their being equal.
    different = {key: values for key, values in unequal(trials).items() if "unknown" not in values.values()}
    return Summary(name=name, trials=trials, unequal=different, warnings=warnings)


def _walk(top: Path, warn: Warn) -> Iterator[tuple[Path, list[Path]]]:
    """The folders, each with its files; names that begin with a dot are passed over."""
    if not top.is_dir():
        yield top, [top]
        return

    def closed(error: OSError) -> None:
        warn(f"{error.filename}: cannot be read: {error.strerror or error}")

    found = []
    for folder, below, files in os.walk(top, onerror=closed):
        below[:] = [name for name in below if not name.startswith(".")]
        paths = [Path(folder, name) for name in files if not name.startswith(".")]
        found.append((Path(folder), sorted(path for path in paths if path.is_file())))
    yield from sorted(found)


@dataclass
class _Group:
    """The clients of one run."""

    load: list[ClientLog] = field(default_factory=list)
    run: list[ClientLog] = field(default_factory=list)

    def of(self, phase: Phase) -> list[ClientLog]:
        return self.load if phase == "load" else self.run


class _Folder:
    """One folder's logs and what they come to."""

    def __init__(self, name: str, folder: Path, files: Sequence[Path], warn: Warn) -> None:
        self._name = name
        self._folder = folder
        self._warn = warn
        self._missing: list[str] = []  # clients without results
        self._logs: list[ClientLog] = []
        self._latencies: dict[str, Latencies] = {}
        for path in files:
            is_histograms = path.name.removesuffix(".gz").endswith(".hdr")
            if _is_empty(path) and (is_histograms or path.suffix != ".err"):
                warn(f"{path}: the file is empty")
            elif is_histograms:
                merge_log(path, self._latencies, warn)
            elif not is_binary(path):
                self._logs += read_log(path, warn)

    def trials(self) -> list[Trial]:
        groups = self._groups()
        return [
            self._trial(group, self._name if number == 1 else f"{self._name} #{number}", only=len(groups) == 1)
            for number, group in enumerate(groups, 1)
        ]

    def _groups(self) -> list[_Group]:
        with_results = [log for log in self._logs if log.has_results]
        others = _without_copies([log for log in self._logs if not log.has_results])
        broken_off = _pair(with_results, others)
        if with_results:
            for log in broken_off:
                self._missing.append(f"{log.path.name} has no results ({log.status_operations or 0:,} operations)")
        else:
            with_results = broken_off
        groups: list[_Group] = []
        seen: dict[tuple[Path, bool], int] = {}
        for log in with_results:
            position = seen.get((log.path, log.is_load), 0)
            seen[log.path, log.is_load] = position + 1
            if position == len(groups):
                groups.append(_Group())
            groups[position].of("load" if log.is_load else "run").append(log)
        if not groups and self._latencies:
            groups.append(_Group())  # nothing but histograms: they still tell counts and latencies
        return groups

    def _trial(self, group: _Group, name: str, only: bool) -> Trial:
        result: list[Row] = []
        notes: list[str] = []
        phases: tuple[Phase, ...] = ("run", "load")
        for phase in phases:
            logs = group.of(phase)
            if logs or (phase == "run" and only and not group.load):
                run = _run(logs)
                result += rows(phase, [run], self._usable(run, only and not (group.load and group.run)))
                notes += _notes(phase, logs, run, result)
        reasons = [f"{log.path.name}: {_cut(log)}" for log in [*group.run, *group.load] if _cut(log)] + self._missing
        if not group.run and not group.load:
            reasons.append("histogram logs without result lines")
        doubts = [
            *(doubt for phase in phases for log in group.of(phase) for doubt in log.doubts),
            *(doubt for phase in phases for doubt in [*_apart(group.of(phase)), *_differences(group.of(phase))]),
        ]
        for doubt in doubts:
            if not any(doubt in log.doubts for log in self._logs):  # those have been named where they were read
                self._warn(f"{self._folder}: {doubt}")
        return Trial(
            name=name,
            system=name,
            title=name,
            status="invalid" if doubts else "incomplete" if reasons else "ok",
            reason="; ".join([*doubts, *reasons]) or None,
            conditions=_conditions(group.run or group.load),
            notes=notes,
            rows=[row for row in result if row != Row(row.phase, OVERALL, 1)],
        )

    def _usable(self, run: Run, only: bool) -> dict[str, Latencies]:
        """The histograms that hold just this run's operations."""
        result = {}
        for name, latencies in self._latencies.items():
            stated = run.by_operation.get(name)
            if stated is None:
                if only:
                    result[name] = latencies
            elif stated.operations == latencies.count:
                result[name] = latencies
            elif run.seconds is None:  # no results: the histograms reach further than the last status line
                del run.by_operation[name]
                result[name] = latencies
            else:
                self._warn(
                    f"{self._folder}: the histogram logs of {name} hold {latencies.count:,} operations, the result "
                    f"lines {stated.operations:,}: they are not used"
                )
        return result


def _cut(log: ClientLog) -> str | None:
    if log.has_results:
        return log.cut
    if log.status_operations is None:
        return "no results, nothing but a command line"
    return f"no results, {log.status_operations:,} operations after {log.elapsed_seconds} s"


def _without_copies(logs: Sequence[ClientLog]) -> list[ClientLog]:
    """Some measurement types print every status line on both outputs."""
    seen: dict[object, ClientLog] = {}
    for log in logs:
        key = (log.last_status, log.command) if log.last_status else id(log)
        seen.setdefault(key, log)
    return list(seen.values())


def _pair(results: Sequence[ClientLog], others: Sequence[ClientLog]) -> list[ClientLog]:
    """Gives every log with results its other output, which tells the command line; returns those left over.

    The last status line counts as many operations as the results do; what that does not decide, the order of names
    does.
    """
    free = [log for log in results if log.command is None]
    left = []
    for other in others:
        match = next((log for log in free if log.overall_operations == other.status_operations), None)
        if match is None:
            left.append(other)
        else:
            free.remove(match)
            _join(match, other)
    for log, other in zip(free, list(left), strict=False):
        _join(log, other)
        left.remove(other)
    return left


def _join(results: ClientLog, other: ClientLog) -> None:
    results.command, results.began, results.ended = other.command, other.began, other.ended
    results.doubts += other.doubts


def _is_empty(path: Path) -> bool:
    try:
        return path.stat().st_size == 0
    except OSError:
        return False  # reading it says why


def _apart(logs: Sequence[ClientLog]) -> list[str]:
    """Clients that had ended before others began: adding up their rates gives one that never was."""
    timed = [(log.began, log.ended, log.path.name) for log in logs if log.began is not None and log.ended is not None]
    if len(timed) < 2:
        return []
    first = min(timed, key=lambda each: each[1])
    last = max(timed)
    if last[0] - first[1] <= _APART_SECONDS:
        return []
    return [
        f"{first[2]} had ended at {_clock(first[1])}, before {last[2]} began at {_clock(last[0])}: clients that did "
        "not run at the same time have no common throughput; give each experiment a folder of its own"
    ]


def _clock(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"


def _differences(logs: Sequence[ClientLog]) -> list[str]:
    """What clients of one run were told, and what not all of them were told alike."""
    told = [(log.path.name, _scenario(log)) for log in logs if log.command is not None or log.properties]
    found = []
    for name, scenario in told[1:]:
        first, usual = told[0]
        keys = [key for key in {**usual, **scenario} if usual.get(key) != scenario.get(key)]
        if keys:
            here = ", ".join(f"{key} {scenario.get(key, 'not given')}" for key in keys)
            there = ", ".join(f"{key} {usual.get(key, 'not given')}" for key in keys)
            kind = "another experiment" if "-db" in keys else "another scenario"
            found.append(f"{name} is of {kind} than {first}: {here} instead of {there}")
    return found


def _scenario(log: ClientLog) -> dict[str, str]:
    """The options that say what is measured, not those that tell clients of one run apart."""
    if log.properties:
        return {key: value for key, value in log.properties.items() if _SAME.fullmatch(key)}
    words = (log.command or "").split()
    found: dict[str, str] = {}
    for option, value in pairwise(words):
        key, equals, stated = value.partition("=")
        if option in ("-db", "-P"):
            found[option] = " ".join(filter(None, [found.get(option), Path(value).name]))
        elif option == "-p" and equals and _SAME.fullmatch(key):
            found[key] = stated
    return found


def _run(logs: Sequence[ClientLog]) -> Run:
    run = Run()
    for log in logs:
        for name, operation in (log.operations if log.has_results else log.intervals).items():
            known = run.by_operation.get(name)
            run.by_operation[name] = operation if known is None else merge([known, operation])
    seconds = [log.runtime_ms / 1000 for log in logs if log.runtime_ms is not None]
    run.seconds = max(seconds) if seconds and len(seconds) == len(logs) else None
    operations = [log.overall_operations if log.has_results else log.status_operations for log in logs]
    if operations and None not in operations:
        run.operations = sum(count for count in operations if count is not None)
    records = [log.overall_records if log.has_results else log.status_records for log in logs]
    if records and None not in records:
        run.records = sum(count for count in records if count is not None)
    elif run.operations is not None and _one_record_each(run.by_operation):
        run.records = run.operations
    return run


def _one_record_each(by_operation: Mapping[str, Operation]) -> bool:
    """Whether operations and records are the same number: no scans, and nothing failed or was not found."""
    plain = {name: of for name, of in by_operation.items() if is_call(name) and name != READ_MODIFY_WRITE}
    return bool(plain) and all(
        not name.startswith("SCAN") and "-" not in name and of.returns.keys() <= {"OK", "0"} and of.returns
        for name, of in plain.items()
    )


def _conditions(logs: Sequence[ClientLog]) -> Conditions:
    threads = {log.threads for log in logs}
    value = threads.pop() if len(threads) == 1 else None
    return Conditions(clients=len(logs) or None, threads=int(value) if value and value.isdecimal() else None)


def _notes(phase: Phase, logs: Sequence[ClientLog], run: Run, result: Sequence[Row]) -> list[str]:
    notes = []
    which = "load: " if phase == "load" else ""
    seconds = sorted(log.runtime_ms / 1000 for log in logs if log.runtime_ms)
    if seconds and seconds[-1] > 1.1 * seconds[0]:
        notes.append(f"{which}clients ran for {seconds[0]:,.1f} to {seconds[-1]:,.1f} s; rates are over the longest")
    if len(logs) > 1 and any(row.latency_source == "log" and row.phase == phase for row in result):
        notes.append(
            f"{which}percentiles of {len(logs)} clients cannot be merged from text; with hdrhistogram.fileoutput=true "
            "YCSB writes logs that can"
        )
    if any(operation.whole_milliseconds for operation in run.by_operation.values()):
        notes.append(f"{which}percentiles are the lower ends of buckets of 1 ms (measurementtype=histogram)")
    buffered = sum(operation.returns.get("BATCHED_OK", 0) for operation in run.by_operation.values())
    if buffered:
        notes.append(
            f"{which}{buffered:,} records returned BATCHED_OK: success reported before the server had answered"
        )
    failed = any(name.endswith("-FAILED") for name in run.by_operation)
    if failed and any(log.stated_operations is None for log in logs):
        notes.append(f"{which}{OVERALL} includes failed operations, as the stock client counts")
    return notes
