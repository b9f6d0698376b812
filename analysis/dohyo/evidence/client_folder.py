"""One client's part of a phase, from its folder: `load/<host>` or `<phase>-<n>/<host>`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dohyo.evidence.hdr_log import Interval, Latencies, merge_log
from dohyo.evidence.json_values import mapping, number, read_object, whole
from dohyo.evidence.rows import Run
from dohyo.evidence.text_file import Warn, lines
from dohyo.evidence.ycsb_log import Operation, read_log


@dataclass
class ClientFolder:
    """What the client did, and why that must not be shown, if so."""

    host: str
    report: dict[str, Any]  # client.json
    run: Run = field(default_factory=Run)
    problems: list[str] = field(default_factory=list)


def read(
    folder: Path, latencies: dict[str, Latencies], seen: Callable[[str, Interval], None], warn: Warn
) -> ClientFolder:
    """Reads the folder; its histograms are added to `latencies`, and `seen` gets each interval with its operation type.

    The client may have died, and its host with it: then there is no more than a part of the histogram logs.
    """
    report = read_object(folder / "client.json", warn)
    client = ClientFolder(folder.name, report)
    client.run.operations = whole(report.get("operations"))
    client.run.records = whole(report.get("records"))
    client.run.seconds = number(report.get("measured_seconds"))
    counted: dict[str, int] = {}
    for path in sorted(folder.glob("*.hdr")):
        operation, added = merge_log(path, latencies, warn, seen)
        counted[operation] = counted.get(operation, 0) + added
    if (failure := _failure(folder, report)) is not None:
        client.problems.append(failure)
        return client
    logs = [log for log in read_log(folder / "result.txt", warn) if log.has_results]
    log = logs[-1] if logs else None
    if log is None or log.cut:
        client.problems.append(log.cut if log and log.cut else "no result lines in result.txt")
        return client
    if client.run.seconds is None and log.runtime_ms is not None:
        client.run.seconds = log.runtime_ms / 1000
    client.run.by_operation = _agreed(log.operations, report, client.problems.append)
    for name, stated in client.run.by_operation.items():
        if name in counted and counted[name] != stated.operations:
            client.problems.append(f"{name}.hdr holds {counted[name]} operations, the result lines {stated.operations}")
    return client


def _failure(folder: Path, report: Mapping[str, Any]) -> str | None:
    """Why the client's run is not valid; None when it is."""
    try:
        code = (folder / "exit").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        code = ""
    if report.get("valid") is False:
        return str(report.get("reason") or "the client calls its run invalid")
    if code not in ("", "0"):
        errors = [line for _, line in lines(folder / "status.txt", lambda _: None) if line.startswith("ERROR: ")]
        said = f": {errors[-1].removeprefix('ERROR: ').strip()}" if errors else ""
        return f"the client ended with exit code {code}{said}"
    if not report:
        return "the client has left no client.json"
    return None


def _agreed(logged: Mapping[str, Operation], report: Mapping[str, Any], problem: Warn) -> dict[str, Operation]:
    """Result lines of a client, completed from and checked against its client.json."""
    result = {name: replace(operation) for name, operation in logged.items()}
    for name, content in mapping(report.get("operations_by_type")).items():
        facts = mapping(content)
        operation = result.get(name)
        if operation is None:
            problem(f"client.json counts {name}, the result lines do not")
            continue
        for key, value in (("operations", operation.operations), ("recordcount", operation.records)):
            if value is not None and facts.get(key) is not None and facts[key] != value:
                problem(f"client.json counts {facts[key]} {key} of {name}, the result lines {value}")
        if operation.records is None:
            operation.records = whole(facts.get("records"))
        statuses = {str(status): count for status, count in mapping(facts.get("statuses")).items() if count}
        if statuses and operation.returns and statuses != {k: v for k, v in operation.returns.items() if v}:
            problem(f"client.json and the result lines differ in the statuses of {name}")
    return result
