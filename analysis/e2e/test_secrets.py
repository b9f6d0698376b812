"""Tests real servers with passwords and TLS: they reject clients without them, and no output contains a secret."""

import base64
import json
import re
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from dohyo.ansible.playbook import play
from dohyo.places import ROOT
from e2e.runs import ROLES

SECRET = "s3cret-'quoted'-nobody-sees"  # noqa: S105
HOME = ROOT / ".dohyo"
TRIAL = {
    **ROLES,
    "trial_properties": {"recordcount": 1000, "readproportion": 0.5, "updateproportion": 0.5},
    "trial_threads": 2,
    "trial_warmup": 1,
    "trial_duration": 2,
    "trial_client_heap": "128m",
    "trial_keep": True,
}
CASSANDRA = {
    **TRIAL,
    "trial_system": "cassandra",
    "cassandra_heap": "512m",
    "cassandra_authentication": True,
    "cassandra_tls": True,
}
HBASE = {
    **TRIAL,
    "trial_system": "hbase",
    **{f"hbase_{part}heap": "256m" for part in ("", "master_", "namenode_", "datanode_", "zookeeper_")},
    "hbase_tls": True,
    "hbase_authentication": True,
}

# The driver's message if the server rejects the password. If the server is down, it is "Connection refused".
WRONG_PASSWORD = "Provided username {} and/or password are incorrect"  # noqa: S105 - not a password
# The driver states what a node did to the connection, or, if it finds it in time, why it did not trust the node.
NO_TLS = (
    r"/127\.0\.0\.1:\d+(\] |: .*)(Error writing|(Connection|Channel) has been closed|Connection reset"
    r"|unable to find valid certification path)"
)


@pytest.fixture(autouse=True)
def stopped(nothing_stays: None, tmp_path: Path) -> Iterator[None]:
    """Stops the servers that a test kept running, before `nothing_stays` looks for processes."""
    yield
    assert play("stop.yml", None, tmp_path, check=lambda: None, timeout=120) is None


def stock(system: str, *properties: str, binding: str = "") -> subprocess.CompletedProcess[str]:
    """Runs a client with the connection properties of the trial; `properties` replace some of them."""
    binding = binding or system
    limits = ["recordcount=10", "operationcount=10", "readproportion=1"]
    arguments = [word for property_ in (*limits, *properties) for word in ("-p", property_)]
    java = [
        str(ROOT / ".setup/java/bin/java"),
        "-Xmx128m",
        "-cp",
        str(ROOT / f"ycsb-bindings/{binding}/target/bundle/*"),
    ]
    command = ["dohyo.client.Client", "-db", binding, "-P", str(HOME / f"run/{system}.properties"), *arguments, "-t"]
    return subprocess.run([*java, *command], capture_output=True, text=True, check=False, timeout=120)


def check_refused(result: subprocess.CompletedProcess[str], reason: str) -> None:
    """Checks that a client was rejected for the given reason."""
    assert result.returncode != 0, result
    assert re.search(reason, result.stderr), result


def trial_of(tmp_path: Path, variables: dict[str, object]) -> tuple[list[Path], str]:
    """Deploys a system, and runs a trial that keeps its servers. Returns the files and all command lines seen."""
    over, seen = threading.Event(), set[str]()

    def watch() -> None:
        while not over.wait(0.1):
            lines = subprocess.run(["ps", "-ewwo", "args"], capture_output=True, text=True, check=True).stdout
            seen.update(lines.splitlines())

    watcher = threading.Thread(target=watch)
    watcher.start()
    settings = {**variables, "trial_dir": str(tmp_path / "raw"), "deploy_systems": [variables["trial_system"]]}
    try:
        for playbook in ("deploy.yml", "trial.yml"):
            assert play(playbook, None, tmp_path, variables=settings, check=lambda: None, timeout=600) is None
    finally:
        over.set()
        watcher.join()
    written = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert (tmp_path / "raw/run-1/localhost/result.txt") in written
    assert [file for file in written if b"PRIVATE KEY" in file.read_bytes()] == []
    return written, "\n".join(seen)


def test_only_who_has_the_password_and_tls_gets_in_and_nobody_sees_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOHYO_CASSANDRA_PASSWORD", SECRET)
    written, seen = trial_of(tmp_path, CASSANDRA)
    assert "CassandraDaemon" in seen
    assert SECRET not in seen
    assert [file for file in written if SECRET.encode() in file.read_bytes()] == []
    assert {file.stat().st_mode & 0o077 for file in HOME.glob("secret/*/*") if file.name != "ca.pem"} <= {0}
    notes = json.loads((tmp_path / "raw/conditions.json").read_text())["notes"]
    assert {"users have passwords", "TLS to clients", "TLS among nodes"} <= set(notes)

    patient = ["operationtimeout=30000", "cassandra.connecttimeoutmillis=30000"]
    assert stock("cassandra", *patient).returncode == 0
    for wrong, reason in (
        (["cassandra.password=wrong"], WRONG_PASSWORD.format("dohyo")),
        (["cassandra.username=cassandra", "cassandra.password=cassandra"], WRONG_PASSWORD.format("cassandra")),
        (["cassandra.useSSL=false"], NO_TLS),
        (["cassandra.ca="], NO_TLS),  # trusts only the JVM's default authorities
    ):
        check_refused(stock("cassandra", *patient, *wrong), reason)
    # Only the client without TLS causes this message. The client without our authority rejects the server itself.
    assert (HOME / "run/cassandra/log").read_text().count("not an SSL/TLS record") == 1
    # ScyllaDB's driver logs in to Cassandra in the same way, so no ScyllaDB is needed.
    assert stock("cassandra", *patient, binding="scylla").returncode == 0
    for property_, reason in (("cassandra.password=wrong", WRONG_PASSWORD.format("dohyo")), ("cassandra.ca=", NO_TLS)):
        check_refused(stock("cassandra", *patient, property_, binding="scylla"), reason)


