"""Creates the experiments of the golden files. Each function fills a folder from the same recorded output."""

import re
import shutil
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dohyo.evidence.server_log import HEALING
from support.evidence import (
    DATA,
    clients_json,
    cluster,
    edit_json,
    encoded,
    explained,
    in_rounds,
    lasted,
    reads,
    trial,
    write_json,
)
from support.faults import ACCOUNT, ASKED, faults_json

Case = Callable[[Path], None]


def _facts(experiment: Path, **changes: Any) -> None:
    about = {"id": experiment.name, "scenario": "workloadA", "title": "Workload A", "started": "2026-11-20T10:00:00"}
    write_json(experiment / "experiment.json", {**about, **changes})


def ranking(experiment: Path) -> None:
    """Creates three rounds of two systems with unequal conditions, on hosts whose price is known."""
    _facts(experiment)
    for turn, system, folder in in_rounds(experiment, 3, ("cassandra", "hbase")):
        client = folder / "run-1/node1"
        lasted(client, (2.0 if system == "hbase" else 3.0) + 0.02 * turn, target=0)
        edit_json(
            client / "client.json",
            retried_requests=40 * turn,
            connections=7,
            event_loops=2 * (system == "hbase"),
            loop="events",
        )
        edit_json(folder / "conditions.json", usd_per_hour={"node1": 0.7})
        if system == "hbase":
            unlike = ["durability: requested 'memory', but the server has 'disk'"]
            edit_json(folder / "conditions.json", durability="disk", notes=["compaction: none"], differences=unlike)
            edit_json(folder / "load/node1/client.json", retried_records=12, first_error="INSERT: OVERLOADED: busy")


def hosts(experiment: Path) -> None:
    """Copies two rounds of InnoDB and MyISAM with three clients on three hosts, as `run.sh` left them."""
    with tarfile.open(DATA / "small.tar.xz") as archive:
        archive.extractall(experiment, filter="data")


