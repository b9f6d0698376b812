"""Tests ScyllaDB's configuration without a server."""

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
VERSION = "5.2.18-0.20240419.dae9bef75f66"
NEWEST = "2026.4.0-dev-0.20260821.f4a4091ca28e"
PAGES = {"ports": {"api": 10000, "prometheus": 9180}, "moved": []}
APART = {"database": ["node1"], "client": ["other"]}
# JSON writes the last character of the user's name as a pair of escapes, which YAML would not combine.
USER, PASSWORD = "o'hara \N{GRINNING FACE}", PASSWORDS["client"]
# Variables of each case. Together, the cases cover all optional parts of the configuration.
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
        "scylla_nic": "eth0",
        "scylla_smp": 4,
        "scylla_tablets": False,
        "scylla_options": ["--blocked-reactor-notify-ms", "100"],
    },
    "tuned": {"conditions": {"profile": "tuned"}, "scylla_memory": "8g", "scylla_nic": "eth0", "groups": APART},
    "closed": {"hosts": 2, "scylla_authentication": True, "scylla_tls": True, "scylla_user": USER},
}


def scylla(case: str = "", version: str = VERSION, cores: str = "1-3", **variables: Any) -> Any:
    """Returns ScyllaDB on hosts that have a server and were tuned for these cores."""
    variables_of_case = {**CASES.get(case, {}), **variables}
    printed = {"looked": {"stdout": f"{BINARY}\n{version}\n{cores}".rstrip("\n"), "stderr": ""}}
    states = {f"node{number}": printed for number in range(1, variables_of_case.get("hosts", 1) + 1)}
    return described("scylla", **{"states": states, "system_page_ports": PAGES, **variables_of_case})


def files(system: Any) -> dict[str, str]:
    return {file.path.rpartition("/")[2]: file.content for file in system.files}


def configuration(system: Any) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(files(system)["scylla.yaml"])
    return loaded


def known_keys() -> set[str]:
    return {line for line in KEYS.read_text().splitlines() if not line.startswith("#")}


@pytest.mark.parametrize("case", CASES)
def test_the_server_knows_every_key(case: str) -> None:
    system = scylla(case, NEWEST)
    assert configuration(system).keys() <= known_keys()
    for file in system.secret_files:
        assert file.path.endswith(".properties") or yaml.safe_load(file.content).keys() <= known_keys()


def test_the_commit_log_is_on_the_last_disk() -> None:
    config = configuration(scylla("alone"))
    assert config["workdir"] == "/data1/dohyo/scylla"
    assert config["commitlog_directory"] == "/data2/dohyo/scylla/commitlog"


def test_faults_need_hints_and_a_user_s_number_of_sockets_counts() -> None:
    assert configuration(scylla("alone", trial_phases=[{"faults": "kill(any)@5s"}]))["hinted_handoff_enabled"] is True
    named = scylla("alone", scylla_options=["--max-networking-io-control-blocks=20"]).command
    assert [word for word in named if "blocks" in word] == ["--max-networking-io-control-blocks=20"]


def test_newer_versions_name_compactions_only_at_level_debug() -> None:
    debug = ("--logger-log-level", "compaction=debug")
    cases = ((VERSION, ()), ("2025.1.9", ()), ("2025.4.0-0.20251201.abc", debug), ("2026.4.0-dev", debug))
    for version, expected in cases:
        command = scylla(version=version).command
        assert tuple(word for word in command if word in debug) == expected


def test_a_prepared_node_of_three_without_clients() -> None:
    system = scylla("prepared")
    config, command = configuration(system), system.command
    assert {config[f"{name}_address"] for name in ("listen", "rpc")} == {"10.0.0.2"}
    assert {config[f"{name}_address"] for name in ("api", "prometheus")} == {"127.0.0.1"}
    assert config["seed_provider"][0]["parameters"] == [{"seeds": "10.0.0.1"}]
    assert command[command.index("--memory") :] == [
        *("--memory", f"{16384 - 1536 - 256}M", "--smp", "4", "--cpuset", "0-3"),
        *("--io-properties-file", "/etc/scylla.d/io_properties.yaml", "--lock-memory", "1"),
        *("--blocked-reactor-notify-ms", "100"),
    ]


