"""Writes the files of a summary into the experiment's folder."""

from __future__ import annotations

from pathlib import Path

from dohyo import folders
from dohyo.summary.results import Summary
from dohyo.tables import table


def write(summary: Summary, experiment: Path) -> None:
    """Writes summary.json, .csv and .md, load.csv, servers.csv and hosts.csv into the experiment's folder.

    :raises OSError: if a file cannot be written; the error names the file
    """
    folders.write(experiment / "summary.json", summary.json())
    folders.write(experiment / "summary.csv", summary.csv())
    folders.write(experiment / "load.csv", summary.load_csv())
    folders.write(experiment / "servers.csv", summary.servers_csv())
    folders.write(experiment / "hosts.csv", summary.hosts_csv())
    folders.write(experiment / "summary.md", table.markdown(summary))
