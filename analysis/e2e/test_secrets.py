"""A real Cassandra with passwords and TLS: who is let in, and where the secret is not to be seen."""

import json
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import small

from dohyo.ansible.playbook import play
from dohyo.places import ROOT

SECRET = "s3cret-'quoted'-nobody-sees"  # noqa: S105
HOME = ROOT / ".dohyo"
TRIAL = {
    **small.ROLES,
    "trial_system": "cassandra",
    "trial_properties": {"recordcount": 1000, "readproportion": 0.5, "updateproportion": 0.5},
    "trial_threads": 2,
    "trial_warmup": 1,
    "trial_duration": 2,
    "trial_client_heap": "128m",
    "trial_keep": True,
    "cassandra_heap": "512m",
    "cassandra_authentication": True,
    "cassandra_tls": True,
}


@pytest.fixture(autouse=True)
def nothing_stays(tmp_path: Path) -> Iterator[None]:
    yield
    assert play("stop.yml", None, tmp_path, check=lambda: None, timeout=120) is None


def stock(*properties: str) -> subprocess.CompletedProcess[str]:
    """A client with what the trial wrote down of the way to the server, and something else instead."""
    changed = [word for property_ in properties for word in ("-p", property_)]
    command = ["dohyo.client.Client", "-db", "cassandra", "-P", str(HOME / "run/cassandra.properties"), *changed]
    limits = [
        "-p",
        "operationtimeout=30000",
        "-p",
        "cassandra.connecttimeoutmillis=30000",
        "-p",
        "recordcount=10",
        "-p",
        "operationcount=10",
        "-p",
        "readproportion=1",
        "-t",
    ]
    java = [str(ROOT / ".setup/java/bin/java"), "-cp", str(ROOT / "ycsb-bindings/cassandra/target/bundle/*")]
    return subprocess.run([*java, *command, *limits], capture_output=True, text=True, check=False, timeout=120)


def test_only_who_has_the_password_and_tls_gets_in_and_nobody_sees_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOHYO_CASSANDRA_PASSWORD", SECRET)
    variables = {**TRIAL, "trial_dir": str(tmp_path / "raw"), "deploy_systems": ["cassandra"]}
    over, seen = threading.Event(), set[str]()

    def watch() -> None:
        while not over.wait(0.1):
            lines = subprocess.run(["ps", "-ewwo", "args"], capture_output=True, text=True, check=True).stdout
            seen.update(line for line in lines.splitlines() if SECRET in line)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        for playbook in ("deploy.yml", "trial.yml"):
            assert play(playbook, None, tmp_path, variables=variables, check=lambda: None, timeout=300) is None
    finally:
        over.set()
        watcher.join()

    assert not seen
    written = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert (tmp_path / "raw/run-1/localhost/result.txt") in written
    assert [file for file in written if SECRET.encode() in file.read_bytes()] == []
    assert [file for file in written if b"PRIVATE KEY" in file.read_bytes()] == []
    assert {file.stat().st_mode & 0o077 for file in HOME.glob("secret/*/*") if file.name != "ca.pem"} <= {0}
    notes = json.loads((tmp_path / "raw/conditions.json").read_text())["notes"]
    assert {"users have passwords", "TLS to clients", "TLS among nodes"} <= set(notes)

    assert stock().returncode == 0
    for refused in (
        ["cassandra.password=wrong"],
        ["cassandra.username=cassandra", "cassandra.password=cassandra"],
        ["cassandra.useSSL=false"],
        ["cassandra.ca="],  # the JVM's own authorities
    ):
        assert stock(*refused).returncode != 0, refused
