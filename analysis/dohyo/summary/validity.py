"""Checks whether the numbers of a run may be shown. Each problem names the figure, its limit and the time.

CHECKS lists all checks in order, including those of the client and the conductor. `dohyo checks` writes the table in
docs/method.md#when-a-run-is-invalid from it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dohyo.evidence import accounting, fault_costs, row_count
from dohyo.evidence.client_folder import ClientFolder
from dohyo.evidence.events import when
from dohyo.evidence.host_metrics import SATURATED, Taken
from dohyo.evidence.records import ExperimentFacts, PlannedFacts, TrialState
from dohyo.evidence.result_lines import NOT_FOUND
from dohyo.evidence.servers import Window
from dohyo.figures import instant, point_name
from dohyo.scenario.phases import EQUAL, LOAD, RUN
from dohyo.summary.phase import LATE_MS, SAME_FOR_ALL, Phase
from dohyo.summary.trial_folder import TrialFolder

# Tolerance for durations: clients report whole seconds as requested, but result lines have milliseconds.
_SAME_SECONDS = 0.001

# Share of a host's processors that others may take, in percent, if the scenario does not set it. The second value
# applies to strict conditions.
_MOST_TAKEN, _MOST_TAKEN_STRICT = 25.0, 5.0
# Part of the limit that others must have used in a repeat that was set aside. It is below 1, because the trial set it
# aside before the last sample of its window was there.
_KNOWN_PART = 0.8


def run_problems(run: Phase) -> list[str]:
    """Returns the problems of a run in the order of the checks, first for each client, then for all clients."""
    of_clients = [
        f"{run.name} on {client.host}: {why}"
        for client in run.clients
        for check in CHECKS
        if check.of_client and (why := check.of_client(run, client))
    ]
    return of_clients + [f"{run.name}{why}" for check in CHECKS if check.of_run for why in check.of_run(run)]


def problems(trial: TrialFolder) -> list[str]:
    """Returns the reasons why the trial's numbers must not be shown, the most informative one first."""
    is_done = trial.state.status == "done"
    counted = [phase for phase in trial.counted if not phase.problems]
    return [
        *(why for check in CHECKS if check.of_evidence and is_done for why in check.of_evidence(trial)),
        *(why for phase in (*trial.phases, *trial.preconditionings) for why in phase.problems),
        *(why for run in counted for why in run_problems(run)),
        *(why for check in CHECKS if check.of_trial for why in check.of_trial(trial)),
    ]


def late(run: Phase, client: ClientFolder) -> str | None:
    """Finds a client that began too long before or after the agreed instant."""
    skew_ms = client.report.skew_ms or 0.0
    limit, side = (run.apart_ms, "before") if skew_ms < 0 else (run.apart_ms + run.spare_ms, "after")
    if abs(skew_ms) <= limit:
        return None
    return f"the client began {abs(skew_ms):,.0f} ms {side} the agreed instant; at most {limit:,.0f} ms is allowed"


def other_start(run: Phase, client: ClientFolder) -> str | None:
    """Finds a client whose evidence is from another run, because its agreed start differs from this run's."""
    # start_ms is a time on the clock of the client's host, agreed a time on the controller's clock.
    start_ms, agreed = client.report.agreed_start_ms, run.conducted.agreed
    offset_ms = run.conducted.offsets_ms().get(client.host)
    if start_ms is None or agreed is None or offset_ms is None:
        return None
    if abs(start_ms - agreed * 1000 - offset_ms) <= run.apart_ms:
        return None
    return f"the client was to begin at {instant((start_ms - offset_ms) / 1000)}, but its run at {instant(agreed)}"


def same_client(run: Phase) -> Iterator[str]:
    """Finds clients that report the same number, and clients that ran a different phase."""
    for number, count in Counter(client.number for client in run.clients if client.number).items():
        if count > 1:
            yield f": {count} clients have the clientnumber {number}: their evidence is from one client"
    phases = {client.report.phase for client in run.clients if client.report.phase}
    if wrong := phases - {LOAD if run.kind == LOAD else RUN}:
        yield f": a client ran a different phase: {', '.join(sorted(wrong))}"


def unsure_clock(run: Phase, client: ClientFolder) -> str | None:
    """Finds a host's clock whose uncertainty is larger than the allowed distance between clients' starts."""
    error_ms = run.conducted.clock_error_ms(client.host)
    if error_ms is None or error_ms <= run.apart_ms:
        return None
    return f"its clock is known to \N{PLUS-MINUS SIGN} {error_ms:,.0f} ms; at most {run.apart_ms:g} ms is allowed"


