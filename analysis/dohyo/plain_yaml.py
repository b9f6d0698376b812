"""Reads YAML files that may be untrusted, such as those in an experiment's folder."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from dohyo.bad_input import BadInputError


class _Plain(yaml.SafeLoader):
    """A loader that rejects aliases: with them a few lines can become gigabytes."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError(f"line {self.get_mark().line + 1} has an alias; write the value out")
        return super().compose_node(parent, index)


def load(path: Path) -> Any:
    """Returns the contents of a file. Callers must not change them: files with the same text share them.

    :raises BadInputError: if it cannot be read, or is not YAML, or has aliases; the message does not name the file
    """
    try:
        return _parsed(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError, RecursionError) as error:
        raise BadInputError(f"cannot be read: {error}") from error


@lru_cache(maxsize=64)
def _parsed(text: str) -> Any:
    """Parses YAML, cached: all trials of a system have the same files, and parsing takes a millisecond per line."""
    return yaml.load(text, _Plain)  # noqa: S506 - a safe loader
