"""Computes each host's use of processors, memory, disks and networks during a trial, from the agent's samples.

The trial's `hosts/HOST/metrics.jsonl.gz` contains the kernel's counters, sampled every second from before the load to
the end of the trial. The agent's sampler.py describes a line; docs/method.md describes the figures.
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
from dohyo.evidence.json_values import Number, Whole, loads, mapping
from dohyo.evidence.servers import Window
from dohyo.evidence.text_file import Warn, limited, lines

FILE = "metrics.jsonl.gz"
# Shares of the processors' total time, which add up to 1. User includes nice, system includes interrupts.
_CPU = ("cpu_user", "cpu_system", "cpu_iowait", "cpu_steal", "cpu_idle")
# Memory as in `free`: "cached" is buffers, page cache and reclaimable slabs; "used" is total minus free and cached.
_MEMORY = ("memory_used_bytes", "memory_cached_bytes", "memory_available_bytes")
# Utilisation is the share of the time in which at least one request was in progress.
_DISK = (
    "disk_reads_per_second", "disk_read_bytes_per_second",
    "disk_writes_per_second", "disk_written_bytes_per_second", "disk_utilisation",
)  # fmt: skip
_NETWORK = ("network_received_bytes_per_second", "network_sent_bytes_per_second")
# Share of the processors' time that processes not started by Dohyo used. It is also part of user and system.
_OTHERS = ("other_cpu",)
# Mean frequency as a share of the maximum, and temperature of the hottest processor, sampled every ten seconds.
CLOCKS = ("processor_frequency", "processor_celsius")
_PARTS = {"cpu": _CPU, "memory": _MEMORY, "disk": _DISK, "network": _NETWORK, "others": _OTHERS, "clocks": CLOCKS}
FIGURES = tuple(name for names in _PARTS.values() for name in names)
_UNKNOWN = {part: [math.nan] * len(names) for part, names in _PARTS.items()}
_LOOPBACK = "lo"  # the loopback interface; it is sampled, but left out of the host's network use
SATURATED = 0.9  # busy share above which the processors may be the bottleneck
# Other processes or the hypervisor are reported if they used at least this share of the processors' time.
NOTED = 0.05

SERIES = ("phase", "run", "host", "time", "seconds", "device", *FIGURES)  # columns of `HostMetrics.series`

_MOST_LINES = 10_000  # maximum number of rows that `HostMetrics.series` yields at a time

_Values = list[float]  # values of a sample; unknown values are NaN
Figures = dict[str, float]  # values by name in `FIGURES`; unknown values are left out


@dataclass(frozen=True)
class Use:
    """One figure over the measured windows: its mean over time, and its highest value in one second."""

    mean: float
    maximum: float


@dataclass(frozen=True)
class HostUse:
    """The resources that one host used in the measured windows of a phase."""

    host: str
    phase: str
    cpus: int | None  # number of processors; None if unknown
    covered_seconds: float  # seconds of the windows that have samples
    # Known figures of the host, by name in `FIGURES`. Figures of disks and networks are sums, but the utilisation is
    # that of the busiest disk.
    figures: dict[str, Use] = field(default_factory=dict)
    devices: dict[str, dict[str, Use]] = field(default_factory=dict)  # known figures of each disk and each network
    memory_bytes: int | None = None  # total memory; None if unknown

    @property
    def busy(self) -> float | None:
        """Returns the share of the processors' time that was not idle, or None if unknown."""
        idle, waiting = self.figures.get("cpu_idle"), self.figures.get("cpu_iowait")
        return None if idle is None or waiting is None else 1 - idle.mean - waiting.mean


@dataclass(frozen=True)
class Taken:
    """The shares of a host's processors that the run could not use in its measured window."""

    host: str
    phase: str
    run: int | None  # number of the run; None for a measured load
    other: float | None  # share that other processes used; None if unknown
    stolen: float | None  # share that the hypervisor took; None if unknown
    alone: bool  # true if no other host shares the kernel, and nothing limits the processors


@dataclass(frozen=True)
class Samples:
    """The samples of one host in chronological order, with a row for each second and device."""

    cpus: int | None  # number of processors; None if unknown
    # The kernel's boot ID; None in old samples, which do not distinguish Dohyo's processes from others.
    boot: str | None
    # True if the agent saw all processes of the kernel, no CPU quota applied, and the host had no attached server.
    sees_all: bool
    device: NDArray[np.object_]  # disk or network of each row; None for the whole host
    time: NDArray[np.float64]  # end of the row's second, in seconds since 1970 on the host's clock
    seconds: NDArray[np.float64]  # actual length of the row's second
    # A column for each of `FIGURES`: shares, bytes, or rates per second; NaN if unknown or not applicable.
    figures: NDArray[np.float64]
    memory: int | None  # total memory in bytes, from the last sample; None without samples


