"""Reads summary.json of an experiment whose evidence is not in its folder."""

from __future__ import annotations

from pathlib import Path

import msgspec

from dohyo.bad_input import BadInputError
from dohyo.evidence import json_values
from dohyo.summary.results import Summary

FILE = "summary.json"


def read(folder: Path) -> Summary:
    """Returns the summary in an experiment's folder, without the parts that summary.json leaves out.

    :raises BadInputError: if the file is missing, or if `Summary.json` did not write it
    """
    file = folder / FILE
    try:
        return msgspec.convert(json_values.load(file), Summary)
    except FileNotFoundError as error:
        raise BadInputError(
            f"{folder} has neither evidence (raw) nor a {FILE}: name an experiment that was measured"
        ) from error
    except RecursionError as error:
        raise BadInputError(f"{file}: damaged or edited: it is nested too deeply") from error
    except (msgspec.ValidationError, ValueError) as error:
        raise BadInputError(f"{file}: damaged or edited: {error}") from error
