"""Tests the reasons for doubt in evidence with uneven rounds, different servers or missing accounting."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dohyo.places import ROOT
from dohyo.summary.results import Summary
from dohyo.summary.summary import summarise
from dohyo.summary.trust import LIKE_MEMORY, doubts, mark_of
from support.evidence import canary, edit_json, in_rounds, reads, rendered, trial

# The number of records is large enough to avoid the reason "small data".
PROPERTIES = {"recordcount": "2000000"}
ACCOUNT = {"sample": 1, "acknowledged": 1000, "reads": 20_000, "keys": 900, "read_back": True}
SPEEDS = {figure: [1000 + second for second in range(7)] for figure in ("cpu_one", "cpu_all")}


def rounds(experiment: Path, change: Callable[[str, int, Path], object]) -> Summary:
    """Writes three rounds of two systems at different rates. Calls `change` with each system, round and folder."""
    rates = {"cassandra": 1500, "hbase": 1000}
    for turn, system, folder in in_rounds(experiment, 3, rates, trial_properties=PROPERTIES):
        reads(folder / "run-1/node1", [rates[system] + turn] * 20)
        change(system, turn, folder)
    return summarise(experiment)


def servers(name: str = "hbase", only: int | None = None, **conditions: Any) -> Callable[[str, int, Path], object]:
    """Returns a function for `rounds` that changes a system's conditions in one round or in all rounds."""
    return lambda system, turn, folder: (
        edit_json(folder / "conditions.json", **conditions) if system == name and only in (None, turn) else None
    )


def clients(only: int, properties: dict[str, str] | None = None, **report: Any) -> Callable[[str, int, Path], object]:
    """Returns a function for `rounds` that changes the report and the properties of hbase's client in one round."""

    def change(system: str, turn: int, folder: Path) -> None:
        if system == "hbase" and turn == only:
            edit_json(folder / "run-1/node1/client.json", **report)
            threads = {"trial_threads": report["threads"]} if "threads" in report else {}
            edit_json(folder / "trial.json", trial_properties={**PROPERTIES, **(properties or {})}, **threads)

    return change


def accounts(*of_rounds: dict[str, Any] | None) -> Callable[[str, int, Path], object]:
    """Returns a function for `rounds` that sets the accounting of hbase in each round."""
    return lambda system, turn, folder: (
        edit_json(folder / "run-1/node1/client.json", accounting=of_rounds[turn - 1]) if system == "hbase" else None
    )


def canaries(hosts_at: Callable[[str, int], tuple[str, ...]]) -> Callable[[str, int, Path], object]:
    """Returns a function for `rounds` that writes a canary before each trial for which `hosts_at` names hosts."""

    def change(system: str, turn: int, folder: Path) -> None:
        if hosts := hosts_at(system, turn):
            canary(folder, SPEEDS, *hosts)

    return change


EVENTUAL = {"consistency": "eventual"}


def stale(system: str, turn: int, folder: Path) -> None:
    edit_json(folder / "conditions.json", **EVENTUAL)
    accounts(*[{**ACCOUNT, "stale_reads": 19_000}] * 3)(system, turn, folder)


def asked_in_vain(_: str, __: int, folder: Path) -> None:
    edit_json(folder / "trial.json", trial_properties={**PROPERTIES, "verify": "acknowledged"})


