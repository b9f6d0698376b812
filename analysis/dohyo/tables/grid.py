"""Defines a table of texts, and writes it to the terminal and as Markdown. The template of the page writes the HTML."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

from rich.console import Console
from rich.text import Text

from dohyo.figures import UNKNOWN

Item = TypeVar("Item")
# Columns of a table: head → function that returns the cell of an item.
Columns = Mapping[str, Callable[[Item], str]]

TOTAL = "all"
# Maximum number of clients or hosts that a table lists. The files contain all of them.
MOST_LINES = 20
# Pattern of a number with its unit. The address of a host does not match.
_NUMBER = re.compile(r"[-+]?[0-9,]+([.][0-9]+)?( ?[a-zA-Z/%]+)?")


@dataclass(frozen=True)
class Grid:
    """A table of texts. The first columns are left-aligned, the others right-aligned.

    :ivar title: title in a terminal; empty for none
    :ivar keys: number of left-aligned columns at the beginning; they identify the line
    :ivar texts: number of left-aligned columns at the end
    :ivar gap: spaces between columns in a terminal
    :ivar groups: sizes of the groups of other columns; a table too wide for the terminal is broken between groups, and
        every part repeats the keys
    :ivar aside: positions of lines that are not part of the measurement, such as discarded runs
    :ivar strong: positions of emphasised lines; None: lines with sums are emphasised
    :ivar styles: styles of lines in a terminal, by position; other lines are bold if they are emphasised
    :ivar reasons: positions of lines without numbers; the first cell after the keys contains the reason
    """

    title: str
    heads: list[str]
    lines: list[list[str]]
    groups: tuple[int, ...] = ()
    keys: int = 2
    texts: int = 0
    gap: int = 1
    aside: tuple[int, ...] = ()
    strong: tuple[int, ...] | None = None
    styles: Mapping[int, str] = field(default_factory=dict)
    reasons: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Raises ValueError, which names the table, if a line does not have one cell for each head."""
        for line in self.lines:
            if len(line) != len(self.heads):
                raise ValueError(
                    f"the table {self.title!r}: {len(line)} cells {line} for {len(self.heads)} {self.heads}"
                )

    def is_zero(self) -> bool:
        """Returns whether all numbers of the table are 0."""
        cells = [cell for line in self.lines for cell in line[self.keys :]]
        numbers = [cell for cell in cells if _NUMBER.fullmatch(cell)]
        return bool(numbers) and not any(re.search("[1-9]", number) for number in numbers)

    def is_strong(self, position: int) -> bool:
        """Returns whether the line is emphasised, for example because it is the sum of the lines above it."""
        return self.lines[position][1] == TOTAL if self.strong is None else position in self.strong

    def is_left(self, column: int) -> bool:
        """Returns whether the cells of the column are left-aligned."""
        return column < self.keys or column >= len(self.heads) - self.texts


def of(title: str, columns: Columns[Item], items: Iterable[Item], **more: Any) -> Grid:
    """Returns a table with a line for each item. `more` sets further attributes of the table."""
    return Grid(title, list(columns), [[cell(item) for cell in columns.values()] for item in items], **more)


# ---- Markdown --------------------------------------------------------------------------------------------------------


def markdown(grid: Grid) -> list[str]:
    """Returns the table as lines of Markdown, with the title above and an empty line below."""
    return [f"## {escape(grid.title)}", "", *markdown_table(grid), ""]


def markdown_table(grid: Grid) -> list[str]:
    """Returns the lines of the table without its title."""
    out = ["|" + "|".join(f" {escape(head)} " if head else " " for head in grid.heads) + "|"]
    out.append("|" + "|".join("---" if grid.is_left(i) else "--:" for i in range(len(grid.heads))) + "|")
    for position, line in enumerate(grid.lines):
        mark = "**" if grid.is_strong(position) else ""
        out.append("| " + " | ".join(f"{mark}{escape(cell)}{mark}" if cell else "" for cell in line) + " |")
    return out


def escape(text: str | None) -> str:
    """Escapes text for a Markdown cell: it cannot end the cell, become HTML or become a link."""
    plain = " ".join((text or "").splitlines()).replace("\\", "\\\\").replace("|", "\\|").replace("](", "]\\(")
    return re.sub(r"<(?=[A-Za-z/!?])", r"\\<", plain)


# ---- terminal --------------------------------------------------------------------------------------------------------


def write(grid: Grid, console: Console, width: int) -> None:
    """Prints a table. If it is too wide, drops columns, beginning with the last but one; summary.md has all columns."""
    widths = _widths(grid)
    shown = list(range(len(widths)))
    while sum(widths[i] + grid.gap for i in shown) > width + grid.gap and len(shown) > 6 and not grid.groups:
        del shown[-2]
    if grid.title:
        say(console, Text(grid.title, style="bold"), wrap=True)
    for part in _broken(grid, widths, width) or [shown]:
        _write_part(grid, console, width, part)


