"""The files of a summary, which stand beside the evidence in the experiment's folder."""

from __future__ import annotations

from pathlib import Path

from dohyo.summary.results import Summary
from dohyo.tables import table
from dohyo.whole_file import whole


def write(summary: Summary, experiment: Path) -> None:
    """Writes summary.json, .csv and .md, load.csv, servers.csv and hosts.csv into the experiment's folder.

    :raises OSError: with the name of the file that could not be written
    """
    for name, lines in {
        "summary.json": [summary.json()],
        "summary.csv": [summary.csv()],
        "load.csv": [summary.load_csv()],
        "servers.csv": [summary.servers_csv()],
        "hosts.csv": summary.hosts_csv(),
        "summary.md": [table.markdown(summary)],
    }.items():
        with whole(experiment / name) as file:
            file.writelines(lines)
