"""Loads Vega, which draws all charts: a script for charts on the page, and the module vl-convert for charts in files.

setup.sh fetches each of them on demand. vl-convert, which needs 84 MB of disk space, also contains the script.
"""

from __future__ import annotations

import importlib
import subprocess
from functools import cache
from pathlib import Path
from types import ModuleType

from dohyo.bad_input import BadInputError
from dohyo.places import SETUP, VEGA, command

# Copyright and licence notice, which every copy must contain. Minification removed it from the script.
_NOTICE = Path(__file__).parent / "templates" / "vega-licences.txt"


@cache
def script() -> str:
    """Returns a single script with Vega, Vega-Lite and vega-embed, which begins with their licences.

    :raises BadInputError: if the script is missing and cannot be fetched
    """
    if not VEGA.is_file():
        _set_up("page")
    return f"/*!\n{_NOTICE.read_text('utf-8').strip()}\n*/\n{VEGA.read_text('utf-8').strip()}"


def converter() -> ModuleType:
    """Returns the module vl-convert.

    :raises BadInputError: if the module is missing and cannot be fetched
    """
    try:
        return importlib.import_module("vl_convert")
    except ModuleNotFoundError:
        _set_up("figures")
        importlib.invalidate_caches()
        return importlib.import_module("vl_convert")


def _set_up(step: str) -> None:
    if subprocess.run([SETUP, step], stdin=subprocess.DEVNULL, check=False).returncode != 0:
        raise BadInputError(
            f"fetching the chart library failed, see above; nothing was written. To try again: {command(SETUP, step)}"
        )
