"""What the hosts of a trial did: processors, memory, disks and network, from the samples of the agent (sampler.py).

The evidence is `hosts/HOST/metrics.jsonl.gz` of the trial: the kernel's counters, once a second from before the load to
the end of the trial, database hosts and client hosts alike. That tool says what a line holds; docs/method.md says what
the figures mean.
"""

from __future__ import annotations

import itertools
import math
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from dohyo.evidence import records
from dohyo.evidence.json_values import loads, mapping
from dohyo.evidence.records import Number, Whole
from dohyo.evidence.servers import Window
from dohyo.evidence.text_file import Warn, limited, lines

FILE = "metrics.jsonl.gz"
# Shares of the time of all processors together, which add up to 1. User has the nice ones in it, system the interrupts.
_CPU = ("cpu_user", "cpu_system", "cpu_iowait", "cpu_steal", "cpu_idle")
# As `free` has them: used is what is neither free, buffers, page cache nor reclaimable; cached are the latter three.
_MEMORY = ("memory_used_bytes", "memory_cached_bytes", "memory_available_bytes")
# Utilisation: share of the time in which at least one request was under way.
_DISK = (
    "disk_reads_per_second", "disk_read_bytes_per_second",
    "disk_writes_per_second", "disk_written_bytes_per_second", "disk_utilisation",
)  # fmt: skip
_NETWORK = ("network_received_bytes_per_second", "network_sent_bytes_per_second")
# What user and system time other processes had: a part of these two.
_OTHERS = ("other_cpu",)
# Of the processors: mean frequency as a share of the highest, temperature of the hottest; every ten seconds.
CLOCKS = ("processor_frequency", "processor_celsius")
FIGURES = (*_CPU, *_MEMORY, *_DISK, *_NETWORK, *_OTHERS, *CLOCKS)
# A host talks to itself over it; it is sampled, and is not part of what crosses the network.
_LOOPBACK = "lo"
# From this share on the processors count as the limit.
SATURATED = 0.9
# From this share on a reason beside the ranking names the processor time that somebody else took.
NOTED = 0.05

# Columns of `HostMetrics.series`.
SERIES = ("phase", "run", "host", "time", "seconds", "device", *FIGURES)

# Of `HostMetrics.series` at a time.
_MOST_LINES = 10_000

# NaN: not known.
_Values = list[float]
# By name, of `FIGURES`; one that is not known is not in it.
Figures = dict[str, float]


@dataclass(frozen=True)
class Use:
    """One figure over the measured windows: the mean by time, and the highest second."""

    mean: float
    maximum: float


@dataclass(frozen=True)
class HostUse:
    """What one host did in the measured windows of a phase.

    :ivar cpus: its processors; None where that is not known
    :ivar covered_seconds: of the windows that there are samples of
    :ivar figures: name (`FIGURES`) → use; of all disks and all networks together, the utilisation that of the busiest
        disk. One that is not known is not in it
    :ivar devices: disk or network → name → use
    :ivar memory_bytes: all of its memory that the kernel has; None where that is not known
    """

    host: str
    phase: str
    cpus: int | None
    covered_seconds: float
    figures: dict[str, Use] = field(default_factory=dict)
    devices: dict[str, dict[str, Use]] = field(default_factory=dict)
    memory_bytes: int | None = None

    @property
    def busy(self) -> float | None:
        """Share of the processors' time that was not idle; None where that is not known."""
        idle, waiting = self.figures.get("cpu_idle"), self.figures.get("cpu_iowait")
        return None if idle is None or waiting is None else 1 - idle.mean - waiting.mean


@dataclass(frozen=True)
class Taken:
    """Shares of a host's processors that somebody else took in the measured window of a run.

    :ivar run: its number; None for a load that is measured
    :ivar other: other processes; None: not known
    :ivar stolen: the hypervisor; None: not known
    :ivar alone: whether the host has a kernel of its own, and nothing bounds its processors
    """

    host: str
    phase: str
    run: int | None
    other: float | None
    stolen: float | None
    alone: bool


