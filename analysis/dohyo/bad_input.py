"""The exception for bad input. Nothing has been started when it is raised; the exit code is 2."""

from collections.abc import Iterable
from difflib import get_close_matches


class BadInputError(Exception):
    """A message that names the thing, the value and the way out."""


def unknown(kind: str, name: str, valid: Iterable[str], way_out: str) -> BadInputError:
    """Makes the error for a name that does not exist.

    :param kind: what it should have been the name of, such as "scenario"
    :param valid: the names that do exist; the nearest one is offered
    :param way_out: where all of them can be seen
    """
    by_lower_case = {each.lower(): each for each in valid}
    # A cutoff below difflib's 0.6: people also give a fragment or another project's spelling.
    nearest = get_close_matches(name.lower(), by_lower_case, n=1, cutoff=0.4)
    hint = f": did you mean {by_lower_case[nearest[0]]}?" if nearest else ""
    return BadInputError(f"unknown {kind} '{name}'{hint} ({way_out})")
