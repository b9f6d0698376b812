"""Reads YAML files that may be untrusted, such as those in an experiment's folder."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from dohyo import folders
from dohyo.bad_input import BadInputError


class RefusedError(yaml.YAMLError):
    """Raised for YAML that Dohyo refuses. The message is one line without values, which may be passwords."""


class _Plain(yaml.SafeLoader):
    """A loader that rejects aliases, because they can expand a few lines to gigabytes, and repeated keys."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise RefusedError(f"line {self.get_mark().line + 1} contains an alias; write the value out")
        return super().compose_node(parent, index)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            value = super().construct_object(node, deep)
            str(value if isinstance(value, int) else "")  # fails for hexadecimal numbers without end
        # PyYAML raises these for scalars such as `!!bool x`, `!!int ''`, `!!timestamp x` and 2026-99-99.
        except (ValueError, LookupError, AttributeError) as error:
            kind = node.tag.rpartition(":")[2]
            raise RefusedError(f"line {node.start_mark.line + 1} contains no valid {kind}; correct it") from error
        return value

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        if len(mapping) < len(node.value):
            raise RefusedError(f"the mapping in line {node.start_mark.line + 1} repeats a key; leave one out")
        return mapping


def load(path: Path) -> Any:
    """Returns the content of a file. The caller must not change it: files with the same text share one object.

    :raises BadInputError: if the file is unreadable, not YAML, or contains aliases; the message does not name the file
    """
    try:
        return parse(folders.content(path).decode("utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise BadInputError(f"cannot be read: {error}") from error


@lru_cache(maxsize=256)
def parse(text: str) -> Any:
    """Parses YAML. Cached, because a system's trials contain the same files, and parsing takes 1 ms per line.

    :raises yaml.YAMLError: if the text is not YAML
    :raises RefusedError: if it contains aliases, repeated keys or invalid values, or is nested too deeply
    """
    try:
        return yaml.load(text, _Plain)  # noqa: S506 - a safe loader
    except RecursionError as error:
        raise RefusedError("it is nested too deeply") from error


def as_list(value: Any) -> list[Any]:
    """Returns a value that may be given alone or in a list, such as the pattern of a file name, as a list."""
    return value if isinstance(value, list) else [value]