def other_window(run: Phase, client: ClientFolder) -> str | None:
    """Finds a client whose window did not begin with the window of the other clients and of the servers' figures."""
    warmup, agreed = client.report.warmup_seconds, run.agreed_warmup
    if warmup is None or agreed is None or abs(warmup - agreed) * 1000 <= run.apart_ms:
        return None
    return f"its window began {warmup:.1f} s after the agreed instant, but the run's {agreed:.1f} s after it"


def other_length(run: Phase, client: ClientFolder) -> str | None:
    """Finds a client that measured for a longer or shorter time than requested."""
    duration = None if run.kind == LOAD else run.settings.duration
    seconds = client.run.seconds
    if not duration or seconds is None or abs(seconds - duration) <= _SAME_SECONDS:
        return None
    return f"it measured {seconds:g} s, but trial.json requests {duration:g} s"


def saturated(run: Phase, client: ClientFolder) -> str | None:
    """Finds a client that used nearly all processors of its host, so that the client limited the figures."""
    cpu_seconds, seconds, cpus = client.run.client_cpu_seconds, client.run.seconds, run.cpus.get(client.host)
    if cpu_seconds is None or not seconds or not cpus or cpu_seconds / seconds / cpus <= SATURATED:
        return None
    return (
        f"the client was the bottleneck: it used {cpu_seconds / seconds / cpus:.0%} of {cpus} processors;"
        f" limit: {SATURATED:.0%}"
    )


def busiest(_: Phase, client: ClientFolder) -> str | None:
    """Finds a client with a thread that used nearly a whole processor, so that more processors would not help."""
    share = client.report.busiest_thread_share
    if share is None or share < SATURATED:
        return None
    return (
        f"the client's thread {client.report.busiest_thread or 'with an unknown name'} was the bottleneck:"
        f" {share:.0%} of a processor; limit: {SATURATED:.0%}"
    )


def lost_writes(run: Phase, client: ClientFolder) -> str | None:
    """Finds a client with lost, corrupt or never written records, or with records that were not read back."""
    account = client.report.accounting
    return accounting.losses(account) or None if account is not None and run.faults is None else None


def stale_reads(run: Phase, client: ClientFolder) -> str | None:
    """Finds stale reads that the servers' consistency should prevent."""
    account = client.report.accounting
    if account is None or not account.stale_reads or not run.strong or run.faults is not None:
        return None
    first = f"; first: {account.examples[0]}" if account.examples else ""
    reads = f"{account.stale_reads:,} of {account.reads:,} reads were stale"
    return f"{reads}, but the servers' consistency is strong{first}"


def other_target(run: Phase) -> Iterator[str]:
    """Finds target rates of clients that do not add up to the scenario's target rate."""
    together = sum(client.report.target or 0.0 for client in run.clients)
    target = run.settings.workload.target
    if target and not math.isclose(together, target, rel_tol=1e-3):
        yield f": the clients' target rates add up to {together:g} op/s instead of {target:g}"


def other_faults(run: Phase) -> Iterator[str]:
    """Finds requested faults that were not carried out, or not undone."""
    faults, seconds = run.faults, run.shortest
    if faults is not None:
        seconds = fault_costs.in_window(faults, seconds)
    yield from (f": {why}" for why in fault_costs.problems(run.settings.faults, faults, seconds))


def other_scenario(run: Phase) -> Iterator[str]:
    """Finds clients whose work differs from trial.json or, if trial.json does not state it, from most clients."""
    for key in SAME_FOR_ALL:
        values = {client.host: getattr(client.report, key) for client in run.clients}
        reported = {host: value for host, value in values.items() if value is not None}
        usual = max(reported.values(), key=list(reported.values()).count, default=None)
        usual = run.requested.get(key, usual)
        for client in run.clients:
            value = reported.get(client.host)
            # A client with few operations starts fewer threads.
            few = (
                key == "threads"
                and client.run.records is not None
                and client.run.records <= (value or 0) < (usual or 0)
            )
            if value is not None and value != usual and not few:
                yield f" on {client.host}: the client ran a different scenario: {key} {value} instead of {usual}"


