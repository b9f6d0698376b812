"""Values out of JSON that other programs wrote: of the expected type, or not there."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from dohyo.evidence.text_file import Warn


def read_object(path: Path, warn: Warn) -> dict[str, Any]:
    """The object in a file; empty when there is no such file, or (reported through `warn`) no JSON in it."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        warn(f"{path}: cannot be read as JSON: {error}")
        return {}
    return mapping(content)


def mapping(value: Any) -> dict[str, Any]:
    """The object itself; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def listing(value: Any) -> list[Any]:
    """The list itself; an empty one for anything else."""
    return value if isinstance(value, list) else []


def whole(value: Any) -> int | None:
    """A whole number, also from text; None for anything else."""
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return None


def number(value: Any) -> float | None:
    """A finite number, also from text; None for anything else."""
    try:
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return result if math.isfinite(result) else None


def text(value: Any) -> str:
    """Text, and nothing for null."""
    return "" if value is None else str(value)