RAFT = {"consistent_cluster_management": True, "force_schema_commit_log": True}
TABLETS = {"tablets_mode_for_new_keyspaces": "disabled", "maintenance_socket": "ignore"}
TRIE = {"sstable_format": "mt", "column_index_size_in_kb": 1}


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (VERSION, RAFT),
        ("5.4.9", RAFT),
        ("6.2.3", {"enable_tablets": False, "maintenance_socket": "ignore"}),
        ("2025.1.9", TABLETS),
        ("2026.1.11", TABLETS),
        ("2026.2.0", TABLETS | TRIE),
        ("", TABLETS | TRIE),
    ],
)
def test_values_of_the_scylla_yaml_in_the_vendor_s_packages(version: str, expected: dict[str, Any]) -> None:
    """RAFT, TABLETS and TRIE contain the values of conf/scylla.yaml at the tags of ScyllaDB's source."""
    config = configuration(scylla("prepared", version=version))
    assert {key: config[key] for key in {"enable_tablets": "", **RAFT, **TABLETS, **TRIE} if key in config} == expected
    assert config["commitlog_segment_size_in_mb"] == 32


def test_nodes_that_share_a_machine_have_pages_at_their_own_addresses() -> None:
    assert scylla(scylla_address="127.9.9.2").page_address == "127.9.9.2"


def test_the_vendor_s_guide_for_production() -> None:
    system = scylla("tuned")
    config, command = configuration(system), system.command
    assert config["developer_mode"] is False
    assert config["internode_compression"] == "all"
    assert config["endpoint_snitch"] == "GossipingPropertyFileSnitch"
    # ScyllaDB reads this file in the folder conf below its working directory, and ends without it.
    assert files(system)["cassandra-rackdc.properties"].split() == ["dc=datacenter1", "rack=rack1"]
    assert command[command.index("--memory") :] == [
        *("--memory", "8192M", "--cpuset", "1-3", "--io-properties-file", "/etc/scylla.d/io_properties.yaml"),
        *("--lock-memory", "1"),
    ]
    assert (system.shards, system.refusals) == (3, [])
    assert scylla("tuned", scylla_cpuset="1,2-3").refusals == []


def test_users_and_tls() -> None:
    system = scylla("closed")
    config = configuration(system)
    assert (config["authenticator"], config["authorizer"]) == ("PasswordAuthenticator", "CassandraAuthorizer")
    # Each purpose has only one port, which requires TLS.
    assert config["native_transport_port_ssl"] == config["native_transport_port"]
    assert config["native_shard_aware_transport_port_ssl"] == config["native_shard_aware_transport_port"]
    assert config["ssl_storage_port"] == config["storage_port"]
    tls = "/opt/dohyo/secret/tls"
    files = {"certificate": f"{tls}/host.pem", "keyfile": f"{tls}/host.pem", "truststore": f"{tls}/ca.pem"}
    assert config["client_encryption_options"] == {"enabled": True, "require_client_auth": False, **files}
    assert config["server_encryption_options"] == {"internode_encryption": "all", "require_client_auth": True, **files}
    assert system.has_certificates
    assert not system.clients_have_certificates


def test_the_password_s_hash_is_in_a_file_that_is_no_evidence() -> None:
    system = scylla("closed", NEWEST)
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
    assert yaml.safe_load(scylla("closed").secret_files[1].content) == configuration(scylla("closed"))


@pytest.mark.parametrize(
    ("variables", "binary", "reason"),
    [
        ({"scylla_install_dir": "/nowhere"}, "", "no ScyllaDB server in /nowhere; download it with --fetch scylla"),
        ({}, "", "no ScyllaDB server found; download it with --fetch scylla (other ways: docs/scylla.md)"),
        ({"scylla_package": "/nowhere.tgz"}, "", "scylla_package=/nowhere.tgz: no such file on the control machine; s"),
        ({"scylla_package": "https://x.invalid/a.tgz"}, "", "scylla_package_sha256 has no value; set it"),
        ({"scylla_package": "http://x.invalid/a"}, "", "http://x.invalid/a: only https:// is accepted"),
        ({"scylla_fetch": True}, "", "ScyllaDB documents no checksum and no signature for this archive"),
        ({"scylla_install_dir": "/there"}, "/there/bin/scylla\n", ""),
        ({"environment": {"SCYLLA_DIR": "/nowhere"}}, "", "no ScyllaDB server in /nowhere; download it"),
    ],
)
def test_says_why_it_is_not_available_and_how_to_get_it(variables: dict[str, Any], binary: str, reason: str) -> None:
    system = scylla(**variables, states={"node1": {"looked": {"stdout": binary, "stderr": ""}}})
    assert system.unavailable.startswith(reason)
    assert bool(system.unavailable) == bool(reason)
    assert system.binary == binary.strip()