def not_found(run: Phase) -> Iterator[str]:
    """Finds runs in which too many records did not exist when they were read or written."""
    returns, limit = run.run.returns, run.settings.not_found_limit
    count, records = returns.get(NOT_FOUND, 0), sum(returns.values())
    if count > limit * records:
        share = f"{count:,} of {records:,} records ({count / records:.2%})"
        moments = when(run.timeline.seconds.not_found(), run.warmup)
        yield f": {share} were not found, above maxnotfoundrate={limit:g}{moments and f'; {moments}'}"


def most_taken(stated: Any, *, strict: bool) -> float:
    """Returns the share of a host's processors that others may take in a run.

    :param stated: share such as "25%"; with any other text, the default applies
    """
    try:
        percent = float(str(stated).removesuffix("%"))
    except ValueError:
        percent = _MOST_TAKEN_STRICT if strict else _MOST_TAKEN
    return percent / 100


_TAKERS = ("other processes used", "the hypervisor took")


def taken(record: Taken, limit: float) -> list[str]:
    """Returns problems if others took too much of a host's processors; none in containers, where this is uncertain.

    :param limit: share of all processors of the host
    """
    shares = zip(_TAKERS, (record.other, record.stolen), strict=True)
    return [
        f"{who} {share:.0%} of the processors of {record.host}; at most {limit:.0%} is allowed (max.other.cpu)"
        for who, share in shares
        if record.alone and share is not None and share > limit
    ]


def may_pass(reason: str) -> bool:
    """Returns whether the cause of an invalid run may end by itself: others who use the processors."""
    return any(taker in reason for taker in _TAKERS)


def at_work(notes: Sequence[str]) -> list[str]:
    """Returns the notes that name other users and servers on a trial's hosts; Ansible's filter `others` writes them."""
    return [note for note in notes if re.search(" (has kept servers running|has been at work) there since ", note)]


def disturbed(trial: TrialFolder) -> Iterator[str]:
    """Finds runs in which other processes or the hypervisor took too much of a host's processors."""
    for phase in trial.counted:
        if not phase.problems:
            yield from disturbing(trial, phase, trial.shares)


def disturbing(trial: TrialFolder, phase: Phase, shares: Sequence[Taken], part: float = 1.0) -> Iterator[str]:
    """Finds hosts on which others used too much processor time in a run, and names the other users and servers.

    :param part: part of the limit above which the time is too much
    """
    settings = trial.settings
    limit = part * most_taken(settings.max_other_cpu, strict=settings.strict)
    work = at_work(trial.read_back.notes)
    for share in shares:
        # Skip hosts of attached servers: the measured servers themselves count as other processes there.
        is_measured = "attached" not in trial.stated or share.host in phase.conducted.clients
        if (share.phase, share.run) == (phase.kind, phase.number) and is_measured:
            yield from (f"{phase.name}: {'; '.join([why, *work])}" for why in taken(share, limit))


def set_aside_in_vain(trial: TrialFolder) -> Iterator[str]:
    """Finds repeats that were set aside although nothing disturbed them; perhaps only their rates were unwelcome."""
    runs = [run for run in trial.runs if run.set_aside is not None]
    if not runs:
        return
    metrics = trial.metrics_of(runs)
    disturbed = {run.number for run in runs if any(disturbing(trial, run, metrics.shares, _KNOWN_PART))}
    for run in runs:
        # The samples of observed hosts come last, and only they show that such a host shares the kernel of a client's.
        is_known = "attached" not in trial.stated or not {*run.conducted.clients} & {*metrics.untold}
        if run.number not in disturbed and is_known:
            yield f"{run.name}: was set aside, but nothing disturbed it"


def compacting(trial: TrialFolder) -> Iterator[str]:
    """Finds servers that still had pending compactions when the first run was about to begin."""
    busy = {host: count for host, count in trial.servers.pending_compactions(LOAD).items() if count}
    if busy and trial.settings.planned:
        hosts = ", ".join(f"{host} {count:,.0f}" for host, count in sorted(busy.items()))
        yield f"compactions were still pending after settling, before the first run: {hosts}; 0 are allowed"


def lost_before(trial: TrialFolder) -> Iterator[str]:
    """Finds lost or wrong records in discarded runs, because later runs do not see them."""
    for run in trial.measured:
        if run.discarded and run.faults is None:
            for client in run.clients:
                if client.report.accounting and (losses := accounting.losses(client.report.accounting)):
                    yield f"{run.name} on {client.host}: {losses}"


def stale_before(trial: TrialFolder) -> Iterator[str]:
    """Finds stale reads in repeats that were set aside, because other processes do not excuse them."""
    for run in trial.runs:
        if run.set_aside is not None:
            yield from (
                f"{run.name} on {client.host}: {why}" for client in run.clients if (why := stale_reads(run, client))
            )


