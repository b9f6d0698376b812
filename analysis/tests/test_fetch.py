"""Tests downloads of servers from a local HTTPS server that has the same paths as the vendors' sites."""

import hashlib
import http.server
import io
import os
import ssl
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from dohyo import cli
from dohyo.bad_input import BadInputError
from dohyo.places import ANSIBLE
from dohyo.scenario import loading
from dohyo.scenario.hosts import here
from dohyo.systems import catalogue
from support.described import described
from support.playbooks import play

FETCH = ANSIBLE / "roles" / "system" / "files" / "fetch"
# Version, jars below lib/ that are installed, and further jars of the archive that are not installed.
ARCHIVES = {
    "cassandra": ("5.0.7", ["apache-cassandra-5.0.7.jar", "jamm-0.4.0.jar"], ["lib/sub/x.jar", "tools/lib/y.jar"]),
    "hbase": ("2.6.3-hadoop3", ["hbase-server-2.6.3-hadoop3.jar", "client-facing-thirdparty/a.jar"],
              ["lib/shaded-clients/b.jar"]),
}  # fmt: skip


@dataclass
class Vendor:
    """An HTTPS server of a vendor. It serves content, redirects, or sends too little, depending on the path."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    truncated: set[str] = field(default_factory=set)
    lengths: dict[str, str] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    requests: list[str] = field(default_factory=list)

    def put(self, path: str, content: bytes) -> str:
        self.files[path] = content
        return f"{self.url}/{path}"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a file that contains a key and a certificate for 127.0.0.1."""
    file = tmp_path_factory.mktemp("certificate") / "both.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", file, "-out", f"{file}.crt"],
        check=True, capture_output=True,
    )  # fmt: skip
    file.write_text(file.read_text() + Path(f"{file}.crt").read_text())
    return file


@pytest.fixture
def vendor(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Vendor]:
    started = Vendor()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.lstrip("/")
            started.requests.append(path)
            content = started.files.get(path)
            self.send_response(302 if path in started.redirects else 200 if content is not None else 404)
            if path in started.redirects:
                self.send_header("Location", started.redirects[path])
            self.send_header("Content-Length", started.lengths.get(path, str(len(content or b""))))
            self.end_headers()
            self.wfile.write((content or b"")[: 10 if path in started.truncated else None])
            if path in started.silent:
                self.rfile.read(1)

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    started.url = f"https://127.0.0.1:{server.server_address[1]}"
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    yield started
    server.shutdown()
    thread.join()
    server.server_close()


def fetch(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, FETCH, *arguments], capture_output=True, text=True, check=False)


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_takes_what_the_vendor_or_the_user_vouches_for(vendor: Vendor, tmp_path: Path) -> None:
    url = vendor.put("a.tgz", b"x" * 5000)
    vendor.put("a.tgz.sha256", f"{digest(b'x' * 5000)}  a.tgz\n".encode())
    vendor.redirects["old.tgz"] = url
    for name, *options in (("one", "--sums", f"{url}.sha256"), ("two", "--sha256", digest(b"x" * 5000).upper())):
        assert fetch(url, tmp_path / "to" / name, *options).returncode == 0
        assert (tmp_path / "to" / name).read_bytes() == b"x" * 5000
    assert fetch(f"{vendor.url}/old.tgz", tmp_path / "to" / "three", "--sums", f"{url}.sha256").returncode == 0
    assert sorted(file.name for file in (tmp_path / "to").iterdir()) == ["one", "three", "two"]


