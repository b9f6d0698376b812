"""Finds changes on hosts and servers at the time when the throughput of a long run changed its level.

They may be coincidences, so the sentences do not name a cause.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from dohyo.evidence.events import Event
from dohyo.evidence.host_metrics import Figures, HostMetrics
from dohyo.evidence.levels import LEVEL_SECONDS, LevelChange
from dohyo.evidence.server_log import covered
from dohyo.evidence.servers import DOING, Span, Window

# Smallest change of a share to report. Memory is a share of the host's whole memory.
_LEAST_SHARE = 0.1
# Maximum number of changes that are reported, largest first.
_MOST_NAMED = 6

_SHARES = {
    "cpu_user": "processors in user mode",
    "cpu_system": "processors in the kernel",
    "cpu_iowait": "processors waiting for disks",
    "cpu_steal": "processors taken by the hypervisor",
    "other_cpu": "processors used by other processes",
    "processor_frequency": "processors' frequency",
    "disk_utilisation": "busiest disk",
}
_MEMORY = {"memory_used_bytes": "memory used", "memory_cached_bytes": "page cache"}

_Stretch = tuple[float, float]
# Text that describes the change of a share, and the size of the change.
_Beside = tuple[str, float]


def events(
    changes: Sequence[LevelChange], window: Window, spans: Iterable[Span], hosts: HostMetrics
) -> Iterator[Event]:
    """Yields the changes of level in a measured window, each with other changes that happened at the same time.

    :param spans: background work of the servers in all runs of the trial
    """
    if not changes:
        return
    first = window.begin - window.agreed
    around = [stretch for change in changes for stretch in _around(change, first)]
    figures = list(hosts.means(window, around))
    of_run = [span for span in spans if (span.phase, span.run) == window.key]
    for number, change in enumerate(changes):
        before, after = 2 * number, 2 * number + 1
        beside = [
            *_of_servers(of_run, around[before], around[after]),
            *(entry for host, means in figures for entry in _of_host(host, means[before], means[after])),
        ]
        yield Event(
            window.run, first + change.second, None, f"{in_words(change)}; {_named(beside)}", phase=window.phase
        )


def _named(beside: Sequence[_Beside]) -> str:
    if not beside:
        return "no sampled figure changed at the same time"
    largest = [text for text, _ in sorted(beside, key=lambda entry: -entry[1])[:_MOST_NAMED]]
    more = f", and {len(beside) - len(largest)} more" if len(beside) > len(largest) else ""
    return f"at the same time (not necessarily the cause): {'; '.join(largest)}{more}"


def in_words(change: LevelChange) -> str:
    """Returns the change of the throughput as text."""
    verb = "rose" if change.after > change.before else "fell"
    return f"the throughput level {verb} from {change.before:,.0f} to {change.after:,.0f} op/s"


def _around(change: LevelChange, first: float) -> tuple[_Stretch, _Stretch]:
    """Returns the periods of up to `LEVEL_SECONDS` before and after the change, in seconds after the agreed start."""
    time = first + change.second
    return (
        (max(first + change.begin, time - LEVEL_SECONDS), time),
        (time, min(first + change.end, time + LEVEL_SECONDS)),
    )


def _of_servers(spans: Sequence[Span], before: _Stretch, after: _Stretch) -> Iterator[_Beside]:
    """Yields changes in the share of time that a server spent on a kind of background work."""
    by_work: dict[tuple[str, str | None, str], list[_Stretch]] = {}
    for span in spans:
        by_work.setdefault((span.host, span.process, span.kind), []).append((span.begin, span.end))
    for (host, process, kind), stretches in by_work.items():
        shares = [
            covered([(max(begin, low), min(end, high)) for begin, end in stretches if begin < high and end > low])
            / (high - low)
            for low, high in (before, after)
        ]
        which = f" of the {process}" if process else ""
        yield from _changed(f"{host}: {DOING[kind]}{which}", *shares)


def _of_host(host: str, before: Figures, after: Figures) -> Iterator[_Beside]:
    """Yields changes in the use of processors, memory and the busiest disk, and in temperature and frequency."""
    for name, text in _SHARES.items():
        if name in before and name in after:
            yield from _changed(f"{host}: {text}", before[name], after[name])
    if "processor_celsius" in before and "processor_celsius" in after:
        degrees = [figures["processor_celsius"] / 100 for figures in (before, after)]
        yield from _changed(f"{host}: processors' temperature", *degrees, unit=" °C")
    memory = sum(before.get(name, 0.0) for name in ("memory_used_bytes", "memory_available_bytes"))
    for name, text in _MEMORY.items():
        if memory and name in before and name in after:
            yield from _changed(f"{host}: {text}", before[name] / memory, after[name] / memory)


def _changed(name: str, before: float, after: float, *, unit: str = "%") -> Iterator[_Beside]:
    """Yields the change of a share if it is large enough. A temperature counts as a share of 100 degrees."""
    if abs(after - before) >= _LEAST_SHARE:
        text = f"{name} {before * 100:.0f}{unit} \N{RIGHTWARDS ARROW} {after * 100:.0f}{unit}"
        yield text, abs(after - before)
