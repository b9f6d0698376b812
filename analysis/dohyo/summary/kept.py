"""Reading summary.json back: all that is left of an experiment whose evidence is somewhere else."""

from __future__ import annotations

from pathlib import Path

import msgspec

from dohyo.bad_input import BadInputError
from dohyo.evidence import json_values
from dohyo.summary.results import Summary

FILE = "summary.json"


def read(folder: Path) -> Summary:
    """The summary that an experiment's folder holds, without what summary.json leaves out.

    :raises BadInputError: if there is none, or it is not as `Summary.json` wrote it
    """
    file = folder / FILE
    try:
        return msgspec.convert(json_values.load(file), Summary)
    except FileNotFoundError as error:
        raise BadInputError(
            f"{folder} has neither evidence (raw) nor a {FILE}: name an experiment that was measured"
        ) from error
    except (msgspec.ValidationError, ValueError) as error:
        raise BadInputError(f"{file}: not as dohyo wrote it: {error}") from error
