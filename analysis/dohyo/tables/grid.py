"""A table in words, and how it is written: in the terminal, in Markdown; the page's template writes it in HTML."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from rich.console import Console
from rich.text import Text

from dohyo.figures import UNKNOWN
from dohyo.operations import OVERALL

TOTAL = "all"
# With its unit; the address of a host is none.
_NUMBER = re.compile(r"[-+]?[0-9,]+([.][0-9]+)?( ?[a-zA-Z/%]+)?")


@dataclass(frozen=True)
class Grid:
    """A table in words: the first columns to the left, the others to the right.

    :ivar keys: how many are to the left: they say what a line is of
    :ivar groups: how many of the other columns belong together each time; where there is no room for all, the table is
        broken between them, and has the first two again
    :ivar aside: positions of the lines that are beside what was to be measured
    :ivar strong: positions of the lines that stand out; None: those of sums
    :ivar reasons: positions of the lines whose first cell after the keys says why there are no numbers
    """

    title: str
    heads: list[str]
    lines: list[list[str]]
    groups: tuple[int, ...] = ()
    keys: int = 2
    aside: tuple[int, ...] = ()
    strong: tuple[int, ...] | None = None
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


# ---- Markdown --------------------------------------------------------------------------------------------------------


def markdown(grid: Grid) -> list[str]:
    """Lines of Markdown, with its title above and an empty line below."""
    return [f"## {escape(grid.title)}", "", *markdown_table(grid), ""]


def markdown_table(grid: Grid) -> list[str]:
    """The lines of the table alone."""
    out = ["|" + "|".join(f" {escape(head)} " if head else " " for head in grid.heads) + "|"]
    out.append("|" + "|".join(["---"] * grid.keys + ["--:"] * (len(grid.heads) - grid.keys)) + "|")
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
    widths = _widths(grid, range(len(grid.lines)))
    shown = list(range(len(widths)))
    while sum(widths[i] + 1 for i in shown) > width + 1 and len(shown) > 6 and not grid.groups:
        del shown[-2]
    say(console, Text(grid.title, style="bold"), wrap=True)
    for part in _broken(grid, widths, width) or [shown]:
        say(console, Text(_joined(grid.heads, widths, part), style="bold"))
        for position, line in enumerate(grid.lines):
            say(console, Text(_joined(line, widths, part), style="bold" if grid.is_strong(position) else ""))
        say(console)


def write_whole(grid: Grid, console: Console, width: int, ways: Sequence[Sequence[Sequence[int]]]) -> None:
    """Prints all columns, without a title.

    :param ways: to break the table: the columns after the keys of each part; the first way that has room is taken
    """
    keys = range(grid.keys)
    every = range(len(grid.lines))
    most = _widths(grid, every, two_lines=True)

    def fits(part: Sequence[int]) -> bool:
        needed: int = sum(most[i] + 1 for i in (*keys, *part))
        return needed <= width + 1

    for number, part in enumerate(next((way for way in ways if all(map(fits, way))), ways[-1])):
        # A reason is in the first part alone, and a line of nothing but unknowns in none but that.
        lines = [at for at in every if not number or any(grid.lines[at][i] not in (UNKNOWN, "") for i in part)]
        widths = _widths(grid, lines, two_lines=True)
        shown = [*keys, *part]
        for heads in zip(*map(_head_lines, grid.heads), strict=True):
            if any(heads[i] for i in shown):
                say(console, Text(_joined(heads, widths, shown, grid.keys), style="bold"))
        for at in lines:
            line = grid.lines[at]
            if at in grid.reasons:
                _write_reason(line, widths, grid.keys, console, width)
            else:
                style = "dim" if at in grid.aside else "bold" if line[0].endswith(OVERALL) else ""
                say(console, Text(_joined(line, widths, shown, grid.keys), style=style))
        say(console)


def _widths(grid: Grid, lines: Sequence[int], *, two_lines: bool = False) -> list[int]:
    """Of all columns, with these lines; a reason goes on to the right of the keys."""
    heads = [_head_lines(head) if two_lines else [head] for head in grid.heads]
    return [
        max(map(len, [*heads[i], *(grid.lines[at][i] for at in lines if i < grid.keys or at not in grid.reasons)]))
        for i in range(len(heads))
    ]


def _write_reason(line: Sequence[str], widths: Sequence[int], keys: int, console: Console, width: int) -> None:
    start = _joined(line, widths, range(keys), keys).ljust(sum(widths[:keys]) + keys)
    wrapped = textwrap.wrap(line[keys], max(20, min(width, 120) - len(start)))
    reason = f"\n{' ' * len(start)}".join(wrapped or [line[keys]])
    say(console, Text(start + reason, style="yellow" if "incomplete:" in reason else "red"))


def _head_lines(column: str) -> list[str]:
    """A head in two lines, to keep its column narrow: "not found", and a long name of a dimension."""
    broken = re.sub(r"(.*[._])(?=.)", r"\1 ", column) if len(column) > 12 else column
    return ["", *broken.split()][-2:]


def _broken(grid: Grid, widths: Sequence[int], width: int) -> list[list[int]]:
    """The columns of each part of a table with groups."""
    columns = iter(range(2, len(widths)))
    groups = [list(islice(columns, size)) for size in grid.groups]
    room = width - sum(widths[:2]) - 1
    # What stands side by side is two apart, and the columns of a table only one.
    fitting = side_by_side([sum(widths[i] + 1 for i in group) - 2 for group in groups], room)
    return [[0, 1, *chain.from_iterable(groups[i] for i in part)] for part in fitting] if groups else []


def side_by_side(widths: Sequence[int], room: int) -> list[list[int]]:
    """Positions of the columns of each part: as many as fit side by side, two spaces apart, and at least one."""
    parts: list[list[int]] = [[]]
    used = 0
    for position, width in enumerate(widths):
        if parts[-1] and used + 2 + width > room:
            parts.append([])
            used = 0
        parts[-1].append(position)
        used += 2 + width
    return parts


def _joined(cells: Sequence[str], widths: Sequence[int], shown: Iterable[int], keys: int = 2) -> str:
    """The columns that are shown, keys to the left, numbers to the right."""
    return " ".join(f"{cells[i]:{'<' if i < keys else '>'}{widths[i]}}" for i in shown).rstrip()


def say(console: Console, text: Text | str = "", wrap: bool = False) -> None:
    """Prints a line; tables are measured here, so rich neither wraps nor crops them, nor reads "[LOAD]" as its markup.

    :param wrap: where a terminal has no room for it
    """
    wrap = wrap and console.is_terminal
    console.print(text, soft_wrap=not wrap, markup=False, highlight=False)
