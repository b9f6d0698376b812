"""Creates the folders of experiments from real output of Dohyo's client, and renders their results."""

import io
import itertools
import json
import re
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

from hdrh.histogram import HdrHistogram
from rich.console import Console

from dohyo.evidence.conductor_records import Client
from dohyo.evidence.hdr_log import MAX_LATENCY_US, Interval, decode
from dohyo.metrics import Row
from dohyo.places import ANSIBLE, RESULTS, WORKLOADS
from dohyo.scenario import loading
from dohyo.summary import regression
from dohyo.summary.results import Summary, Trial
from dohyo.summary.summary import summarise
from dohyo.summary.trust import doubts
from dohyo.systems.catalogue import all_systems
from dohyo.tables import changes_table, screen, table

DATA = Path(__file__).parents[1] / "data"
CONDITIONS = {
    "version": "5.0.6", "nodes": 1, "replication": 1, "write_acks": "all", "read_acks": "one", "write_copies": 1,
    "read_copies": 1, "consistency": "strong", "differences": [], "durability": "memory", "compression": "none",
    "heap": "1g", "jdk": "17.0.13", "endpoints": ["127.0.0.1:9042"], "notes": [],
}  # fmt: skip
STOCK = DATA / "stock"
TITLES = {"cassandra": "Apache Cassandra", "hbase": "Apache HBase"}
Color = Literal["standard"] | None


# This folder is removed when the process exits.
_UNPACKED = tempfile.TemporaryDirectory(prefix="dohyo-sample-")


def sample() -> Path:
    """Returns the experiment whose page and table are in docs/sample. Its evidence is missing."""
    return _unpacked("sample")


def noisy() -> Path:
    """Returns an experiment with many reasons for doubt. Its evidence is missing."""
    return _unpacked("noisy")


@cache
def _unpacked(name: str) -> Path:
    with tarfile.open(DATA / f"{name}.tar.xz") as archive:
        archive.extractall(_UNPACKED.name, filter="data")
        folder = Path(_UNPACKED.name, archive.getnames()[0].partition("/")[0])
    # Use the current scenario. For any other, the screen would suggest the experiment's own file.
    (folder / "scenario.properties").write_text(loading.load(WORKLOADS / "workloadA").text(), encoding="utf-8")
    return folder


def write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")


def edit_json(path: Path, **changes: Any) -> None:
    write_json(path, {**json.loads(path.read_text(encoding="utf-8")), **changes})


# Delays in µs. One is added to all times in the logs of a run, because no two runs may have equal histogram logs.
_RUNS = itertools.count(1)
_STAMPS = re.compile(r"^(\d[\d.]*),(\d[\d.]*),(?=.*,HIST)", re.MULTILINE)


def run_of(client: Path, target: Path) -> Path:
    """Copies a client's run. The copy has the same figures, but different times in its logs."""
    shutil.copytree(client, target)
    as_another(target)
    return target


def as_another(client: Path) -> None:
    """Changes the times in the logs of a client's run, so that they differ from those of all other runs."""
    late = next(_RUNS) / 1e6
    for log in client.glob("*.hdr"):
        text = log.read_text(encoding="utf-8")
        log.write_text(_STAMPS.sub(lambda stamp: f"{float(stamp[1]) + late:.6f},{stamp[2]},", text), encoding="utf-8")


def lasted(client: Path, seconds: float, **changes: Any) -> None:
    """Changes the length of a client's measured window in all files that state it."""
    before = json.loads((client / "client.json").read_text(encoding="utf-8"))["measured_seconds"]
    edit_json(client / "client.json", measured_seconds=seconds, **changes)
    result = client / "result.txt"
    text = re.sub(r"RunTime\(ms\), .*", f"RunTime(ms), {seconds * 1000:.0f}", result.read_text(encoding="utf-8"))
    result.write_text(text, encoding="utf-8")
    longer = seconds / before
    for log in client.glob("*.hdr"):
        text = log.read_text(encoding="utf-8")
        times = _STAMPS.sub(lambda stamp: f"{float(stamp[1]) * longer:.6f},{float(stamp[2]) * longer:.6f},", text)
        log.write_text(times, encoding="utf-8")