def hdfs(*options: str) -> subprocess.CompletedProcess[str]:
    """Runs an HDFS client without a ticket."""
    (lib,) = (HOME / "install/hbase").glob("*-kdc/lib")
    java = [str(ROOT / ".setup/java/bin/java"), "-Xmx64m", "-cp", f"{HOME}/run/hbase/conf:{lib}/*"]
    shell = [*java, "org.apache.hadoop.fs.FsShell", *options, "-ls", "/"]
    return subprocess.run(shell, capture_output=True, text=True, check=False, timeout=60)


def page(path: str, key: str = "dfs.namenode.http-address") -> int:
    """Requests a page of HDFS without a ticket, and returns the HTTP status."""
    site = (HOME / "run/hbase/conf/hdfs-site.xml").read_text()
    (address,) = re.findall(f"<name>{key}</name><value>([^<]+)<", site)
    return status(f"{address}{path}")


def status(url_path: str) -> int:
    try:
        with urllib.request.urlopen(f"http://{url_path}", timeout=30) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def zookeeper() -> subprocess.CompletedProcess[str]:
    """Runs a ZooKeeper client without a ticket."""
    (lib,) = (HOME / "install/hbase").glob("*-kdc/lib")
    pairs = dict(line.split("=", 1) for line in (HOME / "run/hbase.properties").read_text().splitlines() if "=" in line)
    quorum = pairs["hbase.zookeeper.quorum"].replace("\\:", ":")
    java = [str(ROOT / ".setup/java/bin/java"), "-Xmx64m", "-cp", f"{lib}/*", "org.apache.zookeeper.ZooKeeperMain"]
    shell = [*java, "-server", quorum, "ls", "/"]
    return subprocess.run(shell, capture_output=True, text=True, check=False, timeout=60)


def test_hbase_lets_in_only_who_has_a_certificate_and_a_ticket(tmp_path: Path) -> None:
    written, seen = trial_of(tmp_path, HBASE)
    notes = json.loads((tmp_path / "raw/conditions.json").read_text())["notes"]
    expected = {"TLS to clients", "TLS among nodes", "clients have certificates", "without TLS: ZooKeeper, HDFS"}
    assert {*expected, "clients and nodes log in with Kerberos"} <= set(notes)
    keys = (HOME / "secret/hbase/keytab").read_bytes()
    seen_nowhere = (keys, base64.b64encode(keys), keys.hex().encode())
    assert b"hbase" in keys
    assert [file for file in written if any(form in file.read_bytes() for form in seen_nowhere)] == []
    assert "HRegionServer" in seen
    assert [form for form in seen_nowhere[1:] if form.decode() in seen] == []
    secret = [file for file in (HOME / "secret/hbase").rglob("*") if file.is_file()]
    assert {file.stat().st_mode & 0o077 for file in secret} == {0}

    assert stock("hbase", "operationtimeout=30000").returncode == 0
    for wrong, reason in (
        ("hbase.client.netty.tls.enabled=false", "ConnectionClosedException"),
        ("hbase.rpc.tls.keystore.location=", "Received fatal alert: bad_certificate"),  # no client certificate
        ("hbase.rpc.tls.truststore.location=", "PKIX path building failed"),  # trusts only the JVM's authorities
        # If a client has no ticket, the server closes the connection without a message.
        ("hbase.security.authentication=simple", "Exception making rpc to masters"),
        ("principal=somebody", "failure to login: for principal: somebody"),  # the client has no key for this principal
    ):
        check_refused(stock("hbase", "operationtimeout=5000", wrong), reason)
    for without in ("simple", "kerberos"):
        result = hdfs("-D", f"hadoop.security.authentication={without}")
        is_named = "SIMPLE authentication is not enabled" in result.stderr
        assert (result.returncode, is_named) == (1, without == "simple"), result
    result = zookeeper()
    assert result.returncode != 0, result
    assert (
        "does not match with any of the expected authentication scheme"
        in (HOME / "run/hbase/zookeeper.log").read_text()
    ), result
    # WebHDFS fails for all clients, because HBase's jars lack some of its classes.
    statuses = {path: page(path) for path in ("/fsck?path=/", "/jmx", "/webhdfs/v1/?op=LISTSTATUS")}
    assert list(statuses.values()) == [401, 401, 500], statuses
    level = "/logLevel?log=org.apache.hadoop&level="
    assert [page(level + "INFO", "dfs.datanode.http.address"), page("/jmx", "dfs.datanode.http.address")] == [403, 200]
    site = (HOME / "run/hbase/conf/hbase-site.xml").read_text()
    for server in ("master", "regionserver"):
        (port,) = re.findall(f"<name>hbase.{server}.info.port</name><value>([^<]+)<", site)
        assert status(f"127.0.0.1:{port}{level}INFO") == 403, server
