"""The exception for bad input. It is raised before anything is started, and `dohyo` exits with code 2."""

from collections.abc import Collection
from difflib import get_close_matches


class BadInputError(Exception):
    """Raised if the user's input is wrong. The message names the invalid item and its value, and says what to do."""


def unknown(kind: str, name: str, valid: Collection[str], way_out: str = "") -> BadInputError:
    """Returns the error for a name that does not exist.

    :param kind: kind of thing that was named, such as "scenario"
    :param valid: existing names; the message suggests the nearest one
    :param way_out: how to list all names, such as a command; by default the message lists them
    """
    by_lower_case = {candidate.lower(): candidate for candidate in valid}
    # The cutoff is below difflib's default of 0.6, because users also type fragments or other projects' spellings.
    nearest = get_close_matches(name.lower(), by_lower_case, n=1, cutoff=0.4)
    hint = f": did you mean {by_lower_case[nearest[0]]}?" if nearest else ""
    return BadInputError(f"unknown {kind} '{name}'{hint} ({way_out or 'there are: ' + ', '.join(valid)})")
