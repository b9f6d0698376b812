"""Prints to the terminal. Text from logs, servers and files is not trusted, so it must not control the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper

import click

from dohyo.plain_text import CONTROL


def printable(text: str) -> str:
    """Returns the text with each control character except tabs and newlines replaced by U+FFFD."""
    return CONTROL.sub(lambda match: match[0] if match[0] in "\t\n" else "\N{REPLACEMENT CHARACTER}", text)


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Returns one line for each row of a table. Each column is as wide as its longest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def say(text: str, *, err: bool = False) -> None:
    """Prints a text and a newline to standard output, or to standard error if `err` is set."""
    click.echo(printable(text), err=err)


def warn(text: str) -> None:
    """Prints a warning to standard error."""
    say(f"warning: {text}", err=True)


def set_up() -> None:
    """Opens standard streams that are closed. Makes the output streams replace characters that they cannot encode."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # Otherwise the next file that is opened would get this descriptor and receive the output.
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
