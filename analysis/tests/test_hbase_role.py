"""What is started for HBase on a host and asked of it: Ansible itself, with programs that only note their arguments."""

from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from support.playbooks import DEFAULTS, play

HOSTS = 2
# Notes what it was asked to do, a line per call, beside itself.
NOTES = """#!/usr/bin/env bash
printf '%s\\t' "$@" >> "$0.calls"
echo >> "$0.calls"
echo '{"rows": {}}'
"""


def verbs(folder: Path, names: list[str], hosts: int = HOSTS, **variables: Any) -> list[Path]:
    """Has Ansible do verbs of the role on hosts that are all this one; gives the folder of each."""
    homes = [folder / f"host{number}" for number in range(1, hosts + 1)]
    for home in homes:
        for tool in (home / "bin" / "service", home / "jdk" / "bin" / "java"):
            tool.parent.mkdir(parents=True)
            tool.write_text(NOTES)
            tool.chmod(0o755)
    inventory = {
        home.name: {
            "dohyo_home": str(home),
            "dohyo_data": [str(home / "data")],
            "hbase_address": f"127.9.8.{number}",  # on which nobody listens
            "jdk_host": {"java_home": str(home / "jdk")},
            "service_host": {"java_home": str(home / "jdk")},
        }
        for number, home in enumerate(homes, start=1)
    }
    tasks = [
        {"include_role": {"name": "system", "tasks_from": f"{{{{ systems.hbase.verbs.{name} }}}}"}} for name in names
    ]
    given = {
        **DEFAULTS,
        "system_name": "hbase",
        "jdk_gc_options": ["-XX:+UseG1GC", "-Xlog:gc*:file=gc.log:time,uptime"],
        "trial_conditions": {"replication": 1},
        "trial_properties": {"recordcount": "1000"},
        "trial_settle_flush": True,
        "trial_settle_cache": "keep",
        "trial_settle_words": ["settle"],
        "trial_stats": "stats/load",
        **variables,
    }
    play(folder, tasks, inventory, 0, ["system_state"], **given)
    return homes


def calls(program: Path) -> list[list[str]]:
    file = program.with_name(f"{program.name}.calls")
    return [line.split("\t")[:-1] for line in file.read_text().splitlines()] if file.exists() else []


def started(home: Path) -> dict[str, list[str]]:
    """Command line by name of the process."""
    return {call[1]: call[5:] for call in calls(home / "bin/service") if call[0] == "start"}


def site(home: Path) -> dict[str, str]:
    text = (home / "run/hbase/conf/hbase-site.xml").read_text()
    pieces = [line.split("</name><value>") for line in text.splitlines() if "<property>" in line]
    return {name.split("<name>")[1]: value.split("</value>")[0] for name, value in pieces}


@pytest.mark.slow
def test_two_region_servers_on_a_host_have_ports_and_logs_of_their_own(tmp_path: Path) -> None:
    names = ["configure", "start", "ready", "stats", "stop"]
    first, second = verbs(tmp_path, names, hbase_regionservers_per_host=2)
    processes = started(first)
    everywhere = {"hbase-datanode", "hbase-master", "hbase-regionserver", "hbase-regionserver2"}
    assert set(processes) == everywhere | {"hbase-zookeeper", "hbase-namenode"}
    assert set(started(second)) == everywhere
    servers = [processes["hbase-regionserver"], processes["hbase-regionserver2"]]
    for number, command in enumerate(servers):
        assert command[-4:] == [
            "org.apache.hadoop.hbase.regionserver.HRegionServer",
            f"-Dhbase.regionserver.port={16020 + number}",
            f"-Dhbase.regionserver.info.port={16030 + number}",
            "start",
        ]
        assert {"-Xms1500m", "-Xmx1500m"} <= set(command)
    assert [next(word for word in command if "-Xlog" in word) for command in servers] == [
        "-Xlog:gc*:file=gc.log:time,uptime", "-Xlog:gc*:file=gc-regionserver2.log:time,uptime",
    ]  # fmt: skip
    # The others have the collector of their own, and a log of it.
    master = processes["hbase-master"]
    assert "-Xlog:gc*:file=gc-master.log:time,uptime" in master
    assert "-XX:+UseG1GC" not in master

    tool = calls(first / "bin/service")
    assert any('"numRegionServers": 4,' in call for call in tool)
    assert [call[1].removeprefix("hbase-") for call in tool if call[0] == "stop"] == [
        "regionserver2", "regionserver", "master", "datanode", "namenode", "zookeeper",
    ]  # fmt: skip
    assert (first / "data/dohyo/hbase/zookeeper/myid").read_text().strip() == "1"
    assert (first / "run/hbase/conf/hadoop-metrics2-hbase.properties").read_text() == "*.period=1\n"
    assert site(first)["hbase.master.wait.on.regionservers.maxtostart"] == "4"
    stats = next(call for call in calls(first / "jdk/bin/java") if "stats" in call)
    assert (
        "pages=namenode-jmx=http://127.9.8.1:9870,datanode-jmx=http://127.9.8.1:9864,"
        "master-jmx=http://127.9.8.1:16010,jmx-regionserver2=http://127.9.8.1:16031"
    ) in stats


