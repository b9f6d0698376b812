"""ScyllaDB's configuration: there may be no ScyllaDB to start."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from passlib.hash import sha512_crypt  # type: ignore[import-untyped]

from dohyo.places import ANSIBLE
from support.described import PASSWORDS, described

KEYS = Path(__file__).parents[1] / "data" / "scylla-keys.txt"
BINARY = "/opt/scylladb/bin/scylla"
PAGES = {"ports": {"api": 10000, "prometheus": 9180}, "moved": []}
APART = {"database": ["node1"], "client": ["other"]}
# JSON has two escapes for its last character, which YAML does not put together.
USER, PASSWORD = "o'hara \N{GRINNING FACE}", PASSWORDS["client"]
# Every part of the configuration that a variable switches.
CASES: dict[str, dict[str, Any]] = {
    "alone": {"dohyo_data": ["/data1", "/data2"]},
    "prepared": {
        "hosts": 3,
        "host": 2,
        "groups": {**APART, "database": ["node1", "node2", "node3"]},
        "conditions": {"durability": "disk"},
        "host_cpus_server": "0-3",
        "host_memory_budget": "16384m",
        "scylla_tune": True,
        "scylla_smp": 4,
        "scylla_tablets": False,
        "scylla_options": ["--blocked-reactor-notify-ms", "100"],
    },
    "tuned": {"conditions": {"profile": "tuned"}, "scylla_memory": "8g", "groups": APART},
    "closed": {
        "hosts": 2,
        "scylla_authentication": True,
        "scylla_tls": True,
        "scylla_user": USER,
    },
}


def scylla(case: str = "", **variables: Any) -> Any:
    """ScyllaDB on hosts that have a server."""
    given = {**CASES.get(case, {}), **variables}
    printed = {"looked": {"stdout": f"{BINARY}\n", "stderr": ""}}
    states = {f"node{number}": printed for number in range(1, given.get("hosts", 1) + 1)}
    return described("scylla", **{"states": states, "system_page_ports": PAGES, **given})


def configuration(system: Any) -> dict[str, Any]:
    (file,) = system.files
    loaded: dict[str, Any] = yaml.safe_load(file.content)
    return loaded


def known_keys() -> set[str]:
    return {line for line in KEYS.read_text().splitlines() if not line.startswith("#")}


@pytest.mark.parametrize("case", CASES)
def test_the_server_knows_every_key(case: str) -> None:
    system = scylla(case)
    assert configuration(system).keys() <= known_keys()
    for file in system.secret_files:
        assert file.path.endswith(".properties") or yaml.safe_load(file.content).keys() <= known_keys()


def test_one_node_that_shares_its_host_with_a_client() -> None:
    system = scylla("alone")
    config, command = configuration(system), system.command
    assert config["workdir"] == "/data1/dohyo/scylla"
    assert config["commitlog_directory"] == "/data2/dohyo/scylla/commitlog"
    assert (config["commitlog_sync"], config["commitlog_sync_period_in_ms"]) == ("periodic", 10000)
    assert config["developer_mode"] is True
    assert config["hinted_handoff_enabled"] is False
    assert configuration(scylla("alone", trial_phases=[{"faults": "kill(any)@5s"}]))["hinted_handoff_enabled"] is True
    assert config["api_doc_dir"] == "/opt/scylladb/api/api-doc/"
    ports = [value for key, value in config.items() if key.endswith("_port")]
    assert len(set(ports)) == len(ports) == 5
    assert command[:3] == [BINARY, "--options-file", "conf/scylla.yaml"]
    assert command[command.index("--memory") :] == [
        *("--memory", "1536M", "--overprovisioned", "--max-networking-io-control-blocks", "1000")
    ]
    named = scylla("alone", scylla_options=["--max-networking-io-control-blocks=20"]).command
    assert [word for word in named if "blocks" in word] == ["--max-networking-io-control-blocks=20"]


def test_a_prepared_node_of_three_without_clients() -> None:
    system = scylla("prepared")
    config, command = configuration(system), system.command
    assert {config[f"{name}_address"] for name in ("listen", "rpc")} == {"10.0.0.2"}
    assert {config[f"{name}_address"] for name in ("api", "prometheus")} == {"127.0.0.1"}
    assert config["seed_provider"][0]["parameters"] == [{"seeds": "10.0.0.1"}]
    assert config["commitlog_sync"] == "batch"
    assert "commitlog_sync_period_in_ms" not in config
    assert config["developer_mode"] is False
    assert config["tablets_mode_for_new_keyspaces"] == "disabled"
    assert command[command.index("--memory") :] == [
        *("--memory", f"{16384 - 1536 - 256}M", "--smp", "4", "--cpuset", "0-3"),
        *("--io-properties-file", "/etc/scylla.d/io_properties.yaml", "--blocked-reactor-notify-ms", "100"),
    ]


def test_nodes_that_share_a_machine_have_pages_at_their_own_addresses() -> None:
    assert scylla(scylla_address="127.9.9.2").page_address == "127.9.9.2"


def test_the_vendor_s_guide_for_production() -> None:
    system = scylla("tuned")
    config, command = configuration(system), system.command
    assert config["developer_mode"] is False
    assert config["internode_compression"] == "all"
    assert command[command.index("--memory") :] == [
        *("--memory", "8192M", "--io-properties-file", "/etc/scylla.d/io_properties.yaml")
    ]


def test_users_and_tls() -> None:
    system = scylla("closed")
    config = configuration(system)
    assert (config["authenticator"], config["authorizer"]) == ("PasswordAuthenticator", "CassandraAuthorizer")
    # One port for each purpose, with TLS and without anything else.
    assert config["native_transport_port_ssl"] == config["native_transport_port"]
    assert config["native_shard_aware_transport_port_ssl"] == config["native_shard_aware_transport_port"]
    assert config["ssl_storage_port"] == config["storage_port"]
    tls = "/opt/dohyo/secret/tls"
    files = {"certificate": f"{tls}/host.pem", "keyfile": f"{tls}/host.pem", "truststore": f"{tls}/ca.pem"}
    assert config["client_encryption_options"] == {"enabled": True, "require_client_auth": False, **files}
    assert config["server_encryption_options"] == {
        "internode_encryption": "all",
        "require_client_auth": True,
        **files,
    }
    assert system.has_certificates
    assert not system.clients_have_certificates


def test_the_password_s_hash_is_in_a_file_that_is_no_evidence() -> None:
    system = scylla("closed")
    connection, options = system.secret_files
    assert system.command[:3] == [BINARY, "--options-file", options.path]
    assert options.path == "/opt/dohyo/secret/scylla/scylla.yaml"
    complete = yaml.safe_load(options.content)
    user, hashed = complete.pop("auth_superuser_name"), complete.pop("auth_superuser_salted_password")
    assert complete == configuration(system)
    assert user == USER
    assert sha512_crypt.verify(PASSWORD, hashed)
    access = {f"cassandra.username={USER}", f"cassandra.password={PASSWORD}", "cassandra.useSSL=true"}
    assert access <= set(connection.content.splitlines())
    shown = [*(file.content for file in system.files), *system.command, *system.admin_words]
    assert not [text for text in shown if PASSWORD in text]


@pytest.mark.parametrize(
    ("variables", "binary", "reason"),
    [
        (
            {"scylla_install_dir": "/nowhere"},
            "",
            "no ScyllaDB server in /nowhere; install the vendor's packages",
        ),
        ({}, "", "no ScyllaDB server in dohyo/install/scylla/server, ~/scylladb, /opt/scylladb, PATH; install"),
        ({"scylla_package": "/nowhere.tgz"}, "", "scylla_package=/nowhere.tgz: no such file on the control machine; n"),
        (
            {"scylla_package": "https://x.invalid/a.tgz"},
            "",
            "scylla_package_sha256 has no value; set it",
        ),
        ({"scylla_package": "http://x.invalid/a"}, "", "http://x.invalid/a: only https:// is accepted"),
        (
            {"scylla_fetch": True},
            "",
            "ScyllaDB documents no checksum and no signature of this archive",
        ),
        ({"scylla_install_dir": "/there"}, "/there/bin/scylla\n", ""),
        ({"environment": {"SCYLLA_DIR": "/nowhere"}}, "", "no ScyllaDB server in /nowhere; install the vendor's"),
    ],
)
def test_says_why_it_is_not_available_and_how_to_get_it(variables: dict[str, Any], binary: str, reason: str) -> None:
    system = scylla(**variables, states={"node1": {"looked": {"stdout": binary, "stderr": ""}}})
    assert system.unavailable.startswith(reason)
    assert bool(system.unavailable) == bool(reason)
    assert system.binary == binary.strip()


def test_the_first_folder_with_a_server_is_taken(tmp_path: Path) -> None:
    server = tmp_path / "there/bin/scylla"
    server.parent.mkdir(parents=True)
    server.touch(mode=0o644)

    def look() -> str:
        script = scylla(scylla_install_dir=str(tmp_path / "there")).looks_for
        command = ["sh", "-c", script.text, "sh", "/nowhere", *script.arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    assert look() == ""
    server.chmod(0o755)
    assert look() == str(server)


MEASURED = """disks:
  - mountpoint: {}
    read_iops: 1