def read(path: Path, warn: Warn) -> Samples:
    """Reads a host's samples. A line that cannot be read causes a warning and leaves a gap.

    If a counter decreased (it wrapped, a device was replaced, or the host booted), its figures are unknown in that
    second. If a host was switched off during the trial, earlier samples are in metrics.jsonl.gz.1, ….
    """
    host: Mapping[str, Any] = {}
    devices: list[str | None] = []
    values = array("d")
    before: _Sample | None = None
    earlier = [file for file in path.parent.glob(f"{path.name}.[0-9]*") if file.suffix[1:].isdecimal()]
    # Do not warn about earlier files: they may end in the middle of a line, because the host lost power.
    cut = [_objects(file, lambda _: None) for file in sorted(earlier, key=lambda file: int(file.suffix[1:]))]
    for content in itertools.chain(*cut, _objects(path, limited(path, warn))):
        if isinstance(content, _Sample):
            for device, row in _rows(before, content) if before else ():
                devices.append(device)
                values.extend(row)
            before = content
        else:
            host = {**host, **content}
            before = None if "boot" in content else before  # only the first line of a file names the boot
    table = np.frombuffer(values).reshape(len(devices), 2 + len(FIGURES))
    facts = records.decoded(host, _HostFacts, lambda problem: warn(f"{path}: {problem}"))
    columns = (np.array(devices, dtype=object), table[:, 0], table[:, 1], table[:, 2:])
    memory = int(before.memory[0]) if before else None
    return Samples(facts.cpus, facts.boot, facts.sees_all, *columns, memory)


class _HostFacts(Struct, frozen=True):
    """Facts in the first line of a file."""

    cpus: Whole | None = None
    boot: str | None = None
    sees_all: bool = False


class _Sample(Struct, frozen=True):
    """One sample of the kernel's counters."""

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
    """Yields the first line, which describes the host, as a mapping, and then the samples."""
    for number, line in lines(path, warn):
        try:
            content = mapping(loads(line))
            yield msgspec.convert(content, _Sample, strict=False) if "time" in content else content
        except ValueError:
            problem = "is not a sample" if line.endswith("\n") else "is cut off"
            warn(f"{path}:{number}: {problem}: {line.strip()[:80]}")


def _rows(before: _Sample, after: _Sample) -> list[tuple[str | None, _Values]]:
    """Computes the rows of the host, each disk and each network from two samples; none if the host booted in between.

    :returns: for each row, the device and the values: time, seconds and figures
    """
    seconds = after.up - before.up
    if seconds <= 0:
        return []

    def row(device: str | None, **parts: _Values) -> tuple[str | None, _Values]:
        values = [after.time, seconds]
        for part, unknown in _UNKNOWN.items():
            values += parts.get(part) or unknown
        return device, values

    def growths(first: Mapping[str, _Values], last: Mapping[str, _Values]) -> dict[str, _Values]:
        return {name: _growth(first[name], counters, seconds) for name, counters in last.items() if name in first}

    disks = {name: _disk(values) for name, values in growths(before.disks, after.disks).items()}
    networks = growths(before.networks, after.networks)
    outside = [values for name, values in networks.items() if name != _LOOPBACK]
    utilisations = [values[-1] for values in disks.values()]
    busiest = math.nan if any(map(math.isnan, utilisations)) else max(utilisations, default=math.nan)
    ticks = _growth(before.cpu, after.cpu, 1)
    accounted = _growth(before.known, after.known, 1) if before.known and after.known else [math.nan]
    return [
        row(
            None,
            cpu=_shares(ticks),
            memory=_memory(after.memory),
            disk=[*_sums([values[:-1] for values in disks.values()], len(_DISK) - 1), busiest],
            network=_sums(outside, len(_NETWORK)),
            others=_others(ticks, accounted),
            clocks=[math.nan if clock is None else clock for clock in (after.frequency, after.celsius)],
        ),
        *(row(name, disk=values) for name, values in disks.items()),
        *(row(name, network=values) for name, values in networks.items()),
    ]


def _growth(before: Sequence[float], after: Sequence[float], seconds: float) -> _Values:
    pairs = zip(before, after, strict=True)
    return [math.nan if later < earlier else (later - earlier) / seconds for earlier, later in pairs]


