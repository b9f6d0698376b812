"""The terminal with rich: tables and wrapped lines. Its import takes much longer than that of `terminal`."""

from collections.abc import Iterable

from rich import console as rich_console
from rich.segment import Segment

from dohyo.terminal import printable

# Least width: tables break their words, but are still readable.
_LEAST_COLUMNS = 40


class Console(rich_console.Console):
    """rich's console without escape sequences from texts, and at least as wide as the narrowest table."""

    def __init__(self) -> None:
        super().__init__()
        self.width = max(self.width, _LEAST_COLUMNS)

    def render(
        self, renderable: rich_console.RenderableType, options: rich_console.ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Renders like rich, but replaces characters that are not printable."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)
