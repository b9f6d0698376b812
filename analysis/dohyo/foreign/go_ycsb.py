"""Parses the output of go-ycsb: a line per operation type about the run so far, every ten seconds and at the end.

Its package `measurement` writes plain lines (`READ   - Takes(s): 10.0, Count: 95, …, 99.99th(us): 20`), JSON
(`outputstyle=json`) or a table (`outputstyle=table`). The version determines which percentiles are printed. Versions
before 2022 use buckets of 1 ms up to 1.024 s; a percentile is a bucket's upper end, or 0 beyond the last bucket.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dohyo.evidence.json_values import loads
from dohyo.operations import FAILED, READ_MODIFY_WRITE

_RESULT = re.compile(r"(?:^|[\s|])([A-Za-z]\w*) +- (Takes\(s\): [^\n]*?)\s*$")
_FINISHED = re.compile(r"(?:^|[\s|])Run finished, takes (\S+)\s*$")
# Lines that begin a run, state one of its properties, and name the signal that ended it.
HEADER = re.compile(r"\*+ properties \*+\s*$")
PROPERTY = re.compile(r'"([\w.-]{1,100})"="([^"]*)"\s*$')
SIGNAL = re.compile(r"Got signal \[(.+)\] to exit\.")
_DURATION = re.compile(r"(?:(\d{1,9})h)?(?:(\d{1,9})m(?!s))?(?:(\d{1,18}(?:\.\d*)?)(s|ms|µs|μs|us|ns))?")
_UNIT_MS = {"s": 1000.0, "ms": 1.0, "µs": 0.001, "μs": 0.001, "us": 0.001, "ns": 0.000001}
_FAILED = "_ERROR"
BATCH = "BATCH_"


def finished_ms(line: str) -> int | None:
    """Parses the run's duration, such as `1m24.17s`, from the line that ends the run. Returns None for other lines."""
    match = _FINISHED.search(line)
    parts = _DURATION.fullmatch(match[1]) if match else None
    if parts is None or not any(parts.groups()):
        return None
    whole = int(parts[1] or 0) * 3_600_000 + int(parts[2] or 0) * 60_000
    return round(whole + (float(parts[3]) * _UNIT_MS[parts[4]] if parts[3] else 0))


def why_no_results(properties: Mapping[str, str]) -> str:
    """Explains why a run that has finished has no result lines."""
    if properties.get("measurementtype") in ("raw", "csv"):
        return "lists of single operations are not supported; use measurementtype=histogram"
    if file := properties.get("measurement.output_file"):
        return f"its results are in {file} (measurement.output_file): append that file to this one"
    return "no result lines after 'Run finished'"


def columns(line: str) -> list[str] | None:
    """Parses the heads of a table's columns. Returns None for other lines."""
    heads = _cells(line) if line.startswith("|") else [""]
    return [head.capitalize() for head in heads] if heads[0] == "OPERATION" else None


def results(line: str, heads: Sequence[str] = ()) -> list[tuple[str, dict[str, str]]]:
    """Parses a line of results. Returns the values by name for each operation type.

    :param heads: heads of the current table
    :raises ValueError: if the line is cut off
    """
    if line.startswith("|"):
        return [(name, dict(zip(heads[1:], cells, strict=True))) for name, *cells in [_cells(line)]]
    if line.startswith("[{") and '"Takes(s)"' in line:
        rows = msgspec.convert(loads(line), list[dict[str, Any]])
        return [(str(row.pop("Operation", "")), {str(k): str(v) for k, v in row.items()}) for row in rows]
    if not (match := _RESULT.search(line)):
        return []
    pairs = [pair.partition(": ") for pair in match[2].split(", ")]
    if not all(value for _, _, value in pairs):
        raise ValueError("incomplete result line")
    return [(match[1], {name: value for name, _, value in pairs})]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def operation_type(name: str) -> str | None:
    """Returns YCSB's name of an operation type, or None for the sum of all types."""
    if name == "TOTAL":
        return None
    plain = name.removesuffix(_FAILED).removeprefix(BATCH)
    plain = READ_MODIFY_WRITE if plain == "READ_MODIFY_WRITE" else plain
    return plain + FAILED if name.endswith(_FAILED) else plain
