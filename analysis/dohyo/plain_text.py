"""Checks untrusted text for control characters, and escapes them."""

import re

from dohyo.bad_input import BadInputError

# Characters that control a terminal, end a line or hide a part of it. They are control characters (including NUL and
# newlines), line separators, marks of the writing direction, and surrogates, which represent bytes that are not UTF-8.
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def escaped(text: str, keep: str = "") -> str:
    r"""Returns the text with each control character escaped as in Python (``\x1b``), so that a terminal shows it.

    :param keep: characters that are not escaped
    """
    return CONTROL.sub(lambda match: match[0] if match[0] in keep else match[0].encode("unicode_escape").decode(), text)


def check(text: str, shown: str) -> None:
    """Checks that a text contains no control character.

    :param shown: name of the text in the message
    :raises BadInputError: with the name of the text and the first control character
    """
    if match := CONTROL.search(text):
        raise BadInputError(f"{escaped(shown)}: contains the control character U+{ord(match[0]):04X}; leave it out")