def _sums(parts: Sequence[_Values], size: int) -> _Values:
    """Returns the sum of each column. A sum is unknown if one of its values is unknown, or if there are no parts."""
    return [sum(column) for column in zip(*parts, strict=True)] or [math.nan] * size


def _shares(ticks: _Values) -> _Values:
    """Returns the shares in `_CPU`. They are unknown if idle or iowait decreased, which proc(5) says may happen.

    :param ticks: user, nice, system, idle, iowait, irq, softirq, steal
    """
    user, nice, system, idle, iowait, irq, softirq, steal = ticks
    total = sum(ticks) or math.nan
    return [count / total for count in (user + nice, system + irq + softirq, iowait, steal, idle)]


def _others(ticks: _Values, accounted: _Values) -> _Values:
    """Returns the share of other processes. In single seconds it may be negative, because the kernel counts inexactly.

    :param ticks: ticks as in :func:`_shares`
    :param accounted: ticks of processes that Dohyo started, and ticks of kernel threads
    """
    user, nice, system, *_ = ticks
    return [(user + nice + system - sum(accounted)) / (sum(ticks) or math.nan)]


def _memory(sizes: Sequence[float]) -> _Values:
    total, free, available, buffers, cached, reclaimable = sizes
    cache = buffers + cached + reclaimable
    return [max(0.0, total - free - cache), cache, available]


def _disk(values: _Values) -> _Values:
    """Converts the last value from busy ms per second to a share of at most 1. (The kernel rounds up to its ticks.)"""
    *amounts, busy = values
    return [*amounts, busy if math.isnan(busy) else min(1.0, busy / 1000)]


class HostMetrics:
    """The resources that the hosts of one trial used. Only one host's samples are in memory at a time."""

    def __init__(self, folder: Path, windows: Sequence[Window], required: Sequence[str], warn: Warn) -> None:
        """Reads the samples.

        :param folder: folder `hosts` of the trial; it is missing in old experiments
        :param required: hosts that must have samples
        """
        self._windows = windows
        self._files: dict[str, Path] = {}
        self._uses: list[HostUse] = []
        self.shares: list[Taken] = []  # one for each window and each host whose samples distinguish other processes
        # Hosts on which the processor time of other processes is unknown.
        self.untold: list[str] = []
        phases = list(dict.fromkeys(window.phase for window in windows))
        boots: dict[str, str] = {}
        if folder.is_dir():
            for host in sorted({*required, *(entry.name for entry in folder.iterdir() if entry.is_dir())}):
                path = folder / host / FILE
                if path.is_file():
                    self._files[host] = path
                    samples = read(path, warn)
                    self._uses += [self._use(host, samples, phase) for phase in phases]
                    if samples.boot is not None:
                        boots[host] = samples.boot
                        self.shares += [taken(samples, host, window) for window in windows]
                        self.untold += [] if samples.sees_all else [host]
                else:
                    warn(f"{path}: the samples of this host are missing")
        self._uses.sort(key=lambda use: phases.index(use.phase))
        # If hosts share a kernel, the share of other processes is unknown: each host sees the processes of all of them.
        kernels = list(boots.values())
        self.untold = [host for host, boot in boots.items() if kernels.count(boot) > 1 or host in self.untold]
        self.shares = [
            replace(share, other=None, alone=False) if share.host in self.untold else share for share in self.shares
        ]
        for use in self._uses:
            if use.host in self.untold:
                use.figures.pop(*_OTHERS, None)

    def all(self) -> list[HostUse]:
        """Returns what each host used in each phase. Leaves out hosts without samples in the phase."""
        return [use for use in self._uses if use.covered_seconds]

    def cpus(self) -> dict[str, int]:
        """Returns the number of processors of each host on which it is known."""
        return {use.host: use.cpus for use in self.all() if use.cpus}

    def notes(self) -> list[str]:
        """Returns a note that names the hosts on which the processor time of other processes is unknown."""
        if not self.untold:
            return []
        why = "they share a kernel, are containers, or have a CPU quota or attached servers"
        return [f"the CPU time of other processes is not known on {', '.join(self.untold)}: {why}"]

    def series(self) -> Iterator[list[list[object]]]:
        """Reads the files again, and yields the samples of each host in each run and load, including the warm-up.

        The samples of a day take hundreds of megabytes, so the rows are yielded in parts. Unknown values are None.

        :returns: rows with the columns `SERIES`; `time` is in seconds after the agreed start of the run
        """
        for host, path in self._files.items():
            samples = read(path, lambda _: None)  # no warnings, because the first reading gave them
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
                        [window.phase, window.run, host, round(end, 3), round(seconds, 3), device, *map(_rounded, row)]
                        for end, seconds, device, row in zip(*(column.tolist() for column in columns), strict=True)
                    ]

    def means(self, window: Window, stretches: Sequence[tuple[float, float]]) -> Iterator[tuple[str, list[Figures]]]:
        """Reads the files again, and yields each host with its mean figures in each period of a run.

        :param stretches: start and end of each period, in seconds after the agreed start
        """
        for host, path in self._files.items():
            samples = read(path, lambda _: None)  # no warnings, because the first reading gave them
            lines, time, overlap = _inside(samples, host, window, window.agreed, devices=False)
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
        # Seconds that are mostly outside the windows do not count for the maximum.
        mostly = weight >= samples.seconds[lines] / 2
        covered = 0.0
        uses: dict[str | None, dict[str, Use]] = {}
        for name in dict.fromkeys(device):
            of_device = device == name
            uses[name] = _uses(figures[of_device], weight[of_device], mostly[of_device])
            covered = float(weight[of_device].sum()) if name is None else covered
        of_host = uses.pop(None, {})
        devices = {name: of_device for name, of_device in uses.items() if name is not None}
        return HostUse(host, phase, samples.cpus, round(covered, 3), of_host, devices, samples.memory)


