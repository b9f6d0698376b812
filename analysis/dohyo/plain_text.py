"""Text from outside: characters that it must not contain, and printing it safely."""

import re

from dohyo.bad_input import BadInputError

# Control characters (NUL and line ends among them), line separators, marks that change the direction of writing, and
# surrogates, which stand for bytes that are no UTF-8: they drive a terminal, end a line, or hide what is in it.
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def escaped(text: str, keep: str = "") -> str:
    r"""The text with such characters written as in Python (``\x1b``), so that a terminal only shows it.

    :param keep: characters that are left as they are
    """
    return CONTROL.sub(lambda match: match[0] if match[0] in keep else match[0].encode("unicode_escape").decode(), text)


def check(text: str, shown: str) -> None:
    """Refuses text with such characters.

    :param shown: its name in the message
    :raises BadInputError: naming it and the first such character
    """
    if found := CONTROL.search(text):
        raise BadInputError(f"{escaped(shown)}: contains the control character U+{ord(found[0]):04X}; leave it out")