def trial(
    experiment: Path,
    number: int,
    system: str,
    repeats: int = 2,
    hosts: tuple[str, ...] = ("node1",),
    phases: tuple[str, ...] = ("run",),
    target: float = 0,
    **settings: Any,
) -> Path:
    """Creates a successful trial, which tests can damage.

    :param target: operations per second of each client; 0: as fast as possible
    :param settings: further content of trial.json
    """
    point = "".join(f"-{key}={value}" for key, value in settings.get("trial_point", {}).items())
    folder = experiment / "raw" / f"{number:02d}-{system}{point}"
    folder.mkdir(parents=True)
    write_json(
        folder / "trial.json",
        {
            "trial_system": system,
            "trial_name": folder.name,
            "trial_properties": {"recordcount": "10000", "batchsize": "1"},
            "trial_threads": 2,
            "trial_repeats": repeats,
            "trial_warmup": 1,
            "trial_conditions": {"replication": 1, "durability": "memory"},
            **({} if phases == ("run",) else {"trial_phases": [{"name": name} for name in phases]}),
            **settings,
        },
    )
    write_json(folder / "state.json", {"status": "done", "reason": None})
    write_json(folder / "conditions.json", {"system": system, "title": TITLES.get(system, system), **CONDITIONS})
    for host in hosts:
        run_of(DATA / "dohyo/load", folder / "load" / host)
        for run in range(1, repeats + 1):
            for phase in phases:
                client = folder / f"{phase}-{run}" / host
                run_of(DATA / "dohyo/run", client)
                report = (client / "client.json").read_text("utf-8")
                report = report.replace('"target" : 2000.0', f'"target" : {target}')
                (client / "client.json").write_text(report, "utf-8")
    return folder


def encoded(counts: Mapping[int, int]) -> str:
    """Returns a histogram of `counts[latency]` operations for each latency in µs, encoded as in a histogram log."""
    return _encoded(tuple(counts.items()))


@cache
def _encoded(counts: tuple[tuple[int, int], ...]) -> str:
    histogram = HdrHistogram(1, MAX_LATENCY_US, 3)
    for latency_us, count in counts:
        if count:
            histogram.record_value(latency_us, count)
    return str(histogram.encode().decode())


def write_log(client: Path, name: str, intervals: Iterable[tuple[float, float, Mapping[int, int]]]) -> None:
    """Writes a histogram log. Each interval has a start and a length in seconds, and counts as for `encoded`."""
    lines = [f"#[Logging for: {name}, microseconds]", "#[StartTime: 1795240000.000 (seconds since epoch)]"]
    lines += [f"{begin:.6f},{seconds:.3f},0.500,{encoded(counts)}" for begin, seconds, counts in intervals]
    (client / f"{name}.hdr").write_text("\n".join(lines) + "\n", encoding="utf-8")


def interval(since_start: float, seconds: float, count: int) -> Interval:
    """Returns an interval of a histogram log. The log begins at 1,000 s."""
    return Interval(1000 + since_start, seconds, decode(encoded({500: count})), since_start)


def reads(client: Path, counts: Sequence[int], latency_us: int = 500, not_found: Sequence[int] = ()) -> None:
    """Changes a client's run to the given numbers of reads in each second, in all files that the client writes.

    :param not_found: additional reads per second that find no record
    """
    for old in client.glob("*.hdr"):
        old.unlink()
    result = [f"[OVERALL], RunTime(ms), {1000 * len(counts)}", f"[OVERALL], Operations, {sum(counts) + sum(not_found)}"]
    late = next(_RUNS) / 1e6
    for name, by_second in {"READ": counts, **({"READ-NOT_FOUND": not_found} if not_found else {})}.items():
        # A log begins with the first operation of its type.
        first = next((second for second, count in enumerate(by_second) if count), len(by_second))
        counts_of = [(second + late, 1.0, {latency_us: by_second[second]}) for second in range(first, len(by_second))]
        write_log(client, name, counts_of)
        result.append(f"[{name}], Operations, {sum(by_second)}")
    statuses = {"OK": sum(counts)} | ({"NOT_FOUND": sum(not_found)} if not_found else {})
    result += [f"[READ], Return={status}, {count}" for status, count in statuses.items()]
    (client / "result.txt").write_text("\n".join(result) + "\n", encoding="utf-8")
    total = sum(statuses.values())
    edit_json(
        client / "client.json",
        measured_seconds=float(len(counts)),
        operations=total,
        records=sum(counts),
        operations_by_type={"READ": {"statuses": statuses}},
    )


