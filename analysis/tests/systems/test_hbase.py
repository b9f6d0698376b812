"""Tests HBase's processes, their memory and ports, and the settings that Dohyo rejects."""

import re
from typing import Any

import pytest

from support.described import described

TWO: dict[str, Any] = {"hosts": 2, "hbase_regionservers_per_host": 2}


def hbase(**variables: Any) -> Any:
    """Returns HBase as `Any`, so that tests can use members that only its class has."""
    return described("hbase", **variables)


def site(**variables: Any) -> dict[str, str]:
    """Returns the properties of hbase-site.xml. If a property occurs twice, the later value counts."""
    (text,) = [file.content for file in hbase(**variables).files if file.path.endswith("/hbase-site.xml")]
    return dict(re.findall("<name>(.*)</name><value>(.*)</value>", text))


@pytest.mark.parametrize(
    ("name", "heap", "log", "last"),
    [
        ("zookeeper", "-Xmx512m", "gc-zookeeper.log", ["conf/zoo.cfg"]),
        ("namenode", "-Xmx1g", "gc-namenode.log", ["org.apache.hadoop.hdfs.server.namenode.NameNode"]),
        ("datanode", "-Xmx1g", "gc-datanode.log", ["org.apache.hadoop.hdfs.server.datanode.DataNode"]),
        ("master", "-Xmx1g", "gc-master.log", ["org.apache.hadoop.hbase.master.HMaster", "start"]),
        (
            "regionserver",
            "-Xmx1500m",
            "gc.log",
            ["-Dhbase.regionserver.port=16020", "-Dhbase.regionserver.info.port=16030", "start"],
        ),
        (
            "regionserver2",
            "-Xmx1500m",
            "gc-regionserver2.log",
            ["-Dhbase.regionserver.port=16021", "-Dhbase.regionserver.info.port=16031", "start"],
        ),
    ],
)
def test_a_process_has_heap_ports_and_log_of_its_own(name: str, heap: str, log: str, last: list[str]) -> None:
    command = hbase(**TWO).part_command(name)
    assert heap in command
    assert command[-len(last) :] == last
    assert [word for word in command if "-Xlog" in word] == [f"-Xlog:gc*:file={log}:time,uptime"]
    # These collector options are for region servers only. The other processes use another collector.
    assert ("-XX:+UseSomeGC" in command) == name.startswith("regionserver")


def test_the_second_host_has_the_standby_of_the_master_and_no_namenode() -> None:
    second = hbase(host=2, **TWO)
    assert list(second.parts_here) == ["datanode", "master", "regionserver", "regionserver2"]
    assert second.part_command("master")[-2:] == ["start", "--backup"]


def test_the_kdc_s_keys_are_for_its_own_user_alone() -> None:
    command = hbase(hbase_authentication=True).part_command("kdc")
    assert command[:4] == ["sh", "-c", 'umask 077 && exec "$@"', "sh"]
    assert command[-6:-4] == ["conf/kdc.properties", "/opt/dohyo/secret/hbase/made.keytab"]
    assert command[-4:] == ["hbase", "hbase/dohyo", "HTTP/10.0.0.1", "hbase/10.0.0.1"]


@pytest.mark.parametrize(
    ("variables", "memory"),
    [
        ({}, 1500 + 600),
        ({"hbase_regionservers_per_host": 2}, 2 * 2100 + 3 * (1024 + 150) + 512 + 150),
        ({"hbase_bucket_cache_mb": 2048}, 1500 + 600 + 2048),
    ],
)
def test_memory_is_that_of_all_processes(variables: dict[str, Any], memory: int) -> None:
    assert hbase(**variables).needs().memory_mb == memory


def test_what_a_user_sets_comes_after_the_profile_s_own() -> None:
    settings = {
        "hbase.hregion.memstore.flush.size": 1073741824,
        "hbase.regionserver.handler.count": 160,
        "hbase.regionserver.wal.enablecompression": True,
    }
    written = site(hbase_settings=settings)
    assert {name: written[name] for name in settings} == {
        "hbase.hregion.memstore.flush.size": "1073741824",
        "hbase.regionserver.handler.count": "160",
        "hbase.regionserver.wal.enablecompression": "true",
    }
    # If a flag occurs twice, the JVM uses the last one.
    of_user, of_collector = "-XX:CMSInitiatingOccupancyFraction=70", "-XX:CMSInitiatingOccupancyFraction=75"
    command = hbase(hbase_java_options=[of_user], jdk_gc_options=[of_collector]).command
    assert command.index(of_collector) < command.index(of_user)


@pytest.mark.parametrize(("cores", "handlers"), [(2, 30), (64, 128)])
def test_the_profile_has_two_handlers_for_each_processor(cores: int, handlers: int) -> None:
    host = {"cores": cores, "disk_kind": "ssd", "java_home": "/jdk"}
    assert hbase(conditions={"profile": "tuned"}, service_host=host).handlers == handlers


@pytest.mark.parametrize(("faults", "hook"), [("none", "false"), ("stop(any)@5s", "true")])
def test_an_orderly_stop_under_faults_hands_over_the_regions(faults: str, hook: str) -> None:
    phases = [{"name": "run", "faults": faults}]
    assert site(hosts=3, trial_phases=phases)["hbase.shutdown.hook"] == hook
    assert "hbase.shutdown.hook" not in site(trial_phases=phases)  # one process keeps HBase's default, true


def test_servers_that_lose_one_of_several_zookeepers_retry_as_in_the_package() -> None:
    assert "zookeeper.recovery.retry" not in site(hosts=3)
    # ZooKeeper in the same process ends with it, so waiting for ZooKeeper would only delay the end.
    assert site()["zookeeper.recovery.retry"] == "1"


def test_with_tls_clients_have_certificates_too_and_servers_of_the_same_files() -> None:
    system = hbase(hbase_tls=True)
    assert (system.has_certificates, system.clients_have_certificates) == (True, True)
    assert system.access.items() <= system.client_properties.items()
    assert {f"{name}={value}" for name, value in system.access.items()} <= set(system.admin_words)
    assert not hbase().clients_have_certificates


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"hbase_authentication": True, "hbase_distributed": False}, "hbase_authentication needs separate HDFS and"),
        ({"hbase_tls": True, "hbase_version": "2.5.13-hadoop3"}, "HBase 2.5 has no TLS; leave out hbase_tls, or set"),
        ({"hbase_authentication": True, "hbase_archive": "x.tgz"}, "hbase_archive lacks the KDC's jars, which hbase_"),
        ({"hbase_version": "2.4.18-hadoop3"}, "hbase_version=2.4.18-hadoop3 is not a version known to run"),
        ({"conditions": {"replication": 2}}, "replication 2 needs as many database hosts, not 1; lower it"),
        ({"hosts": 2, "conditions": {"replication": 1}, "hbase_distributed": False}, "hbase_distributed=false permits"),
        ({"hbase_regionservers_per_host": 2, "hbase_distributed": False}, "hbase_regionservers_per_host=2 needs HDFS"),
        ({"hbase_prefetch": True, "trial_settle_cache": "drop"}, "hbase_prefetch=true fills the block cache, and"),
    ],
)
def test_what_it_cannot_do_is_refused(variables: dict[str, Any], reason: str) -> None:
    (refusal,) = hbase(**variables).refusals
    assert refusal.startswith(reason)


def test_kerberos_is_not_enough_for_a_public_address() -> None:
    """Some of HBase's web pages remain open (docs/secrets.md)."""
    assert hbase(hbase_address="8.8.8.8", hbase_authentication=True).open_address == "8.8.8.8"
