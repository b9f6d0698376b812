"""Tests runs with several clients and nodes: their rows, the reasons why they are invalid, and the times of events."""

import csv
import io
import json
import shutil
from pathlib import Path

import pytest

from dohyo.evidence.hdr_log import Latencies, merge_log
from dohyo.summary.summary import summarise
from support.evidence import clients_json, cluster, edit_json, only, rendered, row, run_of, write_json

TWO = ("host1", "host2")
THREE = (*TWO, "host3")
CRASH = {"at": 7.4, "host": "host3", "what": "cassandra ended with exit code 137"}
LOST = "host3 vanished 13.9 s after the start: the connection was closed"


def several(experiment: Path) -> Path:
    nodes = {
        host: {"state": "ran", "cpu_seconds": cpu, "memory_mb": 400} for host, cpu in zip(TWO, (1.5, 3), strict=True)
    }
    late = clients_json(TWO, nodes=nodes, start_skew_ms=0.8)
    return cluster(experiment, "several", {"run-1": clients_json(TWO, nodes=nodes), "run-2": late})


def test_each_client_has_rows_of_its_own_histograms_and_the_cluster_those_of_all(tmp_path: Path) -> None:
    folder = several(tmp_path)
    result = only(tmp_path)
    assert (result.status, result.reason) == ("ok", None)
    assert [client.host for client in result.clients] == ["host1", "host2"]
    assert result.conditions.target == 600  # the mean of 400 and 800
    slow, fast = (row(client, "OVERALL").ops_per_second or 0 for client in result.clients)
    assert slow == pytest.approx(400, rel=0.02)
    assert fast == pytest.approx(800, rel=0.02)
    assert row(result, "OVERALL").ops_per_second == pytest.approx(slow + fast)
    for client in result.clients:
        merged: dict[str, Latencies] = {}
        for run in ("run-1", "run-2"):
            merge_log(folder / run / client.host / "Intended-READ.hdr", merged, pytest.fail)
        reads = row(client, "Intended-READ")
        assert (reads.p50_ms, reads.p99_ms) == tuple(merged["Intended-READ"].percentiles_ms([50, 99]).values())
        assert reads.repeats == 2
    operations = [row(client, "READ").operations or 0 for client in result.clients]
    assert row(result, "READ").operations == sum(operations)


def test_skew_offsets_and_nodes(tmp_path: Path) -> None:
    several(tmp_path)
    result = only(tmp_path)
    assert (result.conditions.start_skew_ms, result.conditions.end_skew_ms, result.conditions.clock_error_ms) == (
        0.8,
        1.5,
        0.1,
    )
    second = result.clients[1]
    assert (second.state, second.start_ms, second.end_ms) == ("ended", 0.2, 1.5)
    assert (second.offset_ms, second.offset_error_ms) == (-0.25, 0.1)
    records = row(result, "OVERALL").records or 0
    first_node, second_node = result.nodes
    assert (first_node.cpu_seconds, second_node.cpu_seconds) == (3, 6)
    assert second_node.cpu_cores == pytest.approx(1.0)  # 6 s of processor time in two runs of 3 s each
    assert second_node.cpu_us_per_record == pytest.approx(6e6 / records)
    assert max(map(len, rendered(summarise(tmp_path), 80).splitlines())) <= 80


def test_the_processor_time_of_servers_is_unknown_if_a_host_was_off(tmp_path: Path) -> None:
    folder = several(tmp_path)
    assert row(only(tmp_path), "OVERALL").server_cpu_us_per_record is not None
    clients = json.loads((folder / "run-1/clients.json").read_text(encoding="utf-8"))
    clients["nodes"][TWO[1]]["cpu_seconds"] = None
    write_json(folder / "run-1/clients.json", clients)
    assert row(only(tmp_path), "OVERALL").server_cpu_us_per_record is None


def test_lines_of_clients_and_nodes_are_told_apart_in_every_form(tmp_path: Path) -> None:
    several(tmp_path)
    summary = summarise(tmp_path)
    lines = list(csv.DictReader(io.StringIO(summary.csv())))
    by_scope = {scope: [line for line in lines if line["scope"] == scope] for scope in ("cluster", "client", "node")}
    assert sum(map(len, by_scope.values())) == len(lines)
    result = summary.trials[0]
    assert len(by_scope["cluster"]) == len(result.rows)
    assert {line["host"] for line in by_scope["client"]} == {line["host"] for line in by_scope["node"]} == set(TWO)
    assert [line["cpu_seconds"] for line in by_scope["node"]] == ["3.0", "6.0"]


