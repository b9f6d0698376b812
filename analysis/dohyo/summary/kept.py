"""Reads summary.json of an experiment whose evidence is elsewhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from dohyo.bad_input import BadInputError
from dohyo.evidence import json_values
from dohyo.metrics import METRICS
from dohyo.summary.comparison import equal_rate
from dohyo.summary.results import Pair, Summary

FILE = "summary.json"
_OF_BATCHES = ("low", "high", "tie", "sampled", "_samples")


def read(folder: Path) -> Summary:
    """Returns the summary in an experiment's folder, except what summary.json leaves out.

    :raises BadInputError: if the file is missing, or not as `Summary.json` writes it
    """
    file = folder / FILE
    try:
        found = msgspec.convert(_without_batches(json_values.load(file)), Summary)
    except FileNotFoundError as error:
        raise BadInputError(
            f"{folder} has neither evidence (raw) nor a {FILE}: name an experiment that was measured"
        ) from error
    except RecursionError as error:
        raise BadInputError(f"{file}: not as dohyo wrote it: it is nested too deeply") from error
    except (msgspec.ValidationError, ValueError) as error:
        raise BadInputError(f"{file}: not as dohyo wrote it: {error}") from error
    # Older versions compared every p99, even at different rates.
    return replace(found, comparisons=[each for each in found.comparisons if _counts(each, found)])


def _without_batches(of: Any) -> Any:
    """Returns the content without intervals over the seconds of a single run, which older versions wrote."""
    if isinstance(of, list):
        return [_without_batches(each) for each in of]
    if not isinstance(of, dict):
        return of
    found = {key: _without_batches(value) for key, value in of.items()}
    if of.get("sampled") == "batches":
        found |= {key: [] if key.endswith("_samples") else None for key in of if key.endswith(_OF_BATCHES)}
        found |= {"samples": 0} if "samples" in of else {}
    return found


def _counts(pair: Pair, summary: Summary) -> bool:
    trials = [trial for trial in summary.compared if trial.name in (pair.of, pair.to)]
    return METRICS[pair.figure].unit != "ms" or equal_rate(trials, pair.phase) is not None
