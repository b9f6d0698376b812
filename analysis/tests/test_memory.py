"""Tests how each system divides the memory budget of a host, and which processors servers and clients use."""

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import process_limits
from dohyo.bad_input import BadInputError
from dohyo.places import ANSIBLE, ROOT
from dohyo.planning import sizing
from dohyo.scenario import loading
from dohyo.scenario.hosts import Hosts
from dohyo.systems import catalogue
from dohyo.systems.context import MIB, Context, budget_mb, cpus
from dohyo.trial import processes
from dohyo.trial.conditions import limits
from dohyo.trial.hosts import check_servers
from support.described import described
from support.trial_hosts import RESOURCES, fake_trial

GIB = 2**30


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        *(("80%", 157286), ("12.5%", 24576), ("150g", 153600), ("150GiB", 153600), ("512M", 512), ("1GB", 953)),
        # An empty value means no budget. A budget below 1 MiB is rounded up.
        *(("", 0), ("0.0001%", 1)),
    ],
)
def test_a_budget_is_a_share_or_a_size(budget: str, expected: int) -> None:
    assert budget_mb(budget, 196608) == expected
    assert budget_mb(budget, 0) == (0 if "%" in budget else expected)


@pytest.mark.parametrize("budget", ["0.8", "0", "120%", "0%", "-1g", "lots", "80 percent", "1g 2g"])
def test_an_invalid_budget_is_refused(budget: str) -> None:
    with pytest.raises(BadInputError, match=rf"host_memory_budget={budget}: must be a share .*\(80%\) or a size"):
        budget_mb(budget, 196608)


def test_processors_are_numbers_and_ranges() -> None:
    assert cpus("0-3,8-11") == {0, 1, 2, 3, 8, 9, 10, 11}
    assert (cpus(""), cpus(3)) == (set(), {3})  # type: ignore[arg-type]
    for wrong in ("3-1", "all", "0-", "-1"):
        with pytest.raises(BadInputError, match=f"host_cpus_server or host_cpus_client: '{wrong}' must be"):
            cpus(wrong)


def test_what_does_not_fit_a_host_is_refused() -> None:
    on_host = {"host_has": {"memory_mb": 1000, "cpus": [0, 1, 2, 3]}, "host_memory_budget": "80%"}
    alone = {"groups": {"client": []}, **on_host}

    def shortages(variables: dict[str, Any], **more: Any) -> list[str]:
        return Context({"client_heap": "100m", **variables, **more}).shortages

    assert shortages(alone, host_memory_mb={"hbase": 800}, host_cpus_server="0-3") == []
    assert shortages({}, host_memory_mb={"hbase": 900}) == []
    assert shortages(on_host) == [
        "host_memory_budget=80% is 800 MiB, its client needs 300, the host has 1000; lower the budget or client_heap"
    ]
    assert shortages(alone, host_memory_mb={"cassandra": 700, "hbase": 900}) == [
        "hbase needs 900 MiB, but host_memory_budget=80% leaves 800; raise it, or set smaller sizes"
    ]
    small = {**on_host, "host_memory_budget": "70%"}
    assert shortages(small, host_cpus_server="2-5", host_cpus_client="3") == [
        "host_cpus_server=2-5: the host has no processors 4, 5; lscpu lists its processors",
        "host_cpus_server=2-5 and host_cpus_client=3 share 3; separate them",
    ]
    assert shortages(small, host_cpus_server=[0, 1], host_cpus_client="x") == [
        "host_cpus_server: [0, 1] must be numbers and ranges, as in 0-3,8-11",
        "host_cpus_client: 'x' must be numbers and ranges, as in 0-3,8-11",
    ]


