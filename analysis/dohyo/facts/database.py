"""Writes a database of facts atomically, and opens it with SQL functions for the histograms in it."""

from __future__ import annotations

import errno
import re
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from dohyo import folders
from dohyo.bad_input import BadInputError
from dohyo.evidence.hdr_log import Latencies, is_known
from dohyo.evidence.records import ExperimentFacts
from dohyo.facts import schema
from dohyo.facts.loader import Loader
from dohyo.summary.results import Summary

FILE = "facts.db"
# SQLite's application ID in the file's header, which marks the file as Dohyo's, and the version of the tables.
_APPLICATION = int.from_bytes(b"dohy", "big")
_VERSION = 1
# First bytes of a SQLite file, and the offset of the application ID in bytes.
_MAGIC, _APPLICATION_AT = b"SQLite format 3\0", 68


def write(experiments: Sequence[Path], path: Path) -> list[tuple[ExperimentFacts, Summary]]:
    """Writes the facts of experiments to a new file, which then replaces the file at `path`.

    :param experiments: folders that contain `raw`
    :returns: content of experiment.json and summary of each experiment
    :raises OSError: if the file cannot be written; an earlier file at `path` is then unchanged
    :raises BadInputError: if Dohyo refuses to read an experiment
    """
    try:
        with folders.replacing(path) as new, closing(sqlite3.connect(new, isolation_level=None)) as connection:
            # The file replaces another one only when it is complete, so it needs no journal.
            connection.executescript(
                f"pragma journal_mode = off; pragma synchronous = off; pragma application_id = {_APPLICATION};"
                f"pragma user_version = {_VERSION}; {schema.statements()} begin;"
            )
            loader = Loader(connection)
            results = [loader.add(experiment) for experiment in experiments]
            connection.execute("commit")
    except sqlite3.Error as error:  # such as a full disk
        raise OSError(errno.EIO, str(error), str(path)) from error
    return results


def check(path: Path) -> None:
    """Checks that a database of facts may be written to `path`, which may contain an earlier database.

    :raises BadInputError: if another program uses the earlier database or did not close it, or if it has other tables
    """
    for beside in (path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-journal")):
        # SQLite would apply the earlier database's log to the new one.
        if beside.exists() and beside.stat().st_size:
            problem = f"{path} is open in another program, or was not closed properly"
            raise BadInputError(f"{problem}; close that program, or remove {beside}")
    if path.is_file() and not path.is_symlink() and (names := _others(path)):
        problem = f"{path} has tables or views that dohyo did not write: {', '.join(names)}"
        raise BadInputError(f"{problem}; name another file with --out FILE")


def _others(path: Path) -> list[str]:
    """Returns the tables and views that the schema does not define, or [] if the file cannot be read."""
    defined = re.findall(r"^create (?:table|view) (\w+)", schema.statements(), re.MULTILINE)
    # With immutable=1 SQLite creates no files beside the database. It is safe, because no program has the file open.
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)) as before:
        try:
            rows = before.execute("select name from sqlite_schema where type in ('table', 'view') order by name")
            return [name for (name,) in rows if name not in defined and not name.startswith("sqlite_")]
        except sqlite3.DatabaseError:
            return []


def is_ours(path: Path) -> bool:
    """Returns whether the header of a file marks it as a database of facts."""
    with path.open("rb") as file:
        header = file.read(_APPLICATION_AT + 4)
    return header.startswith(_MAGIC) and header[_APPLICATION_AT:] == _APPLICATION.to_bytes(4, "big")


def connect(path: Path) -> sqlite3.Connection:
    """Opens a database for reading. The aggregate functions `operations(histogram)`, `mean_ms(histogram)` and
    `percentile_ms(histogram, percentile)` add the histograms of rows and return a figure of the total.

    :raises sqlite3.OperationalError: if the file does not exist
    """
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    connection.create_aggregate("operations", 1, _aggregate(lambda latencies, _: latencies.count))
    connection.create_aggregate("mean_ms", 1, _aggregate(lambda latencies, _: latencies.mean_ms))
    connection.create_aggregate("percentile_ms", 2, _aggregate(_percentile_ms))
    return connection


def _percentile_ms(latencies: Latencies, percentile: float) -> float | None:
    """Returns the percentile in ms, or None if fewer than 10 operations exceed it (unless it is the maximum)."""
    has_value = percentile == 100 or is_known(percentile, latencies.count)
    return latencies.percentiles_ms([percentile]).get(percentile) if has_value else None


def _aggregate(figure: Callable[[Latencies, float], float | None]) -> Any:
    """Returns the class of an SQLite aggregate function, which adds histograms and computes a figure of their sum."""

    class Aggregate:
        def __init__(self) -> None:
            self.latencies, self.percentile = Latencies(), 100.0

        def step(self, histogram: bytes | None, percentile: float = 100.0) -> None:
            self.percentile = percentile
            if histogram is not None:
                self.latencies.add_encoded(histogram)

        def finalize(self) -> float | None:
            return figure(self.latencies, self.percentile)

    return Aggregate
