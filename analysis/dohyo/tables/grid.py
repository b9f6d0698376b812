"""A table in words, and how it is written: in the terminal, in Markdown; the page's template writes it in HTML."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from rich.console import Console
from rich.text import Text

from dohyo.figures import UNKNOWN

TOTAL = "all"
# With its unit; the address of a host is none.
_NUMBER = re.compile(r"[-+]?[0-9,]+([.][0-9]+)?( ?[a-zA-Z/%]+)?")


@dataclass(frozen=True)
class Grid:
    """A table in words: the first columns to the left, the others to the right.

    :ivar title: empty: it has none in a terminal
    :ivar keys: how many are to the left: they say what a line is of
    :ivar texts: how many of the last columns are to the left, too
    :ivar gap: spaces between columns in a terminal
    :ivar groups: how many of the other columns belong together each time; where there is no room for all, the table is
        broken between them, and has the keys again
    :ivar aside: positions of the lines that are beside what was to be measured
    :ivar strong: positions of the lines that stand out; None: those of sums
    :ivar styles: of lines in a terminal, by position; the others are bold where they stand out
    :ivar reasons: positions of the lines whose first cell after the keys says why there are no numbers
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
        """ValueError names the table of a line that does not have a cell for each head."""
        for line in self.lines:
            if len(line) != len(self.heads):
                raise ValueError(
                    f"the table {self.title!r}: {len(line)} cells {line} for {len(self.heads)} {self.heads}"
                )

    def is_zero(self) -> bool:
        """Whether all of its numbers are 0: nothing happened."""
        cells = [cell for line in self.lines for cell in line[self.keys :]]
        numbers = [cell for cell in cells if _NUMBER.fullmatch(cell)]
        return bool(numbers) and not any(re.search("[1-9]", number) for number in numbers)

    def is_strong(self, position: int) -> bool:
        """Whether the line stands out, as the sum of those above it does."""
        return self.lines[position][1] == TOTAL if self.strong is None else position in self.strong

    def is_left(self, column: int) -> bool:
        """Whether the cells of the column are to the left."""
        return column < self.keys or column >= len(self.heads) - self.texts


# ---- Markdown --------------------------------------------------------------------------------------------------------


def markdown(grid: Grid) -> list[str]:
    """Lines of Markdown, with its title above and an empty line below."""
    return [f"## {escape(grid.title)}", "", *markdown_table(grid), ""]


def markdown_table(grid: Grid) -> list[str]:
    """The lines of the table alone."""
    out = ["|" + "|".join(f" {escape(head)} " if head else " " for head in grid.heads) + "|"]
    out.append("|" + "|".join("---" if grid.is_left(i) else "--:" for i in range(len(grid.heads))) + "|")
    for position, line in enumerate(grid.lines):
        mark = "**" if grid.is_strong(position) else ""
        out.append("| " + " | ".join(f"{mark}{escape(cell)}{mark}" if cell else "" for cell in line) + " |")
    return out


def escape(text: str | None) -> str:
    """Text that stays text in Markdown: no cell ends in it, and it is no HTML and no link."""
    plain = " ".join((text or "").splitlines()).replace("\\", "\\\\").replace("|", "\\|").replace("](", "]\\(")
    return re.sub(r"<(?=[A-Za-z/!?])", r"\\<", plain)


# ---- terminal --------------------------------------------------------------------------------------------------------


def write(grid: Grid, console: Console, width: int) -> None:
    """Prints it with as many columns as there is room for, the last but one going first; summary.md has all."""
    widths = _widths(grid)
    shown = list(range(len(widths)))
    while sum(widths[i] + grid.gap for i in shown) > width + grid.gap and len(shown) > 6 and not grid.groups:
        del shown[-2]
    if grid.title:
        say(console, Text(grid.title, style="bold"), wrap=True)
    for part in _broken(grid, widths, width) or [shown]:
        _write_part(grid, console, width, part)


def write_whole(grid: Grid, console: Console, width: int, ways: Sequence[Sequence[Sequence[int]]]) -> None:
    """Prints all columns, their heads in two lines, without a title.

    :param ways: to break the table: the columns after the keys of each part; the first way that has room is taken
    """
    keys = range(grid.keys)
    every = range(len(grid.lines))
    most = _widths(grid, two_lines=True)

    def fits(part: Sequence[int]) -> bool:
        needed: int = sum(most[i] + grid.gap for i in (*keys, *part))
        return needed <= width + grid.gap

    for number, part in enumerate(next((way for way in ways if all(map(fits, way))), ways[-1])):
        # A reason is in the first part alone, and a line of nothing but unknowns in none but that.
        lines = [at for at in every if not number or any(grid.lines[at][i] not in (UNKNOWN, "") for i in part)]
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
    """Prints these columns of these lines, or of all, and an empty line."""
    lines = range(len(grid.lines)) if lines is None else lines
    widths = _widths(grid, lines, two_lines=two_lines)

    def joined(cells: Sequence[str], columns: Iterable[int]) -> str:
        sides = ("<" if grid.is_left(i) else ">" for i in columns)
        aligned = (f"{cells[i]:{side}{widths[i]}}" for i, side in zip(columns, sides, strict=True))
        return (" " * grid.gap).join(aligned).rstrip()

    for heads in zip(*(_head_lines(head) if two_lines else [head] for head in grid.heads), strict=True):
        if any(heads[i] for i in shown):
            say(console, Text(joined(heads, shown), style="bold"))
    for at in lines:
        line = grid.lines[at]
        if at in grid.reasons:
            keys = range(grid.keys)
            start = joined(line, keys).ljust(sum(widths[i] + grid.gap for i in keys))
            wrapped = textwrap.wrap(line[grid.keys], max(20, min(width, 120) - len(start))) or [line[grid.keys]]
            reason = f"\n{' ' * len(start)}".join(wrapped)
            say(console, Text(start + reason, style="yellow" if "incomplete:" in reason else "red"))
        else:
            style = grid.styles.get(at, "bold" if grid.is_strong(at) else "")
            say(console, Text(joined(line, shown), style=style))
    say(console)


def _widths(grid: Grid, lines: Iterable[int] | None = None, *, two_lines: bool = False) -> list[int]:
    """Of all columns, with these lines or all; a reason goes on to the right of the keys."""
    cells = [line if at not in grid.reasons else line[: grid.keys] for at, line in enumerate(grid.lines)]
    chosen = cells if lines is None else [cells[at] for at in lines]
    heads = [_head_lines(head) if two_lines else [head] for head in grid.heads]
    return [max(map(len, [*head, *(line[i] for line in chosen if i < len(line))])) for i, head in enumerate(heads)]


def _head_lines(column: str) -> list[str]:
    """A head in two lines, to keep its column narrow: "not found", and a long name of a dimension."""
    broken = re.sub(r"(.*[._])(?=.)", r"\1 ", column) if len(column) > 12 else column
    return ["", *broken.split()][-2:]


def _broken(grid: Grid, widths: Sequence[int], width: int) -> list[list[int]]:
    """The columns of each part of a table with groups: as many groups as fit beside the keys, and at least one."""
    columns = iter(range(grid.keys, len(widths)))
    room = width + grid.gap - sum(each + grid.gap for each in widths[: grid.keys])
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


def say(console: Console, text: Text | str = "", wrap: bool = False) -> None:
    """Prints a line; tables are measured here, so rich neither wraps nor crops them, nor reads "[LOAD]" as its markup.

    :param wrap: where a terminal has no room for it
    """
    wrap = wrap and console.is_terminal
    console.print(text, soft_wrap=not wrap, markup=False, highlight=False)