def missing_runs(trial: TrialFolder) -> Iterator[str]:
    """Finds a load, a preconditioning, or repeats of a phase, without results."""
    settings = trial.settings
    if trial.state.status != "done":
        return
    if settings.load_is_measured and not any(phase.kind == LOAD for phase in trial.measured):
        yield "the load left no results"
    if settings.precondition.properties is not None and not trial.preconditionings:
        yield "the preconditioning left no results"
    repeats = settings.repeats
    for name in settings.planned:
        count = sum(run.kind == name and run.set_aside is None for run in trial.measured)
        if repeats is not None and count != repeats:
            which = "" if name == RUN else f"{name}: "
            yield f"{which}{count} of {repeats} repeats left results"


def other_rows(trial: TrialFolder) -> Iterator[str]:
    """Finds tables with too few or too many rows after the last run."""
    loaded, rows = trial.settings.properties.records, trial.counted_rows()
    if rows is None or loaded is None or any(phase.faults is not None for phase in trial.measured):
        return
    if why := row_count.problem(loaded, rows, trial.inserted()):
        yield why


def missing_evidence(trial: TrialFolder) -> Iterator[str]:
    """Finds evidence of a successful trial that is missing or was changed."""
    needed = [name for name in ("trial.json", "conditions.json") if not (trial.path / name).is_file()]
    by_another = trial.shared_load.load not in (None, trial.path.name)
    needed += [LOAD] if not by_another and not trial.load else []
    # Stock clients that were started by hand leave neither a manifest nor a clients.json.
    together = [phase for phase in trial.phases if len(phase.clients) > 1 and trial.state.manifest]
    yield from dict.fromkeys((
        *(f"{name}: is missing" for name in needed),
        *trial.changed,
        *trial.damaged,
        *(f"{phase.name}/clients.json: is missing or damaged" for phase in together if not phase.conducted.clients),
    ))  # fmt: skip


def of_another_trial(trial: TrialFolder) -> Iterator[str]:
    """Finds runs outside the trial's time, and a trial.json of another trial."""
    first, last = times(trial.state)
    for phase in trial.phases:
        agreed = phase.conducted.agreed
        if agreed is None:
            continue
        # The agreed instant and the times in state.json are all times on the controller's clock.
        end = agreed + phase.warmup + (phase.run.seconds or 0.0)
        if not first <= agreed <= end <= last:
            until = f" and ended at {instant(end)}" if first <= agreed <= last else ""
            yield f"{phase.name}: began at {instant(agreed)}{until}, but the trial lasted {lasted(first, last)}"
    if trial.settings.name not in (None, trial.path.name):
        yield f"trial.json: belongs to {trial.settings.name}"


def of_another_experiment(trial: TrialFolder, experiment: ExperimentFacts) -> Iterator[str]:
    """Finds a trial that the experiment did not plan, or planned differently."""
    name, settings = trial.path.name, trial.settings
    if experiment.plan and name not in experiment.plan:
        yield f"raw/{name} belongs to another experiment: experiment.json plans {', '.join(experiment.plan)}"
    # Check the target rate of the phase `equal`.
    fixed = experiment.equal_targets.get(point_name(settings.matrix_point))
    target = settings.phase(EQUAL).workload.target or 0.0
    if fixed and EQUAL in settings.planned and target != fixed:
        yield f"trial.json: {EQUAL} has the target {target:g} op/s, but experiment.json {fixed:g}"
    planned = next((candidate for candidate in experiment.trials if candidate.name == name), PlannedFacts())
    for key, stated, value in (("system", planned.system, settings.system), ("round", planned.round, settings.round)):
        if None not in (stated, value) and stated != value:
            yield f"trial.json: states {key} {value}, but experiment.json plans {key} {stated}"


def outside_the_experiment(trial: TrialFolder, experiment: ExperimentFacts) -> Iterator[str]:
    """Finds a trial outside the experiment's time. A resumed experiment's time begins with its first start."""
    # If a time is unknown, there is no contradiction.
    own_times, all_times = times(trial.state), times(experiment)
    early = math.isfinite(own_times[0]) and own_times[0] < all_times[0]
    late = math.isfinite(own_times[1]) and own_times[1] > all_times[1]
    if early or late:
        yield f"state.json: the trial lasted {lasted(*own_times)}, but the experiment lasted {lasted(*all_times)}"