def test_of_many_clients_the_ends_are_listed(tmp_path: Path) -> None:
    folder = several(tmp_path)
    for run in ("run-1", "run-2"):
        for log in (folder / run).glob("*/*.hdr"):  # this test does not need the logs, which are slow to read
            log.unlink()
        for number in range(3, 30):
            shutil.copytree(folder / run / "host2", folder / run / f"host{number}")
    for number in range(3, 30):
        run_of(folder / "load/host2", folder / f"load/host{number}")
    text = rendered(summarise(tmp_path))
    assert "(19 between them)" in text
    assert sum(line.startswith("cassandra host") for line in text.splitlines()) == 10 + 2  # 2 lines for the nodes


def test_a_run_that_conducting_calls_invalid_has_its_reason(tmp_path: Path) -> None:
    folder = several(tmp_path)
    why = "clients began 25.0 ms apart"
    edit_json(folder / "run-2/clients.json", valid=False, failure=why)
    result = only(tmp_path)
    assert (result.status, result.reason) == ("invalid", f"run-2: {why}")
    assert (
        {line.phase for line in result.rows}
        == {line.phase for client in result.clients for line in client.rows}
        == {"load"}
    )
    write_json(folder / "state.json", {"status": "failed", "reason": "in run 2 of 2: task 'x' failed on host1"})
    result = only(tmp_path)
    assert (result.status, result.reason) == ("invalid", f"run-2: {why}")


@pytest.mark.parametrize("is_known", [True, False])
def test_a_client_without_results_is_named(tmp_path: Path, is_known: bool) -> None:
    folder = several(tmp_path)
    shutil.rmtree(folder / "run-2/host2")
    if not is_known:
        for path in folder.rglob("clients.json"):
            path.unlink()
    result = only(tmp_path)
    assert (result.status, result.reason) == ("invalid", "run-2 on host2: the client left no files")


def outage(experiment: Path) -> Path:
    """Writes a run with errors from second 6 to 10. Cassandra on host3 was killed in second 7; host3 vanished later."""
    content = clients_json(
        THREE, valid=False, failure=LOST, events=[CRASH, {"at": 13.9, "host": "host3", "what": LOST}]
    )
    content["clients"]["host3"].update(state="vanished", exit=None, reason=LOST)
    return cluster(experiment, "outage", {"run-1": content})


def test_a_host_that_never_came_back_is_named_and_its_logs_still_tell_what_happened(tmp_path: Path) -> None:
    outage(tmp_path)
    result = only(tmp_path)
    assert result.status == "invalid"
    assert result.reason == f"run-1: {LOST}"
    assert result.clients[2].state == "vanished"
    assert not any(line.phase == "run" for line in result.rows)
    crash, lost = (event for event in result.events if event.host)
    dip, errors = (event for event in result.events if not event.host)
    assert (crash.at, crash.what, lost.at) == (7.4, CRASH["what"], 13.9)
    assert "throughput below half of the mean" in dip.what
    assert (dip.run, dip.host) == (1, None)
    assert (dip.at, dip.until) == (6, 10)
    assert errors.at == 6
    assert errors.until == pytest.approx(10, abs=1)
    failed = sum(
        count.count
        for name, count in _merged(tmp_path / "raw/01-cassandra/run-1").items()
        if name in ("READ-FAILED", "UPDATE-FAILED")
    )
    assert errors.what == f"{failed:,} failed operations"


def test_a_host_that_was_powered_off_as_conducting_saw_it(tmp_path: Path) -> None:
    cluster(tmp_path, "vanished", {})
    result = only(tmp_path)
    lost = "host4 vanished 8.1 s after the start: no answer for 10 s (powered off, hung, or cut off)"
    assert (result.status, result.reason) == ("invalid", f"run-1: {lost}")
    assert [client.state for client in result.clients] == ["stopped", "stopped", "stopped", "vanished"]
    assert [node.state for node in result.nodes] == ["ran", "ran", "ran", "vanished"]
    assert [str(event) for event in result.events] == [f"run 1, second 8: {lost}"]
    nodes = rendered(summarise(tmp_path)).partition("Nodes")[2].partition("all")[0]
    assert "host1" in nodes
    assert "host2" not in nodes  # hosts without figures whose servers ran are left out
    assert "vanished" in nodes


def _merged(run: Path) -> dict[str, Latencies]:
    merged: dict[str, Latencies] = {}
    for log in run.glob("*/*.hdr"):
        merge_log(log, merged, pytest.fail)
    return merged


def test_a_dip_alone_is_said_of_a_good_trial(tmp_path: Path) -> None:
    cluster(tmp_path, "dip", {})
    summary = summarise(tmp_path)
    result = summary.trials[0]
    assert (result.status, row(result, "OVERALL").errors) == ("ok", 0)
    (dip,) = result.events
    assert (dip.at, dip.until) == (6, 10)
    assert f"\x1b[33mcassandra: run 1, seconds 6–10: {dip.what}" in rendered(summary, 200, color="standard")


def test_a_clients_json_that_is_no_object_counts_as_none(tmp_path: Path) -> None:
    folder = cluster(tmp_path, "dip", {})
    write_json(folder / "run-1/clients.json", [])
    assert only(tmp_path).status == "ok"
