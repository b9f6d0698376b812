"""The configuration of ScyllaDB, rendered by Ansible itself: there may be no ScyllaDB to start."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from passlib.hash import sha512_crypt  # type: ignore[import-untyped]

from dohyo.places import ANSIBLE
from support.playbooks import play

KEYS = Path(__file__).parent / "data" / "scylla-keys.txt"


def configure(
    folder: Path, nodes: int, clients: int, durability: str = "memory", profile: str = "vanilla", **variables: Any
) -> tuple[list[dict[str, Any]], list[list[str]]]:
    """Runs the role's verb.

    :returns: scylla.yaml and command line of each node
    """
    homes = [folder / f"node{i}" for i in range(1, nodes + 1)]
    # Addresses on which nobody listens.
    hosts = {
        home.name: {
            "dohyo_home": str(home),
            "dohyo_data": [str(home / "disk1"), str(home / "disk2")],
            "dohyo_address": f"127.9.9.{i}",
        }
        for i, home in enumerate(homes, 1)
    }
    tasks = [
        {"include_role": {"name": "system", "tasks_from": "{{ systems.scylla.verbs.configure }}", "public": True}},
        {"set_fact": {"command": "{{ system_spec.command }}"}},
    ]
    found = {"binary": "/opt/scylladb/bin/scylla", "reason": ""}
    answer = play(
        folder, tasks, hosts, clients, ["command"], trial_conditions={"durability": durability, "profile": profile},
        system_name="scylla", system_state={"scylla": {"found": found}}, **variables,
    )  # fmt: skip
    configs = [yaml.safe_load((home / "run/scylla/conf/scylla.yaml").read_text()) for home in homes]
    return configs, answer["command"]


def known_keys() -> set[str]:
    return {line for line in KEYS.read_text().splitlines() if not line.startswith("#")}


@pytest.mark.slow
def test_one_node_that_shares_its_host_with_a_client(tmp_path: Path) -> None:
    [config], [command] = configure(tmp_path, nodes=1, clients=1)
    assert config.keys() <= known_keys()
    assert config["commitlog_sync"] == "periodic"
    assert config["commitlog_sync_period_in_ms"] == 10000
    assert config["developer_mode"] is True
    assert config["workdir"] == str(tmp_path / "node1/disk1/dohyo/scylla")
    assert config["commitlog_directory"] == str(tmp_path / "node1/disk2/dohyo/scylla/commitlog")
    assert config["api_doc_dir"] == "/opt/scylladb/api/api-doc/"
    assert config["hinted_handoff_enabled"] is False
    ports = [value for key, value in config.items() if key.endswith("_port")]
    assert len(set(ports)) == len(ports) == 5
    assert command[:3] == ["/opt/scylladb/bin/scylla", "--options-file", "conf/scylla.yaml"]
    assert command[command.index("--memory") + 1] == "1536M"
    assert "--overprovisioned" in command
    assert not {"--smp", "--cpuset", "--io-properties-file"} & set(command)


@pytest.mark.slow
def test_three_prepared_nodes_without_clients(tmp_path: Path) -> None:
    configs, commands = configure(
        tmp_path, 3, 0, durability="disk", scylla_tune=True, scylla_smp=4, host_cpus_server="0-3", host_budget_mb=16384,
        scylla_tablets=False, scylla_options=["--blocked-reactor-notify-ms", "100"],
    )  # fmt: skip
    for i, (config, command) in enumerate(zip(configs, commands, strict=True), 1):
        assert config.keys() <= known_keys()
        assert {config[f"{name}_address"] for name in ("listen", "rpc", "api", "prometheus")} == {f"127.9.9.{i}"}
        assert config["seed_provider"][0]["parameters"] == [{"seeds": "127.9.9.1"}]
        assert config["commitlog_sync"] == "batch"
        assert "commitlog_sync_period_in_ms" not in config
        assert config["developer_mode"] is False
        assert config["tablets_mode_for_new_keyspaces"] == "disabled"
        assert command[command.index("--memory") :] == [
            "--memory", f"{16384 - 1536 - 256}M", "--smp", "4", "--cpuset", "0-3",
            "--io-properties-file", "/etc/scylla.d/io_properties.yaml", "--blocked-reactor-notify-ms", "100",
        ]  # fmt: skip
    assert len({config["native_transport_port"] for config in configs}) == 1


@pytest.mark.slow
def test_the_vendor_s_guide_for_production(tmp_path: Path) -> None:
    [config], [command] = configure(tmp_path, 1, 0, profile="tuned", scylla_memory="8g")
    assert config.keys() <= known_keys()
    assert config["developer_mode"] is False
    assert config["internode_compression"] == "all"
    assert command[command.index("--io-properties-file") + 1] == "/etc/scylla.d/io_properties.yaml"
    assert "--overprovisioned" not in command


MEASURED = """disks:
  - mountpoint: {}
    read_iops: 1