@dataclass(frozen=True)
class Samples:
    """The samples of one host, in order of time: a line for each second and device.

    :ivar cpus: its processors; None where that is not known
    :ivar boot: what tells its kernel from others; None in samples before other processes were
        distinguished from ours
    :ivar sees_all: whether all processes of that kernel were seen, no cgroup bounded ours, and no server was attached
    :ivar device: of each line: a disk or a network; None: the host, with its disks and networks together
    :ivar time: end of that second, in seconds since 1970 on the host's own clock
    :ivar seconds: how long it really was
    :ivar figures: a column for each of `FIGURES`: shares of 1, bytes, or per second; NaN where not known, or none of
        the device's
    :ivar memory: bytes, of the last sample; None without one
    """

    cpus: int | None
    boot: str | None
    sees_all: bool
    device: NDArray[np.object_]
    time: NDArray[np.float64]
    seconds: NDArray[np.float64]
    figures: NDArray[np.float64]
    memory: int | None


def read(path: Path, warn: Warn) -> Samples:
    """Reads a host's samples; what cannot be read is a warning and leaves a gap.

    A counter that has become smaller (it wrapped, a device was exchanged, the host booted) makes its figures of that
    second unknown, never negative. Of a host that was switched off the samples before that are in FILE.1, FILE.2, …
    """
    host: Mapping[str, Any] = {}
    devices: list[str | None] = []
    values = array("d")
    before: _Sample | None = None
    earlier = [each for each in path.parent.glob(f"{path.name}.[0-9]*") if each.suffix[1:].isdecimal()]
    # That these end within a line is no news.
    cut = [_objects(each, lambda _: None) for each in sorted(earlier, key=lambda each: int(each.suffix[1:]))]
    for content in itertools.chain(*cut, _objects(path, limited(path, warn))):
        if isinstance(content, _Sample):
            for device, row in _rows(before, content) if before else ():
                devices.append(device)
                values.extend(row)
            before = content
        else:
            host = {**host, **content}
            before = None if "boot" in content else before  # the first line of a file
    table = np.frombuffer(values).reshape(len(devices), 2 + len(FIGURES))
    facts = records.decoded(host, _HostFacts, lambda what: warn(f"{path}: {what}"))
    return Samples(
        facts.cpus,
        facts.boot,
        facts.sees_all,
        np.array(devices, dtype=object),
        *(table[:, 0], table[:, 1], table[:, 2:]),
        int(before.memory[0]) if before else None,
    )


class _HostFacts(Struct, frozen=True):
    """What the first line says."""

    cpus: Whole | None = None
    boot: str | None = None
    sees_all: bool = False


class _Sample(Struct, frozen=True):
    """One sample; every number in it is one."""

    time: Number
    up: Number
    cpu: Annotated[list[Number], Meta(min_length=8, max_length=8)]
    memory: Annotated[list[Number], Meta(min_length=6, max_length=6)]
    disks: dict[str, Annotated[list[Number], Meta(min_length=5, max_length=5)]]
    networks: dict[str, Annotated[list[Number], Meta(min_length=2, max_length=2)]]
    known: Annotated[list[Number], Meta(min_length=2, max_length=2)] | None = None
    frequency: Number | None = None
    celsius: Number | None = None


def _objects(path: Path, warn: Warn) -> Iterator[_Sample | Mapping[str, Any]]:
    """Samples, and the line before them."""
    for at, line in lines(path, warn):
        try:
            content = mapping(loads(line))
            yield msgspec.convert(content, _Sample, strict=False) if "time" in content else content
        except ValueError:
            what = "is no sample" if line.endswith("\n") else "is cut off"
            warn(f"{path}:{at}: {what}: {line.strip()[:80]}")


