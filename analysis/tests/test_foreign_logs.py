"""Tests logs of other clients: encodings, collectors, parts of runs, counts of every version, and failures."""

import codecs
import csv
import io
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from statistics import geometric_mean

import pytest
from click.testing import CliRunner

from dohyo.bad_input import BadInputError
from dohyo.cli import cli
from dohyo.foreign import collection
from dohyo.foreign.tabulate import tabulate
from dohyo.summary.comparison import latencies_at
from dohyo.summary.results import Trial
from dohyo.tables import table
from support.evidence import STOCK, row
from support.foreign_logs import collect, write


def results(ops: Mapping[str, int], seconds: float = 10, overall: int | None = None, **codes: int) -> str:
    """Returns the result lines of a stock client. `codes` counts the first type's failures for each return code."""
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


def go(ops: Mapping[str, int], seconds: float = 10, **properties: str) -> str:
    """Returns the output of go-ycsb at the end of a run."""
    lines = [
        "***************** properties *****************",
        *(f'"{key}"="{value}"' for key, value in properties.items()),
    ]
    lines += ["*" * 46, f"Run finished, takes {seconds}s"]
    for name, count in ops.items():
        lines.append(f"{name:6} - Takes(s): {seconds}, Count: {count}, OPS: 9.9, Avg(us): 70, Min(us): 9, Max(us): 900")
    return "".join(f"{line}\n" for line in lines)


def only(folder: Path) -> Trial:
    (trial,) = collect([folder]).trials
    return trial


def rate(trial: Trial) -> float | None:
    return row(trial, "OVERALL").ops_per_second


RUN = results({"READ": 5021, "UPDATE": 4979})
SECOND = RUN.replace("70.5", "72.5")  # another client with as many operations


# ---- encodings ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        codecs.BOM_UTF16_LE + RUN.replace("\n", "\r\n").encode("utf-16-le"),
        codecs.BOM_UTF16_BE + RUN.encode("utf-16-be"),
        codecs.BOM_UTF8 + RUN.encode(),
        RUN.encode("utf-16-le"),
        b"\0" * 9000 + RUN.encode(),
        # PowerShell appends UTF-16 to a file that another program began in ASCII.
        b"starting\n" + RUN.encode("utf-16-le"),
    ],
    ids=["utf-16-le", "utf-16-be", "utf-8", "no mark", "hole", "appended"],
)
def test_a_log_in_any_encoding_or_with_a_hole_is_read_beside_others(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_bytes(content)
    alone = only(tmp_path)
    write(tmp_path / "a.txt", SECOND)
    trial = only(tmp_path)
    assert (alone.status, rate(alone)) == ("ok", 1000)
    assert (trial.status, rate(trial), trial.conditions.clients) == ("ok", 2000, 2)


def test_files_that_are_not_read_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "run.txt", RUN)
    (tmp_path / "all.tar").write_bytes(b"run.txt".ljust(257, b"\0") + b"ustar\n" + RUN.encode())
    (tmp_path / "client.jar").write_bytes(b"PK\x03\x04\0\0" + RUN.encode())
    write(tmp_path / "notes.md", "# Runs\n")
    assert tabulate([tmp_path]) == 0
    assert capsys.readouterr().err == (
        f"not read (no output of YCSB): {tmp_path}/notes.md\n"
        f"not read (not text; unpack archives with logs): {tmp_path}/all.tar, {tmp_path}/client.jar\n"
    )


# ---- several clients in one file ------------------------------------------------------------------------------------


def registered(text: str, **more: object) -> dict[str, object]:
    return {"changed": True, "cmd": "bin/ycsb run", "stdout": text.strip(), "stdout_lines": text.splitlines(), **more}


def printed(hosts: Mapping[str, str]) -> str:
    shown = ""
    for host, text in hosts.items():
        content = json.dumps({"run.stdout_lines": text.splitlines()}, indent=4)
        shown += f"ok: [{host}] => {content}\n"
    return f"TASK [show] ****\n{shown}"


STATUS = "Command line: -db basic -t\n2026-11-21 05:10:50:000 10 sec: 10000 operations; \n"


