"""Why the numbers of a run must not be shown: each sentence names the figure, its limit, and where in time it was.

CHECKS has all of them in order, with those of the client and of what conducts the clients. The table in
docs/method.md#when-a-run-is-invalid is written from it, by `dohyo checks`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dohyo.evidence import accounting, under_fault
from dohyo.evidence.client_folder import ClientFolder
from dohyo.evidence.conducted import Conducted
from dohyo.evidence.host_metrics import SATURATED, Taken
from dohyo.evidence.records import Faults
from dohyo.evidence.result_lines import NOT_FOUND
from dohyo.evidence.rows import LOAD
from dohyo.figures import instant

# A client that began later than this after the agreed instant, in ms, did not load the system together with the others;
# one without others was missing in its own window. How far apart they may begin has a limit of its own
# (client_skew_limit_ms), which may have been raised.
LATE_MS = 50.0

# Clients report the very duration that they were given, in whole seconds; result lines have milliseconds.
_SAME_SECONDS = 0.001

# The share of a host's processors that somebody else may take, in percent, unless the scenario sets it; and where
# conditions are strict.
_MOST_TAKEN, _MOST_TAKEN_STRICT = 25.0, 5.0

# Fields of client.json about the work, equal for all clients of a run. A target rate may be divided unequally.
_SAME_FOR_ALL = (
    "binding", "threads", "batchsize", "inflight", "tablecount", "readbeforewrite", "retries", "arrival", "loop",
)  # fmt: skip


@dataclass(frozen=True)
class RunFacts:
    """A run that counts, its clients, and what the scenario allows.

    :ivar loads: it is the load
    :ivar warmup: seconds from the agreed instant to its window
    :ivar agreed_warmup: the same as it was agreed between the clients; None: not known
    :ivar spare_ms: how much later than the others a client may begin without changing a figure: what a client that is
        alone leaves out of its warm-up
    :ivar target: of all clients, in operations/s
    :ivar duration: seconds of the window; None or 0: something else ends it, or that is not known
    :ivar not_found_limit: share of the records that may not be found
    :ivar cpus: processors of the hosts, where they are known
    :ivar returns: records by status
    :ivar not_found: operations that found nothing, by second of the measured window
    :ivar requested: field of client.json → its value by trial.json, of those that it states
    :ivar strong: the servers promise that a read sees the last acknowledged write
    :ivar asked_faults: that it was to have; None: none
    :ivar faults: that it had; what becomes of operations and records then is a result
    """

    clients: Sequence[ClientFolder]
    conducted: Conducted
    loads: bool
    warmup: float
    agreed_warmup: float | None
    spare_ms: float
    target: float | None
    duration: float | None
    not_found_limit: float
    cpus: Mapping[str, int]
    returns: Mapping[str, int]
    not_found: Mapping[int, int]
    requested: Mapping[str, Any] = field(default_factory=dict)
    strong: bool = False
    asked_faults: str | None = None
    faults: Faults | None = None

    @property
    def apart_ms(self) -> float:
        """How far apart clients may begin."""
        return max(LATE_MS, self.conducted.limit_ms or 0.0)

    def problems(self, name: str) -> list[str]:
        """What is wrong with it: of each client, then of all together, in the order of the checks.

        :param name: of the run
        """
        found = [
            f"{name} on {client.host}: {why}"
            for client in self.clients
            for check in CHECKS
            if check.of_client and (why := check.of_client(self, client))
        ]
        return found + [f"{name}{why}" for check in CHECKS if check.of_run for why in check.of_run(self)]


def late(run: RunFacts, client: ClientFolder) -> str | None:
    """Whether a client began too late after the agreed instant."""
    skew_ms, limit = client.report.skew_ms, run.apart_ms + run.spare_ms
    if skew_ms is None or -run.apart_ms <= skew_ms <= limit:
        return None
    return f"the client began {skew_ms:,.0f} ms after the agreed instant; up to {limit:,.0f} ms are allowed"


def other_start(run: RunFacts, client: ClientFolder) -> str | None:
    """Whether a client began at another instant than the one that was agreed: then its evidence is of another run."""
    # The former is of its own host's clock, the latter of the controller's.
    start_ms, agreed = client.report.agreed_start_ms, run.conducted.agreed
    offset_ms = run.conducted.offsets_ms().get(client.host)
    if start_ms is None or agreed is None or offset_ms is None:
        return None
    if abs(start_ms - agreed * 1000 - offset_ms) <= run.apart_ms:
        return None
    return f"the client was to begin at {instant((start_ms - offset_ms) / 1000)}, its run at {instant(agreed)}"


def same_client(run: RunFacts) -> Iterator[str]:
    """Whether two clients say that they are the same one, or one that it did another phase."""
    for of, count in Counter(client.number for client in run.clients if client.number).items():
        if count > 1:
            yield f": {count} clients have the clientnumber {of}: their evidence is of one"
    phases = {client.report.phase for client in run.clients if client.report.phase}
    if wrong := phases - {LOAD if run.loads else "run"}:
        yield f": a client did the phase {', '.join(sorted(wrong))}"


def unsure_clock(run: RunFacts, client: ClientFolder) -> str | None:
    """Whether a host's clock is known less exactly than clients may differ in their start."""
    error_ms = run.conducted.clock_error_ms(client.host)
    if error_ms is None or error_ms <= run.apart_ms:
        return None
    return f"its clock is known to \N{PLUS-MINUS SIGN} {error_ms:,.0f} ms; up to {run.apart_ms:g} ms are allowed"


