"""Tests which combinations of versions and JDKs are supported, and the options of the garbage collectors."""

from typing import Any

import pytest

from dohyo.systems.collectors import options_of
from dohyo.systems.records import Jvm
from support.described import described


@pytest.mark.parametrize(
    ("system", "variables", "expected"),
    [
        ("cassandra", {"version": "3.11.19", "jdk": 17}, "Cassandra 3.11 does not run on JDK 17; set cassandra_jdk"),
        ("cassandra", {"jdk": 8}, "Cassandra 5.0 does not run on JDK 8; set cassandra_jdk to 17"),
        ("cassandra", {"version": "2.2.19"}, "choose one of 3.11.x, 4.0.x, 4.1.x, 5.0.x"),
        ("cassandra", {"version": "4.1.10", "memtable": "trie"}, "need Cassandra 5.0, not 4.1.10; leave"),
        ("cassandra", {"version": "4.0-alpha4", "jdk": 14}, ""),
        (
            "hbase",
            {"version": "2.6.4"},
            "is a build for Hadoop 2; set hbase_version=2.6.4-hadoop3",
        ),
        ("hbase", {"jdk": 25}, "HBase 2.6 does not run on JDK 25; set hbase_jdk to 17 or 21 or 11 or 8"),
        ("hbase", {"version": "1.7.2"}, "choose one of 2.5.x-hadoop3, 2.6.x-hadoop3"),
        ("hbase", {"version": "2.5.13-hadoop3", "jdk": 17}, ""),
    ],
)
def test_what_cannot_run_is_refused_with_a_way_out(system: str, variables: dict[str, Any], expected: str) -> None:
    reason = described(system, **{f"{system}_{name}": value for name, value in variables.items()}).unavailable
    assert expected in reason
    assert bool(expected) == bool(reason)


def options(collector: str, jdk: int, cores: int = 4, huge_pages: bool = True) -> list[str]:
    return options_of(Jvm(jdk, collector, 0, ["-XX:+UseSerialGC"]), cores, huge_pages=huge_pages)


def test_collectors_follow_the_jdk() -> None:
    assert "-XX:+UseParNewGC" in options("CMS", 8)
    assert "-XX:+UseParNewGC" not in options("CMS", 11)
    cms = {"-XX:+CMSParallelInitialMarkEnabled", "-XX:+CMSEdenChunksRecordAlways", "-XX:+CMSClassUnloadingEnabled"}
    assert cms <= set(options("CMS", 8)) & set(options("CMS", 11))
    assert "-XX:+UnlockExperimentalVMOptions" in options("ZGC", 11)
    assert "-XX:+UnlockExperimentalVMOptions" not in options("ZGC", 17)
    assert "-XX:+ZGenerational" in options("ZGC", 21)
    assert "-XX:+ZGenerational" not in options("ZGC", 25)
    assert "-Xloggc:gc.log" in options("G1", 8)
    assert any(option.startswith("-Xlog:gc*") for option in options("G1", 11))
    assert options("default", 17)[0] == "-XX:+UseSerialGC"


def test_collectors_follow_the_host() -> None:
    assert {"-XX:ParallelGCThreads=8", "-XX:ConcGCThreads=8"} <= set(options("G1", 17, cores=64))
    assert "-XX:ParallelGCThreads=2" in options("Parallel", 17, cores=2)
    assert "-XX:+UseTransparentHugePages" in options("Shenandoah", 17)
    assert "-XX:+UseTransparentHugePages" not in options("Shenandoah", 17, huge_pages=False)