def copied(trial: str, phases: Sequence[Phase], runs: dict[str, str]) -> str | None:
    """Returns a problem if histogram logs of the trial are copies of an earlier run's logs.

    :param runs: earlier runs by the fingerprint of their logs; the runs of this trial are added
    """
    problem = None
    for phase in phases:
        for client in phase.clients:
            path = f"raw/{trial}/{phase.name}/{client.host}"
            first = runs.setdefault(client.fingerprint, path) if client.fingerprint else path
            if first != path and problem is None:
                problem = f"{path}: its histogram logs contain the same intervals as those of {first}; one is a copy"
    return problem


def overlapping(trial: str, phases: Sequence[Phase], windows: dict[str, Window]) -> str | None:
    """Returns a problem if a run of the trial was measured at the same time as an earlier trial's run.

    :param windows: windows of earlier trials by run; those of this trial are added
    """
    new = {f"raw/{trial}/{phase.name}": window for phase in phases for window in phase.window}
    problem = next(
        (
            f"{run}: was measured at the same time as {other}"
            for run, window in new.items()
            for other, earlier in windows.items()
            if window.begin < earlier.end and earlier.begin < window.end
        ),
        None,
    )
    windows |= new
    return problem


def times(record: TrialState | ExperimentFacts) -> tuple[float, float]:
    """Returns the beginning and the end in seconds since 1970; minus and plus infinity if they are unknown."""

    def seconds(text: str | None, unknown: float) -> float:
        try:
            return datetime.fromisoformat(text or "").timestamp()
        except (ValueError, OverflowError):
            return unknown

    # Add a second to the end, because times are truncated to whole seconds.
    return seconds(record.started, -math.inf), seconds(record.finished, math.inf) + 1


def lasted(first: float, last: float) -> str:
    """Returns the period between two results of `times` as text."""
    began, ended = (instant(second) if math.isfinite(second) else "an unknown time" for second in (first, last - 1))
    return f"from {began} to {ended}"


@dataclass(frozen=True)
class Check:
    """One row of the table in docs/method.md.

    :ivar problem: event that makes a run invalid
    :ivar limit: limit beyond which the event makes a run invalid
    :ivar key: property that sets the limit
    :ivar looks: the parts of Dohyo that perform the check
    :ivar of_evidence: function that yields problems of the evidence of a successful trial
    :ivar of_client: function that returns a problem of a client in a run, or None
    :ivar of_run: function that yields problems of all clients of a run together, to be shown after the run's name
    :ivar of_trial: function that yields problems of a trial as a whole
    """

    problem: str
    limit: str = "none"
    key: str = ""
    looks: str = "summary"
    of_client: Callable[[Phase, ClientFolder], str | None] | None = None
    of_run: Callable[[Phase], Iterator[str]] | None = None
    of_evidence: Callable[[TrialFolder], Iterator[str]] | None = None
    of_trial: Callable[[TrialFolder], Iterator[str]] | None = None