def other_window(run: RunFacts, client: ClientFolder) -> str | None:
    """Whether a client measured in another window than the others, and the servers' figures."""
    warmup, agreed = client.report.warmup_seconds, run.agreed_warmup
    if warmup is None or agreed is None or abs(warmup - agreed) * 1000 <= run.apart_ms:
        return None
    return f"its window began {warmup:.1f} s after the agreed instant, that of the run {agreed:.1f} s after it"


def other_length(run: RunFacts, client: ClientFolder) -> str | None:
    """Whether a client measured for another time than the trial was to: that is what rates are divided by."""
    seconds, duration = client.run.seconds, run.duration
    if not duration or seconds is None or abs(seconds - duration) <= _SAME_SECONDS:
        return None
    return f"it measured {seconds:g} s, trial.json says {duration:g} s"


def saturated(run: RunFacts, client: ClientFolder) -> str | None:
    """Whether a client used nearly all processors of its host, so that it was the client that was measured."""
    cpu_seconds, seconds, cpus = client.run.client_cpu_seconds, client.run.seconds, run.cpus.get(client.host)
    if cpu_seconds is None or not seconds or not cpus or cpu_seconds / seconds / cpus <= SATURATED:
        return None
    return (
        f"the client used {cpu_seconds / seconds / cpus:.0%} of the {cpus} processors of its host, seconds"
        f" {run.warmup:.0f}\N{EN DASH}{run.warmup + seconds:.0f}: it is the client that was measured; up to"
        f" {SATURATED:.0%} are allowed"
    )


def busiest(_: RunFacts, client: ClientFolder) -> str | None:
    """Whether one thread of a client used nearly a whole processor, which no number of further ones makes faster."""
    share = client.report.busiest_thread_share
    if share is None or share < SATURATED:
        return None
    return (
        f"the client's thread {client.report.busiest_thread or 'of an unknown name'} used {share:.0%} of a processor:"
        f" it is the client that was measured; less than {SATURATED:.0%} are allowed"
    )


def lost_writes(run: RunFacts, client: ClientFolder) -> str | None:
    """Whether a client did not find what the system has acknowledged, or found what nobody has written."""
    account = client.report.accounting
    return accounting.losses(account) or None if account is not None and run.faults is None else None


def stale_reads(run: RunFacts, client: ClientFolder) -> str | None:
    """Whether reads were stale although the conditions promise that none is."""
    account = client.report.accounting
    if account is None or not account.stale_reads or not run.strong or run.faults is not None:
        return None
    return f"{account.stale_reads:,} of {account.reads:,} reads were stale, and the servers' consistency is strong" + (
        f"; first: {account.examples[0]}" if account.examples else ""
    )


def other_target(run: RunFacts) -> Iterator[str]:
    """Whether the clients' target rates add up to another one than the scenario's."""
    together = sum(client.report.target or 0.0 for client in run.clients)
    if run.target and not math.isclose(together, run.target, rel_tol=1e-3):
        yield f": the clients' target rates add up to {together:g} op/s instead of {run.target:g}"


def other_faults(run: RunFacts) -> Iterator[str]:
    """Whether something of the faults that were asked for was not done, or not undone."""
    seconds = min((client.run.seconds for client in run.clients if client.run.seconds is not None), default=None)
    if run.faults is not None:
        seconds = under_fault.in_window(run.faults, seconds)
    yield from (f": {why}" for why in under_fault.problems(run.asked_faults, run.faults, seconds))