def test_refuses_by_name_and_leaves_nothing(vendor: Vendor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url, good = vendor.put("a.tgz", b"x" * 5000), digest(b"x" * 5000)
    vendor.put("a.tgz.sha256", f"{digest(b'other')}  a.tgz\n".encode())
    vendor.put("page", b"<html>Not a checksum</html>")
    vendor.put("short.tgz", b"x" * 5000)
    vendor.truncated.add("short.tgz")
    vendor.put("wrong.tgz", b"short")
    vendor.lengths["wrong.tgz"] = "abc"
    vendor.put("endless", b"x" * 100_000)
    vendor.redirects["bad.tgz"] = "https://[bad"
    vendor.redirects["local.tgz"] = "file:///etc/hostname"
    vendor.redirects["plain.tgz"] = "http://127.0.0.1:9/a.tgz"
    plain = url.replace("https", "http")
    target = tmp_path / "to"
    for source, options, message in (
        (url, ["--sums", f"{url}.sha256"], f"{url}: its SHA-256 is {good}, and {url}.sha256 says {digest(b'other')}"),
        (url, ["--sha256", "0" * 64], f"{url}: its SHA-256 is {good}, and the given checksum says 000"),
        (url, ["--sums", f"{vendor.url}/page"], "/page: its first word is not a SHA-256"),
        (url, ["--sums", f"{vendor.url}/none.sha256"], "/none.sha256: the server replied 404 Not Found"),
        (f"{vendor.url}/none.tgz", ["--sha256", good], "/none.tgz: the server replied 404 Not Found"),
        (f"{vendor.url}/short.tgz", ["--sha256", good], "/short.tgz: it ended after 10 of 5000 bytes"),
        (f"{vendor.url}/plain.tgz", ["--sha256", good], "it redirects to http://127.0.0.1:9/a.tgz, which is not HTTPS"),
        (plain, ["--sha256", good], f"{plain}: only https:// is accepted"),
        (f"{vendor.url}/wrong.tgz", ["--sha256", good], "/wrong.tgz: it ended after 5 of abc bytes"),
        (f"{vendor.url}/bad.tgz", ["--sha256", good], "or the URL to which it redirects, is not valid: Invalid IPv6"),
        (f"{vendor.url}/\u00e9", ["--sha256", good], "/\u00e9: it, or the URL to which it redirects, is not valid: "),
        (url, ["--sums", f"{vendor.url}/endless"], "/endless: the download is larger than 65536 bytes"),
        (f"{vendor.url}/local.tgz", ["--sha256", good], "'file:///etc/hostname' is not allowed"),
    ):
        answer = fetch(source, target / "file", *options)
        assert answer.returncode == 1
        assert message in answer.stderr
        assert "Traceback" not in answer.stderr
        assert not target.exists() or not [*target.iterdir()]
    monkeypatch.delenv("SSL_CERT_FILE")
    assert "certificate verify failed" in fetch(url, target / "file", "--sha256", good).stderr
    assert not [*target.iterdir()]


def test_ended_it_leaves_nothing_and_a_full_disk_is_named(vendor: Vendor, tmp_path: Path) -> None:
    url = vendor.put("a.tgz", b"x" * 5000)
    # The server announces more bytes than it sends, so the client waits for the rest.
    vendor.lengths["a.tgz"] = "6000"
    vendor.silent.add("a.tgz")
    with subprocess.Popen([sys.executable, FETCH, url, tmp_path / "to" / "a", "--sha256", "0" * 64]) as run:
        deadline = time.monotonic() + 20
        while not [*tmp_path.glob("to/*")] and time.monotonic() < deadline:
            time.sleep(0.05)
        assert [*tmp_path.glob("to/*")]
        run.terminate()
        assert run.wait() == 143
    assert not [*tmp_path.glob("to/*")]
    limited: list[str | Path] = ["sh", "-c", 'ulimit -f 1; trap "" XFSZ; exec "$@"', "sh", sys.executable, FETCH]
    vendor.put("b.tgz", b"x" * 5000)
    answer = subprocess.run(
        [*limited, f"{vendor.url}/b.tgz", tmp_path / "to" / "b", "--sha256", "0" * 64],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (answer.returncode, answer.stderr) == (1, f"ERROR: {tmp_path}/to: File too large; free some space there\n")
    assert not [*tmp_path.glob("to/*")]


def packed(folder: Path, name: str) -> bytes:
    """Returns a .tgz that contains the folder under the name `name`."""
    file = folder.with_suffix(".tgz")
    with tarfile.open(file, "w:gz") as archive:
        archive.add(folder, name)
    return file.read_bytes()


def test_a_jdk_from_a_url(vendor: Vendor, tmp_path: Path) -> None:
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\necho '    java.specification.version = 17' >&2\n")
    java.chmod(0o755)
    content = packed(tmp_path / "jdk", "jdk-17")
    program: list[str | Path] = [
        ANSIBLE / "roles/jdk/files/fetch-jdk",
        "17",
        tmp_path / "to",
        vendor.put("jdk.tgz", content),
    ]
    subprocess.run([*program, digest(content)], check=True, env={**os.environ, "PYTHON": sys.executable})
    assert (tmp_path / "to/bin/java").read_text() == java.read_text()


def aerospike_package(folder: Path, version: str) -> Path:
    package = folder / "package"
    (package / "DEBIAN").mkdir(parents=True)
    (package / "DEBIAN" / "control").write_text(
        "Package: aerospike\nVersion: 8\nArchitecture: all\nMaintainer: x\nDescription: x\n"
    )
    program = package / "usr" / "bin" / "asd"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho Aerospike Community Edition build {version}\n")
    program.chmod(0o755)
    (folder / "archive").mkdir()
    deb = folder / "archive" / f"aerospike-server-community_{version}-1_all.deb"
    subprocess.run(["dpkg-deb", "--build", package, deb], check=True, capture_output=True)
    return deb


def archive_of(folder: Path, *jars: str) -> bytes:
    for jar in jars:
        (folder / jar).parent.mkdir(parents=True, exist_ok=True)
        (folder / jar).write_text(jar)
    return packed(folder, "top")


def scylla_package(folder: Path) -> bytes:
    """Returns an archive whose installer creates the server program."""
    installer = folder / "unified" / "install.sh"
    installer.parent.mkdir()
    installer.write_text(
        '#!/bin/sh\n[ "$1 $2 $3" = "--without-systemd --nonroot --prefix" ] &&'
        ' mkdir -p "$4/bin" && cp "$0" "$4/bin/scylla"\n'
    )
    installer.chmod(0o755)
    return packed(installer.parent, "scylla-unified")


def installing(**variables: Any) -> list[Any]:
    """Returns the tasks with which deploy.yml installs a system, and a task that records the resulting state."""
    name = variables["system_name"]
    look = {"include_tasks": str(ANSIBLE / "tasks/available.yml"), "vars": {**variables, "available_system": name}}
    install = {"name": "system", "tasks_from": f"{{{{ systems.{name}.verbs.install }}}}"}
    state = {"state": "{{ state | default([]) + [system_state." + name + "] }}"}
    return [look, {"include_role": install, "vars": variables}, look, {"set_fact": state}]


@pytest.mark.slow
def test_servers_as_their_vendors_and_users_pack_them(vendor: Vendor, tmp_path: Path) -> None:
    """Installs Aerospike and ScyllaDB from their vendors, a user's package twice, and an archive of jars."""
    release = subprocess.check_output(["sh", "-c", ". /etc/os-release; echo $ID$VERSION_ID"], text=True).strip()
    aerospike_name = f"aerospike-server-community_8.1.2.5_tools-13.0.3_{release}_{os.uname().machine}"
    debs = {version: aerospike_package(tmp_path / version, version) for version in ("8.1.2.5", "8.1.2.6")}
    aerospike_content = packed(tmp_path / "8.1.2.5" / "archive", aerospike_name)
    aerospike_path = f"artifacts/aerospike-server-community/8.1.2.5/{aerospike_name}.tgz"
    vendor.put(aerospike_path, aerospike_content)
    vendor.put(f"{aerospike_path}.sha256", f"{digest(aerospike_content)}  {aerospike_name}.tgz\n".encode())

    scylla_content = scylla_package(tmp_path)
    scylla_path = f"scylladb-2025.1/scylla-unified-2025.1.9-0.20251010.6c539463bbda.{os.uname().machine}.tar.gz"
    vendor.put(scylla_path, scylla_content)

    version, installed, extra = ARCHIVES["cassandra"]
    content = archive_of(tmp_path / "cassandra", *(f"lib/{jar}" for jar in installed), *extra)
    jars = {
        "system_name": "cassandra",
        "cassandra_version": version,
        "cassandra_archive": vendor.put("cassandra.tar.gz", content),
        "cassandra_archive_checksum": digest(content),
    }

    by_vendor = {"aerospike_fetch": True, "aerospike_fetch_base": f"{vendor.url}/artifacts", "fetch_agreed": True}
    by_user = {"system_name": "aerospike", "aerospike_package": str(tmp_path / "asd.deb"), "aerospike_asd": ""}
    scylla = {"system_name": "scylla", "scylla_fetch": True, "scylla_fetch_base": vendor.url, "fetch_agreed": True}
    refused = {"include_role": {"name": "system", "tasks_from": "{{ systems.scylla.verbs.install }}"}, "vars": scylla}
    mark = {
        "do": "owned",
        "state": "present",
        "folders": [["{{ dohyo_control }}", ""], ["{{ dohyo_home }}", ""]],
        "controller": "{{ lookup('controller') }}",
    }
    tasks = [
        {"agent": mark, "register": "marked"},
        {"set_fact": {"dohyo_deployment": "{{ marked.deployment }}"}},
        {"block": [refused], "rescue": [{"set_fact": {"said": "{{ ansible_failed_result.msg }}"}}]},
        *installing(system_name="aerospike", **by_vendor),
        *installing(**scylla, scylla_package_sha256=digest(scylla_content)),
        *installing(**jars),
    ]
    for deb in debs.values():
        tasks += [{"copy": {"src": str(deb), "dest": str(tmp_path / "asd.deb")}}, *installing(**by_user)]
    home = tmp_path / "home"
    (tmp_path / "play").mkdir()
    facts = play(
        tmp_path / "play", tasks, {"node": {"dohyo_home": str(home)}}, 0, ["state", "said"],
        dohyo_control=str(tmp_path / "control"),
    )  # fmt: skip

    assert "scylla_package_sha256 has no value" in facts["said"][0]
    ((first, scylla_state, cassandra, second, third),) = facts["state"]
    assert [state["unavailable"] for state in (first, scylla_state, cassandra, second, third)] == [""] * 5
    for state, build in ((first, "8.1.2.5"), (second, "8.1.2.5"), (third, "8.1.2.6")):
        assert f"Edition build {build}" in state["looked"]["stdout"]
    assert scylla_state["looked"]["stdout"] == str(home / "install/scylla/server/bin/scylla")
    lib = home / f"install/cassandra/{version}-{digest(content)[:12]}/lib"
    assert sorted(file.name for file in lib.glob("*.jar")) == sorted(Path(jar).name for jar in installed)
    assert vendor.requests == [f"{aerospike_path}.sha256", aerospike_path, scylla_path, "cassandra.tar.gz"]


def unpack(
    archive: Path, target: Path, jars: str = "a-1[.]jar", folders: Sequence[str] = ("lib", "lib/sub")
) -> "subprocess.CompletedProcess[str]":
    """Runs the script with which the role system unpacks an archive of jars."""
    tasks = yaml.safe_load((ANSIBLE / "roles/system/tasks/install.yml").read_text())
    [script] = [task["vars"]["system_unpack"] for task in tasks if "system_unpack" in task.get("vars", {})]
    command: list[str | Path] = ["sh", "-euc", script, "sh", archive, target, jars, *folders]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("system", ARCHIVES)
def test_the_jars_of_the_server_are_taken_from_its_archive(system: str, tmp_path: Path) -> None:
    version, installed, extra = ARCHIVES[system]
    archive_of(tmp_path / system, *(f"lib/{jar}" for jar in installed), *extra)
    file = (tmp_path / system).with_suffix(".tgz")
    variables: dict[str, Any] = {f"{system}_version": version, f"{system}_archive": str(file)}
    archive = described(system, **variables).server_archive
    assert archive is not None
    assert unpack(file, tmp_path / "lib", archive.required_jar, archive.jars).returncode == 0
    assert sorted(jar.name for jar in (tmp_path / "lib").iterdir()) == sorted(Path(jar).name for jar in installed)


LINKS = {"symbolic": tarfile.SYMTYPE, "hard": tarfile.LNKTYPE}


@pytest.mark.parametrize(
    ("member", "link", "problem"),
    [
        ("top/../../escaped", "", "cannot be unpacked; it must be an archive that tar reads, with enough free space"),
        ("top/lib/../../../escaped", "", "cannot be unpacked"),
        ("top/lib/b.jar", "hard", "cannot be unpacked"),
        ("lib/a-1.jar", "", "contains no jar that matches a-1[.]jar in lib lib/sub"),
        ("top/lib/a-1.jar", "symbolic", "contains no jar that matches"),
        ("", "", "cannot be unpacked"),
    ],
)
def test_a_hostile_archive_leaves_nothing(tmp_path: Path, member: str, link: str, problem: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "secret").write_text("secret")
    archive = tmp_path / "in.tgz"
    archive.touch()
    if member:
        with tarfile.open(archive, "w:gz") as file:
            info = tarfile.TarInfo(member)
            if link:
                info.type, info.linkname = LINKS[link], str(tmp_path / "secret")
            file.addfile(info)
    answer = unpack(archive, tmp_path / "in" / "lib")
    assert answer.returncode == 1
    assert f"{archive} {problem}" in answer.stderr
    assert not [*(tmp_path / "in").iterdir()]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["in", "in.tgz", "secret"]


def test_the_option_names_systems_that_can_be_fetched() -> None:
    assert catalogue.fetching("aerospike,scylla") == ["aerospike_fetch=true", "scylla_fetch=true"]
    with pytest.raises(
        BadInputError, match="--fetch hbase: 'hbase' has no download; systems with a download: scylla, aerospike"
    ):
        catalogue.fetching("hbase")
    catalogue.check_fetching("aerospike, scylla", ["scylla", "hbase", "aerospike"])
    with pytest.raises(BadInputError, match="--fetch aerospike,scylla: scylla is not among the systems"):
        catalogue.check_fetching("aerospike,scylla", ["hbase", "aerospike"])
    assert "--fetch" in [option for parameter in cli.run.params for option in parameter.opts]


def test_the_licence_is_named_once_and_no_is_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    changes = loading.overrides(catalogue.fetching("aerospike"), {"systems": "cassandra,aerospike"})
    chosen = loading.load(loading.find("workloadA"), changes, hosts=here())
    monkeypatch.setattr(cli, "LOCAL_HOME", tmp_path)
    # Without a terminal, the option is enough, and no question is asked.
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    cli.agree(chosen)
    assert "Aerospike will be downloaded from its vendor" in capsys.readouterr().err
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    with pytest.raises(BadInputError, match="aerospike was not downloaded, and nothing was started"):
        cli.agree(chosen)
    assert "GNU AGPL, version 3" in capsys.readouterr().err
    archive = tmp_path / "packages" / "aerospike" / "vendor" / "a.tgz"
    archive.parent.mkdir(parents=True)
    archive.touch()
    cli.agree(chosen)
    assert capsys.readouterr().err == ""
