"""Changes one thing in the evidence of a small real experiment, and checks how the summary reacts.

`data/small.tar.xz` is workload A on InnoDB and MyISAM, with three clients on three hosts, and two rounds. Each change
gets a new manifest, as if the program that wrote the evidence were wrong. The summary must then name the change, unless
it is SAME or MANIFEST. With the original manifest, every tested change is named. The database must equal the summary.
"""

import gzip
import json
import re
import shutil
import sqlite3
import tarfile
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dohyo.evidence import manifest
from dohyo.facts import database
from dohyo.summary.results import Summary
from dohyo.summary.summary import summarise

DATA = Path(__file__).parent / "data" / "small.tar.xz"
Change = Callable[[Path], object]
TRIAL = "raw/01-mysql-innodb"
OTHER = "raw/02-mysql-myisam"
RUN = f"{TRIAL}/run-1"
CLIENT = f"{RUN}/host2"
REPORT = f"{CLIENT}/client.json"
RESULT = f"{CLIENT}/result.txt"
LOG = f"{CLIENT}/READ.hdr"
CLIENTS = f"{RUN}/clients.json"
TRIAL_JSON = f"{TRIAL}/trial.json"


def edit(file: str, *path: str | int, new: Any) -> Change:
    """Returns a change that sets a value in a JSON file. If `new` is a function, it receives the old value."""

    def change(experiment: Path) -> None:
        content = json.loads((experiment / file).read_text())
        inner = content
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = new(inner[path[-1]]) if callable(new) else new
        (experiment / file).write_text(json.dumps(content, indent=1))

    return change


def replace(file: str, pattern: str, replacement: str) -> Change:
    """Returns a change that replaces the first match of a pattern in a text file."""

    def change(experiment: Path) -> None:
        text, count = re.subn(pattern, replacement, (experiment / file).read_text(), count=1, flags=re.MULTILINE)
        assert count
        (experiment / file).write_text(text)

    return change


report = partial(edit, f"{CLIENT}/client.json")
conducted = partial(edit, f"{RUN}/clients.json")
settings = partial(edit, f"{TRIAL}/trial.json")
result = partial(replace, f"{CLIENT}/result.txt")
log = partial(replace, f"{CLIENT}/READ.hdr")


def remove(path: str) -> Change:
    return lambda experiment: (
        shutil.rmtree(experiment / path) if (experiment / path).is_dir() else (experiment / path).unlink()
    )


def put(source: str, target: str) -> Change:
    """Returns a change that copies the file or folder `source` over `target`."""

    def change(experiment: Path) -> None:
        if (experiment / source).is_dir():
            shutil.rmtree(experiment / target, ignore_errors=True)
            shutil.copytree(experiment / source, experiment / target)
        else:
            shutil.copy(experiment / source, experiment / target)

    return change


