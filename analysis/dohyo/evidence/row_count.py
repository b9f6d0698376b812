"""Checks that, at the end of a trial, the tables contain all rows that the load and the runs inserted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dohyo.evidence.records import ClientReport


def problem(loaded: int, rows: Mapping[str, int | None], reports: Iterable[tuple[str, ClientReport]]) -> str | None:
    """Compares the rows that the servers counted with the acknowledged inserts.

    Each acknowledged row must exist, but rows of failed inserts may also exist. The expected number is thus a range.

    :param loaded: number of records that the load inserted
    :param rows: number of rows in each table, as the servers counted them (`counted.json`)
    :param reports: host and `client.json` of each client in each run and probe
    :returns: the difference as a sentence; None if there is none, or if the rows were not counted
    """
    counts = [count for count in rows.values() if count is not None]
    if not counts or len(counts) < len(rows):
        return None
    used: dict[str, int] = {}
    uncertain = passed = 0
    silent = False
    for host, report in reports:
        # A client that failed has not reported its inserts, so there is no upper bound.
        silent |= report.inserted is None
        used[host] = max(used.get(host, 0), report.inserted or 0)
        uncertain += report.unacknowledged_inserts or 0
        passed += report.passed_over or 0
    inserted = sum(used.values()) - passed
    total, most = sum(counts), loaded + inserted
    least = most - uncertain
    if least <= total and (total <= most or silent):
        return None
    tables = ", ".join(f"{table} has {count:,}" for table, count in rows.items())
    expected = f"{least:,} to {most:,}" if uncertain else f"{most:,}"
    inserts = f"{loaded:,} loaded, {inserted:,} inserted"
    unsure = f", {uncertain:,} unacknowledged" if uncertain else ""
    kind, number = ("missing", least - total) if total < least else ("surplus", total - most)
    return f"{kind} rows after the runs: {number:,}; {tables}, expected {expected} ({inserts}{unsure})"