def test_what_was_read_back_says_whether_the_kernel_enforces_it() -> None:
    def read(memory: int | None, why: str = "", on: str = "", processes: int = 1) -> dict[str, Any]:
        return {"memory_mb": memory, "why": why, "cpus": on, "processes": processes}

    sizes = {"a": 800, "b": 800}
    idle = read(None, "no processes", processes=0)
    free = {"a": "", "b": ""}
    assert limits({"a": read(800), "b": read(800)}, sizes, free) == {"memory_budget": "800 MiB"}
    assert limits({"a": read(800), "b": idle}, sizes, free) == {"memory_budget": "800 MiB"}
    assert limits({"a": read(None), "b": read(None)}, {"a": 0, "b": 0}, free) == {}
    assert limits({"a": read(800), "b": read(700)}, sizes, free) == {
        "memory_budget": "a: 800 MiB; b: 700 MiB instead of 800"
    }
    assert limits(dict.fromkeys("ab", read(None, "it has no memory controller of cgroup version 2")), sizes, free) == {
        "memory_budget": "800 MiB, which the kernel does not enforce (it has no memory controller of cgroup version 2)"
    }
    pinned = {"a": read(None, on="0-3"), "b": read(None)}
    assert limits(pinned, {"a": 0, "b": 0}, {"a": "0-3", "b": "0-3"}) == {"server_cpus": "a: 0-3; b: all"}
    # Values that an inventory sets for one host apply only to that host.
    assert limits(pinned, {"a": 0, "b": 800}, {"a": "", "b": "1"}) == {
        "memory_budget": "a: none; b: 800 MiB, which the kernel does not enforce ()", "server_cpus": "a: 0-3; b: all",
    }  # fmt: skip


def test_the_limit_is_that_of_the_cgroup_around_all_processes(tmp_path: Path) -> None:
    """The files follow cgroups(7) and the kernel's cgroup-v2.rst. A limit counts only if it covers all processes."""
    limit_of = process_limits.limit_of
    limits_of = {"a.slice": "max", "a.slice/a-1.slice": str(800 * MIB), "a.slice/a-1.slice/one.service": str(5 * MIB)}
    for path, limit in limits_of.items():
        (tmp_path / path).mkdir()
        (tmp_path / path / "memory.max").write_text(f"{limit}\n")
    paths = ["/a.slice/a-1.slice/one.service", "/a.slice/a-1.slice/two.service"]
    assert limit_of(paths, str(tmp_path)) == (None, "it has no memory controller of cgroup version 2")
    (tmp_path / "cgroup.controllers").write_text("cpu memory\n")
    assert limit_of(paths, str(tmp_path)) == (800 * MIB, "")
    assert limit_of(paths[:1], str(tmp_path)) == (5 * MIB, "")
    nothing = (None, "no cgroup that contains all processes has a limit")
    assert limit_of([*paths, "/system.slice/three.service"], str(tmp_path)) == nothing
    assert limit_of([], str(tmp_path)) == nothing


def test_processors_are_read_back_from_a_process(tmp_path: Path) -> None:
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) < 2:
        pytest.skip("there is one processor")
    with subprocess.Popen(["taskset", "-c", str(processors[-1]), "sleep", "60"]) as process:
        (tmp_path / "db-part").mkdir()
        (tmp_path / "db-part" / "pid").write_text(f"{process.pid} 1\n")
        try:
            while os.sched_getaffinity(process.pid) != {processors[-1]}:
                pass
            assert process_limits.pids_of(str(tmp_path), "db") == [str(process.pid)]
            assert process_limits.cpus_of([str(process.pid)]) == str(processors[-1])
        finally:
            process.terminate()
    assert process_limits.listed({0, 1, 2, 8, 10, 11}) == "0-2,8,10-11"


# Expected division of 153,600 MiB on a host with 192 GiB of memory, as in docs/sizing.md; HBase runs on three hosts.
DIVIDED = {
    "aerospike": (144 + 100 + 256, 0),
    "cassandra": (31744 + 500, 0),
    "hbase": (0, 0),
    "scylla": (153600 - 10752 - 256 + 200, 153600 - 10752 - 256),
    "mysql-innodb": (115200 + 300 + 4, 115200),
    "mysql-myisam": (38400 + 300 + 4, 0),
    "postgresql": (38400 + 200 + 9 * 8, 38400),
}


