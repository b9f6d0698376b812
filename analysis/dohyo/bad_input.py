"""The exception for bad input. It is raised before anything is started; the exit code is 2."""

from collections.abc import Iterable
from difflib import get_close_matches


class BadInputError(Exception):
    """A message that names the thing, the value and the way out."""


def unknown(kind: str, name: str, valid: Iterable[str], way_out: str) -> BadInputError:
    """Returns the error for a name that does not exist.

    :param kind: kind of thing that was named, such as "scenario"
    :param valid: existing names; the message suggests the nearest one
    :param way_out: how to see all names
    """
    by_lower_case = {each.lower(): each for each in valid}
    # The cutoff is below difflib's 0.6: users also give a fragment or another project's spelling.
    nearest = get_close_matches(name.lower(), by_lower_case, n=1, cutoff=0.4)
    hint = f": did you mean {by_lower_case[nearest[0]]}?" if nearest else ""
    return BadInputError(f"unknown {kind} '{name}'{hint} ({way_out})")
