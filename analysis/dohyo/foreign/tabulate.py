"""Implements `dohyo tabulate FOLDER…`: the table of an experiment, or of logs of any YCSB client."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

from dohyo.bad_input import BadInputError
from dohyo.console import Console
from dohyo.evidence import experiment_folder
from dohyo.evidence.text_file import is_binary
from dohyo.foreign.collection import collect
from dohyo.places import DOHYO, command
from dohyo.summary.summary import is_experiment, summarise
from dohyo.tables import screen, table
from dohyo.terminal import printable, say, warn

Format = Literal["table", "md", "csv", "json"]
_MOST_NAMED = 8


def tabulate(
    folders: Sequence[Path],
    fmt: Format = "table",
    *,
    details: bool = False,
    records_each: Mapping[str, int] | None = None,
    repeats: bool = False,
) -> int:
    """Prints the results in the folders' logs to standard output, and warnings about malformed logs to standard error.

    The folder of an experiment is shown as an experiment only if it is the only folder.

    :param details: whether to print all rows and figures before the table
    :param records_each: number of records per operation for each system whose logs do not state it; "" for all others
    :param repeats: whether other clients' logs in one folder are repeats instead of clients of one run
    :returns: the exit code: 1 if no folder contains YCSB logs, or if a log is incomplete, broken or contradictory (the
        other logs are shown nevertheless); otherwise 0
    :raises BadInputError: if a folder does not exist or cannot be read
    """
    if len(folders) == 1 and _is_experiment(folders[0]):
        if records_each or repeats:
            options = "--records-per-operation and --repeats"
            raise BadInputError(f"{options} are for logs of other clients; an experiment contains both")
        named = experiment_folder.read(folders[0]).named
        summary = summarise(folders[0])
    else:
        collected = collect(folders, records_each, repeats=repeats)
        named, summary = True, collected.summary
        name_passed_over(collected.passed_over)
    for warning in summary.warnings:
        warn(warning)
    if not summary.trials:
        say(f"no YCSB logs in {', '.join(map(str, folders))}", err=True)
        return 1
    if fmt == "table":
        console = Console()
        if details:
            table.render(summary, console)
        screen.render(summary, console)
    else:
        write = {"md": lambda: table.markdown(summary), "csv": summary.csv, "json": summary.json}[fmt]
        sys.stdout.write(printable(write()))
    return 0 if summary.is_sound(skipped=not named) else 1


def name_passed_over(paths: Sequence[Path]) -> None:
    """Prints to standard error the names of the files that were not read."""
    binary = [path for path in paths if is_binary(path)]
    text = [path for path in paths if path not in binary]
    for why, files in (("no output of YCSB", text), ("not text; unpack archives with logs", binary)):
        if files:
            more = f" and {len(files) - _MOST_NAMED} more" if len(files) > _MOST_NAMED else ""
            say(f"not read ({why}): {', '.join(map(str, files[:_MOST_NAMED]))}{more}", err=True)


def refuse_logs(names: Sequence[str]) -> None:
    """Checks that no folder contains other clients' logs instead of an experiment of Dohyo.

    :raises BadInputError: with the name of such a folder, and the command that reads it
    """
    for name in names:
        if Path(name).exists() and not _is_experiment(Path(name)) and collect([Path(name)]).summary.trials:
            takes = command(DOHYO, "tabulate", *names)
            raise BadInputError(f"{name} contains logs of other clients, not an experiment of Dohyo; use {takes}")


def _is_experiment(folder: Path) -> bool:
    with suppress(OSError):  # the code that reads the logs reports the reason
        return is_experiment(folder)
    return False