def test_every_system_divides_the_budget_as_its_sources_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def planned(names: Sequence[str], _: Path, variables: dict[str, Any], *__: object) -> dict[str, list[Any]]:
        settings = {"dohyo_systemd": True, "host_memory_budget": "150g", **variables}
        return {name: [described(name, 3, host, **settings).planned for host in (1, 2, 3)] for name in names}

    # Replaces Ansible to save time. test_inventories.py compares a plan with Ansible's.
    monkeypatch.setattr(sizing, "_of_inventory", planned)
    file = tmp_path / "sized"
    file.write_text("readproportion=1\nupdateproportion=0\nduration=30\nrecordcount=1000\nthreadcount=3\n")
    scenario = loading.load(file, {"systems": ",".join(catalogue.all_systems())})
    sizes = sizing.ask(scenario, Hosts(3, 192 * GIB, None, True), tmp_path)
    aside = 3 * 1024 + 512 + 4 * 150
    bucket = 153600 - (3 * 1024 + 512 + 600) - 600 - 20480 - 2048 - 2048
    expected = DIVIDED | {"hbase": (aside + 20480 + 600 + bucket, bucket)}
    assert {name: (needs.memory_mb, needs.cache_mb) for name, needs in sizes.needs.items()} == expected
    assert {needs.budget_mb for needs in sizes.needs.values()} == {153600}
    assert f"| {bucket / 1024:.1f} GiB | none |" in (ROOT / "docs/sizing.md").read_text()
    assert all(needs.memory_mb <= needs.budget_mb for needs in sizes.needs.values())
    sizes.check()
    small = sizing.Sizes(scenario, Hosts(3, 150 * GIB, None, True, "the hosts"), sizes.needs)
    with pytest.raises(BadInputError, match=r"cassandra needs 161.8 GB of memory \(161.1 GB available\)"):
        small.check()


def test_a_share_of_an_unknown_memory_is_said_to_be_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    share: dict[str, Any] = {"dohyo_systemd": True, "host_has": {"memory_mb": 0}}
    plans = {name: described(name, **share).planned for name in ("hbase", "cassandra")}
    assert {(plan["unknown"], plan["budget_mb"]) for plan in plans.values()} == {(True, 0)}
    assert not described("hbase", host_memory_budget="2g").planned["unknown"]
    assert not described("hbase").planned["unknown"]
    file = tmp_path / "sized"
    file.write_text("readproportion=1\nupdateproportion=0\nduration=30\n")
    monkeypatch.setattr(sizing, "_of_inventory", lambda names, *_: {name: [plans[name]] for name in names})
    with pytest.raises(BadInputError, match=r"needs the memory of the hosts.*, which is not known"):
        loading.load(file, {"systems": "hbase", "datasize": "2*cache"}, hosts=Hosts(4), caches=sizing.caches(tmp_path))


def started(folder: Path, **values: Any) -> tuple[list[list[str]], dict[str, dict[str, Any]]]:
    """Starts two processes on a host. Returns the agent's commands and the arguments of each process."""
    trial = fake_trial(folder, **{"host_budget_mb": 0, "host_cpus_server": "", **values})
    for name in ("hbase-master", "hbase-regionserver"):
        processes.start(trial.world.first, name, "/opt/dohyo/run/hbase", ["/bin/true", "x"])
    assert [call.root for call in trial.calls] == [values.get("dohyo_systemd", False)] * 2
    return [call.argv for call in trial.calls], {call.argv[2]: call.arguments for call in trial.calls}


