"""Tests the sampler of a host on the real /proc, the reader of its samples, and the summary of the samples."""

import csv
import io
import itertools
import json
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

import proc
import sampler
from dohyo.bad_input import BadInputError
from dohyo.cli import cli
from dohyo.evidence.hdr_log import Latencies
from dohyo.evidence.host_metrics import CLOCKS, FIGURES, FILE, HostUse, Samples, Use, busy, read
from dohyo.evidence.text_file import Warn, lines
from dohyo.planning import plan
from dohyo.scenario.loading import load
from dohyo.summary import requested_settings as asked_of
from dohyo.summary import trust
from dohyo.summary.phase import Phase
from dohyo.summary.results import Summary, Trial
from dohyo.summary.summary import summarise
from dohyo.tables import conditions, table
from filter.dohyo_filters import others
from support.agent_home import MODULES, install
from support.clock import Clock
from support.evidence import DATA, clients_json, edit_json, on_screen, rendered, run_of, trial, write_json
from support.running_processes import until

SAMPLER = MODULES / "sampler.py"
# 15 samples of a busy machine with two processors. Its disk received 8 MiB four times.
RECORDED = DATA / "hosts" / FILE
TICKS = os.sysconf("SC_CLK_TCK")
SHARES = [name for name in FIGURES if name.startswith("cpu_")]


def content(path: Path = RECORDED) -> list[dict[str, Any]]:
    return [json.loads(line) for _, line in lines(path, pytest.fail)]


