"""Reads YAML files that may be untrusted, such as those in an experiment's folder."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from dohyo.bad_input import BadInputError


class _Plain(yaml.SafeLoader):
    """A loader that rejects aliases, because they can expand a few lines to gigabytes."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError(f"line {self.get_mark().line + 1} contains an alias; write the value out")
        return super().compose_node(parent, index)


def load(path: Path) -> Any:
    """Returns the content of a file. The caller must not change it: files with the same text share one object.

    :raises BadInputError: if the file is unreadable, not YAML, or contains aliases; the message does not name the file
    """
    try:
        return _parsed(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError, RecursionError) as error:
        raise BadInputError(f"cannot be read: {error}") from error


def as_list(value: Any) -> list[Any]:
    """Returns a value that may be given alone or in a list, such as the pattern of a file name, as a list."""
    return value if isinstance(value, list) else [value]


@lru_cache(maxsize=64)
def _parsed(text: str) -> Any:
    """Parses YAML. Cached, because a system's trials contain the same files, and parsing takes 1 ms per line."""
    return yaml.load(text, _Plain)  # noqa: S506 - a safe loader
