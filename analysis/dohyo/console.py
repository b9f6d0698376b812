"""Prints tables and wrapped lines with rich. Importing rich is slow, so `terminal` does not use it."""

from collections.abc import Iterable

from rich import console as rich_console
from rich.segment import Segment

from dohyo.terminal import printable

# Minimum width in characters. Narrower tables break too many words to be readable.
_LEAST_COLUMNS = 40


class Console(rich_console.Console):
    """A rich console that has a minimum width and replaces control characters in texts."""

    def __init__(self) -> None:
        super().__init__()
        self.width = max(self.width, _LEAST_COLUMNS)

    def render(
        self, renderable: rich_console.RenderableType, options: rich_console.ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Renders like rich, but replaces control characters in texts."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)
