"""Attaches to a server that Dohyo did not start: MariaDB with passwords, TLS, a table and a log of all statements."""

import hashlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dohyo.ansible.playbook import play
from dohyo.places import ROOT
from e2e.runs import listen

PASSWORD = "s3cret-nobody-sees"  # noqa: S105
HOME = ROOT / ".dohyo"
SMALL = ("--records", "1000", "--duration", "2s", "--rounds", "1", "--set", "warmuptime=1s", "--set", "canary=false",
         "--set", "preconditioning=0")  # fmt: skip
# Other work on the machine must not make a trial invalid.
QUIET = ("--set", "max.other.cpu=100%", "--set", "client_heap=128m")
# An inventory that lets Dohyo observe the host of the attached server.
INVENTORY = """all:
  vars:
    ansible_connection: local
    ansible_python_interpreter: "{{ ansible_playbook_python }}"
    dohyo_home: "{{ dohyo_control }}"
    dohyo_exclusive: false
  children:
    database: {hosts: {localhost: {}}}
    client: {hosts: {localhost: {}}}
    observed: {hosts: {db1: {}, localhost: {}}}
"""
INIT = """CREATE DATABASE theirs;
CREATE TABLE theirs.t (a INT PRIMARY KEY);
INSERT INTO theirs.t VALUES (1);
CREATE USER benchuser@'%' IDENTIFIED BY 'PASSWORD';
GRANT ALL ON `dohyo\\_%`.* TO benchuser@'%';
CREATE USER reader@'%' IDENTIFIED BY 'PASSWORD';
GRANT SELECT ON *.* TO reader@'%';
"""
WRITES = re.compile(
    r"\b(CREATE|ALTER|DROP|INSERT|UPDATE|DELETE|REPLACE|GRANT|SET GLOBAL|FLUSH|TRUNCATE|RENAME)\b", re.I
)