def look(folder: Path) -> str:
    """Returns what the script prints that looks for a server in a folder."""
    script = scylla(scylla_install_dir=str(folder)).looks_for
    command = ["sh", "-c", script.text, "sh", "/nowhere", *script.arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_the_first_folder_with_a_server_is_taken(tmp_path: Path) -> None:
    server = tmp_path / "there/bin/scylla"
    server.mkdir(parents=True)
    assert look(tmp_path / "there") == ""
    server.rmdir()
    server.touch(mode=0o644)
    assert look(tmp_path / "there") == ""
    server.write_text(f"#!/bin/sh\necho {VERSION}\necho more")
    server.chmod(0o755)
    assert look(tmp_path / "there").splitlines()[:2] == [str(server), VERSION]


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("#!/bin/sh\necho 'libfmt.so.9: no such file' >&2\nexit 127", "libfmt.so.9: no such file"),
        ("#!/bin/sh\nexit 3", "exit code 3"),
        ("#!/bin/sh\n", "it prints no version"),
        ("#!/nowhere/sh\n", ".* not found"),
        ("\x7fELF\x00", ".*"),
    ],
)
def test_a_program_that_does_not_run_is_not_available(program: str, reason: str, tmp_path: Path) -> None:
    server = tmp_path / "bin/scylla"
    server.parent.mkdir()
    server.write_text(program)
    server.chmod(0o755)
    system = scylla(states={"node1": {"looked": {"stdout": look(tmp_path), "stderr": ""}}})
    expected = rf"{server} --version failed: {reason}; name another server \(docs/scylla.md\)"
    assert re.fullmatch(expected, system.unavailable)
    assert system.refusals == [f"node1: {system.unavailable}"]


MEASURED = """disks:
  - mountpoint: {}
    read_iops: 1
"""


def test_the_disk_of_the_data_is_measured_unless_it_was(tmp_path: Path) -> None:
    """The file that a measurement writes names the mount points that were measured."""
    tasks = yaml.safe_load((ANSIBLE / "systems/scylla/tasks/tune.yml").read_text("utf-8"))
    (script,) = [task["vars"]["scylla_measured"] for task in tasks if "scylla_measured" in task.get("vars", {})]
    file = tmp_path / "io_properties.yaml"
    mount = subprocess.run(["stat", "-c", "%m", tmp_path], capture_output=True, text=True, check=True).stdout.strip()

    def unmeasured() -> str:
        command: list[str | Path] = ["sh", "-c", script, file, tmp_path]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    assert unmeasured() == mount
    file.write_text(MEASURED.format("/var/lib/scylla"))
    assert unmeasured() == mount
    file.write_text(MEASURED.format(mount))
    assert unmeasured() == ""


FAKES = {
    # Some versions print a warning before the mask.
    "scripts/perftune.py": """
        echo "$@" >> FOLDER/called
        case "$*" in
        *get-cpu-mask) printf 'eth0 is slow\\n0xfffefffe,0xfffefffe\\n' ;;
        *) echo 'tune: [net, disks]' ;;
        esac""",
    "scripts/scylla_cpuset_setup": 'echo "$@" >> FOLDER/called',
    # Output of hwloc-calc 2.9 on hosts with 2 and 64 processors.
    "bin/hwloc-calc": """
        case "$*" in
        all) echo 0x00000003 ;;
        '--pi all ~PU:0-1') echo 0x0 ;;
        '--pi all ~PU:1 ~PU:3-4') echo 0xffffffff,0xffffffe5 ;;
        '--po -I PU 0xfffefffe,0xfffefffe') echo 1-15,17-31,33-47,49-63 ;;
        *) exit 1 ;;
        esac""",
}