def written(path: Path, lines: list[Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def of_host(samples: Samples, device: str | None = None) -> dict[str, NDArray[np.float64]]:
    """Returns the samples by column, with NaN for unknown values."""
    lines = samples.device == device
    figures = dict(zip(FIGURES, samples.figures[lines].T, strict=True))
    return {"time": samples.time[lines], "seconds": samples.seconds[lines], **figures}


def count(samples: Samples, device: str | None = None) -> int:
    return len(of_host(samples, device)["time"])


def between(values: NDArray[np.float64], low: float, high: float) -> bool:
    return bool(((values >= low) & (values <= high)).all())


def until_it_samples(path: Path) -> None:
    """Waits for the first sample. On a busy machine, Python may start slowly."""
    until(lambda: path.exists() and path.stat().st_size >= 100)


def sampled(path: Path, seconds: float, how: signal.Signals) -> subprocess.Popen[bytes]:
    with path.open("wb") as output:
        sampler = subprocess.Popen([sys.executable, SAMPLER], stdout=output, stderr=subprocess.PIPE)
    until_it_samples(path)
    time.sleep(seconds)
    sampler.send_signal(how)
    _, printed = sampler.communicate(timeout=60)
    assert printed == b""
    return sampler


def test_the_sampler_takes_a_sample_a_second_and_costs_next_to_nothing(tmp_path: Path) -> None:
    began, used = time.time(), resource.getrusage(resource.RUSAGE_CHILDREN)
    assert sampled(tmp_path / FILE, 3.5, signal.SIGTERM).returncode == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    metrics = read(tmp_path / FILE, pytest.fail)
    assert metrics.cpus == os.cpu_count()
    host = of_host(metrics)
    assert 2 <= count(metrics) <= time.time() - began + 1
    assert between(host["time"], began, time.time())
    assert between(host["seconds"], 0.5, 6)
    assert sum(host[name].sum() for name in SHARES) == pytest.approx(count(metrics))
    assert between(host["memory_available_bytes"], 1e6, 1e14)
    # Most of this time is the start of Python, which happens only once.
    assert after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime < 0.5


def test_what_a_killed_sampler_has_left_can_be_read(tmp_path: Path) -> None:
    assert sampled(tmp_path / FILE, 1.2, signal.SIGKILL).returncode == -signal.SIGKILL
    warnings: list[str] = []
    assert read(tmp_path / FILE, warnings.append).cpus == os.cpu_count()
    assert any("cut off" in warning for warning in warnings)


def test_the_tool_of_the_host_starts_and_ends_the_sampler(tmp_path: Path) -> None:
    tool = install(tmp_path)
    subprocess.run([tool, "start", "host-metrics", tmp_path, FILE, "log", tool, "sample"], check=True, timeout=60)
    until_it_samples(tmp_path / FILE)
    stopped = subprocess.run([tool, "stop-all", "30"], check=True, timeout=60, capture_output=True, text=True)
    assert stopped.stdout == "stopped host-metrics\n"
    assert (tmp_path / "run/host-metrics/exit").read_text() == "0\n"
    assert (tmp_path / "log").read_text() == ""
    assert counters(tmp_path / FILE)[1]


def lookup_controller(process: "subprocess.Popen[bytes]", machine: str = "") -> str:
    """Returns the identity of a process in the form of the lookup `controller`."""
    boot = f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()} {Path('/proc/self/ns/pid').readlink()}"
    start = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[19]
    return f"{process.pid} {start} {machine or boot}"


@pytest.mark.parametrize("is_here", [True, False])
def test_the_sampler_ends_when_nobody_is_left_to_read(tmp_path: Path, is_here: bool) -> None:
    clock = Clock()
    (tmp_path / "agent").mkdir()
    with subprocess.Popen(["sleep", "60"]) as process:
        controller = lookup_controller(process, "" if is_here else "another pid:[1]")
        if not is_here:
            (tmp_path / "agent/pid").write_text(" ".join(controller.split()[:2]) + "\n")
        patience = proc.HEARTBEAT if is_here else 9
        sampling = sampler.Sampler(str(tmp_path), "9999" if is_here else "9", controller, clock=clock)
        clock.sleep(1000)
        assert not sampling.is_over()
        process.kill()  # the zombie remains until wait()
        until_dead(process.pid)
        clock.sleep(patience - 5)
        assert not sampling.is_over()
        clock.sleep(6)
        assert sampling.is_over()


def until_dead(pid: int) -> None:
    while proc.start_time(pid) is not None:
        time.sleep(0.01)


def without_reader(
    path: Path, *servers: str, within: Sequence[str] = ()
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Runs a sampler that ends after its first second, because it has no reader. Returns its output."""
    with path.open("wb") as output:
        command = [*within, sys.executable, str(SAMPLER), "0", "", *servers]
        assert subprocess.run(command, stdout=output, check=True, timeout=60).returncode == 0
    return counters(path)


def counters(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Returns the first line, which describes the host, and the samples."""
    host, *samples = content(path)
    return host, samples


def burn(seconds: float) -> list[str]:
    """Returns a command that uses the given processor time and then ends."""
    return [sys.executable, "-c", f"import time\nwhile time.process_time() < {seconds}: pass"]


@pytest.mark.slow
def test_other_processes_are_told_from_ours_and_their_children(tmp_path: Path) -> None:
    tool = install(tmp_path)

    def start(name: str, *command: str | Path) -> None:
        subprocess.run([tool, "start", name, tmp_path, f"{name}.out", "log", *command], check=True, timeout=60)

    start("host-metrics", tool, "sample")
    samples = tmp_path / "host-metrics.out"
    until_it_samples(samples)
    # Pretend that the process `agent` is Dohyo's agent on this host.
    agent = subprocess.Popen(["sleep", "60"])
    (tmp_path / "run/agent").mkdir()
    began = Path(f"/proc/{agent.pid}/stat").read_text().rpartition(")")[2].split()[19]
    (tmp_path / "run/agent/pid").write_text(f"{agent.pid} {began}\n")
    time.sleep(2.5)  # time for at least one sample with the agent
    seconds = time.process_time()
    # Start a child that ends before the last sample, as javac does.
    start("server", "bash", "-c", f"{shlex.join(burn(0.8))}; touch done; exec sleep 60")
    subprocess.run(burn(1), check=True, timeout=120)
    while time.process_time() < seconds + 0.5 or not (tmp_path / "done").exists():
        pass
    time.sleep(4)  # time for one more sample, even on a busy machine
    seconds = time.process_time() - seconds
    subprocess.run([tool, "stop-all", "30"], check=True, timeout=60)
    agent.kill()
    agent.wait()
    host, counted = counters(samples)
    if not host["sees_all"]:
        pytest.skip("in a container, other processes cannot be distinguished from Dohyo's")
    counted = [sample for sample in counted if "known" in sample]  # the server may end during a sample
    dohyo, kernel = ((counted[-1]["known"][index] - counted[0]["known"][index]) / TICKS for index in (0, 1))
    user, nice, system = ((counted[-1]["cpu"][index] - counted[0]["cpu"][index]) / TICKS for index in (0, 1, 2))
    # Dohyo's other work consists of shells, the start of Python and the sampler.
    assert seconds + 0.7 < dohyo < seconds + 0.8 + 0.7
    # The command that burned 1 s counts as another process, as does all other work on this machine.
    assert user + nice + system - dohyo - kernel > 0.7
    assert all(earlier["known"][0] <= later["known"][0] for earlier, later in itertools.pairwise(counted))


@pytest.mark.slow
def test_a_second_in_which_a_client_ended_says_nothing_of_other_processes(tmp_path: Path) -> None:
    """Covers the supervisor, which ends with its client. Only init knows how much CPU time the supervisor used."""
    tool = install(tmp_path)

    def service(*arguments: str | Path) -> None:
        subprocess.run([tool, *arguments], check=True, timeout=60, cwd=tmp_path)

    service("start", "host-metrics", tmp_path, FILE, "log", tool, "sample")
    until_it_samples(tmp_path / FILE)
    service("start", "client", tmp_path, "out", "log", *burn(2.5))
    while not (tmp_path / "run/client/exit").exists():
        time.sleep(0.2)
    ended = time.time()
    time.sleep(3)
    service("stop-all", "30")
    host, counted = counters(tmp_path / FILE)
    if not host["sees_all"]:
        pytest.skip("in a container, other processes cannot be distinguished from Dohyo's")
    first = next(sample for sample in counted if sample["time"] > ended)
    around = [sample for sample in counted if "known" not in sample]
    assert 1 <= len(around) <= 2  # the client and its supervisor may end in two different seconds
    assert all(abs(sample["time"] - first["time"]) < 2 for sample in around)
    figures = read(tmp_path / FILE, pytest.fail)
    other_cpu = figures.figures[figures.device == None, FIGURES.index("other_cpu")]  # noqa: E711 - compares each line
    assert not np.isnan(other_cpu).all()
    assert np.isnan(other_cpu[figures.time[figures.device == None] == first["time"]]).all()  # noqa: E711


@pytest.mark.parametrize(
    ("ended", "whole"),
    [
        ((), True),
        ((11,), True),  # a child for which its server has waited
        ((12,), True),  # a grandchild for which the child has waited
        ((11, 12), True),
        ((20, 21), False),  # a client and its supervisor
        ((21,), False),  # a client whose supervisor is about to end
        ((10, 11, 12), False),  # a server that was killed with its children
    ],
)
def test_what_ours_have_used_is_known_as_long_as_one_of_ours_has_waited_for_them(
    ended: Sequence[int], whole: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    parents = {os.getpid(): 1, 10: 1, 11: 10, 12: 11, 20: 1, 21: 20, 99: 1}
    processes = {pid: sampler.Process(pid, parent, pid // 10, 0, 5, 0) for pid, parent in parents.items()}
    for name, pid in (("server", 10), ("client", 21)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "pid").write_text(f"{pid} {pid}\n")
    monkeypatch.setattr(sampler, "all_processes", lambda: processes)
    of_dohyo = sampler.Known(str(tmp_path))
    assert of_dohyo.look() == [0, 0]
    after = {pid: process for pid, process in processes.items() if pid not in ended}
    monkeypatch.setattr(sampler, "all_processes", lambda: after)
    assert (of_dohyo.look() is not None) == whole
    assert of_dohyo.look() is not None


def test_servers_that_run_already_on_a_host_make_its_other_processes_unknown(tmp_path: Path) -> None:
    has_servers = sampler.has_servers
    for servers in ("localhost:3306", "127.0.0.1", "192.0.2.1,127.0.0.1:9042/ns"):
        assert has_servers(servers)
    for servers in ("", "192.0.2.1:3306", "no.invalid"):
        assert not has_servers(servers)
    for servers in ("192.0.2.1:3306", "127.0.0.1:3306"):
        host, counted = without_reader(tmp_path / FILE, servers)
        assert counted
        assert not host["sees_all"] or servers == "192.0.2.1:3306"
        assert all(("known" in sample) == host["sees_all"] for sample in counted)


@pytest.mark.parametrize(
    "within",
    [
        ["--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", '"$@"', "sh"],
        [
            "--mount", "sh", "-c",
            "mount -t tmpfs none /sys/fs/cgroup && cd /sys/fs/cgroup && mkdir cpu && echo 50000 100000 >cpu.max"
            ' && echo 50000 >cpu/cpu.cfs_quota_us && exec "$@"', "sh",
        ],
    ],
    ids=["container", "quota"],
)  # fmt: skip
def test_in_a_container_and_below_a_quota_nothing_is_said_of_other_processes(tmp_path: Path, within: list[str]) -> None:
    namespaces = ["unshare", "--user", "--map-root-user", *within]
    if subprocess.run([*namespaces, "true"], check=False, capture_output=True).returncode:
        pytest.skip("this user may not create namespaces")
    host, samples = without_reader(tmp_path / FILE, within=namespaces)
    assert host["sees_all"] is False
    assert samples
    assert not any("known" in sample for sample in samples)


def test_figures_of_recorded_samples_are_those_computed_by_hand() -> None:
    metrics = read(RECORDED, pytest.fail)
    assert metrics.cpus == 2
    assert set(metrics.device) == {None, "vda", "lo", "eth0"}
    host, disk = of_host(metrics), of_host(metrics, "vda")
    assert count(metrics) == len(content()) - 2
    # Computed by hand from the first and the last sample.
    first, *_, last = content()[1:]
    ticks = [after - before for before, after in zip(first["cpu"], last["cpu"], strict=True)]
    weights = host["seconds"] / host["seconds"].sum()
    assert (host["cpu_user"] * weights).sum() == pytest.approx((ticks[0] + ticks[1]) / sum(ticks), abs=0.01)
    assert (host["cpu_idle"] * weights).sum() == pytest.approx(ticks[3] / sum(ticks), abs=0.01)
    wrote = last["disks"]["vda"][3] - first["disks"]["vda"][3]
    assert wrote > 4 * 8 * 2**20
    assert (host["disk_written_bytes_per_second"] * host["seconds"]).sum() == pytest.approx(wrote)
    assert disk["disk_written_bytes_per_second"].tolist() == host["disk_written_bytes_per_second"].tolist()
    assert between(host["disk_utilisation"], 0, 1)
    total, free, available, *cache = last["memory"]
    assert host["memory_used_bytes"][-1] == total - free - sum(cache)
    assert (host["memory_cached_bytes"][-1], host["memory_available_bytes"][-1]) == (sum(cache), available)
    # Traffic within a host does not count as network traffic.
    assert of_host(metrics, "lo")["network_sent_bytes_per_second"].sum() > 0
    assert (
        host["network_sent_bytes_per_second"].tolist()
        == of_host(metrics, "eth0")["network_sent_bytes_per_second"].tolist()
    )
    assert np.isnan(disk["cpu_user"]).all()


def _wrapped_disk(sample: dict[str, Any]) -> None:
    sample["disks"]["vda"][0] = 3


def _iowait_taken_back(sample: dict[str, Any]) -> None:
    sample["cpu"][4] -= 1


def _sampler_begun_anew(sample: dict[str, Any]) -> None:
    sample["known"][0] = 0


@pytest.mark.parametrize(
    ("change", "unknown"),
    [
        (_wrapped_disk, {"disk_reads_per_second"}),
        (_iowait_taken_back, {*SHARES, "other_cpu"}),
        (_sampler_begun_anew, {"other_cpu"}),
    ],
)
def test_a_counter_that_became_smaller_is_unknown_for_that_second(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], unknown: set[str]
) -> None:
    # The samples are copies of one sample, so that the result does not depend on which seconds were busy.
    first = content()[1]
    lines = [content()[0]]
    for second in range(5):
        sample = json.loads(json.dumps(first))
        sample["time"] += second
        sample["up"] += second
        sample["cpu"][0] += 20 * second
        sample["cpu"][3] += 180 * second
        sample["known"] = [7, 3]
        lines.append(sample)
    change(lines[3])
    figures = of_host(read(written(tmp_path / FILE, lines), pytest.fail))
    assert len(figures["time"]) == 4
    sampled_here = [name for name in FIGURES if name not in CLOCKS]
    holes = {name for name in sampled_here if np.isnan(figures[name][1])}
    assert holes == unknown
    assert all(np.isnan(figures[name]).sum() <= 1 and np.nanmin(figures[name]) >= 0 for name in sampled_here)


def test_frequency_and_temperature_of_the_processors_where_the_kernel_has_them(tmp_path: Path) -> None:
    clocks = sampler.clocks
    assert clocks(str(tmp_path)) == {}
    for number, frequency in enumerate((1_200_000, 2_400_000)):
        policy = tmp_path / f"devices/system/cpu/cpufreq/policy{number}"
        policy.mkdir(parents=True)
        (policy / "scaling_cur_freq").write_text(f"{frequency}\n")
        (policy / "cpuinfo_max_freq").write_text("2400000\n")
    for number, (kind, temperature) in enumerate((("acpitz", 99000), ("x86_pkg_temp", 61500), ("x86_pkg_temp", 64000))):
        zone = tmp_path / f"class/thermal/thermal_zone{number}"
        zone.mkdir(parents=True)
        (zone / "type").write_text(f"{kind}\n")
        (zone / "temp").write_text(f"{temperature}\n")
    assert clocks(str(tmp_path)) == {"frequency": 0.75, "celsius": 64.0}
    # Some sensors report an error while a processor sleeps.
    (zone / "temp").unlink()
    assert clocks(str(tmp_path)) == {"frequency": 0.75}
    (policy / "cpuinfo_max_freq").write_text("0\n")
    assert clocks(str(tmp_path)) == {}
    # In samples without these fields, the values are unknown.
    lines = content()[:5]
    lines[3] |= {"frequency": 0.75, "celsius": 64.0}
    figures = of_host(read(written(tmp_path / FILE, lines), pytest.fail))
    for name, value in zip(CLOCKS, (0.75, 64.0), strict=True):
        assert [sampled_value for sampled_value in figures[name] if not np.isnan(sampled_value)] == [value]


def test_a_boot_and_a_new_disk_leave_gaps(tmp_path: Path) -> None:
    lines = content()
    for sample in lines[8:]:
        sample["up"] -= lines[8]["up"] - 20  # a boot also resets the host's counters
        sample["disks"]["vdb"] = [0, 0, 0, 0, 0]
    metrics = read(written(tmp_path / FILE, lines), pytest.fail)
    assert count(metrics) == count(read(RECORDED, pytest.fail)) - 1
    assert count(metrics, "vdb") == count(metrics) - 6
    assert of_host(metrics, "vdb")["disk_utilisation"].tolist() == [0.0] * count(metrics, "vdb")


def test_samples_before_the_host_was_off_are_in_files_of_their_own(tmp_path: Path) -> None:
    lines = content()
    lines[0]["boot"] = "one"
    path = written(tmp_path / FILE, [lines[0], *lines[8:]])
    whole = count(read(path, pytest.fail))
    written(tmp_path / f"{FILE}.2", [lines[0], *lines[5:8]])
    cut = written(tmp_path / f"{FILE}.1", lines[:5])
    cut.write_bytes(cut.read_bytes()[:-4])
    metrics = read(path, pytest.fail)
    assert count(metrics) == 3 - 1 + 2 + whole  # an interval never spans two files
    assert metrics.time.tolist() == sorted(metrics.time)


@pytest.mark.parametrize(
    "broken",
    [
        "no JSON\n",
        "[1, 2]\n{}\n",
        '{"time": 5}\n',
        '{"time": 1e400, "up": 5, "cpu": [], "memory": [], "disks": {}, "networks": {}}\n',
        '{"time": 7, "up": 5, "cpu": [1,2,3,4,5,6,7,"x"], "memory": [1,2,3,4,5,6], "disks": {}, "networks": {}}\n',
        '{"time": 7, "up": 5, "cpu": [1,2,3,4,5,6,7,8], "memory": null, "disks": [], "networks": 3}\n',
        "\udcff\0\n",
    ],
)
def test_a_broken_line_costs_no_other(tmp_path: Path, broken: str) -> None:
    text = "".join(json.dumps(line) + "\n" for line in content())
    position = text.index("\n", len(text) // 2) + 1
    path = tmp_path / FILE
    path.write_text(text[:position] + broken + text[position:], encoding="utf-8", errors="surrogateescape")
    warnings: list[str] = []
    metrics = read(path, warnings.append)
    recorded = read(RECORDED, pytest.fail)
    assert metrics.device.tolist() == recorded.device.tolist()
    for values, expected in ((metrics.time, recorded.time), (metrics.figures, recorded.figures)):
        np.testing.assert_array_equal(values, expected)
    assert all(f"{FILE}:" in warning for warning in warnings)
    assert len(warnings) == (0 if broken.startswith("[") else 1)


def test_a_last_line_that_is_cut_off_is_a_warning(tmp_path: Path) -> None:
    text = "".join(json.dumps(line) + "\n" for line in content())
    path = tmp_path / FILE
    path.write_text(text[:-40], encoding="utf-8")
    warnings: list[str] = []
    assert count(read(path, warnings.append)) == len(content()) - 3
    assert len(warnings) == 1
    assert "is cut off" in warnings[0]
    cut = RECORDED.read_bytes()
    (tmp_path / FILE).write_bytes(cut[: len(cut) // 2])
    warnings.clear()
    read(path, warnings.append)
    assert "gzip stream is cut off" in warnings[0]


def measured(experiment: Path, number: int = 1, **changes: Any) -> Path:
    """Writes a trial with one run: 1 s of warm-up and 3 s measured, from the third sample on.

    In the first trial, the host's clock is 2.5 s ahead of the controller's.
    """
    folder = trial(experiment, number, "cassandra", repeats=1)
    offset = 2.5 - 100 * (number - 1)  # all trials have the same samples, but windows at different times
    conducted = clients_json(("node1",), agreed=content()[3]["time"] - offset, **changes)
    conducted["clients"]["node1"]["offset_ms"] = 1000 * offset
    write_json(folder / "run-1/clients.json", conducted)
    (folder / "hosts/node1").mkdir(parents=True)
    shutil.copy(RECORDED, folder / "hosts/node1")
    return folder


def shown(summary: Summary) -> list[list[str]]:
    return [line.split() for line in rendered(summary, 160).splitlines()]


def test_a_summary_has_the_hosts_on_the_time_axis_of_the_run(tmp_path: Path) -> None:
    measured(tmp_path)
    summary = summarise(tmp_path)
    assert summary.warnings == []
    (use,) = summary.trials[0].hosts
    assert (use.host, use.phase, use.cpus, use.covered_seconds) == ("node1", "run", 2, 3.0)
    # The window lasts three seconds, from the fourth sample to the seventh.
    window = content()[4:8]
    ticks = [after - before for before, after in zip(window[0]["cpu"], window[-1]["cpu"], strict=True)]
    assert use.figures["cpu_user"].mean == pytest.approx((ticks[0] + ticks[1]) / sum(ticks), abs=0.01)
    assert use.figures["cpu_user"].mean <= use.figures["cpu_user"].maximum <= 1
    wrote = window[-1]["disks"]["vda"][3] - window[0]["disks"]["vda"][3]
    assert use.figures["disk_written_bytes_per_second"].mean == pytest.approx(wrote / 3, rel=0.02)
    assert use.devices["vda"]["disk_utilisation"] == use.figures["disk_utilisation"]
    stated = json.loads(summary.json())["trials"][0]["hosts"]
    assert stated[0]["figures"]["cpu_user"]["mean"] == use.figures["cpu_user"].mean
    lines = list(csv.DictReader(io.StringIO("".join(summary.hosts_csv()))))
    seconds = [float(line["time"]) for line in lines if line["device"] == ""]
    # A fifth second may begin in the last millisecond of the window.
    assert seconds[:4] == pytest.approx([1, 2, 3, 4], abs=0.1)
    assert len(seconds) <= 5
    assert {line["device"] for line in lines} == {"", "vda", "lo", "eth0"}
    assert {(line["system"], line["round"], line["phase"], line["run"]) for line in lines} == {
        ("cassandra", "1", "run", "1")
    }
    (line,) = [row for row in shown(summary) if row[:2] == ["cassandra", "node1"]]
    assert line[2] == f"{100 * use.figures['cpu_user'].mean:.1f}%"
    assert "Hosts in the measured windows" in table.markdown(summary)


def test_without_samples_there_is_no_table_and_of_a_missing_host_a_warning(tmp_path: Path) -> None:
    folder = measured(tmp_path)
    shutil.rmtree(folder / "hosts/node1")
    summary = summarise(tmp_path)
    assert summary.trials[0].hosts == []
    assert [warning for warning in summary.warnings if "node1" in warning and "host are missing" in warning]
    (folder / "hosts").rmdir()
    summary = summarise(tmp_path)
    assert summary.warnings == []
    (head,) = summary.hosts_csv()
    assert head.startswith("system,point,round,phase,run,host,time,seconds,device,cpu_user,")
    assert "Hosts" not in table.markdown(summary)


def test_a_run_without_samples_of_its_time_has_no_figures(tmp_path: Path) -> None:
    folder = measured(tmp_path)
    edit_json(folder / "run-1/clients.json", agreed=content()[-1]["time"] + 100)
    assert summarise(tmp_path).trials[0].hosts == []


def test_clients_without_processors_to_spare_are_named() -> None:
    def use(host: str, idle: float, iowait: float = 0.0) -> HostUse:
        figures = {"cpu_idle": Use(idle, idle), "cpu_iowait": Use(iowait, iowait)}
        return HostUse(host, "run", 4, 10.0, figures)

    uses = [use("host1", 0.05), use("host2", 0.05), use("host3", 0.05, 0.2), use("host4", 0.05)]
    clients = [("run", host) for host in ("host1", "host2", "host3")]
    # host1 also has a server, which may be busy. host3 waits for its disk. host4 has no client.
    assert busy(uses, ["host1"], clients) == [
        "run: the client's host host2 was 95% busy: its processors may be the bottleneck"
    ]


@pytest.mark.parametrize(
    ("report", "why"),
    [
        # The client runs for 3 s on two processors, so 5.4 s are 90 %.
        ({"cpu_seconds": 5.3}, None),
        ({"cpu_seconds": 5.5},
         "the client was the bottleneck: it used 92% of 2 processors; limit: 90%"),
        # A client with one busy thread uses a small share of all processors.
        ({"busiest_thread": "nio-worker-0", "busiest_thread_share": 0.899}, None),
        *(({"busiest_thread": "nio-worker-0", "busiest_thread_share": share},
           f"the client's thread nio-worker-0 was the bottleneck: {share:.0%} of a processor; limit: 90%")
          for share in (0.9, 1.0)),
    ],
)  # fmt: skip
def test_a_run_in_which_the_client_was_measured_does_not_count(
    report: dict[str, Any], why: str | None, tmp_path: Path
) -> None:
    folder = measured(tmp_path)
    # A thread may be busy during the load.
    edit_json(folder / "load/node1/client.json", busiest_thread="client-0", busiest_thread_share=0.99)
    edit_json(folder / "run-1/node1/client.json", **report)
    result = only(summarise(tmp_path))
    assert (result.reason, result.system_failed) == (why and f"run-1 on node1: {why}", False)


def test_a_load_is_in_the_files_and_in_the_table_only_where_it_is_what_was_measured(tmp_path: Path) -> None:
    folder = measured(tmp_path)
    write_json(folder / "load/clients.json", clients_json(("node1",), agreed=content()[10]["time"]))
    summary = summarise(tmp_path)
    assert [(use.phase, use.covered_seconds) for use in summary.trials[0].hosts] == [
        ("load", pytest.approx(2.5, abs=0.1)),
        ("run", 3.0),
    ]
    assert [line[1] for line in shown(summary) if line[1:2] == ["node1"]] == ["node1"]
    assert {line["phase"] for line in csv.DictReader(io.StringIO("".join(summary.hosts_csv())))} == {"load", "run"}
    shutil.rmtree(folder / "run-1")
    edit_json(folder / "trial.json", trial_phases=[])
    (line,) = [line for line in shown(summarise(tmp_path)) if line[1:2] == ["node1"]]
    assert line[2] == "load"


def test_of_many_hosts_the_busiest_are_listed(tmp_path: Path) -> None:
    folder = measured(tmp_path)
    for number in range(24):
        shutil.copytree(folder / "hosts/node1", folder / f"hosts/other{number}")
    # This host is idle.
    lines = content()
    for second, sample in enumerate(lines[1:]):
        sample["cpu"] = [0, 0, 0, 200 * second, 0, 0, 0, 0]
    written(folder / "hosts/other3" / FILE, lines)
    summary = summarise(tmp_path)
    assert len(summary.trials[0].hosts) == 25
    listed = [line[1] for line in shown(summary) if len(line) > 1 and line[1].startswith(("node1", "other"))]
    assert len(listed) == 20
    assert "other3" not in listed
    assert "(5 more)" in table.markdown(summary)


def worked(file: Path, other_share: float, stolen: float = 0.0, **host: Any) -> None:
    """Writes samples at the recorded times for two processors. Dohyo's processes use 30 % of them, the kernel 5 %."""
    first, *samples = content()
    ticks = [200 * second for second in range(len(samples))]
    for sample, total in zip(samples, ticks, strict=True):
        used = [(0.35 + other_share) * total, 0, 0, (0.5 - other_share - stolen) * total, 0.1 * total, 0, 0.05 * total]
        sample["cpu"] = [*map(round, used), round(stolen * total)]
        sample["known"] = [round(0.3 * total), round(0.05 * total)]
    file.parent.mkdir(parents=True, exist_ok=True)
    written(file, [{**first, "boot": "b1", "sees_all": True, **host}, *samples])


OTHERS = "Other processes used {} % of node1, while cassandra was measured."


def only(summary: Summary) -> Trial:
    (result,) = summary.trials
    return result


@pytest.mark.parametrize(
    ("other_share", "stolen", "variables", "expected"),
    [
        (0.0, 0.0, {}, []),
        (0.04, 0.04, {"trial_strict": True}, []),
        (0.2, 0.0, {}, [OTHERS.format(20)]),
        (0.0, 0.08, {}, ["The hypervisor took 8 % of node1, while cassandra was measured."]),
        (0.3, 0.0, {"trial_max_other_cpu": "40%"}, [OTHERS.format(30)]),
        (0.31, 0.0, {"trial_max_other_cpu": ""}, "other processes used 31% of the processors of node1; at most 25% is"),
        (0.08, 0.0, {"trial_strict": True}, "other processes used 8% of the processors of node1; at most 5% is"),
        (0.0, 0.3, {}, "the hypervisor took 30% of the processors of node1; at most 25% is allowed (max.other.cpu)"),
    ],
)  # fmt: skip
def test_what_somebody_else_took_is_said_and_too_much_of_it_makes_the_run_invalid(
    tmp_path: Path, other_share: float, stolen: float, variables: dict[str, Any], expected: list[str] | str
) -> None:
    folder = measured(tmp_path)
    edit_json(folder / "trial.json", **variables)
    worked(folder / "hosts/node1" / FILE, other_share, stolen)
    summary = summarise(tmp_path)
    result = only(summary)
    if isinstance(expected, str):
        assert result.status == "invalid"
        assert (result.reason or "").startswith(f"run-1: {expected}")
    else:
        assert result.status == "ok"
        reasons = [reason.text for reason in trust.doubts(summary)]
        assert [text for text in reasons if "processes" in text or "hypervisor" in text] == expected
    assert result.conditions.other_cpu == pytest.approx(other_share, abs=0.01)
    assert result.conditions.stolen_cpu == pytest.approx(stolen, abs=0.01)
    assert result.hosts[0].figures["other_cpu"].mean == result.conditions.other_cpu
    assert result.notes == [note for note in result.notes if "unknown" not in note]
    lines = list(csv.DictReader(io.StringIO("".join(summary.hosts_csv()))))
    by_second = [line for line in lines if not line["device"]]
    # The window ends at second 4. Dohyo's processes may end then, so later values are unknown.
    assert [line["other_cpu"] == "" for line in by_second] == [float(line["time"]) > 4 for line in by_second]
    shares = [float(line["other_cpu"]) for line in by_second if line["other_cpu"]]
    assert shares == [pytest.approx(other_share, abs=0.01)] * len(shares) != []


def set_aside(tmp_path: Path, other_share: float) -> Path:
    """Creates a trial with one repeat, whose first run was set aside and measured again."""
    folder = measured(tmp_path)
    run_of(DATA / "dohyo/run", folder / "run-2/node1")
    shutil.copy(folder / "run-1/clients.json", folder / "run-2")
    write_json(folder / "run-1/disturbed.json", {"why": "run-1: other processes used 40% of the processors of node1"})
    worked(folder / "hosts/node1" / FILE, other_share)
    return folder


def test_a_repeat_that_others_disturbed_does_not_count(tmp_path: Path) -> None:
    folder = set_aside(tmp_path, 0.22)  # above 80 % of the limit, below the limit
    result = only(summarise(tmp_path))
    assert (result.status, result.reason) == ("ok", None)
    assert {(row.discarded, row.repeats) for row in result.rows if row.phase == "run"} == {(False, 1), (True, 1)}
    why = "run-1 does not count, and was measured again: other processes used 40% of the processors of node1"
    assert why in result.notes
    worked(folder / "hosts/node1" / FILE, 0.3)
    assert (only(summarise(tmp_path)).reason or "").startswith("run-2: other processes used 30% of the processors")


@pytest.mark.parametrize(
    ("other_share", "lost", "reason"),
    [
        (0.19, None, "run-1: was set aside, but nothing disturbed it"),
        (0.22, "run-2", "0 of 1 repeats left results"),
        (0.22, "run-1/disturbed.json", "2 of 1 repeats left results"),
    ],
)
def test_a_repeat_that_was_set_aside_without_a_cause_or_a_successor_leaves_no_numbers(
    tmp_path: Path, other_share: float, lost: str | None, reason: str
) -> None:
    folder = set_aside(tmp_path, other_share)
    if lost:
        (folder / lost).rename(tmp_path / "lost")
    result = only(summarise(tmp_path))
    assert (result.status, result.reason) == ("invalid", reason)


@pytest.mark.parametrize(("attached", "status"), [("10.0.0.1", "ok"), (None, "invalid")])
def test_an_observed_host_on_the_kernel_of_a_client_is_only_found_when_the_trial_ends(
    tmp_path: Path, attached: str | None, status: str
) -> None:
    folder = set_aside(tmp_path, 0.3)
    edit_json(folder / "conditions.json", attached=attached)
    worked(folder / "hosts/theirs" / FILE, 0.3)
    assert only(summarise(tmp_path)).status == status


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_a_trial_is_told_why_its_last_repeat_was_disturbed(
    tmp_path: Path, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []
    read_host = Phase.read

    def read_run(run: Phase, host: str, warn: Warn) -> dict[str, Latencies]:
        names.append(run.name)
        return read_host(run, host, warn)

    monkeypatch.setattr(Phase, "read", read_run)
    folder = measured(tmp_path)
    worked(folder / "hosts/node1" / FILE, share)
    write_json(folder / "state.json", {"status": "running"})
    answer = CliRunner().invoke(cli, ["disturbed", str(folder)], standalone_mode=False, catch_exceptions=False)
    problem = f"run-1: other processes used {share:.0%} of the processors of node1; at most 25% is allowed"
    assert answer.output == (f"{problem} (max.other.cpu)\n" if share > 0.25 else "\n")
    # The trial waits for the answer, so only the last repeat is read.
    assert names == ["run-1"]


def test_what_ends_a_run_is_not_somebody_else(tmp_path: Path) -> None:
    """The last second is only partly in the window: the clients end in it, and Ansible fetches files."""
    folder = measured(tmp_path)
    file = folder / "hosts/node1" / FILE
    worked(file, 0.0)
    end = json.loads((folder / "run-1/clients.json").read_text())["agreed"] + 2.5 + 4
    first, *samples = content(file)
    late = [sample for sample in samples if sample["time"] > end]
    assert end < late[0]["time"] < end + 1
    for sample in late:
        sample["cpu"][0] += 80
        sample["cpu"][3] -= 80
    written(file, [first, *samples])
    result = only(summarise(tmp_path))
    assert result.status == "ok"
    assert result.conditions.other_cpu == pytest.approx(0, abs=0.01)
    assert result.hosts[0].figures["other_cpu"].maximum == pytest.approx(0, abs=0.01)


@pytest.mark.parametrize("share", [0.2, 0.31])
def test_who_is_known_to_be_at_work_on_the_hosts_is_named_with_what_others_took(tmp_path: Path, share: float) -> None:
    folder = measured(tmp_path)
    note = {"deployment": "0123456789ab", "since": 1.0, "pid": 1, "start": 1, "own": False, "kept": True, "user": "ann"}
    (message,) = others([note], "000000000000")
    edit_json(folder / "conditions.json", notes=[message.partition("; wait")[0], "another note"])
    worked(folder / "hosts/node1" / FILE, share)
    summary = summarise(tmp_path)
    assert "ann has kept servers running there since 1970" in " ".join(rendered(summary).split())
    assert "another note" not in on_screen(summary)


@pytest.mark.parametrize(("attached", "status"), [("10.0.0.1", "ok"), (None, "invalid")])
def test_servers_that_are_not_ours_are_no_other_processes_on_their_own_hosts(
    tmp_path: Path, attached: str | None, status: str
) -> None:
    folder = measured(tmp_path)
    edit_json(folder / "conditions.json", attached=attached)
    worked(folder / "hosts/node1" / FILE, 0.0)
    worked(folder / "hosts/theirs" / FILE, 0.31, boot="b2")
    assert only(summarise(tmp_path)).status == status


@pytest.mark.parametrize(
    ("target", "other_share", "client", "held", "reason"),
    [
        (1000, 0.31, {"busiest_thread_share": 0.99}, True, None),  # the rate held despite the other processes
        (9000, 0.2, {}, False, "only 2,000 op/s"),
        (9000, 0.31, {}, None, "probe-1: other processes used 31% of the processors of node1"),
        (9000, 0.31, {"skew_ms": 9000}, None, "probe-1: other processes used 31% of the processors of node1"),
        (9000, 0.2, {"skew_ms": 9000}, None, "probe-1 on node1: the client began 9,000 ms after the agreed instant"),
        (9000, 0.2, {"busiest_thread_share": 0.99}, None,
         "probe-1 on node1: the client's thread loop was the bottleneck: 99% of a processor"),
        (9000, 0.2, {"cpu_seconds": 5.5}, None,
         "probe-1 on node1: the client was the bottleneck: it used 92% of 2 processors"),
    ],
)  # fmt: skip
def test_a_probe_that_somebody_else_may_have_held_back_tells_nothing_of_its_rate(
    tmp_path: Path, target: float, other_share: float, client: dict[str, float], held: bool | None, reason: str | None
) -> None:
    folder = measured(tmp_path)
    shutil.copytree(folder / "run-1", folder / "probe-1")
    report = {"target": target, "busiest_thread": "loop", "busiest_thread_share": 0.8, **client}
    edit_json(folder / "probe-1/node1/client.json", **report)
    edit_json(folder / "trial.json", trial_search={"slo": "p99<10ms", "probes": 8, "duration": 3, "precision": 0.05})
    worked(folder / "hosts/node1" / FILE, other_share)
    search = only(summarise(tmp_path)).search
    assert search is not None
    (probe,) = search.probes
    assert probe.held is held
    assert (reason or "") in (probe.reason or "")
    assert search.maximum is None


def test_the_conditions_have_what_is_enough_to_matter(tmp_path: Path) -> None:
    folder = measured(tmp_path)
    worked(folder / "hosts/node1" / FILE, 0.02, 0.0)
    (line,) = [line for line in conditions.readable([only(summarise(tmp_path))]) if line.label == "others"]
    assert line.value == "other processes below 5%, hypervisor below 5% of a host's processors"
    worked(folder / "hosts/node1" / FILE, 0.2, 0.0)
    (line,) = [line for line in conditions.readable([only(summarise(tmp_path))]) if line.label == "others"]
    assert line.value == "other processes up to 20%, hypervisor below 5% of a host's processors"


@pytest.mark.parametrize("other_share", [0.0, 0.45])
@pytest.mark.parametrize("hosts", [{"node1": {"sees_all": False}}, {"node1": {}, "node2": {}}])
def test_where_hosts_share_a_kernel_nothing_is_made_of_it(
    tmp_path: Path, hosts: dict[str, dict[str, Any]], other_share: float
) -> None:
    folder = measured(tmp_path)
    for host, about in hosts.items():
        worked(folder / "hosts" / host / FILE, other_share, 0.05, **about)
    summary = summarise(tmp_path)
    result = only(summary)
    assert (result.status, result.conditions.other_cpu) == ("ok", None)
    (note,) = [note for note in result.notes if "other processes" in note]
    assert note.startswith(f"the CPU time of other processes is not known on {', '.join(hosts)}: they share a kernel")
    # The hypervisor's share is known even then, although the hypervisor may not have slowed the servers.
    assert result.conditions.stolen_cpu == pytest.approx(0.05, abs=0.01)
    assert "other_cpu" not in result.hosts[0].figures
    assert {line["other_cpu"] for line in csv.DictReader(io.StringIO("".join(summary.hosts_csv())))} == {""}


def test_hosts_with_kernels_of_their_own_are_each_judged(tmp_path: Path) -> None:
    folder = measured(tmp_path)
    worked(folder / "hosts/node1" / FILE, 0.02, boot="b1")
    worked(folder / "hosts/node2" / FILE, 0.3, boot="b2")
    result = only(summarise(tmp_path))
    assert result.status == "invalid"
    assert "of node2" in (result.reason or "")
    assert [(use.host, use.alone) for use in result.taken] == [("node1", True), ("node2", True)]


def test_the_worst_round_is_named(tmp_path: Path) -> None:
    for number, other_share in ((1, 0.02), (2, 0.2), (3, 0.1)):
        folder = measured(tmp_path, number)
        edit_json(folder / "trial.json", trial_round=number, trial_rounds=3)
        worked(folder / "hosts/node1" / FILE, other_share)
    summary = summarise(tmp_path)
    text = "Other processes used 20 % of node1 in round 2, while cassandra was measured (1 other case of at least 5 %)."
    assert text in [reason.text for reason in trust.doubts(summary)]
    assert summary.merged[0].conditions.other_cpu == pytest.approx(0.2, abs=0.01)


def test_samples_from_before_say_nothing_of_others(tmp_path: Path) -> None:
    measured(tmp_path)
    summary = summarise(tmp_path)
    result = only(summary)
    assert (result.status, result.taken, result.conditions.other_cpu, result.conditions.stolen_cpu) == (
        "ok",
        [],
        None,
        None,
    )
    assert "other_cpu" not in result.hosts[0].figures
    assert "hypervisor" not in table.markdown(summary)


def test_the_property_reaches_the_trial_and_no_load(tmp_path: Path) -> None:
    scenario = tmp_path / "one.properties"
    scenario.write_text(
        "recordcount=1000\nreadproportion=1\nupdateproportion=0\nsystems=mysql-innodb\nreuse=data\nduration=5\n"
    )

    def plan_with(**changes: str) -> tuple[Any, str]:
        (planned,) = plan.trials(load(scenario, {name.replace("_", "."): value for name, value in changes.items()}))
        return plan.variables(planned, tmp_path, keep=False)["trial_max_other_cpu"], plan.load_of(planned, tmp_path)

    assert plan_with()[0] == ""
    assert plan_with(max_other_cpu="100%") == ("100%", plan_with()[1])
    # The limit does not affect the numbers, so experiments with different limits can be compared.
    before, after = (
        asked_of.workload({"trial_max_other_cpu": value, "trial_system": "hbase"}) for value in ("", "100%")
    )
    assert before == after
    with pytest.raises(BadInputError, match=r"max\.other\.cpu=lots: must be a percentage from"):
        plan_with(max_other_cpu="lots")