def go_table(ops: Mapping[str, int]) -> str:
    """Returns the output of go-ycsb with outputstyle=table. The column headings are centred."""
    rows = [["OPERATION", "TAKES(S)", "COUNT", "AVG(US)", "MIN(US)", "MAX(US)", "99TH(US)"]]
    rows += [[name, "10.0", str(count), "70", "9", "900", "99"] for name, count in ops.items()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rule = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
    lines = [
        "|"
        + "|".join(f" {cell:{'<' if number else '^'}{width}} " for cell, width in zip(cells, widths, strict=True))
        + "|"
        for number, cells in enumerate(rows)
    ]
    return "\n".join(["Run finished, takes 10s", rule, lines[0], rule, *lines[1:], rule, ""])


PRETTY = json.dumps(
    [
        dict(zip(("metric", "measurement", "value"), line.strip("[").replace("],", ",").split(", "), strict=True))
        for line in RUN.splitlines()
    ],
    indent=2,
)


def turns(prefix: str, text: str, names: tuple[str, str] = ("1", "2")) -> str:
    """Returns the alternating lines of two clients. In the prefix, {} is the name of a client."""
    texts = zip(text.splitlines(), text.replace("70", "72").splitlines(), strict=True)
    return "".join(
        f"{prefix.replace('{}', name)}{line}\n"
        for of_clients in texts
        for name, line in zip(names, of_clients, strict=True)
    )


def numbered(prefix: str, text: str) -> str:
    """Returns the lines of a text, each with a prefix. In the prefix, {} is the number of the line."""
    return "".join(f"{prefix.replace('{}', f'{number:02}')}{line}\n" for number, line in enumerate(text.splitlines()))


def appended() -> str:
    """Returns the output of a go-ycsb that writes its results to a file, with the content of that file appended."""
    output = go({"READ": 9}, 10, **{"measurement.output_file": "x.txt", "operationcount": "10000", "threadcount": "2"})
    head, end, interval = output.partition(f"{'*' * 46}\nRun finished, takes 10s\n")
    return head + interval + end + go({"READ": 5000, "UPDATE": 5000}).partition(end)[2]


# Output of clients that can be distinguished, and the number of clients. Each client has 1,000 operations per second.
OUTPUTS: dict[str, tuple[str, int]] = {
    **{
        f"prefix {prefix}": (turns(prefix, RUN), 2)
        for prefix in (
            *("host{} | ", "[host{}] out: ", "[pod/ycsb-{}/main] ", "\x1b[32mclient-{}  |\x1b[0m "),
            *("Nov 21 05:48:0{} host{} ycsb[1{}]: ", "2026-11-21T05:48:07.{}73Z stdout F node{} "),
        )
    },
    **{
        f"{name} with {prefix}": (turns(prefix, text, names), 2)
        for name, text in {"text": RUN, "table": go_table({"READ": 10_000}), "JSON": PRETTY}.items()
        for prefix, names in {
            "host{}: ": ("1", "2"),
            "host{}\t": ("1", "10"),
            "10.0.0.{}: ": ("1", "2"),
            "{}: ": ("0", "1"),
        }.items()
    },
    "grep": (turns("host{}.txt:", STATUS + RUN), 2),
    "syslog": (numbered("Nov 21 05:48:{} host1 ycsb[7]: ", RUN), 1),
    "kubectl": (numbered("2026-11-21T05:48:{}.073Z ", RUN), 1),
    **{
        f"job {prefix}": (numbered(prefix, STATUS + RUN), 1)
        for prefix in (
            *("[2026-11-21T05:48:07.0{}Z] ", "05:48:{}  ", "\x1b[0K\x1b[32;1m"),
            "2026-11-21 05:48:07,0{} INFO [main] ycsb.Client - ",
        )
    },
    **{
        name: ("".join(heading.format("-" * 16, host) + run for host, run in ((1, RUN), (2, SECOND))), 2)
        for name, heading in {
            "dshbak": "{0}\nhost{1}\n{0}\n",
            "pssh": "[{1}] 10:00:00 [SUCCESS] host{1}\n",
            "pssh, addresses": "[{1}] 10:00:00 [SUCCESS] 10.0.0.{1}\n",
        }.items()
    },
    "a text before the first line": (f"2026-11-21 05:06:42,123 bench INFO ReturnCode:0 STDOUT: {RUN}", 1),
    "collected twice": ("".join(line + line for line in RUN.splitlines(keepends=True)), 1),
    "registered": (json.dumps(registered(RUN)), 1),
    "indented": (json.dumps(registered(RUN), indent=4), 1),
    "both streams": (json.dumps(registered(f"YCSB Client 0.17\n{RUN}", stderr=STATUS)), 1),
    "JSON in JSON": (json.dumps(registered(PRETTY)), 1),
    "debug": (printed({"client1": RUN}), 1),
    "debug of two hosts": (printed({"client1": RUN, "client2": SECOND}), 2),
    "ad hoc": (f"client1 | CHANGED | rc=0 >>\n{RUN}client2 | CHANGED | rc=0 >>\n{SECOND}", 2),
    "docker": ("".join(json.dumps({"log": f"{line}\n", "stream": "stdout"}) + "\n" for line in RUN.splitlines()), 1),
    "results appended to go-ycsb": (appended(), 1),
    "a warm-up of go-ycsb": (go({"READ": 10_000}, 15, warmuptime="5", operationcount="15000"), 1),
    "transactions of go-ycsb": (go({"READ": 5000, "UPDATE": 5000, "COMMIT": 999, "TXN": 999, "TOTAL": 11_998}), 1),
    "transactions of YCSB+T": (
        "[TOTAL CASH], 1000\n[ANOMALY SCORE], 0.0\n"
        + results(
            {"READ": 3000, "UPDATE": 3000, "TX-READMODIFYWRITE": 1000, "START": 1000, "COMMIT": 1000}, 1, overall=1000
        ),
        1,
    ),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_clients_are_told_apart_in_what_programs_collect(name: str, tmp_path: Path) -> None:
    text, clients = OUTPUTS[name]
    write(tmp_path / "log", text)
    summary = collect([tmp_path])
    (trial,) = summary.trials
    assert (trial.status, rate(trial), trial.conditions.clients) == ("ok", 1000 * clients, clients)
    assert summary.warnings == []


def test_the_warm_up_of_go_ycsb_is_no_part_of_its_load(tmp_path: Path) -> None:
    write(tmp_path / "go.log", go({"INSERT": 10_000}, 10, warmuptime="5", dotransactions="false"))
    assert row(only(tmp_path), "OVERALL", "load").ops_per_second == 1000


# ---- parts of runs --------------------------------------------------------------------------------------------------


OTHER = results({"READ": 9500, "UPDATE": 500}, seconds=5)


def test_a_run_whose_head_was_cut_off_is_named_and_does_not_join_the_one_before(tmp_path: Path) -> None:
    lines = OTHER.splitlines(keepends=True)
    for cut, name in ((1, "run time"), (2, "overall"), (4, "counts")):
        write(tmp_path / f"{name}/run.txt", f"workloada\n{RUN}workloadb\n{''.join(lines[cut:])}")
    by_name = {trial.system: trial for trial in collect([tmp_path]).trials}
    for name in ("run time", "overall", "counts"):
        assert (by_name[name].status, rate(by_name[name])) == ("ok", 1000)
        assert by_name[f"{name} #2"].status == "incomplete"
        assert "no [OVERALL] run time or throughput" in (by_name[f"{name} #2"].reason or "")


def test_two_clients_that_wrote_line_by_line_into_one_file_have_no_valid_numbers(tmp_path: Path) -> None:
    pairs = zip(RUN.splitlines(), OTHER.splitlines(), strict=True)
    write(tmp_path / "run.txt", "".join(f"{first}\n{second}\n" for first, second in pairs))
    summary = collect([tmp_path])
    assert {trial.status for trial in summary.trials} == {"incomplete", "invalid"}
    assert "lines of two runs are mixed" in next(
        trial.reason or "" for trial in summary.trials if trial.status == "invalid"
    )


# ---- counts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("written", ["3.0E7", "30000000.0", "30000000", "3e+07"])
def test_counts_and_run_times_as_every_version_and_fork_prints_them(written: str, tmp_path: Path) -> None:
    text = results({"INSERT": 30_000_000}, seconds=12_600).replace("Operations, 30000000", f"Operations, {written}")
    write(
        tmp_path / "load.txt", text.replace("12600000", "1.26E7").replace("MaxLatency(us), 900", "MaxLatency(us), 9E2")
    )
    trial = only(tmp_path)
    inserts = row(trial, "INSERT", "load")
    assert (trial.status, inserts.operations, inserts.max_ms) == ("ok", 30_000_000, 0.9)
    assert inserts.ops_per_second == pytest.approx(30_000_000 / 12_600)


@pytest.mark.parametrize("rounded", ["12345.66", "12345.7", "12346"])
def test_the_rounding_of_a_rate_is_no_loss(rounded: str, tmp_path: Path) -> None:
    text = results({"READ": 7_407_407}, seconds=600.001).replace(str(7_407_407 / 600.001), rounded)
    assert f"(ops/sec), {rounded}\n" in text
    write(tmp_path / "run.txt", text)
    assert (only(tmp_path).status, only(tmp_path).rows[0].operations) == ("ok", 7_407_407)


def test_a_second_view_of_a_type_and_latencies_of_each_error_are_no_more_operations(tmp_path: Path) -> None:
    ops = {"READ": 9_990, "READ-COMB": 9_990, "READ-TIMEOUT": 4, "READ-ERROR": 2, "READ-FAILED": 4}
    write(tmp_path / "run.txt", results(ops, 10, 10_000, TIMEOUT=4, ERROR=2, NOT_IMPLEMENTED=4))
    trial = only(tmp_path)
    assert (trial.status, row(trial, "OVERALL").operations, row(trial, "OVERALL").errors) == ("ok", 9_990, 10)
    assert [line.operation for line in trial.rows] == ["OVERALL", "READ", "READ-ERROR", "READ-FAILED", "READ-TIMEOUT"]


# ---- failures -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b"),
    [
        # One failure prevents no comparison.
        *((results({"READ": 199_999, "READ-FAILED": 1}, overall=200_000, **{code: 1}), results({"READ": 150_000}))
          for code in ("ERROR", "NOT_FOUND")),
        (results({"READ": 200_000}), go({"READ": 150_000, "READ_ERROR": 10, "TOTAL": 150_000})),
    ],
    ids=["error", "not found", "go-ycsb"],
)  # fmt: skip
def test_systems_are_compared(a: str, b: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in {"a": a, "b": b, "c": results({"SCAN": 100_000})}.items():
        write(tmp_path / name / "run.txt", text)
    assert tabulate([tmp_path]) == 0
    assert "a was 1.33× as fast as b" in capsys.readouterr().out


def test_a_system_that_fails_is_not_ranked_by_what_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failing = results({"READ": 98_000, "READ-FAILED": 100_000}, overall=198_000, ERROR=100_000)
    write(tmp_path / "fails/run.txt", failing)
    write(tmp_path / "nothing/run.txt", results({"READ": 0, "READ-FAILED": 9_000}, overall=9_000, ERROR=9_000))
    write(tmp_path / "works/run.txt", results({"READ": 150_000}))
    assert tabulate([tmp_path]) == 1
    out, _ = capsys.readouterr()
    assert "1 works  15,000" in out
    assert "– fails  invalid: failed: READ 100,000 of 198,000; maxerrorrate 0.1%" in out
    assert "– nothing  failed: run.txt: no operation succeeded: ERROR" in out


def test_failures_within_the_limit_do_not_count_as_throughput(tmp_path: Path) -> None:
    write(tmp_path / "run.txt", results({"READ": 99_990, "READ-FAILED": 10}, overall=100_000, ERROR=4, NOT_FOUND=6))
    all_of = row(only(tmp_path), "OVERALL")
    assert (all_of.operations, all_of.records, all_of.errors, all_of.not_found) == (99_996, 99_990, 4, 6)


def test_reads_before_ycsb_0_6_count_what_failed_and_say_so(tmp_path: Path) -> None:
    text = results({"READ": 1000, "UPDATE": 999_000}).replace("[READ], Return=OK, 1000", "[READ], Return=OK, 900")
    write(
        tmp_path / "run.txt", text.replace("[READ], Return=OK, 900", "[READ], Return=OK, 900\n[READ], Return=-1, 100")
    )
    trial = only(tmp_path)
    assert (trial.status, row(trial, "OVERALL").operations, row(trial, "READ").errors) == ("ok", 999_900, 100)
    assert trial.notes == ["latencies include those of operations that failed or found nothing: READ (YCSB before 0.6)"]
    assert "of successful operations (except for types named in a note)" in table.legend(collect([tmp_path]))


VERIFIED = results({"VERIFY": 5021, "READ": 5021, "UPDATE": 4979}, overall=10_000).replace(
    "[VERIFY], Return=OK", "[VERIFY], Return=UNEXPECTED_STATE"
)
TRANSACTIONS = {"READ": 9_700, "READ_ERROR": 300, "COMMIT": 95, "COMMIT_ERROR": 71, "TXN": 95, "TXN_ERROR": 71}


@pytest.mark.parametrize(
    ("text", "errors", "reason"),
    [
        (VERIFIED, 5021, "failed: VERIFY 5,021 of 5,021 (UNEXPECTED_STATE)"),
        (go(TRANSACTIONS), 371, "failed: COMMIT 71 of 166, TXN 71 of 166, READ 300 of 10,000; maxer"),
        (results({"READ": 900, "READ-FAILED": 100}, overall=1000).replace("[READ], Return=OK, 900\n", ""),
         100, "failed: READ 100 of 1,000"),
    ],
    ids=["verify", "commits", "rows without codes"],
)  # fmt: skip
def test_failures_of_every_kind_are_on_the_screen(
    text: str, errors: int, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "s/run.txt", text)
    assert tabulate([tmp_path]) == 1
    assert reason in capsys.readouterr().out
    assert row(collect([tmp_path]).trials[0], "OVERALL").errors == errors


@pytest.mark.parametrize(
    ("failed", "planned", "status", "reason"),
    [
        (1082, 50_000_000, "invalid",
         "load.txt: 8,585,000 of 50,000,000 records are missing: threads gave up; failed: INSERT 1,082 of 41,416,082"),
        (1082, 41_415_000, "ok", ""),  # retries succeeded
        (0, 41_415_010, "ok", ""),  # each of 50 threads inserts the same number, so 10 are left over
        (0, 41_415_090, "invalid", "90 of 41,415,090 records are missing"),
        (98, None, "ok", ""),
        (98_000, None, "invalid", "failed: INSERT 98,000 of 41,513,000"),
    ],
)  # fmt: skip
def test_a_load_that_gave_up_is_not_whole(
    failed: int, planned: int | None, status: str, reason: str, tmp_path: Path
) -> None:
    ops = {"INSERT": 41_415_000, **({"INSERT-FAILED": failed} if failed else {})}
    command = f"Command line: -load -db x -threads 50{f' -p recordcount={planned}' if planned else ''}\n"
    write(tmp_path / "load.txt", command + results(ops, **({"ERROR": failed} if failed else {})))
    trial = only(tmp_path)
    assert trial.status == status
    assert reason in (trial.reason or "")


# ---- batches --------------------------------------------------------------------------------------------------------


def test_batches_of_go_ycsb_are_operations_of_several_records(tmp_path: Path) -> None:
    properties = {"batch.size": "50", "recordcount": "100000", "dotransactions": "false"}
    write(tmp_path / "load.log", go({"BATCH_INSERT": 2000}, 17.5, **properties))
    inserts = row(only(tmp_path), "INSERT", "load")
    assert (only(tmp_path).status, inserts.operations, inserts.records) == ("ok", 2000, 100_000)
    assert inserts.records_per_second == pytest.approx(100_000 / 17.5)
    # Only the properties state the size of a batch.
    write(tmp_path / "load.log", go({"BATCH_INSERT": 2000}, 17.5))
    inserts = row(only(tmp_path), "INSERT", "load")
    assert (only(tmp_path).status, inserts.operations, inserts.records) == ("ok", 2000, None)


@pytest.mark.parametrize("is_json", [False, True])
def test_batches_beside_their_records_are_a_second_view(is_json: bool, tmp_path: Path) -> None:
    """Covers the fork redis-performance/go-ycsb, which measures both records and batches."""

    def run(**ops: int) -> Trial:
        properties = {"batch.size": "100", "operationcount": "100000"}
        head, _, lines = go(ops, 10, **properties).partition("Run finished")
        finished, _, table = lines.partition("\n")
        if is_json:
            named = (line.split(" - ") for line in table.splitlines())
            cells = ({"Operation": name.strip(), **dict(re.findall(r"(\S+): (\w+)", rest))} for name, rest in named)
            table = f"{json.dumps(list(cells))}\n"
        write(tmp_path / "run.log", f"{head}{table}{table}Run finished{finished}\n{table}")
        return only(tmp_path)

    trial = run(BATCH_READ=1000, READ=99_950, READ_ERROR=50, TOTAL=99_950)
    assert (trial.reason, trial.status, rate(trial), row(trial, "OVERALL").errors) == (None, "ok", 9995, 50)
    assert (row(trial, "READ").operations, row(trial, "READ").records) == (99_950, 99_950)
    assert collect([tmp_path]).warnings == []
    assert run(BATCH_READ=1000, READ_ERROR=100_000).status == "failed"  # all records of all batches failed


def test_records_of_an_operation_can_be_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "run.txt", results({"SCAN": 980, "UPDATE": 19, "UPDATE-FAILED": 1}, overall=1000))
    assert row(only(tmp_path), "OVERALL").records is None
    result = CliRunner().invoke(
        cli, ["tabulate", str(tmp_path), "--records-per-operation", "100", "--format", "json"], standalone_mode=False
    )
    rows = {line["operation"]: line for line in json.loads(result.stdout)["trials"][0]["rows"]}
    assert (rows["OVERALL"]["operations"], rows["OVERALL"]["records"]) == (999, 99_900)
    assert (rows["SCAN"]["records"], rows["UPDATE"]["records"]) == (98_000, 1900)


def test_records_of_an_operation_may_differ_from_system_to_system(tmp_path: Path) -> None:
    """Covers the published check of heavyweights: an operation has 100 records in HBase, but one in Cassandra."""
    rates = {"cassandra": [31_692], "hbase": [858] * 4}
    for system, clients in rates.items():
        for number, count in enumerate(clients):
            write(tmp_path / system / f"{number}.txt", results({"INSERT": 10 * count}, 10))
    folders = [tmp_path / system for system in rates]

    def ratio(*options: str) -> float:
        per_operation = [text for option in options for text in ("--records-per-operation", option)]
        arguments = ["tabulate", *map(str, folders), *per_operation, "--format", "json"]
        result = CliRunner().invoke(cli, arguments, standalone_mode=False)
        rows = [
            {row["operation"]: row for row in trial["rows"]}["OVERALL"] for trial in json.loads(result.stdout)["trials"]
        ]
        first, second = (row["records_per_second"] for row in rows)
        return float(first / second)

    assert ratio() == pytest.approx(9.24, abs=0.01)
    assert ratio("hbase=100") == ratio("1", "hbase=100") == pytest.approx(1 / 10.83, abs=0.001)
    assert ratio("100") == pytest.approx(9.24, abs=0.01)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["hbas=100"], "unknown system 'hbas': did you mean hbase?"),
        (["hbase=0"], "--records-per-operation hbase=0: must read N or SYSTEM=N"),
        (["x"], "--records-per-operation x: must read N or SYSTEM=N"),
        (["hbase=2", "hbase=3"], "--records-per-operation hbase=3: hbase is given twice"),
    ],
)
def test_records_of_no_system_are_refused(tmp_path: Path, values: list[str], expected: str) -> None:
    write(tmp_path / "hbase/1.txt", RUN)
    options = [text for option in values for text in ("--records-per-operation", option)]
    arguments = ["tabulate", str(tmp_path / "hbase"), *options]
    with pytest.raises(BadInputError, match=re.escape(expected)):
        CliRunner().invoke(cli, arguments, standalone_mode=False, catch_exceptions=False)


