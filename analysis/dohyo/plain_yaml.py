"""YAML files that somebody else may have written, such as those in an experiment's folder."""

from pathlib import Path
from typing import Any

import yaml

from dohyo.bad_input import BadInputError


class _Plain(yaml.SafeLoader):
    """YAML without aliases: a few of them turn a few lines into gigabytes."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError(f"line {self.get_mark().line + 1} has an alias; write the value out")
        return super().compose_node(parent, index)


def load(path: Path) -> Any:
    """The contents of a file.

    :raises BadInputError: if it cannot be read, or is no YAML without aliases; the message does not name the file
    """
    try:
        return yaml.load(path.read_text(encoding="utf-8"), _Plain)  # noqa: S506 - a safe loader
    except (OSError, ValueError, yaml.YAMLError, RecursionError) as error:
        raise BadInputError(f"cannot be read: {error}") from error
