"""Whether the tables have, at the end of a trial, the rows of its load and of the inserts of its runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dohyo.evidence.records import ClientReport


def problem(loaded: int, rows: Mapping[str, int | None], reports: Iterable[tuple[str, ClientReport]]) -> str | None:
    """What is wrong with the rows that the servers counted; None if nothing is, or if they were not counted.

    Every acknowledged insert must be there. One that failed or timed out may exist or not, so the rows lie between two
    bounds.

    :param loaded: records of the load
    :param rows: rows by table, as the servers say (`counted.json`)
    :param reports: what each client said of each run and probe (its host, and `client.json`)
    """
    known = [count for count in rows.values() if count is not None]
    if not known or len(known) < len(rows):
        return None
    used: dict[str, int] = {}
    uncertain = passed = 0
    silent = False
    for host, report in reports:
        # A client that died has not reported how far it got: then there is no upper bound.
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