# ---- several logs in one folder -------------------------------------------------------------------------------------


REPEATS = {"1.txt": 5.0, "2.txt": 4.5, "3.txt": 4.6}


def test_the_screen_says_what_was_added_and_offers_repeats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, seconds in REPEATS.items():
        write(tmp_path / name, results({"READ": 491, "UPDATE": 509}, seconds))
    write(tmp_path / "load.txt", results({"INSERT": 1000}, 6.754))
    assert tabulate([tmp_path]) == 0
    out, _ = capsys.readouterr()
    assert out.splitlines()[2] == f"{tmp_path.name} · 3 clients · 1 round"
    assert "- Logs were added up as clients of one run: 3 of " in out
    assert f"- No percentiles for {tmp_path.name}: percentiles of several clients need histogram logs" in out
    assert "use tabulate --repeats" in out
    assert tabulate([tmp_path], repeats=True) == 0
    out, _ = capsys.readouterr()
    assert out.splitlines()[2] == f"{tmp_path.name} · 1 round of 3 runs"
    assert "added up" not in out
    (trial,) = collection.collect([tmp_path], repeats=True).summary.trials
    assert rate(trial) == pytest.approx(geometric_mean(1000 / seconds for seconds in REPEATS.values()))
    assert (row(trial, "OVERALL").repeats, row(trial, "OVERALL").sampled) == (3, "runs")
    # Runs that were appended to one file also count as repeats.
    write(tmp_path / "x/all.txt", "".join(results({"READ": 1000}, seconds) for seconds in REPEATS.values()))
    (trial,) = collection.collect([tmp_path / "x"], repeats=True).summary.trials
    assert rate(trial) == pytest.approx(geometric_mean(1000 / seconds for seconds in REPEATS.values()))