@pytest.mark.parametrize(
    ("change", "mark", "lines"),
    [
        (lambda *_: None, "solid", []),
        (servers(only=3, version="3.11"), "caution",
         ["Rounds had different conditions: hbase version 5.0.6 and 3.11."]),
        (servers(only=2, heap="31g", nodes=9), "do not use",
         ["The conditions are not equal: nodes (cassandra 1, hbase unknown).",
          "Rounds had different conditions: hbase nodes 1 and 9, heap 1g and 31g."]),
        (clients(2, {"inflight": "32", "retries": "7"}, threads=64, inflight=32, retries=7), "do not use",
         ["The conditions are not equal: threads, inflight (cassandra 2, hbase unknown; cassandra 1, hbase unknown).",
          "Rounds had different conditions: hbase threads 2 and 64, inflight 1 and 32, retries unknown and 7."]),
        (servers(nodes=9), "do not use", ["The conditions are not equal: nodes (cassandra 1, hbase 9)."]),
        (servers(nodes=None), "do not use", ["The conditions are not equal: nodes (cassandra 1, hbase unknown)."]),
        (servers(write_copies=3), "caution",
         ["Different numbers of copies acknowledge a write: cassandra 1, hbase 3."]),
        (servers(write_copies=3, write_acks="quorum", exceeded={"write_acks": "all"}), "caution",
         ["Stricter write acks: hbase quorum, requested all; unavoidable, favours the others."]),
        (servers(heap="1501m"), "solid", []),
        (servers(heap="31 GiB"), "caution",
         ["The servers have different memory: cassandra 1g, hbase 31 GiB; set host_memory_budget."]),
        (servers(heap=None, memory="buffer pool 4096 MiB"), "caution",
         ["The servers have different memory: cassandra 1g, hbase buffer pool 4096 MiB; set host_memory_budget."]),
        (servers(heap=None, memory="as it likes"), "solid", []),
        (lambda system, _, folder: edit_json(
            folder / "conditions.json", memory_budget="2,048 MiB", heap="1g" if system == "hbase" else "31g"
        ), "solid", []),
        (servers(attached="db:3306", replication="not known", write_acks="not known"), "caution",
         ["Not as the scenario requests: hbase: replication is not known; hbase: write acks is not known;"
          " hbase: consistency is not known."]),
        (accounts(ACCOUNT, None, ACCOUNT), "caution",
         ["Acknowledged writes were not accounted for: hbase in round 2."]),
        (asked_in_vain, "caution",
         ["Acknowledged writes were not accounted for: cassandra in round 1, 2, 3; hbase in round 1, 2, 3."]),
        (stale, "caution",
         ["Not as acknowledged: hbase 57,000 stale of 60,000 reads, 0 lost of 3,000 acknowledged (2,700 records read"
          " back)."]),
        (canaries(lambda *_: ("node1", "node2")), "solid", []),
        (canaries(lambda system, _: ("node1",) if system == "cassandra" else ()), "caution",
         ["Hosts may have differed before 02-hbase, 04-hbase, 06-hbase: no canary."]),
        (canaries(lambda system, turn: ("node1", "node2") if (system, turn) != ("hbase", 2) else ("node1",)), "caution",
         ["Hosts may have differed before 04-hbase (node2): no canary."]),
    ],
)  # fmt: skip
def test_evidence_decides_the_reasons_and_the_mark(
    tmp_path: Path, change: Callable[[str, int, Path], object], mark: str, lines: list[str]
) -> None:
    reasons = doubts(rounds(tmp_path, change))
    assert ([reason.text for reason in reasons], mark_of(reasons)) == (lines, mark)


def test_a_condition_that_differs_from_round_to_round_is_never_that_of_all(tmp_path: Path) -> None:
    summary = rounds(tmp_path, clients(3, {"inflight": "32"}, threads=64, inflight=32))
    (result,) = (result for result in summary.merged if result.system == "hbase")
    assert (result.conditions.threads, result.conditions.inflight, result.conditions.batchsize) == (None, None, 1)
    assert "the same for all: replication 1" in rendered(summary, 200)
    assert "in flight  1                       –" in rendered(summary, 200)


def test_a_phase_that_differs_from_round_to_round_is_named(tmp_path: Path) -> None:
    for turn, threads in ((1, 2), (2, 8)):
        phases = [{"name": "a"}, {"name": "b", "threads": threads}]
        settings: dict[str, Any] = {"trial_phases": phases, "trial_round": turn, "trial_rounds": 2}
        folder = trial(tmp_path, turn, "cassandra", 1, phases=("a", "b"), **settings)
        edit_json(folder / "b-1/node1/client.json", threads=threads)
    reasons = [reason.text for reason in doubts(summarise(tmp_path))]
    assert "Rounds had different conditions: cassandra threads of b 2 and 8." in reasons


def test_servers_and_copies_are_shown(tmp_path: Path) -> None:
    text = rendered(rounds(tmp_path, servers(nodes=9, write_copies=3, read_copies=2)), 200)
    assert [line.split() for line in text.splitlines() if line.startswith(("servers ", "copies "))] == [
        ["servers", "1", "9"], ["copies", "write", "1,", "read", "1", "write", "3,", "read", "2"],
    ]  # fmt: skip


def test_how_much_memory_is_alike_is_documented() -> None:
    assert f"a factor of {LIKE_MEMORY:g}" in (ROOT / "docs/conditions.md").read_text("utf-8")