def _rows(before: _Sample, after: _Sample) -> list[tuple[str | None, _Values]]:
    """Of the host, of each disk and each network between two samples; none where the host was booted between them.

    :returns: the device, and its time, seconds and figures
    """
    seconds = after.up - before.up
    if seconds <= 0:
        return []

    def row(device: str | None, **parts: _Values) -> tuple[str | None, _Values]:
        unknown = {
            "cpu": _CPU, "memory": _MEMORY, "disk": _DISK, "network": _NETWORK, "others": _OTHERS, "clocks": CLOCKS,
        }  # fmt: skip
        values = [parts.get(part) or [math.nan] * len(names) for part, names in unknown.items()]
        return device, [after.time, seconds, *(value for each in values for value in each)]

    disks = {
        name: _disk(_growth(before.disks[name], counters, seconds))
        for name, counters in after.disks.items()
        if name in before.disks
    }
    networks = {
        name: _growth(before.networks[name], counters, seconds)
        for name, counters in after.networks.items()
        if name in before.networks
    }
    outside = [values for name, values in networks.items() if name != _LOOPBACK]
    utilisations = [values[-1] for values in disks.values()]
    busiest = math.nan if any(map(math.isnan, utilisations)) else max(utilisations, default=math.nan)
    ticks = _growth(before.cpu, after.cpu, 1)
    told = _growth(before.known, after.known, 1) if before.known and after.known else [math.nan]
    return [
        row(
            None,
            cpu=_shares(ticks),
            memory=_memory(after.memory),
            disk=[*_sums([values[:-1] for values in disks.values()], len(_DISK) - 1), busiest],
            network=_sums(outside, len(_NETWORK)),
            others=_others(ticks, told),
            clocks=[math.nan if each is None else each for each in (after.frequency, after.celsius)],
        ),
        *(row(name, disk=values) for name, values in disks.items()),
        *(row(name, network=values) for name, values in networks.items()),
    ]


def _growth(before: Sequence[float], after: Sequence[float], seconds: float) -> _Values:
    pairs = zip(before, after, strict=True)
    return [math.nan if later < earlier else (later - earlier) / seconds for earlier, later in pairs]


def _sums(parts: Sequence[_Values], size: int) -> _Values:
    """Column by column; not known where one of them is not, or where there are none."""
    return [sum(column) for column in zip(*parts, strict=True)] or [math.nan] * size


def _shares(ticks: _Values) -> _Values:
    """:param ticks: user, nice, system, idle, iowait, irq, softirq, steal

    The kernel sometimes reduces its counts of idle and iowait (proc(5)): the shares of such a second are unknown.
    """
    user, nice, system, idle, iowait, irq, softirq, steal = ticks
    total = sum(ticks) or math.nan
    return [each / total for each in (user + nice, system + irq + softirq, iowait, steal, idle)]


def _others(ticks: _Values, told: _Values) -> _Values:
    """May be below 0, because the kernel's counts are not exact; over several seconds that averages out.

    :param ticks: as of :func:`_shares`
    :param told: of our processes, and of the kernel's own threads
    """
    user, nice, system, *_ = ticks
    return [(user + nice + system - sum(told)) / (sum(ticks) or math.nan)]


def _memory(sizes: Sequence[float]) -> _Values:
    total, free, available, buffers, cached, reclaimable = sizes
    cache = buffers + cached + reclaimable
    return [max(0.0, total - free - cache), cache, available]


def _disk(values: _Values) -> _Values:
    """The last one, ms per second in which it was busy, becomes a share; the kernel rounds to its own ticks."""
    *others, busy = values
    return [*others, busy if math.isnan(busy) else min(1.0, busy / 1000)]