def test_systems_that_did_not_measure_the_same_are_named(tmp_path: Path) -> None:
    def command(fields: int) -> str:
        return f"Command line: -db x{fields} -P x{fields}.properties -p fieldcount={fields} -t\n"

    write(tmp_path / "a/run.txt", RUN)
    write(tmp_path / "b/run.txt", results({"READ": 9500, "UPDATE": 500}))
    write(tmp_path / "c/run.txt", command(1) + RUN)
    write(tmp_path / "d/run.txt", command(10) + RUN)
    write(tmp_path / "all/run.txt", RUN + results({"READ": 10_000}))  # two runs in one file
    unlike = "not measured alike"
    mix = f"{unlike}: {{}} has {{}} READ, but {{}} has 50%: their mixes differ"
    for names, notes in {
        "ab": [mix.format("b", "95%", "a")],
        "ac": [],
        "cd": [f"{unlike}: d has fieldcount 10, c 1"],
    }.items():
        summary = collection.collect([tmp_path / name for name in names]).summary
        assert [note for note in summary.notes if note.startswith(unlike)] == notes
    summary = collection.collect([tmp_path / "all"]).summary
    assert mix.format("all #2", "100%", "all") in summary.notes


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (results({"READ": 9500, "UPDATE": 500}), "b.txt has 95% READ, but a.txt has 50%: their mixes differ"),
        (results({"READ": 5000, "SCAN": 5000}), "b.txt has 0% UPDATE, but a.txt has 50%: their mixes differ"),
        (results({"READ": 5000, "UPDATE": 5000}, 21), "b.txt ran for 21.0 s, a.txt for 10.0 s"),
    ],
)
def test_logs_that_are_not_of_one_run_are_a_reason(text: str, reason: str, tmp_path: Path) -> None:
    write(tmp_path / "a.txt", RUN)
    write(tmp_path / "b.txt", text)
    trial = only(tmp_path)
    assert (trial.status, reason in (trial.reason or "")) == ("invalid", True)


