"""Logs as strangers have them: encodings, collectors, parts of runs, counts of every version, failures."""

import codecs
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from test_tabulate import collect, row, write

from dohyo.foreign.tabulate import tabulate
from dohyo.summary.results import Trial


def results(ops: Mapping[str, int], seconds: float = 10, overall: int | None = None, **codes: int) -> str:
    """The result lines of a stock client; `codes` are return codes of the first type beyond OK."""
    total = sum(count for name, count in ops.items() if "-" not in name) if overall is None else overall
    lines = [f"[OVERALL], RunTime(ms), {seconds * 1000:.0f}", f"[OVERALL], Throughput(ops/sec), {total / seconds}"]
    first = next(iter(ops))
    for name, count in ops.items():
        lines += [f"[{name}], Operations, {count}", f"[{name}], AverageLatency(us), 70.5"]
        lines += [f"[{name}], MinLatency(us), 9", f"[{name}], MaxLatency(us), 900"]
        lines += [f"[{name}], 95thPercentileLatency(us), 90", f"[{name}], 99thPercentileLatency(us), 99"]
        if "-" not in name:
            lines.append(f"[{name}], Return=OK, {count}")
        if name == first:
            lines += [f"[{name}], Return={code}, {number}" for code, number in codes.items()]
    return "".join(f"{line}\n" for line in lines)


def only(folder: Path) -> Trial:
    (of,) = collect([folder]).trials
    return of


def rate(of: Trial) -> float | None:
    return row(of, "OVERALL").ops_per_second


RUN = results({"READ": 5021, "UPDATE": 4979})


# ---- encodings ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        codecs.BOM_UTF16_LE + RUN.replace("\n", "\r\n").encode("utf-16-le"),
        codecs.BOM_UTF16_BE + RUN.encode("utf-16-be"),
        codecs.BOM_UTF8 + RUN.encode(),
        RUN.encode("utf-16-le"),
        b"\0" * 9000 + RUN.encode(),
        # PowerShell appends in its own encoding to what another program has written.
        b"starting\n" + RUN.encode("utf-16-le"),
    ],
    ids=["utf-16-le", "utf-16-be", "utf-8", "no mark", "hole", "appended"],
)
def test_a_log_in_any_encoding_or_with_a_hole_is_read_beside_others(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_bytes(content)
    alone = only(tmp_path)
    write(tmp_path / "a.txt", RUN)
    both = only(tmp_path)
    assert (alone.status, rate(alone)) == ("ok", 1000)
    assert (both.status, rate(both), both.conditions.clients) == ("ok", 2000, 2)


def test_files_that_are_not_read_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "run.txt", RUN)
    (tmp_path / "all.tar").write_bytes(b"run.txt".ljust(257, b"\0") + b"ustar\n" + RUN.encode())
    (tmp_path / "client.jar").write_bytes(b"PK\x03\x04\0\0" + RUN.encode())
    write(tmp_path / "notes.md", "# Runs\n")
    assert tabulate([tmp_path]) == 0
    names = ", ".join(str(tmp_path / name) for name in ("all.tar", "client.jar", "notes.md"))
    assert capsys.readouterr().err == f"passed over, nothing of YCSB in: {names}\n"


# ---- several clients in one file ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "prefix",
    ["host{} | ", "[host{}] out: ", "host{}: ", "[pod/ycsb-{}/main] ", "\x1b[32mclient-{}  |\x1b[0m ",
     "Nov 21 05:48:0{} host{} ycsb[1{}]: ", "2026-11-21T05:48:07.{}73Z stdout F node{} "],
)  # fmt: skip
def test_prefixes_tell_the_clients_of_one_file_apart(prefix: str, tmp_path: Path) -> None:
    other = results({"READ": 9500, "UPDATE": 500})
    lines = zip(RUN.splitlines(), other.splitlines(), strict=True)
    text = "".join(f"{prefix.replace('{}', str(who))}{line}\n" for pair in lines for who, line in enumerate(pair))
    write(tmp_path / "all.txt", text)
    of = only(tmp_path)
    assert (row(of, "READ").operations, rate(of), of.conditions.clients) == (14521, 2000, 2)
    assert collect([tmp_path]).warnings == []


def test_a_prefix_that_changes_with_the_time_is_one_client(tmp_path: Path) -> None:
    lines = RUN.splitlines()
    text = "".join(f"Nov 21 05:48:{at:02} host1 ycsb[7]: {line}\n" for at, line in enumerate(lines))
    write(tmp_path / "a/syslog", text)
    text = "".join(f"2026-11-21T05:48:{at:02}.073Z {line}\n" for at, line in enumerate(lines))
    write(tmp_path / "b/kubectl", text)
    assert [(of.status, rate(of), of.conditions.clients) for of in collect([tmp_path]).trials] == [("ok", 1000, 1)] * 2


def registered(text: str, **more: object) -> dict[str, object]:
    return {"changed": True, "cmd": "bin/ycsb run", "stdout": text.strip(), "stdout_lines": text.splitlines(), **more}


def printed(hosts: Mapping[str, str]) -> str:
    shown = ""
    for host, text in hosts.items():
        content = json.dumps({"run.stdout_lines": text.splitlines()}, indent=4)
        shown += f"ok: [{host}] => {content}\n"
    return f"TASK [show] ****\n{shown}"


STATUS = "Command line: -db basic -t\n2026-11-21 05:10:50:000 10 sec: 10000 operations; \n"


@pytest.mark.parametrize(
    ("content", "clients"),
    [
        (json.dumps(registered(RUN)), 1),
        (json.dumps(registered(RUN), indent=4), 1),
        (json.dumps(registered(f"YCSB Client 0.17\n{RUN}", stderr=STATUS)), 1),
        (printed({"client1": RUN}), 1),
        (printed({"client1": RUN, "client2": RUN}), 2),
        (f"client1 | CHANGED | rc=0 >>\n{RUN}client2 | CHANGED | rc=0 >>\n{RUN}", 2),
        ("".join(json.dumps({"log": f"{line}\n", "stream": "stdout"}) + "\n" for line in RUN.splitlines()), 1),
    ],
    ids=["registered", "indented", "both streams", "debug", "two hosts", "ad hoc", "docker"],
)
def test_results_inside_json_and_what_ansible_prints_are_read(content: str, clients: int, tmp_path: Path) -> None:
    write(tmp_path / "log", content)
    of = only(tmp_path)
    assert (of.status, row(of, "READ").operations, of.conditions.clients) == ("ok", 5021 * clients, clients)
    assert rate(of) == 1000 * clients
    assert collect([tmp_path]).warnings == []


def test_json_results_inside_json_are_read(tmp_path: Path) -> None:
    rows = [tuple(line.strip("[").replace("],", ",").split(", ")) for line in RUN.splitlines()]
    exported = [dict(zip(("metric", "measurement", "value"), each, strict=True)) for each in rows]
    write(tmp_path / "log", json.dumps(registered(json.dumps(exported, indent=1))))
    assert (only(tmp_path).status, rate(only(tmp_path))) == ("ok", 1000)