_APART = f"{LATE_MS:.0f} ms, or `client_skew_limit_ms` if that is larger"
# Entries without a function describe checks by the client, by the conductor, or by the code that reads the evidence.
# `summary` compares a trial with its experiment itself.
CHECKS = (
    Check("a client is missing, died, lost a thread, did not become ready, or hung; a host was lost",
          looks="client, conducting"),
    Check("no operation succeeded in the window, or a load inserted fewer records than it was given", looks="client"),
    Check("a server ended; *the system failed*", looks="conducting"),
    Check("several clients began at different times (*skew*)", "10 ms", key="client_skew_limit_ms", looks="conducting"),
    Check("several clients could not agree on a start, because the clock of a host is not known precisely enough",
          "10 ms", key="client_skew_limit_ms", looks="conducting"),
    Check("the clock of a host was set or slewed during the run, except after a power fault",
          "0.1 s and 0.05 % of the run's time", looks="conducting"),
    Check("no operation succeeded for some time, in the warm-up or the window; *the system failed*",
          "60 s; with a target rate, the time in which ten operations of a client are due (thirty with"
          " `arrival=poisson`), if that is longer", key="stalltime", looks="client"),
    Check("too many records failed; *the system failed*", "0.1 %; 0 for a load", key="maxerrorrate", looks="client"),
    Check("evidence of another run: a client's agreed start differs from that of its run, two clients have the same"
          " `clientnumber`, or a client ran a different phase",
          f"{_APART}; none", of_client=other_start, of_run=same_client),
    Check("the clock of a client's host is not known precisely enough to tell when it began", _APART,
          of_client=unsure_clock),
    Check("one of several clients began late: its first operation was after the agreed instant", _APART,
          of_client=late),
    Check("a single client began late, after its window had begun",
          "the same, counted from the end of the warm-up; 1 s more if the window begins with its first operation: a"
          " load, or a run without `duration`"),
    Check("a client's window differs from the agreed one, or from that of the other clients: its warm-up was"
          " longer or shorter", _APART, of_client=other_window),
    Check("a client did not measure for the time that `trial.json` requests", "0", of_client=other_length),
    Check("a client is [saturated](#what-the-hosts-did): its process used nearly all of its host's processors"
          " in the measured window, so that the client limits the figures", f"{100 * SATURATED:.0f} % of them",
          of_client=saturated),
    Check("one thread of a client used nearly a whole processor in the measured window: an event loop of the"
          " driver, or a thread that sends the operations", f"{100 * SATURATED:.0f} % of one", of_client=busiest),
    Check("the clients' target rates do not add up to the scenario's target rate", "0.1 %", of_run=other_target),
    Check("a client did not run the scenario in `trial.json`, or ran a different one from most clients: its threads,"
          " requests in flight, batch size, retries, binding or other values in `client.json` differ",
          of_run=other_scenario),
    Check("records were not found", "0.1 %", key="maxnotfoundrate", of_run=not_found),
    Check("acknowledged writes were lost, or records were missing, corrupt, unreadable or never written when they"
          " were [read back](faults.md), with `verify=acknowledged`", of_client=lost_writes, of_trial=lost_before),
    Check("reads were stale although the servers' consistency is strong, with `verify=acknowledged`",
          of_client=stale_reads, of_trial=stale_before),
    Check("a [fault](faults.md#what-is-measured-under-a-fault) was not carried out in the window, or was not undone",
          of_run=other_faults),
    Check("[other processes](#other-processes), or the hypervisor, used the processors of a host of the trial",
          f"{_MOST_TAKEN:.0f} % of them; {_MOST_TAKEN_STRICT:.0f} % with strict conditions",
          key="max.other.cpu", of_trial=disturbed),
    Check("a repeat was set aside although others left enough of the processors", "80 % of that limit",
          of_trial=set_aside_in_vain),
    Check("compactions pending after settling, before the first run", "0", of_trial=compacting),
    Check("the load, the preconditioning, or a repeat of a phase, left no results", of_trial=missing_runs),
    Check("a trial is not in the plan of `experiment.json`, or has another system or round there"),
    Check("a valid trial was not within the experiment's time"),
    Check("a client's histogram logs have the same intervals as those of another run in the experiment: one is a copy",
          "logs of 100 operations or more"),
    Check("a run was measured at the same time as a run of another trial"),
    Check("evidence differs from the trial's `manifest` or cannot be read, a value in `trial.json` or"
          " `client.json` is of the wrong type, or a run with several clients has no `clients.json`",
          of_evidence=missing_evidence),
    Check("`trial.json` belongs to another trial, or a run was not within the trial's time",
          of_evidence=of_another_trial),
    Check("attempted ≠ succeeded + failed; result lines, `client.json` and histograms differ in their counts"
          " or seconds; or one of the histogram logs is missing", "0"),
    Check("the histogram logs end before the measured window, or contain an operation that began after it: an interval"
          " began after the window's end, by more than its shortest latency",
          "1 s, an interval of the logs, and 0.1 % of the window; in a window that ends with the last answer, the first"
          " interval if that is longer"),
    Check("the longest latency of a histogram log differs from that of the result lines", "0.1 % and 1 µs"),
    Check("a histogram log is cut or damaged, or its unit is unknown, or a clock jumped in it: back by more than 1"
          " s, or ahead by more than 10 minutes"),
    Check("there are too few or too many rows after the load or the runs", "0, except for inserts without an answer",
          looks="settling, summary", of_trial=other_rows),
)  # fmt: skip


def table() -> str:
    """Returns the table of all checks in docs/method.md."""
    rows = [(check.problem, check.limit, check.key and f"`{check.key}`", check.looks) for check in CHECKS]
    lines = [" | ".join(row).replace("|  |", "| |") for row in rows]
    return "| what | limit | set by | checked by |\n|---|---|---|---|\n" + "".join(f"| {line} |\n" for line in lines)