# ---- target rates ---------------------------------------------------------------------------------------------------


def test_single_runs_that_reached_their_target_are_not_said_to_have_missed_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in "ab":
        write(tmp_path / name / "run.txt", f"Command line: -t -db x -p target=1000\n{RUN}")
    assert tabulate([tmp_path]) == 0
    message = "All systems reached the target rate, and no latency has an interval: nothing is ranked"
    assert message in capsys.readouterr().out


@pytest.mark.parametrize("interval", ["intended", "both"])
def test_latencies_from_the_intended_start_are_not_compared_in_silence(interval: str, tmp_path: Path) -> None:
    command = "Command line: -t -db x -p target=1000 -p measurement.interval={}\n"
    write(tmp_path / "a/run.txt", command.format("op") + RUN)
    more = {"Intended-READ": 5021, "Intended-UPDATE": 4979} if interval == "both" else {}
    run = results({"READ": 5021, "UPDATE": 4979, **more}, overall=10_000)
    write(tmp_path / "b/run.txt", command.format(interval) + run)
    note = "not measured alike: only the latencies of b are from the intended start"
    assert note in collection.collect([tmp_path]).summary.notes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (RUN, "at its own rate"),
        (results({"READ": 10_000, "Intended-READ": 10_000}), "at its own rate"),
        (f"Command line: -t -db x -threads 2\n{RUN}", "at its own maximum rate"),
        (go({"READ": 10_000}, threadcount="2"), "at its own maximum rate"),
        (f"Command line: -t -db x -p target=1000\n{RUN}", "at equal rate 1,000 op/s"),
        (go({"READ": 10_000}, target="1000"), "at equal rate 1,000 op/s"),
    ],
)
def test_latencies_are_of_a_maximum_only_where_no_target_was_set(text: str, expected: str, tmp_path: Path) -> None:
    write(tmp_path / "x/run.txt", text)
    write(tmp_path / "y/run.txt", text)
    summary = collect([tmp_path])
    assert latencies_at(summary.trials, ["run"])[0] == expected
    assert any(note.startswith("not known whether a target rate was set: x, y") for note in summary.notes) == (
        expected == "at its own rate"
    )