class HostMetrics:
    """The hosts of one trial. They are read one after the other, so that only the samples of one are in memory."""

    def __init__(self, folder: Path, windows: Sequence[Window], wanted: Sequence[str], warn: Warn) -> None:
        """Reads `folder`, the trial's `hosts`; experiments from before there were any samples have none.

        :param wanted: hosts that should have left samples
        """
        self._windows = windows
        self._files: dict[str, Path] = {}
        self._uses: list[HostUse] = []
        self.taken: list[Taken] = []  # of each window and host; nothing of samples that say nothing of other processes
        # Hosts where the use by other processes is unknown.
        self.untold: list[str] = []
        phases = list(dict.fromkeys(window.phase for window in windows))
        boots: dict[str, str] = {}
        if folder.is_dir():
            for host in sorted({*wanted, *(each.name for each in folder.iterdir() if each.is_dir())}):
                path = folder / host / FILE
                if path.is_file():
                    self._files[host] = path
                    samples = read(path, warn)
                    self._uses += [self._use(host, samples, phase) for phase in phases]
                    if samples.boot is not None:
                        boots[host] = samples.boot
                        self.taken += [taken(samples, host, window) for window in windows]
                        self.untold += [] if samples.sees_all else [host]
                else:
                    warn(f"{path}: there are no samples of this host")
        self._uses.sort(key=lambda use: phases.index(use.phase))
        # Of hosts with one kernel each has the work of all, and those of the others are no other processes.
        kernels = list(boots.values())
        self.untold = [host for host, boot in boots.items() if kernels.count(boot) > 1 or host in self.untold]
        self.taken = [
            replace(each, other=None, alone=False) if each.host in self.untold else each for each in self.taken
        ]
        for use in self._uses:
            if use.host in self.untold:
                use.figures.pop(*_OTHERS, None)

    def all(self) -> list[HostUse]:
        """Of each phase each host that has samples of it."""
        return [use for use in self._uses if use.covered_seconds]

    def notes(self) -> list[str]:
        """Notes on the hosts where the use by other processes is unknown."""
        if not self.untold:
            return []
        why = "unknown: the hosts share a kernel, are containers, or have a CPU quota or attached servers"
        return [f"what other processes used on {', '.join(self.untold)}: {why}"]

    def series(self) -> Iterator[list[list[object]]]:
        """All samples of all runs and loads, warm-up included, run by run of each host: their files are read again.

        :returns: lines with the columns `SERIES`, some at a time, as those of a day take hundreds of megabytes: `time`
            is seconds after the agreed instant of the run; None where not known
        """
        for host, path in self._files.items():
            samples = read(path, lambda _: None)  # warned of before
            if host in self.untold:
                samples.figures[:, FIGURES.index(*_OTHERS)] = math.nan
            for window in self._windows:
                all_lines, time, _ = _inside(samples, host, window, window.agreed)
                for first in range(0, len(all_lines), _MOST_LINES):
                    some = slice(first, first + _MOST_LINES)
                    lines = all_lines[some]
                    figures = _figures(samples, lines, time[some], window)
                    columns = (time[some], samples.seconds[lines], samples.device[lines], figures)
                    yield [
                        [window.phase, window.run, host, round(end, 3), round(seconds, 3), device, *map(_rounded, of)]
                        for end, seconds, device, of in zip(*(each.tolist() for each in columns), strict=True)
                    ]

    def means(self, window: Window, stretches: Sequence[tuple[float, float]]) -> Iterator[tuple[str, list[Figures]]]:
        """Each host, with its figures in each of some stretches of a run: its file is read again.

        :param stretches: begin and end of each, in seconds after the agreed instant
        """
        for host, path in self._files.items():
            samples = read(path, lambda _: None)  # warned of before
            lines, time, overlap = _inside(samples, host, window, window.agreed)
            of_host = samples.device[lines] == None  # noqa: E711 - of each line
            lines, time, overlap = lines[of_host], time[of_host], overlap[of_host]
            figures = _figures(samples, lines, time, window)
            yield (
                host,
                [
                    {
                        name: use.mean
                        for name, use in _uses(figures[within], overlap[within], overlap[within] > 0).items()
                        if name not in _OTHERS or host not in self.untold
                    }
                    for within in ((time > begin) & (time <= end) for begin, end in stretches)
                ],
            )

    def _use(self, host: str, samples: Samples, phase: str) -> HostUse:
        windows = [window for window in self._windows if window.phase == phase]
        parts = [_inside(samples, host, window, window.begin) for window in windows]
        lines = np.concatenate([inside for inside, _, _ in parts])
        weight = np.concatenate([overlap for _, _, overlap in parts])
        device = samples.device[lines]
        figures = np.concatenate(
            [_figures(samples, *part[:2], window) for part, window in zip(parts, windows, strict=True)]
        )
        # A second that lies outside by more than half says nothing of a maximum.
        mostly = weight >= samples.seconds[lines] / 2
        covered = 0.0
        uses: dict[str | None, dict[str, Use]] = {}
        for name in dict.fromkeys(device):
            of = device == name
            uses[name] = _uses(figures[of], weight[of], mostly[of])
            covered = float(weight[of].sum()) if name is None else covered
        return HostUse(
            host,
            phase,
            samples.cpus,
            round(covered, 3),
            uses.pop(None, {}),
            {device: figures for device, figures in uses.items() if device is not None},
            samples.memory,
        )