@pytest.mark.parametrize(
    ("cpuset", "chosen", "interrupts"),
    [
        ("", "1-15,17-31,33-47,49-63", ""),
        ("1,3-4", "1,3-4", " --irq-cpu-mask 0xffffffff,0xffffffe5"),
        ("0-1", "0-1", " --irq-cpu-mask 0x00000003"),
    ],
)
def test_cores_are_divided_between_the_server_and_interrupts(
    cpuset: str, chosen: str, interrupts: str, tmp_path: Path
) -> None:
    tasks = yaml.safe_load((ANSIBLE / "systems/scylla/tasks/tune.yml").read_text("utf-8"))
    (script,) = [task["vars"]["scylla_cores"] for task in tasks if "scylla_cores" in task.get("vars", {})]
    for name, text in FAKES.items():
        fake = tmp_path / name
        fake.parent.mkdir(exist_ok=True)
        fake.write_text(f"#!/bin/sh\n{text}\n".replace("FOLDER", str(tmp_path)))
        fake.chmod(0o755)
    options, mark = tmp_path / "perftune.yaml", tmp_path / "mark"
    mark.touch()
    arguments = [options, "eth0", cpuset, mark, "/disk 1", "/disk2"]
    text = script.replace("/opt/scylladb", str(tmp_path))
    subprocess.run(["sh", "-euc", text, "sh", *map(str, arguments)], check=True)
    *tuned, setup = (tmp_path / "called").read_text().splitlines()
    always = "--tune disks --dir /disk 1 --dir /disk2 --tune net --nic eth0"
    shown = [f"{always} --get-cpu-mask"] if not cpuset else []
    assert tuned == [*shown, f"{always}{interrupts} --dump-options-file"]
    assert setup == f"--cpuset {chosen}"
    assert options.read_text() == "tune: [net, disks]\n"
    assert not mark.exists()


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"states": {}}, "no ScyllaDB server found"),
        ({"scylla_package": str(KEYS), "scylla_package_sha256": "0" * 64, "states": {}}, "node1 has no server: run"),
        (
            {"scylla_developer_mode": False, "scylla_memory": "9g"},
            "ScyllaDB needs the disk's speed; set scylla_tune",
        ),
        (
            {"scylla_tune": True, "scylla_nic": "eth0", "scylla_memory": "3g", "scylla_cpuset": "1-3"},
            "scylla_memory=3g is below 1074 MiB × 3 shards; raise it, or lower scylla_smp",
        ),
        (
            {"scylla_memory": "150m", "scylla_cpuset": "1-3"},
            "scylla_memory=150m: 3 shards need over 150 MiB; raise",
        ),
        ({"scylla_tune": True, "scylla_memory": "9g"}, "scylla_tune spreads the interrupts of a network card: set"),
        (
            {"scylla_tune": True, "scylla_memory": "9g", "scylla_nic": "eth0", "scylla_cpuset": "1-4"},
            "node1 was tuned for the cores 1-3, not 1-4: deploy with the same scylla_tune, scylla_nic and",
        ),
        (
            {"scylla_tune": True, "scylla_memory": "9g", "scylla_nic": "eth0", "cores": ""},
            "node1 was tuned for no cores: deploy",
        ),
        *(
            (
                {"scylla_authentication": True, "scylla_address": address},
                f"dohyo_address={address}: may be public",
            )
            for address in ("8.8.8.8", "0.0.0.0", "db1")  # noqa: S104
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


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"scylla_memory": "151m", "scylla_cpuset": "1-3"},
        {"scylla_authentication": True},
        {"scylla_authentication": True, "scylla_address": "8.8.8.8", "version": "5.4.0-0.20240101.abc"},
        {"scylla_authentication": True, "scylla_address": "8.8.8.8", "version": "2025.1.9-0.20251010.6c539463bbda"},
        {"scylla_authentication": True, "scylla_address": "8.8.8.8", "dohyo_public": True},
    ],
)
def test_what_it_can_do_is_not_refused(variables: dict[str, Any]) -> None:
    assert scylla(**variables).refusals == []