# ---- pitfalls -------------------------------------------------------------------------------------------------------


def test_histogram_logs_with_tags_are_read_by_tag(tmp_path: Path) -> None:
    shutil.copy(STOCK / "hdr/result.txt", tmp_path)
    log = (STOCK / "hdr/READ.hdr").read_text(encoding="utf-8").splitlines()
    lines = [line.replace("for: READ", "for: all") for line in log if not line[0].isdigit()]
    for name in ("READ", "UPDATE"):
        log = (STOCK / f"hdr/{name}.hdr").read_text(encoding="utf-8").splitlines()
        lines += [f"Tag={name.lower()},{line}" for line in log if line[0].isdigit()]
    write(tmp_path / "all.hdr", "\n".join([*lines, ""]))
    summary = collect([tmp_path])
    assert summary.warnings == []
    plain = collect([STOCK / "hdr"]).trials[0]
    for name in ("READ", "UPDATE"):
        assert row(summary.trials[0], name) == row(plain, name)
        assert row(plain, name).latency_source == "histograms"


def test_compare_of_log_folders_names_the_command_that_takes_them(tmp_path: Path) -> None:
    for name in ("a", "b c"):
        write(tmp_path / f"{name}/run.txt", RUN)
    folders = [str(tmp_path / "a"), str(tmp_path / "b c")]
    with pytest.raises(BadInputError) as error:
        CliRunner().invoke(cli, ["compare", *folders], standalone_mode=False, catch_exceptions=False)
    assert f"/dohyo tabulate {tmp_path}/a '{tmp_path}/b c'" in str(error.value)


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "=a,b"])
def test_a_name_is_no_formula_in_a_cell(name: str, tmp_path: Path) -> None:
    write(tmp_path / name / "run.txt", RUN)
    lines = list(csv.DictReader(io.StringIO(collect([tmp_path / name]).csv())))
    assert {line["system"] for line in lines} == {f"'{name}"}