@pytest.mark.slow
def test_one_host_alone_runs_one_process(tmp_path: Path) -> None:
    (home,) = verbs(tmp_path, ["configure", "start", "stats", "stop"], hosts=1)
    processes = started(home)
    assert list(processes) == ["hbase"]
    assert processes["hbase"][-2:] == ["org.apache.hadoop.hbase.master.HMaster", "start"]
    assert "pages=" in calls(home / "jdk/bin/java")[-1]


@pytest.mark.slow
def test_several_region_servers_make_one_host_distributed(tmp_path: Path) -> None:
    (home,) = verbs(tmp_path, ["configure", "start", "settle"], hosts=1, hbase_regionservers_per_host=3)
    assert [name for name in started(home) if "regionserver" in name] == [
        "hbase-regionserver", "hbase-regionserver2", "hbase-regionserver3",
    ]  # fmt: skip
    assert site(home)["hbase.cluster.distributed"] == "true"
    # Statistics may come in the same call, and are those of all.
    pages = next(word for word in calls(home / "jdk/bin/java")[-1] if word.startswith("pages="))
    assert "jmx-regionserver2=" in pages
    assert "jmx-regionserver3=" in pages


@pytest.mark.slow
@pytest.mark.parametrize(("servers", "memory"), [(1, 1500 + 600), (2, 2 * 2100 + 3 * (1024 + 150) + 512 + 150)])
def test_memory_is_that_of_all_processes(tmp_path: Path, servers: int, memory: int) -> None:
    task = {"include_role": {"name": "system", "tasks_from": "needs"}}
    host = {"one": {"dohyo_home": str(tmp_path)}}
    answer = play(
        tmp_path, [task], host, 0, ["system_state"], hbase_regionservers_per_host=servers, trial_conditions={},
        trial_properties={}, system_name="hbase", **DEFAULTS,
    )  # fmt: skip
    assert answer["system_state"][0]["hbase"]["needs"]["memory_mb"] == memory


def test_what_a_user_sets_comes_before_the_roles_own(tmp_path: Path) -> None:
    settings = {"hbase.hregion.memstore.flush.size": 1073741824, "hbase.regionserver.handler.count": 160,
                "hbase.regionserver.wal.enablecompression": True}  # fmt: skip
    own, of_collector = "-XX:CMSInitiatingOccupancyFraction=70", "-XX:CMSInitiatingOccupancyFraction=75"
    (home,) = verbs(
        tmp_path, ["configure"], hosts=1, hbase_settings=settings, hbase_java_options=[own],
        jdk_gc_options=[of_collector],
    )  # fmt: skip
    found = site(home)
    # The JVM takes the last of two flags.
    flags = (home / "run/hbase/conf/jvm.options").read_text().splitlines()
    assert flags.index(of_collector) < flags.index(own)
    assert found["hbase.hregion.memstore.flush.size"] == "1073741824"
    assert found["hbase.regionserver.handler.count"] == "160"
    assert found["hbase.regionserver.wal.enablecompression"] == "true"


@pytest.mark.slow
def test_tls_lets_in_only_who_has_a_certificate(tmp_path: Path) -> None:
    (home,) = verbs(tmp_path, ["configure", "count"], hosts=1, hbase_tls=True)
    key, authority = home / "secret/tls/host.pem", home / "secret/tls/ca.pem"
    access = {
        "hbase.client.netty.tls.enabled": "true",
        "hbase.rpc.tls.keystore.location": str(key),
        "hbase.rpc.tls.truststore.location": str(authority),
    }
    assert {**access, "hbase.server.netty.tls.enabled": "true", "hbase.server.netty.tls.supportplaintext": "false",
            "hbase.server.netty.tls.client.auth.mode": "NEED"}.items() <= site(home).items()  # fmt: skip
    assert key.stat().st_mode & 0o077 == 0
    assert "PRIVATE KEY" in key.read_text()
    assert "PRIVATE KEY" not in authority.read_text()
    # Administration gets in by the same files.
    (count,) = calls(home / "jdk/bin/java")
    assert {f"{name}={value}" for name, value in access.items()} <= set(count)


