"""The files of a summary, which stand beside the evidence in the experiment's folder."""

from __future__ import annotations

from pathlib import Path

from dohyo.summary.results import Summary
from dohyo.tables import table


def write(summary: Summary, experiment: Path) -> None:
    """Writes summary.json, .csv and .md, load.csv, servers.csv and hosts.csv into the experiment's folder."""
    (experiment / "summary.json").write_text(summary.json(), encoding="utf-8")
    (experiment / "summary.csv").write_text(summary.csv(), encoding="utf-8")
    (experiment / "load.csv").write_text(summary.load_csv(), encoding="utf-8")
    (experiment / "servers.csv").write_text(summary.servers_csv(), encoding="utf-8")
    with (experiment / "hosts.csv").open("w", encoding="utf-8") as hosts:
        hosts.writelines(summary.hosts_csv())
    (experiment / "summary.md").write_text(table.markdown(summary), encoding="utf-8")
