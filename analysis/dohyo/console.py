"""Prints tables and wrapped lines with rich. Importing rich takes long, so that `terminal` does not use it."""

from collections.abc import Iterable

from rich import console as rich_console
from rich.segment import Segment

from dohyo.terminal import printable

# Minimum width in characters. Narrower tables break too many words to be readable.
_LEAST_COLUMNS = 40


class Console(rich_console.Console):
    """A console of rich that removes escape sequences from texts and has a minimum width."""

    def __init__(self) -> None:
        super().__init__()
        self.width = max(self.width, _LEAST_COLUMNS)

    def render(
        self, renderable: rich_console.RenderableType, options: rich_console.ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Renders like rich, but replaces control characters in texts."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)
