"""Why the numbers of a run must not be shown: each sentence names the figure, its limit, and where in time it was.

docs/method.md#when-a-run-is-invalid has all checks and limits in one table, with those of the client and of what
conducts the clients.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from dohyo.evidence.host_metrics import SATURATED, Taken
from dohyo.evidence.records import ClientReport

# A client that began later than this after the agreed instant, in ms, did not load the system together with the others;
# one without others was missing in its own window. How far apart they may begin has a limit of its own
# (client_skew_limit_ms), which may have been raised.
LATE_MS = 50.0

# What somebody else may take of a host's processors, in percent, unless the scenario says so; and where conditions are
# strict.
_MOST_TAKEN, _MOST_TAKEN_STRICT = 25.0, 5.0

# What client.json says of the work, and is the same for all clients of a run. A target rate may be divided unequally.
_SAME_FOR_ALL = (
    "binding", "threads", "batchsize", "inflight", "tablecount", "readbeforewrite", "retries", "arrival", "loop",
)  # fmt: skip


def late(skew_ms: float | None, conducted_limit_ms: float | None, spare_ms: float = 0.0) -> str | None:
    """Whether a client began too late.

    :param skew_ms: its real start after the agreed instant
    :param conducted_limit_ms: how far apart the clients of the run were allowed to begin; None: not known
    :param spare_ms: how much later changes no figure: what a client that is alone leaves out of its warm-up
    """
    limit = _apart(conducted_limit_ms) + spare_ms
    if skew_ms is None or spare_ms - limit <= skew_ms <= limit:
        return None
    return f"the client began {skew_ms:,.0f} ms after the agreed instant; up to {limit:,.0f} ms are allowed"


def other_start(
    start_ms: float | None, agreed: float | None, offset_ms: float | None, conducted_limit_ms: float | None
) -> str | None:
    """Whether a client began at another instant than the one that was agreed: then its evidence is of another run.

    :param start_ms: the agreed instant that it received, in ms since 1970 on its own host's clock
    :param agreed: the instant of the run, in seconds since 1970 on the controller's
    :param offset_ms: the former clock against the latter
    :param conducted_limit_ms: as of :func:`late`
    """
    limit = _apart(conducted_limit_ms)
    if start_ms is None or agreed is None or offset_ms is None or abs(start_ms - agreed * 1000 - offset_ms) <= limit:
        return None
    told = f"{datetime.fromtimestamp((start_ms - offset_ms) / 1000, UTC):%Y-%m-%d %H:%M:%S}"
    return f"the client was to begin at {told}, its run at {datetime.fromtimestamp(agreed, UTC):%Y-%m-%d %H:%M:%S}"


def unsure_clock(error_ms: float | None, conducted_limit_ms: float | None) -> str | None:
    """Whether a host's clock is known less exactly than clients may differ in their start."""
    limit = _apart(conducted_limit_ms)
    if error_ms is None or error_ms <= limit:
        return None
    return f"its clock is known to \N{PLUS-MINUS SIGN} {error_ms:,.0f} ms; up to {limit:g} ms are allowed"


def other_target(targets: Sequence[float | None], asked: float | None) -> str | None:
    """Whether the clients' target rates, in operations/s, add up to another one than the scenario's."""
    together = sum(target or 0.0 for target in targets)
    if not asked or math.isclose(together, asked, rel_tol=1e-3):
        return None
    return f"the clients' target rates add up to {together:g} op/s instead of {asked:g}"


def other_window(warmup: float | None, agreed: float | None, conducted_limit_ms: float | None) -> str | None:
    """Whether a client measured in another window than the others, and the servers' figures.

    :param warmup: seconds after which its window began
    :param agreed: seconds after which all were to begin theirs; None: not known
    :param conducted_limit_ms: as of :func:`late`
    """
    limit = _apart(conducted_limit_ms)
    if warmup is None or agreed is None or abs(warmup - agreed) * 1000 <= limit:
        return None
    return f"its window began {warmup:.1f} s after the agreed instant, that of the run {agreed:.1f} s after it"


def saturated(cpu_seconds: float | None, seconds: float | None, cpus: int | None, warmup: float) -> str | None:
    """Whether a client used nearly all processors of its host, so that it was the client that was measured.

    :param cpu_seconds: processor time of its process in the measured window, which is `seconds` long
    :param cpus: processors of its host
    """
    if cpu_seconds is None or not seconds or not cpus or cpu_seconds / seconds / cpus <= SATURATED:
        return None
    return (
        f"the client used {cpu_seconds / seconds / cpus:.0%} of the {cpus} processors of its host, seconds {warmup:.0f}"
        f"\N{EN DASH}{warmup + seconds:.0f}: it is the client that was measured; up to {SATURATED:.0%} are allowed"
    )


def busiest(name: Any, share: float | None) -> str | None:
    """Whether one thread of a client used nearly a whole processor, which no number of further ones makes faster.

    :param name: of the thread that used most
    :param share: its processor time by the length of the measured window
    """
    if share is None or share < SATURATED:
        return None
    return (
        f"the client's thread {name or 'of an unknown name'} used {share:.0%} of a processor:"
        f" it is the client that was measured; less than {SATURATED:.0%} are allowed"
    )


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


def not_found(count: int, records: int, by_second: Mapping[int, int], limit: float, warmup: float) -> str | None:
    """Whether too many records were not found.

    :param records: that were asked for, or written
    :param by_second: operations that found nothing, by second of the measured window
    :param limit: share of the records
    """
    if count <= limit * records:
        return None
    said = f"{count:,} of {records:,} records ({count / records:.2%}) were not found, above maxnotfoundrate={limit:g}"
    return "; ".join(filter(None, (said, when(by_second, warmup))))


def other_scenario(reports: Mapping[str, ClientReport]) -> list[str]:
    """Clients of one run that did not do the same work: each figure that is not what most of them have.

    :param reports: client.json by host
    """
    found = []
    for key in _SAME_FOR_ALL:
        values = {host: value for host, report in reports.items() if (value := getattr(report, key)) is not None}
        usual = max(values.values(), key=list(values.values()).count, default=None)
        found += [
            f"on {host}: the client did another scenario: {key} {value} instead of {usual}"
            for host, value in values.items()
            if value != usual
        ]
    return found


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


def _apart(conducted_limit_ms: float | None) -> float:
    """How far apart clients may begin, in ms."""
    return max(LATE_MS, conducted_limit_ms or 0.0)