def other_scenario(run: RunFacts) -> Iterator[str]:
    """Clients that did other work than the trial was to, or than most of them, where trial.json does not say it."""
    for key in _SAME_FOR_ALL:
        values = {client.host: getattr(client.report, key) for client in run.clients}
        known = {host: value for host, value in values.items() if value is not None}
        usual = max(known.values(), key=list(known.values()).count, default=None)
        usual = run.requested.get(key, usual)
        for client in run.clients:
            value = known.get(client.host)
            # A client has no more threads than operations.
            few = key == "threads" and client.run.records is not None and client.run.records <= (value or 0) < usual
            if value is not None and value != usual and not few:
                yield f" on {client.host}: the client did another scenario: {key} {value} instead of {usual}"


def not_found(run: RunFacts) -> Iterator[str]:
    """Whether too many of the records that were asked for, or written, were not found."""
    count, records = sum(run.returns.get(status, 0) for status in NOT_FOUND), sum(run.returns.values())
    if count > run.not_found_limit * records:
        said = f": {count:,} of {records:,} records ({count / records:.2%}) were not found, above"
        said += f" maxnotfoundrate={run.not_found_limit:g}"
        yield "; ".join(filter(None, (said, when(run.not_found, run.warmup))))


def most_taken(stated: Any, *, strict: bool) -> float:
    """The share of a host's processors that somebody else may take in a run.

    :param stated: such as "25%"; what is none: nothing was stated
    """
    try:
        percent = float(str(stated).removesuffix("%"))
    except ValueError:
        percent = _MOST_TAKEN_STRICT if strict else _MOST_TAKEN
    return percent / 100


def taken(of: Taken, limit: float) -> list[str]:
    """Whether somebody else took too much of a host's processors; never said where that cannot be told for sure.

    :param limit: share of all processors of the host
    """
    both = (("other processes used", of.other), ("the hypervisor took", of.stolen))
    return [
        f"{who} {share:.0%} of the processors of {of.host}; up to {limit:.0%} are allowed (max.other.cpu)"
        for who, share in both
        if of.alone and share is not None and share > limit
    ]


def at_work(notes: Sequence[str]) -> list[str]:
    """A trial's notes that name who else was at work on its hosts; Ansible's filter `others` writes them."""
    return [note for note in notes if re.search(" (keeps servers up|is at work) there since ", note)]


def compacting(pending: Mapping[str, float]) -> str | None:
    """Whether servers still compacted when the first run was about to begin.

    :param pending: compactions by host, after the load had settled
    """
    busy = {host: count for host, count in pending.items() if count}
    if not busy:
        return None
    hosts = ", ".join(f"{host} {count:,.0f}" for host, count in sorted(busy.items()))
    return f"compactions were still pending after settling, before the first run: {hosts}; 0 are allowed"


def when(by_second: Mapping[int, int], warmup: float) -> str:
    """When something happened, and when most of it; empty where that is not known.

    :param by_second: counts above 0, by second of the measured window
    """
    if not by_second:
        return ""
    worst = max(by_second, key=lambda second: by_second[second])
    first, last = min(by_second), max(by_second)
    most = f"second {warmup + worst:.0f}"
    if first == last:
        return f"in {most}"
    return f"in seconds {warmup + first:.0f}\N{EN DASH}{warmup + last + 1:.0f}, most in {most} ({by_second[worst]:,})"


@dataclass(frozen=True)
class Check:
    """One row of the table in docs/method.md.

    :ivar what: makes a run invalid
    :ivar limit: beyond which
    :ivar by: the property that sets the limit
    :ivar looks: who looks
    :ivar of_client: gives what is wrong with a client of a run; None: nothing
    :ivar of_run: gives what is wrong with all clients of a run together, each after the run's name
    """

    what: str
    limit: str = "none"
    by: str = ""
    looks: str = "summary"
    of_client: Callable[[RunFacts, ClientFolder], str | None] | None = None
    of_run: Callable[[RunFacts], Iterator[str]] | None = None


