"""Checks that real clients, each with its own agent, end their warm-up at the same time."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from conducting.agents import clock, conduct
from conducting.channel import Way
from conducting.conductor import Conductor, Plan
from conducting.report import report
from conducting.warmup import LEAST, MOST_COMPILING
from dohyo.places import ANSIBLE, JDK, ROOT

BUNDLE = ROOT / "ycsb-bindings/client/target/bundle"
HOSTS = ("host1", "host2", "host3")
MOST = 120


def conducted(home: Path, warmup: str, most: float) -> tuple[dict[str, Any], list[dict[str, Any]], list[float]]:
    """Runs three clients with a warm-up of at most `most` seconds.

    :returns: the reports of the conductor and of the clients, and the processor seconds of each client's JIT compilers
    """
    shutil.copytree(ANSIBLE / "agent", home / "bin/modules")
    plans = {}
    for number, host in enumerate(HOSTS):
        folder = home / "client/run-1" / host
        properties = {
            "recordcount": 10_000, "clients": len(HOSTS), "clientnumber": number, "target": 100,
            "warmup": warmup, "warmuptime": most, "maxexecutiontime": 2, "startgate": folder,
            "client.summary": folder / "client.json", "hdrhistogram.fileoutput": "true",
            "hdrhistogram.output.path": f"{folder}/",
        }  # fmt: skip
        command = [JDK / "bin/java", "-Xmx32m", "-cp", f"{BUNDLE}/*", "dohyo.client.Client", "-db", "noop"]
        client = {
            "name": f"client-{host}",
            "folder": str(folder),
            "properties": "".join(f"{key}={value}\n" for key, value in properties.items()),
            "secrets": str(home / "secret" / host),
            "secret_properties": "",
            "command": [*map(str, command), "-P", "client.properties", "-t"],
        }
        plans[host] = {"tool": "", "client": client, "servers": ""}
    plan = Plan(plans, start_delay=4, warmup=most, steady=warmup == "steady", duration=2, bound=most + 120, patience=60)
    conductor = Conductor(plan, clock())
    agents = {host: Way([sys.executable, str(home / "bin/modules/agent.py"), "converse"]) for host in HOSTS}
    conduct(conductor, agents, lambda *_: None, power={}, warn=print)
    outcome = report(conductor, 10_000, measured=True)
    assert outcome["valid"], outcome["failure"]
    clients = [json.loads((home / "client/run-1" / host / "client.json").read_text()) for host in HOSTS]
    return outcome, clients, [sum(used for _, used in host.compilers[-1:]) for host in conductor.hosts.values()]


def test_several_clients_end_their_warm_up_at_one_instant(tmp_path: Path) -> None:
    outcome, clients, compiled = conducted(tmp_path, "steady", MOST)
    assert outcome["warmup_steady"] is True
    assert outcome["warmup_compiling"] <= MOST_COMPILING
    assert min(compiled) > 0
    assert LEAST <= outcome["warmup_seconds"] < MOST
    for client in clients:
        # Times are rounded to milliseconds, and on a busy machine the two clocks may be read at different times.
        assert client["warmup_seconds"] == pytest.approx(outcome["warmup_seconds"], abs=0.1)
        assert (client["measured_seconds"], client["valid"]) == (2, True)
        assert client["warmup_operations"] > client["operations"] > 0


@pytest.mark.parametrize(("warmup", "most"), [("fixed", 3), ("steady", 2)])
def test_a_fixed_or_a_short_warm_up_is_as_long_as_it_says(tmp_path: Path, warmup: str, most: float) -> None:
    outcome, clients, _ = conducted(tmp_path, warmup, most)
    assert (outcome["warmup_seconds"], outcome["warmup_steady"]) == (most, None)
    assert [client["warmup_seconds"] for client in clients] == [most] * 3