"""


def test_the_disk_of_the_data_is_measured_unless_it_was(tmp_path: Path) -> None:
    """The script of the task that looks: whose mount point the file of an earlier measurement names."""
    [task] = [
        task for task in yaml.safe_load((ANSIBLE / "systems/scylla/tasks/tune.yml").read_text())
        if "scylla_measured" in task.get("vars", {})
    ]  # fmt: skip
    file = tmp_path / "io_properties.yaml"
    place = subprocess.run(["stat", "-c", "%m", tmp_path], capture_output=True, text=True, check=True).stdout.strip()

    def unmeasured() -> str:
        command: list[str | Path] = ["sh", "-c", task["vars"]["scylla_measured"], file, tmp_path]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    assert unmeasured() == place
    file.write_text(MEASURED.format("/var/lib/scylla"))
    assert unmeasured() == place
    file.write_text(MEASURED.format(place))
    assert unmeasured() == ""


@pytest.mark.slow
def test_users_and_tls(tmp_path: Path) -> None:
    password = "s3cret-'quoted'"  # noqa: S105
    # A character for which JSON has two escapes, which YAML does not put together.
    hara = "o'hara \N{GRINNING FACE}"
    configs, commands = configure(
        tmp_path, 2, 0, scylla_authentication=True, scylla_tls=True, scylla_user=hara, scylla_password=password
    )
    for i, (config, command) in enumerate(zip(configs, commands, strict=True), 1):
        home = tmp_path / f"node{i}"
        assert config.keys() <= known_keys()
        assert config["authenticator"] == "PasswordAuthenticator"
        assert config["authorizer"] == "CassandraAuthorizer"
        # One port for each purpose, with TLS and without anything else.
        assert config["native_transport_port_ssl"] == config["native_transport_port"]
        assert config["native_shard_aware_transport_port_ssl"] == config["native_shard_aware_transport_port"]
        assert config["ssl_storage_port"] == config["storage_port"]
        files = {
            "certificate": str(home / "secret/tls/host.pem"),
            "keyfile": str(home / "secret/tls/host.pem"),
            "truststore": str(home / "secret/tls/ca.pem"),
        }
        assert config["client_encryption_options"] == {"enabled": True, "require_client_auth": False, **files}
        assert config["server_encryption_options"] == {
            "internode_encryption": "all", "require_client_auth": True, **files
        }  # fmt: skip
        assert all(Path(file).is_file() for file in files.values())

        # The hash of the password is in a file of its own, which is no evidence.
        secret = home / "secret/scylla/scylla.yaml"
        assert command[:3] == ["/opt/scylladb/bin/scylla", "--options-file", str(secret)]
        assert secret.stat().st_mode & 0o077 == 0
        complete = yaml.safe_load(secret.read_text())
        user, hashed = complete.pop("auth_superuser_name"), complete.pop("auth_superuser_salted_password")
        assert complete == config
        assert user == hara
        assert sha512_crypt.verify(password, hashed)
        assert complete.keys() | {"auth_superuser_name", "auth_superuser_salted_password"} <= known_keys()
        connection = (home / "secret/scylla/client.properties").read_text()
        assert {f"cassandra.username={hara}", f"cassandra.password={password}", "cassandra.useSSL=true"} <= set(
            connection.splitlines()
        )
    assert not [file for file in tmp_path.glob("node*/run/**/*") if file.is_file() and password in file.read_text()]


def test_says_why_it_is_not_available_and_how_to_get_it(tmp_path: Path) -> None:
    hosts: dict[str, dict[str, Any]] = {
        "absent": {"scylla_install_dir": "/nowhere"},
        "nofile": {"scylla_package": "/nowhere.tar.gz"},
        "nosum": {"scylla_package": "https://example.invalid/scylla.tar.gz"},
        "there": {"scylla_install_dir": str(tmp_path / "there")},
    }
    server = tmp_path / "there/bin/scylla"
    server.parent.mkdir(parents=True)
    server.touch(mode=0o755)
    tasks = [{"include_role": {"name": "system", "tasks_from": "{{ systems.scylla.verbs.available }}"}}]
    facts = play(tmp_path, tasks, hosts, 0, ["system_state"], dohyo_home=str(tmp_path), system_name="scylla")
    answers = [state["scylla"] for state in facts["system_state"]]
    absent, nofile, nosum, there = [each["unavailable"] for each in answers]
    assert absent.startswith("no ScyllaDB server in /nowhere; install the vendor's packages, or give its offline")
    assert nofile.startswith("scylla_package=/nowhere.tar.gz: no such file on the control machine; name")
    assert nosum.startswith("scylla_package_sha256 has no value; ")
    assert there == ""
    assert [each["found"]["binary"] for each in answers] == ["", "", "", str(server)]