def _inside(
    samples: Samples, host: str, window: Window, begin: float, *, devices: bool = True
) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
    """Finds the lines whose seconds overlap the time from `begin` to the end of the window.

    :param devices: whether to include the lines of single devices
    :returns: their positions, their `time` in seconds after the agreed start, and their overlaps in seconds
    """
    time = samples.time - window.offsets_ms.get(host, 0.0) / 1000 - window.agreed
    since, until = begin - window.agreed, window.end - window.agreed
    overlap = np.minimum(time, until) - np.maximum(time - samples.seconds, since)
    of_host = samples.device == None  # noqa: E711 - compares each line
    lines = np.flatnonzero((overlap > 0) & (of_host | devices))
    return lines, time[lines], overlap[lines]


def _figures(
    samples: Samples, lines: NDArray[np.intp], time: NDArray[np.float64], window: Window
) -> NDArray[np.float64]:
    """Returns the figures of the lines that :func:`_inside` found.

    The share of other processes is unknown in seconds that end after the window, because clients and Ansible work then.
    """
    figures = samples.figures[lines]
    figures[time > window.end - window.agreed, FIGURES.index(*_OTHERS)] = math.nan
    return figures


def _uses(figures: NDArray[np.float64], weight: NDArray[np.float64], mostly: NDArray[np.bool_]) -> dict[str, Use]:
    """Returns the known figures of one device. Means are weighted by `weight`; maxima use only lines in `mostly`."""
    uses = {}
    for name, values in zip(FIGURES, figures.T, strict=True):
        present = ~np.isnan(values)
        if (present & mostly).any():
            mean = (values[present] * weight[present]).sum() / weight[present].sum()
            uses[name] = Use(max(0.0, float(mean)), max(0.0, float(values[present & mostly].max())))
    return uses


def taken(samples: Samples, host: str, window: Window) -> Taken:
    """Returns the shares of a host's processors that other processes and the hypervisor took in a window."""
    lines, time, weight = _inside(samples, host, window, window.begin, devices=False)
    uses = _uses(_figures(samples, lines, time, window), weight, weight >= samples.seconds[lines] / 2)
    other, stolen = (use.mean if (use := uses.get(name)) else None for name in (*_OTHERS, "cpu_steal"))
    return Taken(host, window.phase, window.run, other, stolen, samples.sees_all)


def _rounded(value: float) -> float | None:
    return None if math.isnan(value) else max(0.0, round(value, 4))


def busy(uses: Sequence[HostUse], servers: Collection[str], clients: Collection[tuple[str, str]]) -> list[str]:
    """Returns a sentence for each client host whose processors were almost fully busy.

    :param uses: what all hosts used
    :param servers: hosts with servers, which are left out because servers may use all processors
    :param clients: phase and host of each client
    """
    return [
        f"{use.phase}: the client's host {use.host} was {use.busy:.0%} busy: its processors may be the bottleneck"
        for use in uses
        if (use.phase, use.host) in clients and use.host not in servers and (use.busy or 0.0) > SATURATED
    ]