@dataclass
class ForeignServer:
    """A server that Dohyo did not start."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes]

    @property
    def databases(self) -> list[str]:
        """Names of the databases that trials created."""
        return sorted(folder.name for folder in (self.folder / "data").glob("dohyo_*"))

    @property
    def log(self) -> str:
        """All statements that the server received."""
        return (self.folder / "general.log").read_text(errors="replace")

    def secrets(self, user: str = "benchuser", password: str = PASSWORD, mode: int = 0o600) -> Path:
        """Writes a file for --attach-secrets, and returns its path."""
        file = self.folder / f"secrets-{len(user)}.yml"  # the file name must not contain the user name
        file.touch(mode=mode)
        file.chmod(mode)
        tls = f"  mysql.useSSL: true\n  mysql.ca: {self.folder}/ca.pem\n"
        file.write_text(f"mysql-innodb:\n  mysql.user: {user}\n  mysql.password: {password}\n{tls}")
        return file

    def start(self) -> None:
        """Starts the server on its existing data, and waits until it accepts connections."""
        with (self.folder / "server.log").open("wb") as output:
            options = [f"--port={self.port}", "--bind-address=127.0.0.1", f"--socket={self.folder}/socket"]
            log = ["--general-log=1", f"--general-log-file={self.folder}/general.log"]
            tls = [f"--ssl-{name}={self.folder}/{name}.pem" for name in ("ca", "cert", "key")]
            command = [*_mariadbd(self.folder), *options, *log, *tls]
            self.process = subprocess.Popen(command, stdout=output, stderr=output)
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.1)
        raise AssertionError((self.folder / "server.log").read_text())


def _mariadbd(folder: Path) -> list[str]:
    (server,) = (HOME / "install/mysql").glob("*/server")
    change = ["setpriv", "--reuid=nobody", "--clear-groups"] if os.geteuid() == 0 else []
    sizes = ["--innodb-buffer-pool-size=32m", "--innodb-log-file-size=16m"]
    places = [f"--basedir={server}", f"--lc-messages-dir={server}/share/english", f"--datadir={folder}/data"]
    return [*change, str(server / "bin/mariadbd"), "--no-defaults", *places, *sizes]


def _certificates(folder: Path) -> None:
    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    new = ("-newkey", "rsa:2048", "-nodes")
    openssl("req", "-x509", *new, "-days", "2", "-subj", "/CN=ca", "-keyout", "ca.key", "-out", "ca.pem")
    openssl("req", *new, "-subj", "/CN=server", "-keyout", "key.pem", "-out", "server.csr")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names")
    openssl("x509", "-req", "-in", "server.csr", *signed, "-out", "cert.pem")


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForeignServer]:
    log = tmp_path_factory.mktemp("deploy")
    variables = {"deploy_systems": ["mysql-innodb"]}
    assert play("deploy.yml", None, log, variables=variables, check=lambda: None, timeout=300) is None
    # The user of the server cannot read pytest's folders.
    folder = Path(tempfile.mkdtemp(prefix="foreign-", dir=HOME))
    folder.chmod(0o755)
    (folder / "data").mkdir()
    _certificates(folder)
    (folder / "key.pem").chmod(0o644)
    if os.geteuid() == 0:
        for path in (folder, folder / "data"):
            shutil.chown(path, "nobody")
    (server,) = (HOME / "install/mysql").glob("*/server")
    tables = [(server / f"share/mariadb_{kind}_tables.sql").read_text() for kind in ("system", "performance")]
    script = "".join(("CREATE DATABASE mysql;\nUSE mysql;\n", *tables))
    subprocess.run([*_mariadbd(folder), "--bootstrap"], input=script.encode(), check=True, capture_output=True)
    (folder / "init.sql").write_text(INIT.replace("PASSWORD", PASSWORD))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    init = [f"--init-file={folder}/init.sql", "--skip-networking", f"--socket={folder}/socket"]
    with (folder / "init.log").open("wb") as output:
        first = subprocess.Popen([*_mariadbd(folder), *init], stdout=output, stderr=output)
    # The socket exists before the server has run the file.
    while "ready for connections" not in (folder / "init.log").read_text():
        assert first.poll() is None
        time.sleep(0.1)
    first.terminate()
    first.wait(60)
    server_ = ForeignServer(folder, port, first)
    server_.start()
    yield server_
    server_.process.kill()
    server_.process.wait(60)
    # A failed test may leave connection files of this server, which would make all later trials fail.
    leftovers = HOME / "attached/mysql"
    if any(f":{port}" in file.read_text("utf-8", "replace") for file in leftovers.rglob("*") if file.is_file()):
        shutil.rmtree(leftovers)
    assert play("stop.yml", None, log, check=lambda: None, timeout=120) is None
    shutil.rmtree(folder)


def begin(
    foreign: ForeignServer, out: Path, *more: str, secrets: Path | None = None, stdin: int = subprocess.DEVNULL
) -> "subprocess.Popen[str]":
    where = (
        "--attach",
        f"mysql-innodb=127.0.0.1:{foreign.port}",
        "--attach-secrets",
        str(secrets or foreign.secrets()),
    )
    command = [
        str(Path(sys.executable).with_name("dohyo")),
        "run",
        "workloadA",
        *where,
        *SMALL,
        *QUIET,
        "--out",
        str(out),
    ]
    return subprocess.Popen(
        [*command, *more],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=listen,  # noqa: PLW1509
    )


def attach(foreign: ForeignServer, out: Path, *more: str, secrets: Path | None = None) -> tuple[int, str]:
    run = begin(foreign, out, *more, secrets=secrets)
    output, _ = run.communicate(timeout=300)
    return run.returncode, " ".join(output.split())


def test_a_run_leaves_nothing_and_touches_nothing_else(
    foreign: ForeignServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, output = attach(foreign, tmp_path / "no")
    assert (code, "add --yes" in output, "dohyo_<id>" in output) == (2, True, True)
    code, output = attach(foreign, tmp_path / "no", "--yes", "--max-data", "999kB")
    assert (code, "--max-data 999kB" in output) == (2, True)
    code, output = attach(foreign, tmp_path / "no", "--yes", secrets=foreign.secrets("open", mode=0o640))
    assert (code, "chmod 600" in output) == (2, True)
    assert "benchuser" not in foreign.log

    before = (foreign.folder / "data/theirs/t.ibd").read_bytes()
    out = tmp_path / "out"
    password = tmp_path / "vault"
    password.write_text("of the vault")
    monkeypatch.setenv("ANSIBLE_VAULT_PASSWORD_FILE", str(password))
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    secrets = foreign.secrets()
    subprocess.run([Path(sys.executable).with_name("ansible-vault"), "encrypt", secrets], check=True)
    assert PASSWORD not in secrets.read_text()
    inventory = tmp_path / "inventory.yml"
    inventory.write_text(INVENTORY)
    options = ["--yes", "--target", "300", "--max-data", "10MB", "--inventory", str(inventory)]
    options += ["--set", "preconditioning=1000"]
    code, output = attach(foreign, out, *options, secrets=secrets)
    assert code == 0, output
    assert "hosts/db1" not in output  # a warning about missing samples would name the host
    used = json.loads((out / "summary.json").read_text())["trials"][0]["hosts"]
    assert {used_host["host"] for used_host in used if used_host["phase"] == "run"} == {"localhost", "db1"}
    assert not list(Path.home().glob(".dohyo-metrics-*"))
    loaded = json.loads((out / "raw/01-mysql-innodb/load/localhost/client.json").read_text())
    assert loaded["records"] / loaded["measured_seconds"] <= 300 * 1.05  # the limit applies to records
    assert "mysql-innodb (attached)" in output
    assert "replication: requested '1', but the server does not state its value" in (out / "summary.md").read_text()
    written = [file for file in out.rglob("*") if file.is_file()]
    assert [
        file for file in written if PASSWORD.encode() in file.read_bytes() or b"benchuser" in file.read_bytes()
    ] == []
    assert json.loads((out / "raw/01-mysql-innodb/settled.json").read_text())["rows"] == {"usertable": 1000}
    assert (out / "raw/01-mysql-innodb/server/localhost/stats/run-1/stats-status.txt").is_file()
    assert foreign.databases == []
    assert list(HOME.glob("attached/*")) == []
    assert (foreign.folder / "data/theirs/t.ibd").read_bytes() == before
    assert "theirs" not in foreign.log
    connections = dict(re.findall(r"(\d+) Connect\t\S+ on (\S*)", foreign.log))
    outside = [
        statement
        for number, statement in re.findall(r"(\d+) Query\t(.*)", foreign.log)
        if WRITES.match(statement) and not connections.get(number, "").startswith("dohyo_")
    ]
    assert all(
        re.match(r"(CREATE|DROP) DATABASE `dohyo_[0-9a-f]{16}`$|CREATE TABLE `usertable`", sql) for sql in outside
    )
    assert outside


def test_denied_access_is_an_error(foreign: ForeignServer, tmp_path: Path) -> None:
    for name, secrets in (("wrong", foreign.secrets("wrong")), ("reader", foreign.secrets("reader"))):
        code, output = attach(foreign, tmp_path / name, "--yes", secrets=secrets)
        assert (code, "Access denied" in output) == (1, True), output
    # A database with the name that the trial would choose already exists.
    out = tmp_path / "there"
    name = hashlib.sha256(str(out / "raw/01-mysql-innodb").encode()).hexdigest()[:16]
    (foreign.folder / f"data/dohyo_{name}").mkdir()
    if os.geteuid() == 0:
        shutil.chown(foreign.folder / f"data/dohyo_{name}", "nobody")
    code, output = attach(foreign, out, "--yes")
    assert (code, "this run did not create it; measure again" in output) == (1, True), output
    assert foreign.databases == [f"dohyo_{name}"]
    (foreign.folder / f"data/dohyo_{name}").rmdir()


def test_ctrl_c_at_the_question_starts_nothing(foreign: ForeignServer, tmp_path: Path) -> None:
    terminal, stdin = os.openpty()
    run = begin(foreign, tmp_path / "out", stdin=stdin)
    os.close(stdin)
    assert run.stdout
    output = ""
    while "Go on?" not in output:
        output += run.stdout.read(1)
        assert run.poll() is None, output
    time.sleep(1)  # Python may miss a signal that arrives directly after the prompt
    run.send_signal(signal.SIGINT)
    output, _ = run.communicate(timeout=30)
    os.close(terminal)
    assert (run.returncode, output.split("\n")[-2:]) == (130, ["interrupted; nothing was started", ""])
    assert not (tmp_path / "out").exists()


# Ctrl-C is sent at the nth occurrence of a statement: before tables are created, and before they are removed.
STATEMENTS = {"making": ("CREATE DATABASE", 1), "removing": ("SHOW GLOBAL STATUS", 2)}


@pytest.mark.parametrize("step", ["making", "load", "run-1", "removing"])
def test_ctrl_c_removes_what_was_made(foreign: ForeignServer, tmp_path: Path, step: str) -> None:
    out = tmp_path / "out"
    slow = {"load": ("--target", "20"), "run-1": ("--duration", "60s")}.get(step, ())
    before = len(foreign.log)
    run = begin(foreign, out, "--yes", *slow)

    def reached() -> bool:
        if step not in STATEMENTS:
            return (out / f"raw/01-mysql-innodb/{step}").is_dir()
        statement, number = STATEMENTS[step]
        return foreign.log[before:].count(statement) >= number

    for _ in range(1200):
        if reached():
            break
        assert run.poll() is None
        time.sleep(0.1)
    if step not in STATEMENTS:
        time.sleep(1)
        assert len(foreign.databases) == 1
    run.send_signal(signal.SIGINT)
    output, _ = run.communicate(timeout=120)
    assert run.returncode == 130, output
    assert foreign.databases == []
    assert list(HOME.glob("attached/*")) == []


def test_the_command_is_named_that_removes_it_from_a_server_that_died(foreign: ForeignServer, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run = begin(foreign, out, "--yes", "--duration", "8s")
    while not (out / "raw/01-mysql-innodb/run-1").is_dir():
        assert run.poll() is None
        time.sleep(0.1)
    time.sleep(2)
    foreign.process.kill()
    foreign.process.wait(60)
    output = " ".join(run.communicate(timeout=200)[0].split())
    assert run.returncode == 1, output
    command = re.search(r"Remove them with: (sh \S+/attached/mysql/remove)", output)
    assert command, output
    foreign.start()
    assert len(foreign.databases) == 1
    subprocess.run(command[1].split(), check=True, capture_output=True, timeout=60)
    assert foreign.databases == []
    shutil.rmtree(HOME / "attached/mysql")


def test_a_failed_removal_keeps_the_measurement(foreign: ForeignServer, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run = begin(foreign, out, "--yes", "--duration", "5s")
    while not (out / "raw/01-mysql-innodb/run-1").is_dir():
        assert run.poll() is None
        time.sleep(0.1)
    # Nothing in the database may be removed, because it now contains a foreign table.
    (database,) = foreign.databases
    for file in (foreign.folder / "data/mysql").glob("help_category.*"):
        shutil.copy2(file, foreign.folder / "data" / database)
        if os.geteuid() == 0:
            shutil.chown(foreign.folder / "data" / database / file.name, "nobody")
    output = " ".join(run.communicate(timeout=200)[0].split())
    assert run.returncode == 0, output
    (trial,) = json.loads((out / "summary.json").read_text())["trials"]
    assert (trial["status"], trial["reason"]) == ("ok", None)
    assert "some objects of Dohyo are left on an attached system; the numbers are valid" in output
    assert "help_category" in output
    command = re.search(r"Remove them with: (sh \S+/attached/mysql/remove)", output)
    assert command, output
    for file in (foreign.folder / "data" / database).glob("help_category.*"):
        file.unlink()
    subprocess.run(command[1].split(), check=True, capture_output=True, timeout=60)
    assert foreign.databases == []
    shutil.rmtree(HOME / "attached/mysql")


def test_nothing_runs_on_when_the_controller_was_killed(foreign: ForeignServer, tmp_path: Path) -> None:
    run = begin(foreign, tmp_path / "out", "--yes", "--duration", "5s")
    while not (tmp_path / "out/raw/01-mysql-innodb/run-1").is_dir():
        assert run.poll() is None
        time.sleep(0.1)
    sampler = Path("/proc") / (HOME / "run/host-metrics/pid").read_text().split()[0]
    assert sampler.exists()
    run.kill()
    run.wait(60)
    deadline = time.monotonic() + 90
    ended = HOME / "run/host-metrics/exit"  # this file appears after the process has ended
    while sampler.exists() or not ended.exists():
        assert time.monotonic() < deadline
        time.sleep(0.5)
    assert ended.read_text() == "0\n"
    assert play("stop.yml", None, tmp_path, check=lambda: None, timeout=120) is None
    assert foreign.databases == []
