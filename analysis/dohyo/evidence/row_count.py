"""Checks that at the end of a trial the tables have the rows of its load and of its runs' inserts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dohyo.evidence.records import ClientReport


def problem(loaded: int, rows: Mapping[str, int | None], reports: Iterable[tuple[str, ClientReport]]) -> str | None:
    """Compares the rows that the servers counted with the acknowledged inserts; returns the difference as a sentence,
    None if there is no difference or the rows were not counted.

    Every acknowledged insert must exist. A failed or timed-out insert may exist, so the expected rows are a range.

    :param loaded: records of the load
    :param rows: rows by table, counted by the servers (`counted.json`)
    :param reports: host and `client.json` of each client in each run and probe
    """
    known = [count for count in rows.values() if count is not None]
    if not known or len(known) < len(rows):
        return None
    used: dict[str, int] = {}
    uncertain = passed = 0
    silent = False
    for host, report in reports:
        # A client that died has not reported its inserts: then there is no upper bound.
        silent |= report.inserted is None
        used[host] = max(used.get(host, 0), report.inserted or 0)
        uncertain += report.unacknowledged_inserts or 0
        passed += report.passed_over or 0
    inserted = sum(used.values()) - passed
    found, most = sum(known), loaded + inserted
    least = most - uncertain
    if least <= found and (found <= most or silent):
        return None
    tables = ", ".join(f"{table} has {count:,} rows" for table, count in rows.items())
    expected = f"{least:,} to {most:,}" if uncertain else f"{most:,}"
    inserts = f"{loaded:,} loaded, {inserted:,} inserted by the runs"
    unsure = f", {uncertain:,} of these not acknowledged" if uncertain else ""
    what = f"{least - found:,} rows are missing" if found < least else f"there are {found - most:,} rows too many"
    return f"{what} after the runs: {tables}, expected are {expected} ({inserts}{unsure})"