"""


def test_the_disk_of_the_data_is_measured_unless_it_was(tmp_path: Path) -> None:
    """The file of an earlier measurement names mount points."""
    tasks = yaml.safe_load((ANSIBLE / "systems/scylla/tasks/tune.yml").read_text("utf-8"))
    (script,) = [task["vars"]["scylla_measured"] for task in tasks if "scylla_measured" in task.get("vars", {})]
    file = tmp_path / "io_properties.yaml"
    place = subprocess.run(["stat", "-c", "%m", tmp_path], capture_output=True, text=True, check=True).stdout.strip()

    def unmeasured() -> str:
        command: list[str | Path] = ["sh", "-c", script, file, tmp_path]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    assert unmeasured() == place
    file.write_text(MEASURED.format("/var/lib/scylla"))
    assert unmeasured() == place
    file.write_text(MEASURED.format(place))
    assert unmeasured() == ""


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"states": {}}, "no ScyllaDB server in"),
        ({"scylla_package": str(KEYS), "scylla_package_sha256": "0" * 64, "states": {}}, "the server is not installed"),
        (
            {"scylla_developer_mode": False, "scylla_memory": "9g"},
            "Outside developer mode ScyllaDB wants to know how fast the disk is",
        ),
        (
            {"scylla_tune": True, "scylla_memory": "4g", "scylla_cpuset": "0-3"},
            "Outside developer mode ScyllaDB needs 1074 MiB for each shard, and scylla_memory=4g is for 4; raise it",
        ),
        (
            {"scylla_options": ["--unsafe-bypass-fsync", "1"], "conditions": {"durability": "disk"}},
            "durability=disk needs fsync; leave --unsafe-bypass-fsync out",
        ),
    ],
)
def test_what_it_cannot_do_is_refused(variables: dict[str, Any], reason: str) -> None:
    (refusal,) = scylla(**variables).refusals
    assert re.search(f"^(node1: )?{reason}", refusal)