# ---- the clients' own output ----------------------------------------------------------------------------------------


def test_latencies_per_record_of_scans_are_no_more_operations(tmp_path: Path) -> None:
    ops = {"SCAN": 9500, "INSERT": 500, "SCAN-LATENCY-PER-RECORD": 9500}  # types in the newest source of stock YCSB
    write(tmp_path / "a/run.txt", results(ops))
    counts = "".join(f"[{name}: Count={count}, Max=9, Min=1, Avg=5.5, 90=7] " for name, count in ops.items())
    write(tmp_path / "b/err.txt", f"2026-11-21 05:10:50:000 10 sec: 10000 operations; {counts}\n")
    summary = collect([tmp_path])
    a, b = summary.trials
    assert (a.status, rate(a), [line.operation for line in a.rows]) == ("ok", 1000, ["OVERALL", "INSERT", "SCAN"])
    assert [line.operation for line in b.rows] == ["OVERALL", "INSERT", "SCAN"]
    assert summary.warnings == []


@pytest.mark.parametrize("label", ["A", "A:", "run A", "a.b (1)"])
@pytest.mark.parametrize("option", ["-l {} -threads 2", "-threads 2 -p label={}"])
def test_a_label_before_status_lines_is_no_client(label: str, option: str, tmp_path: Path) -> None:
    status = STATUS.splitlines(keepends=True)[1]
    times = (status.replace("05:10:50:000 10 sec: 10000", "23:59:58:000 5 sec: 4000"),
             status.replace("21 05:10:50", "22 00:00:03"))  # fmt: skip
    text = f"Command line: -db basic {option.format(label)} -t\n" + "".join(f"{label}{line}" for line in times) + RUN
    write(tmp_path / "run.txt", text)
    trial = only(tmp_path)
    assert (trial.reason, trial.status, rate(trial), trial.conditions.clients) == (None, "ok", 1000, 1)
    if label.isalnum():  # the file of -P may also set the label
        write(tmp_path / "run.txt", STATUS.splitlines(keepends=True)[0] + text.partition("\n")[2])
        assert (only(tmp_path).status, rate(only(tmp_path))) == ("ok", 1000)


def test_the_heads_of_a_table_of_go_ycsb_move_with_its_longest_name(tmp_path: Path) -> None:
    # go-ycsb prints such tables during a run, before the final one.
    tables = (go_table({"READ": 5000}), go_table({"READ": 7000, "UPDATE": 9}))
    counts = {"READ": 10_000, "READ_ERROR": 1, "READ_MODIFY_WRITE": 5000, "TOTAL": 20_000, "UPDATE": 5000}
    whole = go_table(counts)
    write(tmp_path / "go.log", "".join(table.partition("\n")[2] for table in tables) + whole)
    trial = only(tmp_path)
    assert collect([tmp_path]).warnings == []
    assert (trial.status, rate(trial), row(trial, "READ").p99_ms) == ("ok", 1000, 0.099)
    assert row(trial, "OVERALL").errors == 1


def test_folders_and_files_of_one_name_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for system, seconds in (("cassandra", 10), ("scylla", 5)):
        write(tmp_path / system / "results/run.txt", results({"READ": 10_000}, seconds))
    for name in ("results", "results/run.txt"):
        paths = [tmp_path / system / name for system in ("cassandra", "scylla")]
        assert [(trial.name, trial.system) for trial in collect([*paths, paths[0]]).trials] == [
            (f"{system}/{name}",) * 2 for system in ("cassandra", "scylla")
        ]
        assert tabulate(paths) == 0
        assert f"scylla/{name} was 2.00× as fast as cassandra/{name}" in capsys.readouterr().out
    files = [str(path / "run.txt") for path in tmp_path.glob("*/results")]
    with pytest.raises(BadInputError, match="tabulate"):
        CliRunner().invoke(cli, ["compare", *files], standalone_mode=False, catch_exceptions=False)


@pytest.mark.slow
def test_a_line_of_many_megabytes_is_read(tmp_path: Path) -> None:
    status = STATUS + f"{'other ' * 1000}\n" * 1000
    write(tmp_path / "log.json", json.dumps(registered(RUN, stderr=status)))
    assert (only(tmp_path).status, rate(only(tmp_path))) == ("ok", 1000)


def test_a_log_that_is_cut_off_does_not_change_the_unit_of_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, seconds in (("a", 10), ("b", 5)):
        write(tmp_path / name / "run.txt", results({"READ": 10_000}, seconds))
    write(tmp_path / "c/run.txt", STATUS)
    assert tabulate([tmp_path]) == 1
    assert "b was 2.00× as fast as a" in capsys.readouterr().out