def cut(file: str) -> Change:
    """Returns a change that removes the second half of a file."""

    def change(experiment: Path) -> None:
        content = (experiment / file).read_bytes()
        (experiment / file).write_bytes(content[: len(content) // 2])

    return change


def lines(file: str, edit_lines: Callable[[list[str]], list[str]]) -> Change:
    def change(experiment: Path) -> None:
        (experiment / file).write_text("".join(edit_lines((experiment / file).read_text().splitlines(keepends=True))))

    return change


def every(*changes: Change) -> Change:
    """Returns a change that applies these changes in order."""

    def change(experiment: Path) -> None:
        for apply in changes:
            apply(experiment)

    return change


def window(seconds: float, *, trial: str = TRIAL, of_trial: bool = False) -> Change:
    """Returns a change that sets the length of the window in all files that state it, except the histogram logs.

    :param of_trial: also change trial.json
    """
    clients = [f"{trial}/run-1/host{number}" for number in (1, 2, 3)]
    result = r"^(\[OVERALL\], RunTime\(ms\)), .*"
    return every(
        *(edit(f"{client}/client.json", "measured_seconds", new=seconds) for client in clients),
        *(replace(f"{client}/result.txt", result, rf"\1, {1000 * seconds:.0f}") for client in clients),
        *([edit(f"{trial}/trial.json", "trial_phases", 0, "duration", new=int(seconds))] if of_trial else []),
    )


def samples(file: str, edit_lines: Callable[[list[str]], list[str]]) -> Change:
    """Returns a change that applies a function to the lines of a gzipped file."""

    def change(experiment: Path) -> None:
        content = gzip.decompress((experiment / file).read_bytes()).decode().splitlines(keepends=True)
        (experiment / file).write_bytes(gzip.compress("".join(edit_lines(content)).encode()))

    return change


def _figures_of(client: str, target: str) -> Change:
    """Returns a change that copies the client.json of `client` to `target`, but keeps the times of `target`."""

    def change(experiment: Path) -> None:
        files = [experiment / folder / "client.json" for folder in (client, target)]
        figures, its = (json.loads(file.read_text()) for file in files)
        times = {key: its[key] for key in ("agreed_start_ms", "skew_ms", "finished_ms")}
        files[1].write_text(json.dumps({**figures, **times}))

    return change


SAME = "no number differs"
MANIFEST = "only the manifest shows the change"
# Changes by name, each with the text that the summary must contain.
CHANGES: dict[str, tuple[Change, str]] = {
    # Report of a client
    **{
        f"{name} of a client": (edit(REPORT, name, new=new), expected)
        for name, new, expected in (
            ("records", 3, "client.json counts 3 records, but its operation types add up to 800"),
            ("operations", 8000, "800 operations attempted, but 8,000 succeeded, 0 failed: 7,200 "),
            ("failed_records", 700, SAME),
            ("measured_seconds", 2.0, "client.json states 2 s, but the result lines state 4 s"),
            ("valid", False, "client reported an invalid run"),
            ("exit", 4, "client.json states exit code 4, but the client ended with 0"),
            ("threads", 64, "the client ran a different scenario: threads 64 instead of 2"),
            ("binding", "cassandra", "the client ran a different scenario: binding cassandra instead of mysql"),
            ("target", 400.0, "run-1: the clients' target rates add up to 800 op/s instead of 600"),
            ("batchsize", 20, "the client ran a different scenario: batchsize 20 instead of 1"),
            ("inflight", 50, "the client ran a different scenario: inflight 50 instead of 1"),
            ("tablecount", 4, "the client ran a different scenario: tablecount 4 instead of 1"),
            ("readbeforewrite", True, "the client ran a different scenario: readbeforewrite True instead of False"),
            (
                "agreed_start_ms",
                lambda ms: ms + 1000,
                "the client was to begin at 2026-11-23 12:43:24, but its run at 2026-11-23 12:43",
            ),
            ("skew_ms", 900.0, "the client began 900 ms after the agreed instant; at most 100 ms is allowed"),
            ("finished_ms", 2000.0, SAME),
            ("phase", "load", "run-1: a client ran a different phase: load"),
            ("warmup_seconds", 9.0, "its window began 9.0 s after the agreed instant, but the run's 1.0 s afte"),
            ("cpu_seconds", 99.0, "the client was the bottleneck: it used 1238% of 2 processors; limit: 90%"),
            ("busiest_thread_share", 0.97, "was the bottleneck: 97% of a processor; limit: 90%"),
        )
    },
    "operations of a type": (
        edit(REPORT, "operations_by_type", "READ", "operations", new=4),
        "client.json counts 4 operations of READ, but the result lines state 407",
    ),
    "statuses of a type": (
        edit(REPORT, "operations_by_type", "READ", "statuses", "OK", new=4),
        "client.json and the result lines differ in the statuses of READ",
    ),
    "a slightly shorter window": (window(3.5), "run-1 on host1: it measured 3.5 s, but trial.json requests 4 s"),
    "a window shorter than the logs": (
        window(1.0, of_trial=True),
        "client.json states 1 s, but operations in the histogram logs began after 3.0 s",
    ),
    "a window longer than the logs": (
        window(8.0, of_trial=True),
        "client.json states 8 s, but the histogram logs end after 4.1 s",
    ),
    "a window longer than the trial": (
        window(20.0, of_trial=True),
        "run-1: began at 2026-11-23 12:43:23 and ended at 2026-11-23 12:43:44, but the trial lasted",
    ),
    "a missing client.json": (remove(REPORT), "the client wrote no client.json"),
    "half a client.json": (cut(REPORT), "the client wrote no client.json"),
    "a failed exit": (lambda folder: (folder / CLIENT / "exit").write_text("1\n"), "the client ended with exit code 1"),
    "another workload of a client": (
        replace(f"{CLIENT}/client.properties", "readproportion=0.5", "readproportion=0.95"),
        SAME,
    ),
    "shorter fields of a client": (replace(f"{CLIENT}/client.properties", "fieldlength=100", "fieldlength=10"), SAME),
    # Result lines of a client
    "a missing result": (remove(RESULT), "no result lines in result.txt"),
    "half a result": (cut(RESULT), "result lines for 407 of 800 operations"),
    "operations of a result": (
        replace(RESULT, r"^\[READ\], Operations, .*", "[READ], Operations, 9"),
        "result lines for 402 of 800 operations",
    ),
    "a mean": (replace(RESULT, r"^\[READ\], AverageLatency\(us\), .*", "[READ], AverageLatency(us), 1.0"), SAME),
    "a percentile": (
        replace(RESULT, r"^(\[READ\], 99thPercentileLatency\(us\)), .*", r"\1, 1"),
        "raw/01-mysql-innodb/run-1/host2/result.txt:1: READ: a higher percentile is ",
    ),
    "run time": (
        replace(RESULT, r"^(\[OVERALL\], RunTime\(ms\)), .*", r"\1, 400"),
        "client.json states 4 s, but the result lines state 0.4 s",
    ),
    "throughput": (replace(RESULT, r"^(\[OVERALL\], Throughput\(ops/sec\)), .*", r"\1, 9000"), SAME),
    "records of a result": (
        replace(RESULT, r"^\[READ\], Records, .*", "[READ], Records, 9000"),
        "client.json counts 407 records of READ, but the result lines state 9000",
    ),
    # Histogram logs of a client
    "a missing histogram log": (remove(LOG), "READ.hdr is missing"),
    "half a histogram log": (cut(LOG), "READ.hdr:6: broken histogram: Incorrect padding"),
    "a missing interval": (lines(LOG, lambda rows: rows[:5] + rows[6:]), "READ.hdr contains"),
    "a repeated interval": (lines(LOG, lambda rows: [*rows[:5], *rows[5:6], *rows[5:]]), "READ.hdr contains"),
    "intervals in another order": (
        lines(LOG, lambda rows: [*rows[:4], *reversed(rows[4:])]),
        "READ.hdr:6: the clock jumped by -1 s; later times are corrected",
    ),
    "a damaged interval": (replace(LOG, "HISTF", "HISTG"), "READ.hdr:5: broken histogram: unknown encoding 0x1c849318"),
    "another unit in a histogram log": (
        replace(LOG, "microseconds", "nanoseconds"),
        "READ.hdr contains latencies up to",
    ),
    "an unknown unit": (
        replace(LOG, "microseconds", "seconds"),
        "READ.hdr:5: unit 'seconds' is not known; known units: microseconds, nanoseconds",
    ),
    "a start time one hour late": (replace(LOG, r"StartTime: \d+", "StartTime: 1795441404"), SAME),
    "another type's histograms": (put(f"{CLIENT}/UPDATE.hdr", LOG), "READ.hdr is missing"),
    "another client's histograms": (
        put(f"{RUN}/host1/READ.hdr", LOG),
        "READ.hdr contains 397 operations, but the result lines state 407",
    ),
    "no intended latencies": (remove(f"{CLIENT}/Intended-READ.hdr"), "Intended-READ.hdr is missing"),
    "service times as intended latencies": (
        put(LOG, f"{CLIENT}/Intended-READ.hdr"),
        "READ.hdr contains 814 operations",
    ),
    # Set of clients
    "a missing client": (remove(CLIENT), "the client left no files"),
    "a duplicate client": (
        put(f"{RUN}/host1", CLIENT),
        "run-1: 2 clients have the clientnumber 0: their evidence is from one client",
    ),
    "an extra client": (put(f"{RUN}/host1", f"{RUN}/host4"), "the client left no files"),
    "a client of another system": (
        put(f"{OTHER}/run-1/host2", CLIENT),
        "the client was to begin at 2026-11-23 12:44:24, but its run at 2026-11-23 12:43",
    ),
    "a client of the load": (
        put(f"{TRIAL}/load/host2", CLIENT),
        "the client was to begin at 2026-11-23 12:43:12, but its run at 2026-11-23 12:43",
    ),
    "all clients of another system": (
        put(f"{OTHER}/run-1", RUN),
        "run-1: began at 2026-11-23 12:44:24, but the trial lasted from 2026-11-23 12:42",
    ),
    "no clients.json": (remove(CLIENTS), "run-1/clients.json: is missing or damaged"),
    "half a clients.json": (cut(CLIENTS), "run-1/clients.json: is missing or damaged"),
    "a wrong clock offset": (
        edit(CLIENTS, "clients", "host2", "offset_ms", new=5000.0),
        "the client was to begin at 2026-11-23 12:43:18, but its run at 2026-11-23 12:43",
    ),
    "an uncertain clock offset": (
        edit(CLIENTS, "clients", "host2", "offset_error_ms", new=5000.0),
        "its clock is known to ± 5,000 ms; at most 100 ms is allowed",
    ),
    "another instant": (
        edit(CLIENTS, "agreed", new=lambda seconds: seconds + 60),
        "run-1: began at 2026-11-23 12:44:23, but the trial lasted from 2026-11-23 12:42",
    ),
    "a client with exit code 1": (edit(CLIENTS, "clients", "host2", "exit", new=1), SAME),
    "a server that ended": (edit(CLIENTS, "nodes", "host1", "state", new="ended"), "failed"),
    "a failed run": (edit(CLIENTS, "valid", new=False), "run-1: its clients did not run together"),
    "clients.json of another run": (
        put(f"{OTHER}/run-1/clients.json", CLIENTS),
        "run-1: began at 2026-11-23 12:44:24, but the trial lasted from 2026-11-23 12:42",
    ),
    # The trial's files
    "another system": (
        edit(TRIAL_JSON, "trial_system", new="mysql-myisam"),
        "trial.json: states system mysql-myisam, but experiment.json plans system mysql-i",
    ),
    "more records": (
        edit(TRIAL_JSON, "trial_properties", "recordcount", new="12000"),
        "ran a different scenario than raw/01-mysql-innodb: recordcount 1200 instead o",
    ),
    "another mix": (
        edit(
            TRIAL_JSON,
            "trial_phases",
            0,
            "properties",
            new=lambda mix: {**mix, "readproportion": "0.95", "updateproportion": "0.05"},
        ),
        "ran a different scenario than raw/01-mysql-innodb: run.readproportion 0.5 instead of 0.95",
    ),
    "another duration": (edit(TRIAL_JSON, "trial_duration", new=40), SAME),
    "another duration of the phase": (
        edit(TRIAL_JSON, "trial_phases", 0, "duration", new=40),
        "run-1 on host1: it measured 4 s, but trial.json requests 40 s",
    ),
    "a duplicate round": (
        edit(TRIAL_JSON, "trial_round", new=2),
        "trial.json: states round 2, but experiment.json plans round 1",
    ),
    "another name": (edit(TRIAL_JSON, "trial_name", new="04-mysql-innodb"), "trial.json: belongs to 04-mysql-innodb"),
    "other threads": (
        edit(TRIAL_JSON, "trial_phases", 0, "threads", new=64),
        "run-1 on host1: the client ran a different scenario: threads 2 instead of 64",
    ),
    "a duplicate trial": (put(TRIAL, "raw/05-mysql-innodb"), "raw/05-mysql-innodb belongs to another experiment"),
    "another trial's evidence": (
        put(OTHER, TRIAL),
        "trial.json: states system mysql-myisam, but experiment.json plans system mysql-i",
    ),
    "a missing trial": (remove(TRIAL), "its evidence is missing"),
    "a missing run": (remove(RUN), "0 of 1 repeats left results"),
    "an extra run": (put(RUN, f"{TRIAL}/run-2"), "2 of 1 repeats left results"),
    "a missing load": (remove(f"{TRIAL}/load"), "load: is missing"),
    "a missing client of the load": (remove(f"{TRIAL}/load/host2"), "the client left no files"),
    "records of the load": (
        edit(f"{TRIAL}/load/host2/client.json", "records", new=3),
        "client.json counts 3 records, but its operation types add up to 400",
    ),
    "no conditions": (remove(f"{TRIAL}/conditions.json"), "conditions.json: is missing"),
    "another replication": (edit(f"{TRIAL}/conditions.json", "replication", new=3), SAME),
    "another durability": (edit(f"{TRIAL}/conditions.json", "durability", new="disk"), SAME),
    "missing rows": (edit(f"{TRIAL}/settled.json", "rows", "usertable", new=600), SAME),
    "no rows": (remove(f"{TRIAL}/settled.json"), SAME),
    "an unfinished trial": (edit(f"{TRIAL}/state.json", "status", new="running"), "not finished"),
    "a failed trial": (edit(f"{TRIAL}/state.json", "status", new="failed"), "no reason was recorded"),
    "no state": (remove(f"{TRIAL}/state.json"), "state.json: is missing"),
    "no trial.json": (remove(TRIAL_JSON), "trial.json: is missing"),
    "a copied round": (
        every(
            *(
                put(f"{RUN}/host{host}/{file}", f"raw/04-mysql-innodb/run-1/host{host}/{file}")
                for host in (1, 2, 3)
                for file in ("READ.hdr", "UPDATE.hdr", "Intended-READ.hdr", "Intended-UPDATE.hdr", "result.txt")
            ),
            *(_figures_of(f"{RUN}/host{host}", f"raw/04-mysql-innodb/run-1/host{host}") for host in (1, 2, 3)),
            *(
                replace(f"raw/04-mysql-innodb/run-1/host{host}/READ.hdr", r"StartTime: \d+", "StartTime: 1795441404")
                for host in (1, 2, 3)
            ),
        ),
        "raw/04-mysql-innodb/run-1/host1: its histogram logs contain the same intervals as those of raw/01-mysql-in",
    ),
    "an experiment that began later": (
        edit("experiment.json", "started", new="2026-11-23T12:44:00+00:00"),
        "state.json: the trial lasted from 2026-11-23 12:42:41 to 2026-11-23 12:43:37, but the experiment lasted from",
    ),
    "an experiment that ended earlier": (
        edit("experiment.json", "finished", new="2026-11-23T12:43:00+00:00"),
        "state.json: the trial lasted from 2026-11-23 12:42:41 to 2026-11-23 12:43:37, but the experiment lasted from",
    ),
    "threads of all clients": (
        every(*(edit(f"{RUN}/host{host}/client.json", "threads", new=64) for host in (1, 2, 3))),
        "run-1 on host1: the client ran a different scenario: threads 64 instead of 2",
    ),
    "retries of all clients": (
        every(*(edit(f"{RUN}/host{host}/client.json", "retries", new=7) for host in (1, 2, 3))),
        "run-1 on host1: the client ran a different scenario: retries 7 instead of 0",
    ),
    # Evidence of hosts and servers
    "no samples of a host": (
        remove(f"{TRIAL}/hosts/host2"),
        "raw/01-mysql-innodb/hosts/host2/metrics.jsonl.gz: the samples of this host ar",
    ),
    "half the samples of a host": (
        samples(f"{TRIAL}/hosts/host2/metrics.jsonl.gz", lambda rows: rows[: len(rows) // 2]),
        "raw/01-mysql-innodb/hosts/host2: samples cover 0 of 4 measured seconds",
    ),
    "samples cut off": (
        cut(f"{TRIAL}/hosts/host2/metrics.jsonl.gz"),
        "raw/01-mysql-innodb/hosts/host2/metrics.jsonl.gz:18: the gzip stream is cut",
    ),
    "samples of another trial": (
        put(f"{OTHER}/hosts/host2", f"{TRIAL}/hosts/host2"),
        "raw/01-mysql-innodb/hosts/host2: samples cover 0 of 4 measured seconds",
    ),
    "statistics of another trial": (put(f"{OTHER}/server/host1/stats", f"{TRIAL}/server/host1/stats"), MANIFEST),
    "no statistics": (
        remove(f"{TRIAL}/server/host1/stats"),
        "raw/01-mysql-innodb/server/host1: statistics of the servers are missing",
    ),
    "an invalid figures.yml": (
        lambda folder: (folder / TRIAL / "server/figures.yml").write_text("[]"),
        "raw/01-mysql-innodb/server/figures.yml: must be a mapping of names to figur",
    ),
    # Files of the experiment
    "another scenario": (
        replace("scenario.properties", "readproportion=0.5", "readproportion=0.95"),
        "scenario.properties: was changed after the experiment began",
    ),
    "no scenario": (remove("scenario.properties"), "scenario.properties: is missing"),
    "no experiment.json": (remove("experiment.json"), "experiment.json: is missing"),
    "another plan": (
        edit("experiment.json", "plan", new=lambda trials: trials[1:]),
        "raw/01-mysql-innodb belongs to another experiment",
    ),
}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    with tarfile.open(DATA) as archive:
        archive.extractall(folder, filter="data")
    return folder


def split_leaves(summary: Summary, experiment: Path) -> tuple[list[Any], list[str]]:
    """Returns the numbers of the summary, in order, and its texts."""
    leaves = list(_leaves(json.loads(summary.json())))
    numbers = [leaf for leaf in leaves if not isinstance(leaf, str)]
    return numbers, [leaf.replace(str(experiment), "EXPERIMENT") for leaf in leaves if isinstance(leaf, str)]


def _leaves(content: Any) -> Iterator[Any]:
    if isinstance(content, dict):
        for value in content.values():
            yield from _leaves(value)
    elif isinstance(content, list):
        for value in content:
            yield from _leaves(value)
    else:
        yield content


def changed(original: Path, folder: Path, change: Change) -> Path:
    experiment = folder / "experiment"
    shutil.copytree(original, experiment)
    change(experiment)
    return experiment


def in_database(experiment: Path, file: Path) -> Summary:
    """Checks that the database contains the same results as an experiment's summary, and returns the summary."""
    ((_, summary),) = database.write([experiment], file)
    with closing(sqlite3.connect(file)) as facts:
        assert facts.execute("pragma foreign_key_check").fetchall() == []
        states = facts.execute("select name, status, reason from trial where not of_rounds order by name").fetchall()
        assert states == [(trial.name, trial.status, trial.reason) for trial in summary.trials]
        warnings = facts.execute("select reason from run_check where name = 'evidence' order by rowid").fetchall()
        assert [reason for (reason,) in warnings] == summary.warnings
        rates = facts.execute("select ops_per_second, p99_ms from row order by rowid").fetchall()
        assert rates == [
            (row.ops_per_second, row.p99_ms) for trial in [*summary.trials, *summary.merged] for row in trial.rows
        ]
    return summary


@pytest.fixture(scope="module")
def before(original: Path) -> tuple[list[Any], list[str]]:
    return split_leaves(summarise(original), original)


@pytest.mark.slow
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_named_or_changes_no_number(
    original: Path, before: tuple[list[Any], list[str]], tmp_path: Path, name: str
) -> None:
    change, expected = CHANGES[name]
    experiment = changed(original, tmp_path, change)
    for trial in (experiment / "raw").iterdir():
        if (state := trial / "state.json").exists():
            content = json.loads(state.read_text())
            state.write_text(json.dumps({**content, "manifest": manifest.write(trial)}))
    numbers, texts = split_leaves(in_database(experiment, tmp_path / "facts.db"), experiment)
    new = [text for text in texts if text not in before[1]]
    if expected == SAME:
        assert numbers == before[0]
    elif expected != MANIFEST:
        assert any(expected in text for text in new), new


@pytest.mark.parametrize(
    "name",
    ["records of a client", "shorter fields of a client", "a mean", "another client's histograms", "an extra client",
     "all clients of another system", "another duration", "another replication", "missing rows",
     "samples of another trial", "statistics of another trial"],
)  # fmt: skip
def test_the_manifest_names_every_change(original: Path, tmp_path: Path, name: str) -> None:
    experiment = changed(original, tmp_path, CHANGES[name][0])
    summary = in_database(experiment, tmp_path / "facts.db")
    (trial,) = [trial for trial in summary.trials if trial.name == Path(TRIAL).name]
    assert trial.status == "invalid"
    assert re.search("(was (changed|added) after the trial|is missing)", trial.reason or "")