def write_whole(grid: Grid, console: Console, width: int, breaks: Sequence[Sequence[Sequence[int]]]) -> None:
    """Prints all columns, without a title. Heads have two lines.

    :param breaks: ways to break the table into parts, as lists of columns without the keys; the first that fits is used
    """
    keys = range(grid.keys)
    every = range(len(grid.lines))
    most = _widths(grid, two_lines=True)

    def fits(part: Sequence[int]) -> bool:
        needed: int = sum(most[i] + grid.gap for i in (*keys, *part))
        return needed <= width + grid.gap

    for number, part in enumerate(next((layout for layout in breaks if all(map(fits, layout))), breaks[-1])):
        # In later parts, leave out reasons and lines that have no known value.
        lines = [index for index in every if not number or any(grid.lines[index][i] not in (UNKNOWN, "") for i in part)]
        _write_part(grid, console, width, [*keys, *part], lines, two_lines=True)


def _write_part(
    grid: Grid,
    console: Console,
    width: int,
    shown: Sequence[int],
    lines: Iterable[int] | None = None,
    *,
    two_lines: bool = False,
) -> None:
    """Prints the columns `shown` of the given lines (default: all lines), followed by an empty line."""
    lines = range(len(grid.lines)) if lines is None else lines
    widths = _widths(grid, lines, two_lines=two_lines)

    def joined(cells: Sequence[str], columns: Iterable[int]) -> str:
        sides = ("<" if grid.is_left(i) else ">" for i in columns)
        aligned = (f"{cells[i]:{side}{widths[i]}}" for i, side in zip(columns, sides, strict=True))
        return (" " * grid.gap).join(aligned).rstrip()

    for heads in zip(*(_head_lines(head) if two_lines else [head] for head in grid.heads), strict=True):
        if any(heads[i] for i in shown):
            say(console, Text(joined(heads, shown), style="bold"))
    for index in lines:
        line = grid.lines[index]
        if index in grid.reasons:
            keys = range(grid.keys)
            start = joined(line, keys).ljust(sum(widths[i] + grid.gap for i in keys))
            wrapped = textwrap.wrap(line[grid.keys], max(20, min(width, 120) - len(start))) or [line[grid.keys]]
            reason = f"\n{' ' * len(start)}".join(wrapped)
            say(console, Text(start + reason, style="yellow" if "incomplete:" in reason else "red"))
        else:
            style = grid.styles.get(index, "bold" if grid.is_strong(index) else "")
            say(console, Text(joined(line, shown), style=style))
    say(console)


def _widths(grid: Grid, lines: Iterable[int] | None = None, *, two_lines: bool = False) -> list[int]:
    """Returns the width of each column in the given lines (default: all). Reasons extend over several columns."""
    cells = [line if index not in grid.reasons else line[: grid.keys] for index, line in enumerate(grid.lines)]
    rows = cells if lines is None else [cells[index] for index in lines]
    heads = [_head_lines(head) if two_lines else [head] for head in grid.heads]
    return [max(map(len, [*head, *(line[i] for line in rows if i < len(line))])) for i, head in enumerate(heads)]


def _head_lines(column: str) -> list[str]:
    """Breaks a head such as "not found", or the long name of a dimension, into two lines to keep its column narrow."""
    broken = re.sub(r"(.*[._])(?=.)", r"\1 ", column) if len(column) > 12 else column
    return ["", *broken.split()][-2:]


def _broken(grid: Grid, widths: Sequence[int], width: int) -> list[list[int]]:
    """Returns the columns of each part of a table with groups: the keys, and as many groups as fit (at least one)."""
    columns = iter(range(grid.keys, len(widths)))
    room = width + grid.gap - sum(key_width + grid.gap for key_width in widths[: grid.keys])
    parts: list[list[int]] = []
    used = room
    for size in grid.groups:
        group = list(islice(columns, size))
        needed = sum(widths[i] + grid.gap for i in group)
        if used + needed > room:
            parts.append(list(range(grid.keys)))
            used = 0
        parts[-1] += group
        used += needed
    return parts


def say(console: Console, text: Text | str = "", wrap: bool = False, width: int | None = None) -> None:
    """Prints a line unchanged: rich neither wraps nor crops it, and does not interpret "[LOAD]" as markup.

    :param wrap: whether to wrap a line that is too long for the terminal, or for `width`; no effect in a pipe or a file
    """
    wrap = wrap and console.is_terminal
    console.print(text, width=width if wrap else None, soft_wrap=not wrap, markup=False, highlight=False)
