"""Writes the notes that a reader needs, on the experiment as a whole and on each valid trial."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dohyo.evidence.events import COLLAPSE_SECONDS
from dohyo.evidence.host_metrics import busy
from dohyo.figures import scaled
from dohyo.figures import size as size_of
from dohyo.scenario.phases import EQUAL, MAX, RUN
from dohyo.summary.comparison import target_of
from dohyo.summary.equality import differing, is_exceeded, stated
from dohyo.summary.phase import Phase
from dohyo.summary.results import Trial
from dohyo.summary.trial_folder import TrialFolder

# Size below which data fits into the caches of every database host, so that a run does not measure disks.
SMALL_DATA_BYTES = 1_000_000_000

# Throughput is not steady if the first and the last third of a window differ by at least this factor.
UNSTEADY = 1.2


def notes_of(compared: Sequence[Trial], trials: Sequence[Trial]) -> list[str]:
    """Returns notes on the experiment as a whole."""
    steady = [*_collapsed(compared), *_unsteady(compared, trials), *_on_levels(compared), *_cold(trials)]
    return [*_stricter(compared), *steady, *_without_equal(trials), *_of_a_part(trials)]


def _stricter(trials: Sequence[Trial]) -> list[str]:
    """Returns notes on systems that provide more than was requested, if other systems do not."""
    notes = [
        f"stricter {name.replace('_', ' ')}: {trial.system} {stated(trial, name)}, requested {trial.exceeded[name]};"
        " unavoidable, favours the others"
        for name, group in differing(trials)
        if is_exceeded(name, group)
        for trial in group
        if name in trial.exceeded
    ]
    return list(dict.fromkeys(notes))


def _of_a_part(trials: Sequence[Trial]) -> Iterator[str]:
    scales = {(trial.conditions.scale, trial.conditions.full_recordcount) for trial in trials}
    for scale, full in sorted(pair for pair in scales if None not in pair):
        yield f"{scaled(scale, full)}: not the full scenario"
    sizes = {(trial.conditions.recordcount, trial.conditions.record_bytes) for trial in trials}
    for count, record_bytes in sorted((r, b) for r, b in sizes if r is not None and b is not None):
        size = count * record_bytes
        if size < SMALL_DATA_BYTES:
            data = f"{count:,} records \N{MULTIPLICATION SIGN} {record_bytes:,} B = {size_of(size)}"
            yield f"small data: {data}, which fits in every cache; not a sizing result"


def _collapsed(trials: Sequence[Trial]) -> Iterator[str]:
    """Yields a note on systems whose throughput was low for a long time. That is a result, so these seconds count."""
    texts = [
        f"{trial.place} in {trial.collapses[0]}" + (f" and {more} more" if (more := len(trial.collapses) - 1) else "")
        for trial in trials
        if trial.collapses
    ]
    if texts:
        yield (
            f"collapsed: {', '.join(texts)}; below half the mean for {COLLAPSE_SECONDS} s or more; these seconds count"
        )


def _unsteady(trials: Sequence[Trial], rounds: Sequence[Trial]) -> Iterator[str]:
    """Yields a note on systems whose throughput changed between the first and the last third of the window.

    Their mean depends on the window. Phases with a target rate are left out. Only the worst of several rounds is named.
    """

    def in_round(trial: Trial, phase: str) -> str:
        return next(
            f" in round {round_.round}" if round_.round else ""
            for round_ in rounds
            if (round_.system, round_.point, round_.trends.get(phase))
            == (trial.system, trial.point, trial.trends[phase])
        )

    texts = [
        f"{trial.place}{'' if phase == RUN else f' [{phase}]'}"
        + f" {'rose' if trend > 1 else 'fell'} by {abs(trend - 1) * 100:.0f} %{in_round(trial, phase)}"
        for trial in trials
        for phase, trend in trial.trends.items()
        if target_of(trial, phase) is None and not 1 / UNSTEADY < trend < UNSTEADY
    ]
    if texts:
        yield (
            f"not steady: {', '.join(texts)}, first to last third of the window; set a longer warmuptime or duration"
        )


def _on_levels(trials: Sequence[Trial]) -> Iterator[str]:
    """Yields a note on systems whose throughput changed its level, so that its mean matches no level."""
    texts = [f"{trial.place} in {'; '.join(trial.level_changes)}" for trial in trials if trial.level_changes]
    if texts:
        yield f"changes of level: {'; '.join(texts)}; the events say what else changed at the same time"


def _cold(trials: Sequence[Trial]) -> Iterator[str]:
    """Yields a note on systems that were still not steady when the longest allowed warm-up ended."""
    runs: dict[str, list[bool]] = {}
    longest = 0.0
    for trial in trials:
        runs.setdefault(trial.place, []).extend(run in trial.cold for run in trial.warmups)
        longest = max([longest, *(trial.warmups[run] for run in trial.cold)])
    texts = [f"{name} in {sum(cold)} of {len(cold)} runs" for name, cold in runs.items() if any(cold)]
    if texts:
        yield f"not steady when the warm-up ended: {', '.join(texts)}, after {longest:.0f} s; set a longer warmuptime"


def _without_equal(trials: Sequence[Trial]) -> Iterator[str]:
    """Yields a note if the phase `equal` was requested but never measured."""
    asked_for = any("equal_share" in trial.asked_workload.get("", {}) for trial in trials)
    if asked_for and not any(row.phase == EQUAL for trial in trials for row in trial.rows):
        yield f"no latencies at an equal rate: no valid run of {EQUAL}, whose rate is from {MAX} in round 1"


# ---- notes on a single trial ----------------------------------------------------------------------------------------


def of_trial(trial: TrialFolder) -> Iterator[str]:
    """Yields the notes on a trial, in the order of the tables."""
    yield from trial.read_back.notes
    yield from _of_the_load(trial)
    yield from _of_runs(trial)
    yield from trial.servers.notes()
    # Latencies do not include operations that were not sent.
    for kind, count in _sums(trial.counted, "missed_operations"):
        yield f"{kind}: operations that were due in the window but were not sent in it: {count:,}"
    servers = {host for run in trial.counted for host, node in run.conducted.nodes.items() if node.cpu_seconds}
    clients = {(run.kind, client.host) for run in trial.counted for client in run.clients}
    yield from busy(trial.metrics.all(), servers, clients)
    yield from trial.metrics.notes()
    yield from trial.canary.problems if trial.canary else ()


def _of_the_load(trial: TrialFolder) -> Iterator[str]:
    """Yields notes on a load that several trials share, on how the servers settled, and on repeated inserts."""
    if trial.shared_load.load:
        yield (
            f"shared load of {trial.shared_load.load}: servers started from copies, so intervals omit load differences"
        )
    if trial.shared_load.note:
        yield trial.shared_load.note
    yield from trial.settled()
    # No other figure shows inserts that failed and were sent again.
    reports = [client.report for phase in trial.load for client in phase.clients]
    if failures := sum(report.retried_records or 0 for report in reports):
        errors = (report.first_error for report in reports if report.retried_records)
        first = next(filter(None, errors), "not known")
        yield f"load: inserts that failed and were sent again: {failures:,}; first error: {first}"


def _of_runs(trial: TrialFolder) -> Iterator[str]:
    """Yields notes on runs and requests that were repeated, and on servers that ended under faults."""
    for run in trial.runs:
        if run.set_aside is not None:
            yield f"{run.name} does not count, and was measured again: {run.set_aside.removeprefix(f'{run.name}: ')}"
    # The statuses of operations do not show how often bindings and drivers sent a request again.
    for kind, count in _sums([*trial.aside, *trial.counted], "retried_requests"):
        yield f"{kind}: requests that failed and were sent again: {count:,}"
    # Without faults, a server that ends makes the run invalid.
    for phase in trial.counted:
        if phase.faults is not None:
            for node in phase.conducted.nodes.values():
                if node.state == "ended":
                    yield f"{phase.name}, under faults: {node.reason}"


def _sums(phases: Sequence[Phase], name: str) -> list[tuple[str, int]]:
    """Returns the sum of a field of client.json for each phase in which the sum is not 0."""
    sums: dict[str, int] = {}
    for phase in phases:
        for client in phase.clients:
            sums[phase.kind] = sums.get(phase.kind, 0) + (getattr(client.report, name) or 0)
    return [(kind, count) for kind, count in sums.items() if count]
