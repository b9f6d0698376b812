"""Values out of JSON that other programs wrote: of the expected type, or not there."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from dohyo.evidence.text_file import Warn

# What we write ourselves is below 100 kB, statistics of servers are below 1 MB.
_MOST_BYTES = 64 * 1024 * 1024


def load(path: Path) -> Any:
    """The contents of a file, in UTF-8.

    :raises ValueError: if it is no JSON, nested too deeply, or too large
    """
    with path.open("rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise ValueError(f"it has more than {_MOST_BYTES:,} bytes")
    return loads(content)


def loads(content: str | bytes) -> Any:
    """The value in a text.

    :raises ValueError: if it is no JSON, or nested too deeply
    """
    try:
        said = content if isinstance(content, str) else content.decode("utf-8")
        found = json.loads(said)
        # Half of a character can only be written as an escape, and no encoding has it.
        if "\\ud" in said.lower():
            found = json.loads(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace"))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    return found


def read_object(path: Path, warn: Warn) -> dict[str, Any]:
    """The object in a file; empty when there is no such file, or (reported through `warn`) none in it."""
    try:
        content = load(path)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        warn(f"{path}: cannot be read as JSON: {error}")
        return {}
    if not isinstance(content, dict):
        warn(f"{path}: must be an object")
    return mapping(content)


def mapping(value: Any) -> dict[str, Any]:
    """The object itself; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def number(value: Any) -> float | None:
    """A finite number, also from text; None for anything else."""
    try:
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return result if math.isfinite(result) else None