@pytest.mark.slow
def test_a_client_on_a_host_of_its_own_gets_a_key_pair(tmp_path: Path) -> None:
    server, client = tmp_path / "server", tmp_path / "client"
    role = {"include_role": {"name": "certificates"}, "vars": {"certificates_clients": True}}
    play(
        tmp_path, [role], {"one": {"dohyo_home": str(server), "dohyo_address": "127.9.8.1"}},
        {"two": {"dohyo_home": str(client), "dohyo_address": "127.9.8.2"}}, [],
    )  # fmt: skip
    keys = [home / "secret/tls/host.pem" for home in (server, client)]
    assert [key.stat().st_mode & 0o077 for key in keys] == [0, 0]
    own = [x509.load_pem_x509_certificate(key.read_bytes()) for key in keys]
    names = [each.extensions.get_extension_for_class(x509.SubjectAlternativeName).value for each in own]
    assert [{str(ip) for ip in each.get_values_for_type(x509.IPAddress)} for each in names] == [
        {"127.9.8.1", "127.0.0.1"}, {"127.9.8.2", "127.0.0.1"}
    ]  # fmt: skip
    authorities = [
        x509.load_pem_x509_certificate((home / "secret/tls/ca.pem").read_bytes()) for home in (server, client)
    ]
    for certificate, authority in zip(own, authorities, strict=True):
        certificate.verify_directly_issued_by(authority)
    assert authorities[0] == authorities[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        (
            {"hbase_authentication": True, "hbase_distributed": False},
            "hbase_authentication needs HDFS and ZooKeeper as processes of their own; leave out hbase_",
        ),
        ({"hbase_tls": True, "hbase_version": "2.5.13-hadoop3"}, "HBase 2.5 has no TLS; leave out hbase_tls, or set"),
    ],
)
def test_protection_that_it_cannot_give_is_refused(tmp_path: Path, variables: dict[str, Any], reason: str) -> None:
    task = {"set_fact": {"refusals": "{{ systems.hbase.refusals | select }}"}}
    host = {"one": {"dohyo_home": str(tmp_path)}}
    role = {"include_role": {"name": "system", "tasks_from": "needs", "public": True}}
    answer = play(
        tmp_path, [role, task], host, 1, ["refusals"], trial_conditions={}, trial_properties={}, system_name="hbase",
        **variables, **DEFAULTS,
    )  # fmt: skip
    (refusal,) = answer["refusals"][0]
    assert refusal.startswith(reason)


@pytest.mark.slow
def test_the_verbs_say_how_to_settle_and_what_to_read_ahead(tmp_path: Path) -> None:
    (home,) = verbs(
        tmp_path, ["configure", "settle", "count"], hosts=1, hbase_prefetch=True, trial_settle_flush=False,
        trial_settle_cache="drop",
    )  # fmt: skip
    settle, drop, count = calls(home / "jdk/bin/java")
    assert {"settle", "flush=false", "prefetch=true"} <= set(settle)
    assert "drop" in drop
    assert {"count", "recordcount=1000"} <= set(count)
    assert not {"settle", "flush=false", "prefetch=true", "drop"} & set(count)


@pytest.mark.slow
def test_kerberos_is_not_enough_for_a_public_address(tmp_path: Path) -> None:
    """Some of its web pages stay open (docs/secrets.md)."""
    needs = {"include_role": {"name": "system", "tasks_from": "{{ systems.hbase.verbs.needs }}"}}
    host = {"dohyo_home": str(tmp_path), "hbase_address": "8.8.8.8", "hbase_authentication": True}
    given = {
        **DEFAULTS,
        "system_name": "hbase",
        "trial_conditions": {"replication": 1},
        "trial_properties": {"recordcount": "1000"},
    }
    ((state,),) = play(tmp_path, [needs], {"host1": host}, 0, ["system_state"], **given).values()
    assert state["hbase"]["needs"]["open"] == "8.8.8.8"
