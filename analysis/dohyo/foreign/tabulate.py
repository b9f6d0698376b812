"""`dohyo tabulate FOLDER…`: the table of an experiment, or for logs of any YCSB client, measured elsewhere."""

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
from dohyo.foreign.collecting import collect
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
    """Prints the contents of the folders' logs to stdout, and a warning per malformed line or file to stderr.

    A single folder of an experiment has its own table; among others it is one with logs.

    :param details: of the table: all rows and figures before the screen
    :param records_each: records of an operation by system, where logs of others do not say it; "" is any other one
    :param repeats: logs of others in one folder are repeats, not clients of one run

    Returns the exit code: 0, or 1 when there is no YCSB logs in any folder, or anything of it is missing, broken or
    cannot be true. What is whole is shown all the same.
    Raises BadInputError for a folder that does not exist, or cannot be looked at.
    """
    if len(folders) == 1 and _is_experiment(folders[0]):
        if records_each or repeats:
            raise BadInputError("--records-per-operation and --repeats are for logs of others: an experiment says both")
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
    """Names the files that were not read, on stderr."""
    binary = [path for path in paths if is_binary(path)]
    text = [path for path in paths if path not in binary]
    for why, of in (("nothing of YCSB in", text), ("no text (unpack what has logs in it)", binary)):
        if of:
            more = f" and {len(of) - _MOST_NAMED} more" if len(of) > _MOST_NAMED else ""
            say(f"passed over, {why}: {', '.join(map(str, of[:_MOST_NAMED]))}{more}", err=True)


def refuse_logs(names: Sequence[str]) -> None:
    """Refuses folders with logs of others where experiments of Dohyo are needed.

    :raises BadInputError: if one of them is such a folder; it names the command that takes them
    """
    for name in names:
        if Path(name).exists() and not _is_experiment(Path(name)) and collect([Path(name)]).summary.trials:
            takes = command(DOHYO, "tabulate", *names)
            raise BadInputError(f"{name} is not an experiment of Dohyo but has logs of other clients: {takes}")


def _is_experiment(folder: Path) -> bool:
    with suppress(OSError):  # reading its logs says why it cannot be read
        return is_experiment(folder)
    return False