def latencies(client: Path, counts: Mapping[int, int]) -> None:
    """Changes a client's run to one interval of 20 s that has `counts[latency]` reads for each latency in µs."""
    reads(client, [sum(counts.values()) // 20] * 20)
    write_log(client, "READ", [(0.0, 20.0, counts)])
    as_another(client)


def canary(folder: Path, figures: Mapping[str, Sequence[float]], *hosts: str) -> None:
    """Writes the canary of these hosts before a trial: the speed in each slice (1/s), by the name of the figure."""
    readings = [{"name": name, "of": None, "slices": slices, "unit": "1/s"} for name, slices in figures.items()]
    content = {"at": "2026-11-26T07:11:30Z", "hosts": {host: {"figures": readings} for host in hosts}}
    write_json(folder / "canary.json", content)


def cluster(experiment: Path, which: str, conducted: dict[str, dict[str, Any]], number: int = 1) -> Path:
    """Creates a trial from the runs in data/cluster/WHICH. `conducted` contains the clients.json of each phase."""
    hosts = sorted(path.name for path in (DATA / "cluster" / which / "run-1").iterdir() if path.is_dir())
    repeats = len(list((DATA / "cluster" / which).iterdir()))
    folder = trial(experiment, number, "cassandra", repeats=0, hosts=tuple(hosts))
    edit_json(folder / "trial.json", trial_repeats=repeats, trial_warmup=2)
    shutil.copytree(DATA / "cluster" / which, folder, dirs_exist_ok=True)
    for phase, content in conducted.items():
        reports = [json.loads(file.read_text(encoding="utf-8")) for file in folder.glob(f"{phase}/*/client.json")]
        agreed = [report["agreed_start_ms"] / 1000 for report in reports]
        write_json(folder / phase / "clients.json", {**content, "agreed": agreed[0]})
    return folder


def clients_json(hosts: tuple[str, ...], **changes: Any) -> dict[str, Any]:
    """Returns clients.json as the conductor writes it after a successful run."""
    return {
        "agreed": 1795266533.14,
        "offset_limit_ms": 10,
        "clients": {
            host: {
                "offset_ms": -0.25 * number, "offset_error_ms": 0.1 * number, "start_ms": 0.2 * number,
                "end_ms": 1.5 * number, "state": "ended", "exit": 0, "reason": "",
            }
            for number, host in enumerate(hosts)
        },
        "nodes": {
            host: {"state": "ran", "at": None, "reason": "", "cpu_seconds": 1.5, "memory_mb": 400.0} for host in hosts
        },
        "start_skew_ms": 0.2 * (len(hosts) - 1),
        "end_skew_ms": 1.5 * (len(hosts) - 1),
        "valid": True,
        "failure": "",
        "events": [],
        **changes,
    }  # fmt: skip


def printed(draw: Callable[[Console], object], width: int, color: Color = None) -> str:
    """Returns the output of `draw` on a terminal of this width."""
    console = Console(width=width, force_terminal=True, color_system=color, file=io.StringIO())
    draw(console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def rendered(summary: Summary, width: int = 120, color: Color = None) -> str:
    """Returns the details as they appear on a terminal of this width."""
    return printed(lambda console: table.render(summary, console), width, color)


def on_screen(summary: Summary, width: int = 100, color: Color = None) -> str:
    """Returns the screen as it appears on a terminal of this width."""
    return printed(lambda console: screen.render(summary, console, RESULTS / "x"), width, color)


def changes_shown(changes: regression.Changes, width: int = 200, color: Color = None) -> str:
    """Returns the comparison of two experiments as it appears on a terminal of this width."""
    return printed(lambda console: changes_table.render(changes, console), width, color)


SETTINGS = {"slo": "p99<10ms", "probes": 8, "duration": 30, "precision": 0.03}
# Operations of the client in tests/data. The p99 from the intended start is 0.327 ms (READ) and 0.388 ms (UPDATE).
# By default, `trial` removes the target rate, so that 2,000 operations per second count as the maximum.
OPERATIONS = 6000


def searched(
    experiment: Path,
    *probes: tuple[float, float],
    hosts: tuple[str, ...] = ("node1",),
    number: int = 1,
    facts: dict[str, Any] | None = None,
    **changes: Any,
) -> Path:
    """Creates a trial whose probes had these targets and rates. `facts` contains further settings of the trial."""
    folder = trial(experiment, number, "cassandra", hosts=hosts, **(facts or {}))
    edit_json(folder / "trial.json", trial_search={**SETTINGS, **changes})
    for probe, (target, achieved) in enumerate(probes, start=1):
        for host in hosts:
            client = folder / f"probe-{probe}" / host
            shutil.copytree(DATA / "dohyo/run", client)
            seconds = OPERATIONS * len(hosts) / achieved
            lasted(client, seconds, target=target / len(hosts))
    return folder


def searched_rounds(experiment: Path, held: Mapping[str, Sequence[float]], above: float = 1.02, **changes: Any) -> Path:
    """Creates searches in which each system reached these rates, one per round, but not rates `above` times as high."""
    rounds = len(next(iter(held.values())))
    for number, (turn, system) in enumerate(itertools.product(range(rounds), held), start=1):
        rate = held[system][turn]
        of_rounds = {"trial_round": turn + 1, "trial_rounds": rounds} if rounds > 1 else {}
        facts = {"trial_system": system, **of_rounds}
        searched(experiment, (rate, rate), *[(above * rate, rate)] * 2, number=number, facts=facts, **changes)
    return experiment


def keep(folder: Path, host: str, **files: str | Path) -> None:
    """Writes files of a server's evidence. In the arguments' names, `__` stands for a dot and `___` for a dash."""
    (folder / host).mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = folder / host / name.replace("___", "-").replace("__", ".")
        if isinstance(content, Path):
            shutil.copy(content, path)
        else:
            path.write_text(content, encoding="utf-8")


def explained(folder: Path, system: str, name: str) -> Path:
    """Copies the file that explains a system's statistics or logs to a folder of evidence, and returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    if (path := ANSIBLE / "systems" / all_systems()[system].role / name).is_file():
        shutil.copy(path, folder)
    return folder


def in_rounds(
    experiment: Path, rounds: int, systems: Iterable[str], **settings: Any
) -> Iterator[tuple[int, str, Path]]:
    """Creates one trial, with one run, per round and system. Yields round (from 1), system and folder of each trial."""
    for number, (turn, system) in enumerate(itertools.product(range(1, rounds + 1), systems), start=1):
        about = {"trial_round": turn, "trial_rounds": rounds, **settings}
        yield turn, system, trial(experiment, number, system, repeats=1, **about)


def row(source: Trial | Client, operation: str, phase: str = "run") -> Row:
    """Returns the first row of an operation in a phase."""
    return next(candidate for candidate in source.rows if (candidate.phase, candidate.operation) == (phase, operation))


def only(experiment: Path) -> Trial:
    """Returns the summary of the only trial of an experiment."""
    (result,) = summarise(experiment).trials
    return result


def shorts(summary: Summary) -> list[str]:
    """Returns the reasons for doubt in the short form that table cells contain."""
    return [reason.short for reason in doubts(summary)]


def compared(before: Path, after: Path, margin: float = regression.MARGIN) -> regression.Changes:
    return regression.compare(summarise(before), summarise(after), margin)