PLANNED = {"operationcount": "20000", "threadcount": "2"}
DIED = {
    "java.lang.ArithmeticException: / by zero": "java.lang.ArithmeticException: / by zero",
    "Unknown DB site.ycsb.db.Nothing": "Unknown DB site.ycsb.db.Nothing",
    "ERROR: Aborting the test. No operations completed for 24 consecutive intervals (240 seconds).":
        "No operations completed for 24 consecutive intervals (240 seconds).",
}  # fmt: skip


@pytest.mark.parametrize(
    ("file", "text", "status", "reason"),
    [
        # Types that add up to more than all operations, or to less: what Java prints is exact.
        *(("run.txt", RUN + "".join(results({name: count}).splitlines(keepends=True)[2:]), "invalid",
           f"run.txt:1: types state {10_000 + count:,} operations, but OVERALL 10,000: two runs are mixed")
          for name, count in (("INSERT", 50), ("SCAN", 1))),
        ("run.txt", results({"READ": 599_995}, seconds=600, overall=600_000), "incomplete",
         "run.txt: result lines for 599,995 of 600,000 operations"),
        # A run with all of its operations may have too many errors.
        *((file, text, "invalid", "failed: READ 100 of 10,000; maxerrorrate 0.1%") for file, text in (
            ("run.txt", "Command line: -db x -P workloads/workloadc -p operationcount=10000 -t\n"
             + results({"READ": 9900, "READ-FAILED": 100}, ERROR=100, overall=10_000)),
            ("go.log", go({"READ": 9900, "READ_ERROR": 100}, operationcount="10000")),
        )),
        # A run whose threads died is not whole, unless time ended it.
        ("run.txt", f"Command line: -t -db x -p operationcount=20000\n{RUN}", "invalid",
         "run.txt: 10,000 of 20,000 operations are missing: threads gave up"),
        ("run.txt", f"Command line: -t -db x -p operationcount=20000 -p maxexecutiontime=10\n{RUN}", "ok", None),
        # go-ycsb ignores maxexecutiontime, which a property file may contain.
        ("go.log", go({"READ": 10_000, "READ_ERROR": 2}, 10, maxexecutiontime="60", **PLANNED).replace(
            "*\nRun", "*\nGot signal [interrupt] to exit.\nRun"), "invalid",
         "go.log: 9,998 of 20,000 operations are missing; go.log: ended by a signal: interrupt"),
        ("go.log", go({}, 10, measurementtype="raw", **PLANNED)
         + "operation,timestamp_us,latency_us\nREAD,17000000000000,700\n", "incomplete",
         "go.log: lists of single operations are not supported; use measurementtype=histogram"),
        ("go.log", go({}, 10, **{"measurement.output_file": "x.txt", **PLANNED}), "incomplete",
         "go.log: its results are in x.txt (measurement.output_file): append that file to this one"),
        ("load.txt", "Command line: -load -db x -p recordcount=10000 -p core_workload_insertion_keep_going_on_error="
         "true\n" + results({"INSERT": 9900, "INSERT-FAILED": 100}, overall=10_000, ERROR=100), "invalid",
         "load.txt: 100 of 10,000 records are missing; failed: INSERT 100 of 10,000; maxerrorrate 0.0%"),
        # Operations whose number is not known are not missing.
        ("run.txt", f"Command line: -db x -t -p operationcount=3000000000\n{results({'READ': 3_000_000_000}, 3000)}"
         .replace("(ops/sec), 1000000.0", "(ops/sec), -431655.7653333333"), "invalid",
         "run.txt:3: [OVERALL], Throughput(ops/sec) is -431655.7653333333: a 32-bit counter has overflowed;"
         " run.txt: no [OVERALL] run time or throughput"),
        # The throughput wrapped around to a positive number.
        ("run.txt", results({"READ": 5_000_000_000}, seconds=1, overall=5_000_000_000 - 2**32), "invalid",
         "run.txt:1: [OVERALL] states 705,032,704 operations, but its types add up to 5,000,000,000:"
         " a 32-bit counter has overflowed"),
        ("all.txt", numbered("host1 | ", STATUS + RUN) + numbered("host2 | ", STATUS), "incomplete",
         "all.txt (host2) has no results (10,000 operations)"),
        *(("run.txt", f"{STATUS}{line}\n", "incomplete",
           f"run.txt: no results, 10,000 operations after 10 s; first error: {why}") for line, why in DIED.items()),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_log_is_the_reason(
    file: str, text: str, status: str, reason: str | None, tmp_path: Path
) -> None:
    write(tmp_path / file, text)
    assert (only(tmp_path).status, only(tmp_path).reason) == (status, reason)


def test_results_of_ycsb_cpp_are_named_as_what_is_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = "".join(f"{phase} throughput(ops/sec): 9997.9\n" for phase in ("Load", "Run"))
    write(tmp_path / "run.txt", f"Load runtime(sec): 10.0021\nLoad operations(ops): 100000\n{done}")
    assert tabulate([tmp_path]) == 1
    assert f"{tmp_path}/run.txt:3: results of YCSB-cpp or YCSB-C are not supported" in capsys.readouterr().err
