"""The terminal as rich writes to it: tables, and lines that are broken. Needs much longer to import than `terminal`."""

from collections.abc import Iterable

from rich import console as rich_console
from rich.segment import Segment

from dohyo.terminal import printable

# Tables break their words, but are still tables.
_LEAST_COLUMNS = 40


class Console(rich_console.Console):
    """rich's console, which would pass on escape sequences; on a terminal that says it is narrower than a table."""

    def __init__(self) -> None:
        super().__init__()
        self.width = max(self.width, _LEAST_COLUMNS)

    def render(
        self, renderable: rich_console.RenderableType, options: rich_console.ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """As rich does, with every text printable."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)