def test_all_units_of_a_host_share_one_limit_and_one_set_of_processors(tmp_path: Path) -> None:
    budget = {"dohyo_systemd": True, "host_budget_mb": budget_mb("2g", 0), "host_cpus_server": "0-1,3"}
    calls, units = started(tmp_path, **budget)
    assert len(units) == 2
    for call, (name, arguments) in zip(calls, units.items(), strict=True):
        log, unit_name = "/opt/dohyo/run/hbase/log", f"dohyo-abc-{name}.service"
        limits_of_slice = ["dohyo-abc.slice", "MemoryMax=2048M", "MemorySwapMax=0"]
        assert call == ["/opt/dohyo/bin/agent", "start-unit", name, log, unit_name, *limits_of_slice]
        lines = arguments["stdin"].splitlines()
        assert "Slice=dohyo-abc.slice" in lines
        assert "CPUAffinity=0-1,3" in lines


def test_without_a_budget_a_unit_has_no_slice_and_without_processors_all(tmp_path: Path) -> None:
    calls, units = started(tmp_path, dohyo_systemd=True)
    assert [call[-1] for call in calls] == [f"dohyo-abc-{name}.service" for name in units]
    for arguments in units.values():
        assert not re.search("^(Slice|CPUAffinity)=", arguments["stdin"], re.MULTILINE)


@pytest.mark.parametrize(
    ("bound", "end"),
    [("1", ["env", "TZ=UTC", "taskset", "-c", "1", "/bin/true", "x"]), ("", ["env", "TZ=UTC", "/bin/true", "x"])],
)
def test_without_systemd_processors_count_all_the_same(bound: str, end: list[str], tmp_path: Path) -> None:
    calls, units = started(tmp_path, host_cpus_server=bound)
    assert not [arguments for arguments in units.values() if "stdin" in arguments]
    assert [call[1:3] for call in calls] == [["start", name] for name in units]
    assert [call[6:] for call in calls] == [end, end]


def test_collector_threads_follow_from_the_processors_of_the_servers(tmp_path: Path) -> None:
    """GC options and system classes see the same number of processors: eight if the host's facts are missing."""
    cases: list[tuple[dict[str, Any], int]] = [({"host_cpus_server": "0-2,8"}, 4), ({}, 16)]
    for number, (bound, cores) in enumerate(cases):
        (folder := tmp_path / str(number)).mkdir()
        trial = fake_trial(folder, cassandra_gc="Parallel", cassandra_gc_threads=0, **bound)
        trial.answers["host_resources"] = {**RESOURCES, "cores": 16}
        check_servers(trial.part.servers)
        options = trial.world.first.values["jdk_gc_options"]
        assert f"-XX:ParallelGCThreads={min(cores, 8)}" in options
        assert described("cassandra", **bound, service_host={"cores": 16}).context.cores == cores
    assert described("cassandra", service_host={}).context.cores == 8


def test_no_inventory_sets_by_hand_what_follows_from_the_budget() -> None:
    """Checks only inventories of separate hosts, because the hosts of a testbed share one machine."""
    sizes = ("cassandra_heap", "hbase_heap", "mysql_buffer_pool", "postgresql_shared_buffers", "scylla_memory")
    for folder in (ANSIBLE / "inventories").iterdir():
        for file in [] if "testbed" in folder.name else [folder / "hosts.yml", *folder.glob("group_vars/*.yml")]:
            assert not [size for size in sizes if re.search(rf"^ *{size}:", file.read_text(), re.MULTILINE)], file


def test_the_pages_name_the_variables() -> None:
    cluster, conditions, size = (
        (ROOT / "docs" / f"{name}.md").read_text() for name in ("cluster", "conditions", "sizing")
    )
    for name in ("host_memory_budget", "host_cpus_server", "host_cpus_client"):
        assert f"`{name}`" in cluster
        assert f"`{name}`" in conditions
    for name in ("cassandra_heap", "hbase_heap", "hbase_bucket_cache_mb", "scylla_memory", "mysql_buffer_pool",
                 "postgresql_shared_buffers"):  # fmt: skip
        assert f"`{name}`" in size