def _inside(
    samples: Samples, host: str, window: Window, begin: float
) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
    """The lines of the samples that have a part in the time from `begin` to the window's end.

    :returns: their positions, their `time` in seconds after the agreed instant, and those parts in seconds
    """
    time = samples.time - window.offsets_ms.get(host, 0.0) / 1000 - window.agreed
    since, until = begin - window.agreed, window.end - window.agreed
    overlap = np.minimum(time, until) - np.maximum(time - samples.seconds, since)
    lines = np.flatnonzero(overlap > 0)
    return lines, time[lines], overlap[lines]


def _figures(
    samples: Samples, lines: NDArray[np.intp], time: NDArray[np.float64], window: Window
) -> NDArray[np.float64]:
    """The figures of lines that :func:`_inside` has found.

    The use by other processes is not known in a second that ends after the window: clients end then, and Ansible works.
    """
    figures = samples.figures[lines]
    figures[time > window.end - window.agreed, FIGURES.index(*_OTHERS)] = math.nan
    return figures


def _uses(figures: NDArray[np.float64], weight: NDArray[np.float64], mostly: NDArray[np.bool_]) -> dict[str, Use]:
    """What is known of one device: means by weight, and the maxima of those lines that are mostly inside."""
    found = {}
    for name, values in zip(FIGURES, figures.T, strict=True):
        known = ~np.isnan(values)
        if (known & mostly).any():
            mean = (values[known] * weight[known]).sum() / weight[known].sum()
            found[name] = Use(max(0.0, float(mean)), max(0.0, float(values[known & mostly].max())))
    return found


def taken(samples: Samples, host: str, window: Window) -> Taken:
    """The shares of a host's processors that other processes and the hypervisor took in a window."""
    lines, time, weight = _inside(samples, host, window, window.begin)
    of_host = samples.device[lines] == None  # noqa: E711 - of each line
    lines, time, weight = lines[of_host], time[of_host], weight[of_host]
    uses = _uses(_figures(samples, lines, time, window), weight, weight >= samples.seconds[lines] / 2)
    other, stolen = (use.mean if (use := uses.get(name)) else None for name in (*_OTHERS, "cpu_steal"))
    return Taken(host, window.phase, window.run, other, stolen, samples.sees_all)


def _rounded(value: float) -> float | None:
    return None if math.isnan(value) else max(0.0, round(value, 4))


def busy(uses: Sequence[HostUse], servers: Collection[str], clients: Collection[tuple[str, str]]) -> list[str]:
    """Sentences on clients' hosts that had next to no processor left, though the client itself did not use it all.

    :param uses: of clients' hosts and others
    :param servers: hosts that carry servers, whose own work is no sign of that
    :param clients: phase and host of each client
    """
    return [
        f"{use.phase}: the client's host {use.host} was {use.busy:.0%} busy: its processors may be the limit"
        for use in uses
        if (use.phase, use.host) in clients and use.host not in servers and (use.busy or 0.0) > SATURATED
    ]