def loads(experiment: Path) -> None:
    """Creates loads of two systems at two points of a matrix. One system's loads become slower, the other's stall."""
    _facts(experiment, title="Insert race")
    counts = {"cassandra": [500] * 5 + [200] * 10 + [50] * 10, "hbase": [400] * 10 + [0] * 5 + [200] * 5}
    for number, (system, batch) in enumerate(((system, batch) for system in counts for batch in (1, 100)), start=1):
        folder = trial(experiment, number, system, 1, phases=(), trial_point={"batchsize": str(batch)})
        seconds = [count for count in counts[system] for _ in range(2 - batch // 100)]
        _inserts(folder / "load/node1", [count * len(counts[system]) // len(seconds) for count in seconds])


def _inserts(client: Path, counts: Sequence[int]) -> None:
    """Changes a client's load to the given numbers of inserts in each second. The total stays 5,000."""
    lasted(client, float(len(counts)), target=0)
    for log in client.glob("*INSERT.hdr"):
        heads = [line for line in log.read_text("utf-8").splitlines() if line[0] in '#"']
        lines = [f"{second}.000,1.000,0.500,{encoded({500: count})}" for second, count in enumerate(counts)]
        log.write_text("\n".join([*heads, *lines]) + "\n", encoding="utf-8")
    text = (client / "result.txt").read_text("utf-8")
    text = re.sub(r"(INSERT\], (Max|[0-9.]+(th)?Percentile)Latency\(us\)), [0-9.]+", r"\1, 500", text)
    (client / "result.txt").write_text(text, encoding="utf-8")


def equal(experiment: Path) -> None:
    """Creates three rounds of two systems, each at its own maximum and then at 560 op/s."""
    _facts(experiment, title="Equal rates", equal_targets={"": 560})
    phases = [{"name": "max"}, {"name": "equal", "properties": {"target": "560"}}]
    trials = in_rounds(experiment, 3, ("cassandra", "hbase"), phases=("max", "equal"), trial_phases=phases)
    for turn, system, folder in trials:
        reads(folder / "max-1/node1", [{"cassandra": 1000, "hbase": 800}[system] + 8 * turn] * 3)
        reads(folder / "equal-1/node1", [560] * 3, {"cassandra": 500, "hbase": 200}[system] + turn)
        for phase, target in (("max", 0), ("equal", 560)):
            edit_json(folder / f"{phase}-1/node1/client.json", target=target)


def faults(experiment: Path) -> None:
    """Creates two rounds of two systems whose servers were killed. One system loses acknowledged writes."""
    _facts(experiment, title="Restart")
    for turn, system, folder in in_rounds(experiment, 2, ("cassandra", "hbase")):
        edit_json(folder / "trial.json", trial_phases=[{"name": "run", "maxnotfoundrate": 1, "faults": ASKED}])
        explained(folder / "server", system, HEALING)
        series = [100] * 10 + [0] * (4 if system == "cassandra" else 7 + turn) + [100] * 16
        lost = {"lost": 3, "missing": 2, "stale_reads": 7} if system == "cassandra" else {}
        reads(folder / "run-1/node1", series, not_found=[0] * 14 + [10] * (len(series) - 14))
        edit_json(folder / "run-1/node1/client.json", accounting={**ACCOUNT, **lost}, target=0)
        write_json(folder / "run-1/faults.json", faults_json(series, whole=21.0 + turn))


def attached(experiment: Path) -> None:
    """Creates a trial on an attached system, and a trial whose servers Dohyo started."""
    _facts(experiment, title="Attached")
    for _, system, folder in in_rounds(experiment, 1, ("cassandra", "mysql-innodb")):
        reads(folder / "run-1/node1", [{"cassandra": 2000, "mysql-innodb": 1500}[system]] * 3)
        if system == "cassandra":
            unknown = dict.fromkeys(("heap", "jdk", "durability", "write_copies", "read_copies"))
            edit_json(folder / "conditions.json", attached="db1.example:9042", replication="unknown", **unknown)


def rounds(experiment: Path) -> None:
    """Creates four rounds that share one load per system. The order of two neighbours in the ranking is undecided."""
    _facts(experiment, title="Rounds", precision=0.05, rounds_ended="max", alike=0.05)
    systems = ("cassandra", "hbase", "scylla")
    rates = {"cassandra": (1000, 1060, 960, 1010), "hbase": (980, 900, 1010, 940), "scylla": (500, 501, 502, 500)}
    for turn, system, folder in in_rounds(experiment, 4, systems, trial_reuse="0" * 16):
        reads(folder / "run-1/node1", [rates[system][turn - 1]] * 20 + [rates[system][turn - 1] // turn] * 10)
        write_json(folder / "kept.json", {"load": f"0{systems.index(system) + 1}-{system}", "note": ""})
        if turn > 1:
            shutil.rmtree(folder / "load")


def failures(experiment: Path) -> None:
    """Creates a system with results, and several without results for different reasons."""
    _facts(experiment, title="Failures")
    crash = {"at": 7.4, "host": "host3", "what": "cassandra ended with exit code 137"}
    names = ("host1", "host2", "host3")
    why = "host3 vanished 13.9 s after the start: the connection was closed"
    cluster(experiment, "outage", {"run-1": clients_json(names, valid=False, failure=why, events=[crash])})
    reads(trial(experiment, 2, "hbase", 1) / "run-1/node1", [800] * 3)
    states = {
        "scylla": ("skipped", "no package; docs/systems/scylla.md says how to install one"),
        "aerospike": ("failed", "the server did not come up within 60 s | see its log"),
        "mysql-innodb": ("interrupted", None),
        "mysql-myisam": ("pending", None),
    }
    for number, (system, (status, reason)) in enumerate(states.items(), start=3):
        folder = trial(experiment, number, system, 1)
        write_json(folder / "state.json", {"status": status, "reason": reason})
        shutil.rmtree(folder / "run-1")


def foreign(folder: Path) -> None:
    """Creates logs of the stock client in several formats. One log contains failed operations."""
    for name in ("errors", "hdr", "load", "text"):
        shutil.copytree(DATA / "stock" / name, folder / name)


def phases(experiment: Path) -> None:
    """Creates two phases with different settings, two clients, and a discarded first repeat."""
    _facts(experiment, title="Update, then read")
    names = ("update", "read")
    settings = [{"name": "update"}, {"name": "read", "threads": 4, "properties": {"batchsize": "100"}}]
    about: dict[str, Any] = {"phases": names, "hosts": ("node1", "node2"), "trial_discard": 1, "trial_phases": settings}
    for number, system in enumerate(("cassandra", "hbase"), start=1):
        folder = trial(experiment, number, system, 3, **about)
        for run in (1, 2, 3):
            for client in folder.glob(f"*-{run}/*"):
                update = client.parent.name.startswith("update")
                lasted(client, (4.0 if update else 2.0) / number + 0.1 * run, target=0)
                if not update:
                    edit_json(client / "client.json", batchsize=100, threads=4)
        event = {"at": 2.0, "host": "node1", "what": "GC pause of 1.2 s"}
        about_run = {"agreed": 1795266433.14 + 100 * number, "warmup_steady": False, "warmup_seconds": 1.0}
        conducted = clients_json(("node1", "node2"), events=[event], **about_run)
        write_json(folder / "read-2/clients.json", conducted)


def search(experiment: Path) -> None:
    """Creates searches for the highest rates that two systems reach within a latency bound."""
    _facts(experiment, title="Under an objective")
    settings = {"slo": "p99<10ms", "probes": 3, "duration": 2, "precision": 0.03}
    held = {"cassandra": 1000.0, "hbase": 1500.0}
    for _, system, folder in in_rounds(experiment, 1, tuple(held), trial_search=settings):
        for number, target in enumerate((held[system], *[1.02 * held[system]] * 2), start=1):
            client = folder / f"probe-{number}/node1"
            shutil.copytree(DATA / "dohyo/run", client)
            lasted(client, 6000 / held[system], target=target)


def compare(folder: Path) -> None:
    """Creates two experiments. One system became slower, one faster, one is missing, and a condition differs."""
    for name, changes in {
        "before": {"hbase": 800, "mysql-innodb": 900},
        "after": {"cassandra": 700, "hbase": 1200},
    }.items():
        experiment = folder / name
        systems = ("cassandra", "hbase", *(("mysql-innodb",) if name == "before" else ()))
        experiment.mkdir()
        _facts(experiment)
        for turn, system, path in in_rounds(experiment, 3, systems):
            reads(path / "run-1/node1", [changes.get(system, 1000) + turn] * 20, 700 if name == "after" else 500)
            edit_json(path / "conditions.json", version="5.0.6" if name == "before" else "5.0.7")


CASES: tuple[Case, ...] = (
    ranking, hosts, loads, equal, faults, attached, rounds, failures, foreign, phases, search, compare,
)  # fmt: skip
