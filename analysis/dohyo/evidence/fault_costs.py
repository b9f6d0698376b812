"""Computes the cost of a fault from the number of successful operations in each second before, during and after it.

docs/faults.md#what-is-measured-under-a-fault defines each figure.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dohyo.bad_input import BadInputError
from dohyo.evidence.accounting import Accounting
from dohyo.evidence.healing import Healing, HealingLogs
from dohyo.evidence.latency_slots import Slot
from dohyo.evidence.records import FaultEvent, Faults
from dohyo.scenario import faults as scenario_faults

# Shares of the rate before the fault. A rate is called full from FULL_SHARE upwards, and low below LOW_SHARE.
FULL_SHARE, LOW_SHARE = 0.9, 0.5
# The rate is full again only if its mean over this number of seconds is full. A second with a GC pause is not a cost of
# the fault, and one good second between two bad ones is not a recovery.
STEADY_SECONDS = 5
_EXACT = 1e-9
_LONGEST = 366 * 86_400  # longest plausible window in seconds; a file with a longer one is damaged
_P99 = 99


@dataclass(frozen=True)
class FaultCost:
    """A fault that was carried out, and its effect until the next fault or the end of the window."""

    kind: str
    target: str
    hosts: list[str]  # hosts on which the fault was carried out
    at: float  # start, in seconds since the measured window began, on the controller's clock
    # Start of the event that ends the fault on the last of its hosts; None if the fault was not ended.
    until: float | None
    seconds: float  # length of the period that is evaluated
    zero_seconds: int  # number of seconds without any successful operation
    # Number of seconds with less than half of the rate before the first fault; None if that is unknown.
    low_seconds: int | None
    recovered: bool | None  # whether the rate became full again; None if the rate before the first fault is unknown
    # Time from the fault until the rate was full; 0 if the rate stayed full until the fault ended.
    recovery_seconds: float | None
    # Like `recovered`, but after the end of the fault; None also if the fault did not end in the window.
    restored: bool | None
    restore_seconds: float | None  # time from the end of the fault until the rate was full
    worst_p99_ms: float | None  # p99 of the worst second, measured from the intended start; None without a target rate
    worst_p99_at: float | None  # start of that second, in seconds since the measured window began
    # Work that the servers did to heal, for each kind that the system's logs report.
    healing: list[Healing] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.kind}({self.target})"


@dataclass(frozen=True)
class FaultedRun:
    """A run with faults."""

    phase: str
    run: int | None
    asked: str  # the faults that the scenario requests
    before_ops_per_second: float | None  # successful operations per second in the whole seconds before the first fault
    faults: list[FaultCost]
    errors: dict[str, int]  # number of records for each status that is not a success, in the whole window
    accounting: Accounting | None  # the account of the acknowledged writes in this run
    ready_seconds: float | None  # time at which all servers were ready after the run, in seconds since the window began


def hurts(event: FaultEvent) -> bool:
    """Returns whether an event begins a fault. Other events end a fault."""
    return event.kind in scenario_faults.ENDS


def rate_before(faults: Faults, successes: Sequence[int]) -> float | None:
    """Returns the rate of successful operations before the first fault, or None if no operation succeeded."""
    first = min((began for began, _ in _within(faults, len(successes))), default=0.0)
    before = successes[: int(first)]
    return sum(before) / len(before) if any(before) else None


def in_window(faults: Faults, measured: float | None) -> float | None:
    """Returns for how many seconds clients sent operations: the planned window, or `measured` if that is shorter.

    :param measured: length of the shortest measured window of any client, in seconds; None if not known
    """
    planned: float | None = None
    if faults.window_began is not None and faults.window_ended is not None:
        length = faults.window_ended - faults.window_began
        planned = length if 0 <= length <= _LONGEST else None
    return min((seconds for seconds in (planned, measured) if seconds is not None), default=None)


def costs(faults: Faults, successes: Sequence[int], waited: Sequence[Slot]) -> list[FaultCost]:
    """Computes the cost of each fault within the window, in chronological order.

    :param successes: number of successful operations in each whole second of the window
    :param waited: latencies over time, from the intended start
    """
    end = len(successes)
    before = rate_before(faults, successes)
    hurting = _within(faults, end)
    begins = [began for began, _ in hurting]
    fault_costs = []
    for began, event in hurting:
        first = int(began)
        last = _next(begins, began, end)
        until = _until(event, faults)
        recovered, recovery = _full(successes[first:last], before, began - first)
        restored, restore = None, None
        if until is not None and until < end:
            again = int(until)
            if _full(successes[first : min(again, last)], before, 0) == (True, 0):
                recovered, recovery = True, 0.0  # a later drop is a cost of ending the fault
            restored, restore = _full(successes[again : _next(begins, until, end)], before, until - again)
        slots = [slot for slot in waited if slot.start < last and slot.start + slot.seconds > first]
        worst = max(slots, key=lambda slot: slot.percentiles_ms[_P99], default=None)
        watched = successes[first:last]
        fault_costs.append(
            FaultCost(
                kind=event.kind,
                target=event.target,
                hosts=sorted(event.hosts),
                at=began,
                until=until,
                seconds=last - began,
                zero_seconds=sum(1 for count in watched if not count),
                low_seconds=None if before is None else sum(1 for count in watched if count < LOW_SHARE * before),
                recovered=recovered,
                recovery_seconds=recovery,
                restored=restored,
                restore_seconds=restore,
                worst_p99_ms=worst.percentiles_ms[_P99] if worst else None,
                worst_p99_at=worst.start if worst else None,
            )
        )
    return fault_costs


def healed(
    faults: Sequence[FaultCost], logs: HealingLogs, began: float, offsets_ms: Mapping[str, float], end: float
) -> list[FaultCost]:
    """Adds to each fault of a run the work that the servers did to heal until the next fault, or until the end.

    Work during several overlapping faults counts for each of them.

    :param began: start of the window, in seconds since 1970 on the controller's clock
    :param offsets_ms: offset of each host's clock from the controller's
    :param end: time at which all records had been read back, in seconds since the window began
    """
    healed_faults = []
    for fault in faults:
        over = math.inf if fault.until is None else int(max(fault.at, fault.until))
        until = next((later.at for later in faults if int(later.at) > over), math.ceil(end))
        healed_faults.append(replace(fault, healing=logs.after(fault.at, until, began, offsets_ms, fault.hosts)))
    return healed_faults


def problems(requested: str, faults: Faults | None, seconds: float | None) -> Iterator[str]:
    """Yields why a run does not show the effect of the requested faults: some were not carried out, or not undone.

    :param requested: the faults that the trial requests
    :param seconds: length of the measured window; None if not known
    """
    if faults is None:
        if requested != scenario_faults.NONE:
            yield f"faults were requested ({requested}), but faults.json is missing"
        return
    requested = faults.asked if requested == scenario_faults.NONE else requested
    try:
        planned = [(fault.kind, fault.target) for fault in scenario_faults.parse(requested)]
    except BadInputError:
        planned = []
    if not planned:
        yield f"faults.json exists, but the requested faults cannot be read ({requested})"
        return
    if len(faults.events) != len(planned):
        yield f"faults.json contains {len(faults.events)} of {len(planned)} faults ({requested})"
    elif Counter(planned) != Counter((event.kind, event.target) for event in faults.events):
        yield f"the faults in faults.json differ from the requested faults ({requested})"
    for event in (*faults.events, *faults.undone):
        name = f"{event.kind}({event.target})" + ("" if event.planned is None else f"@{event.planned:g}s")
        errors = [f"{host}: {on_host.error}" for host, on_host in sorted(event.hosts.items()) if on_host.error]
        if errors or event.began is None or not event.hosts:
            yield f"{name} could not be carried out: {'; '.join(errors) or 'nothing was done'}"
        elif event.began < 0:
            yield f"{name} was carried out before the window"
        elif event.planned is not None and seconds is not None and event.began >= seconds:
            yield f"{name} was carried out in second {event.began:.0f}, after the window of {seconds:.0f} s"
        elif hurts(event) and (hosts := [host for host in sorted(event.hosts) if _ended(event, host, faults) is None]):
            yield f"{name} was not undone on {', '.join(hosts)}"


def _within(faults: Faults, end: int) -> list[tuple[float, FaultEvent]]:
    """Returns the faults that began in the window, each with its start, in chronological order."""
    begun = [(event.began, event) for event in faults.events if hurts(event) and event.began is not None]
    return sorted((fault for fault in begun if 0 <= fault[0] < end), key=lambda fault: fault[0])


def _next(begins: Sequence[float], after: float, end: int) -> int:
    """Returns the second in which the next fault begins, or `end`. Faults within one second count as a single fault."""
    return next((int(begin) for begin in begins if int(begin) > int(after)), end)


def _full(seconds: Sequence[int], before: float | None, since: float) -> tuple[bool | None, float | None]:
    """Returns whether the rate becomes full in these seconds, relative to `before`, and how long that takes.

    :param since: time at which the duration begins, in seconds after the start of the first second
    """
    if before is None:
        return None, None
    least = FULL_SHARE * before * (1 - _EXACT)
    # Operations that clients send later, to catch up, must not compensate for seconds without responses.
    capped = [min(count, before) for count in seconds]
    starts = range(len(seconds) - STEADY_SECONDS + 1)
    steady = [sum(capped[second : second + STEADY_SECONDS]) >= least * STEADY_SECONDS for second in starts]
    if steady and all(steady):
        return True, 0.0
    fell = steady.index(False) if steady else 0
    back = next((second for second in starts[fell:] if steady[second] and seconds[second] >= least), None)
    return (False, None) if back is None else (True, back - since)


def _until(event: FaultEvent, faults: Faults) -> float | None:
    """Returns when the fault ended on the last of its hosts, or None if it did not end on all of them."""
    ends = [_ended(event, host, faults) for host in event.hosts]
    times = [end for end in ends if end is not None]
    return max(times) if times and len(times) == len(ends) else None


def _ended(event: FaultEvent, host: str, faults: Faults) -> float | None:
    """Returns the start of the first event that ends the fault on a host, or None if there is no such event."""
    kind = scenario_faults.ENDS.get(event.kind)
    since = _at(event, host)
    ends = [later for later in (*faults.events, *faults.undone) if later.kind == kind and host in later.hosts]
    times = [time for end in ends if (time := _at(end, host)) is not None]
    return min((time for time in times if since is None or time >= since), default=None)


def _at(event: FaultEvent, host: str) -> float | None:
    """Returns when an event began on a host. Older evidence contains only the start on the first host."""
    on_host = event.hosts[host].at
    return event.began if on_host is None else on_host