_APART = f"{LATE_MS:.0f} ms, or `client_skew_limit_ms` where that is more"
# Checks without a function are made where the evidence is read, or by the client and the conductor.
CHECKS = (
    Check("a client is missing, died, lost a thread, did not become ready, or hung; a host was lost",
          looks="client, conducting"),
    Check("no operation succeeded in the window, or a load inserted fewer records than it was given", looks="client"),
    Check("a server ended; *the system failed*", looks="conducting"),
    Check("clients began apart (*skew*), with several of them", "10 ms", by="client_skew_limit_ms", looks="conducting"),
    Check("the clock of a client's host is not known exactly enough to agree on a start, with several clients", "10 ms",
          by="client_skew_limit_ms", looks="conducting"),
    Check("nothing succeeded for some time, also in the warm-up; *the system failed*",
          "60 s; with a target rate the time in which ten operations of a client are due (thirty with"
          " `arrival=poisson`), where that is more", by="stalltime", looks="client"),
    Check("too many records failed; *the system failed*", "0.1 %; for a load 0", by="maxerrorrate", looks="client"),
    Check("evidence of another run: a client was to begin at another instant than its run, its run was not"
          " within the trial's time, two clients have one `clientnumber`, a client did another phase",
          f"{_APART}; none", of_client=other_start, of_run=same_client),
    Check("the clock of a client's host is not known exactly enough to tell when it began", _APART,
          of_client=unsure_clock),
    Check("one of several clients began late: its first operation against the agreed instant", _APART, of_client=late),
    Check("a single client began late, and its window had begun",
          "the same, after the warm-up; 1 s more where the window begins with its first operation: a load, a"
          " run without `duration`"),
    Check("a client measured in another window than was agreed, or than the other clients: its warm-up was"
          " longer or shorter", _APART, of_client=other_window),
    Check("a client measured for another time than `trial.json` says", "0", of_client=other_length),
    Check("a client is [saturated](#what-the-hosts-did): its process used nearly all of its host's processors"
          " in the measured window, so that the figures are those of the client", f"{100 * SATURATED:.0f} % of them",
          of_client=saturated),
    Check("one thread of a client used nearly a whole processor in the measured window: an event loop of the"
          " driver, or a thread that sends the operations", f"{100 * SATURATED:.0f} % of one", of_client=busiest),
    Check("the clients' target rates do not add up to the scenario's", "0.1 %", of_run=other_target),
    Check("a client ran another scenario than `trial.json` says, or than most clients of the run: its threads, requests"
          " in flight, batch size, retries, binding, … in `client.json`",
          of_run=other_scenario),
    Check("records were not found", "0.1 %", by="maxnotfoundrate", of_run=not_found),
    Check("acknowledged writes were lost, or records were missing, corrupt, unreadable or never written when they"
          " were [read back](faults.md), with `verify=acknowledged`", of_client=lost_writes),
    Check("reads were stale although the servers' consistency is strong, with `verify=acknowledged`",
          of_client=stale_reads),
    Check("a [fault](faults.md#what-is-measured-under-a-fault) was not carried out in the window, or not undone",
          of_run=other_faults),
    Check("[somebody else](#somebody-else) used the processors of a host of the trial: other processes, or the"
          " hypervisor", f"{_MOST_TAKEN:.0f} % of them, with strict conditions {_MOST_TAKEN_STRICT:.0f} %",
          by="max.other.cpu"),
    Check("compactions pending after settling, before the first run", "0"),
    Check("a trial is not in the plan of `experiment.json`, or the plan has another system or round for it;"
          " `trial.json` belongs to another trial; the trial was not within the experiment's time"),
    Check("the intervals of a client's histogram logs are those of another run of the experiment: the run is a copy",
          "logs of 100 operations or more"),
    Check("evidence differs from the trial's `manifest` or cannot be read, or a value in `trial.json` or"
          " `client.json` is of the wrong type; `clients.json` of several clients is missing"),
    Check("attempted ≠ succeeded + failed; result lines, `client.json` and histograms do not count the same, or"
          " not the same seconds; one of the histogram logs is missing", "0"),
    Check("the histogram logs end before the measured window, or have an operation that began after it: an interval"
          " began later than its shortest latency after the window's end",
          "1 s, an interval of the logs, and 0.1 % of the window; in a window that ends with the last answer the first"
          " interval, if that is longer"),
    Check("the longest latency of a histogram log is not that of the result lines", "0.1 % and 1 µs"),
    Check("a histogram log is cut or damaged, of an unknown unit, or a clock jumped in it: back by more than 1"
          " s, ahead by more than 10 minutes"),
    Check("rows are missing, or too many, after the load or the runs", "0, except for inserts without an answer",
          looks="settling, summary"),
)  # fmt: skip


def table() -> str:
    """All checks, as docs/method.md has them."""
    rows = [(check.what, check.limit, check.by and f"`{check.by}`", check.looks) for check in CHECKS]
    lines = [" | ".join(row).replace("|  |", "| |") for row in rows]
    return "| what | limit | set by | who looks |\n|---|---|---|---|\n" + "".join(f"| {line} |\n" for line in lines)
