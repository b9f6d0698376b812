"""What it takes to hold our client and another one side by side: a server with a loaded table, a mix, medians."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BINDINGS = ROOT / "ycsb-bindings"
ANSIBLE = ROOT / "ansible"
JAVA = ROOT / ".setup" / "java" / "bin" / "java"

# The modules of our bindings, which are also what `-db` takes.
MODULES = {"cassandra": "cassandra", "hbase": "hbase", "aerospike": "aerospike", "mysql-innodb": "mysql"}
# The batch form that costs a client least. `logged` and `async` exist too; see docs/batches.md.
OUR_BATCH_MODE = {
    "cassandra": {"cassandra.batchmode": "unlogged", "cassandra.batchread": "in"},
    "hbase": {},
    "aerospike": {},
    "mysql-innodb": {},
}


def bundle(system: str) -> Path:
    """The folder with the jars of our client and its binding."""
    return BINDINGS / MODULES[system] / "target" / "bundle"


def mix(kind: str, records: int, fields: int) -> dict[str, str]:
    """Properties of a run on whole rows, all records alike: reads, writes, or a 50/50 mix of the two."""
    reads = {"read": "1", "write": "0", "mix": "0.5"}[kind]
    return {
        "workload": "site.ycsb.workloads.CoreWorkload",
        "recordcount": str(records),
        "fieldcount": str(fields),
        "fieldlength": "100",
        "requestdistribution": "uniform",
        "readproportion": reads,
        "updateproportion": str(1 - float(reads)),
        "writeallfields": "true",
    }


def playbook(name: str, variables: Mapping[str, object]) -> None:
    """Runs one of the project's playbooks.

    Raises:
        SystemExit: with the playbook's own output, if it fails.
    """
    done = subprocess.run(
        [ROOT / ".venv" / "bin" / "ansible-playbook", name, "-e", json.dumps(variables)],
        cwd=ANSIBLE,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"ansible-playbook {name} failed:\n{done.stdout[-4000:]}\n{done.stderr[-2000:]}")


@contextmanager
def server(
    system: str, properties: Mapping[str, str], variables: Mapping[str, object] | None = None
) -> Iterator[dict[str, str]]:
    """A fresh server with a loaded and settled table; gives the properties that connect to it.

    Args:
        system: a key of MODULES
        properties: of the load, and so of the table
        variables: more of them for Ansible's roles
    """
    deployment: dict[str, object] = {
        "deploy_systems": [system],
        "trial_system": system,
        "trial_dir": str(ROOT / "results" / "benchmark" / f"{system}-{properties['fieldcount']}"),
        "trial_until": "settle",
        "trial_properties": {"batchsize": "100", **OUR_BATCH_MODE[system], **properties},
        "trial_threads": 4,
        # The role counts the connections of a trial's client; here there may be more.
        "mysql_settings": {"max_connections": 200},
        **(variables or {}),
    }
    playbook("deploy.yml", deployment)
    try:
        playbook("trial.yml", deployment)
        lines = (ROOT / ".dohyo" / "run" / f"{system}.properties").read_text().splitlines()
        pairs = (line.partition("=") for line in lines if "=" in line and not line.startswith("#"))
        yield {key.strip(): value.strip() for key, _, value in pairs}
    finally:
        playbook("stop.yml", {})


def middle(values: Sequence[float]) -> float:
    return statistics.median(values)


def spread(values: Sequence[float]) -> str:
    return f"**{middle(values):.2f}** [{min(values):.2f}, {max(values):.2f}]"
