"""Reads JSON that other programs wrote. Values of an unexpected type count as missing. Defines types for numbers."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from dohyo import folders
from dohyo.evidence.text_file import Warn

# Types of numbers in records. Strings such as "5" are accepted as well, because Ansible writes numbers as strings.
Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Number = Annotated[float, Meta(ge=-sys.float_info.max, le=sys.float_info.max)]


def load(path: Path) -> Any:
    """Parses a JSON file in UTF-8.

    :raises ValueError: if it is not JSON, is nested too deeply, or is too large
    """
    return loads(folders.content(path))


def loads(content: str | bytes) -> Any:
    """Parses a JSON text.

    :raises ValueError: if it is not JSON, or is nested too deeply
    """
    try:
        text = content if isinstance(content, str) else content.decode("utf-8")
        value = json.loads(text)
        # Replace lone surrogates: JSON can contain them as escapes, but they cannot be encoded in UTF-8.
        if "\\ud" in text.lower():
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    return value


def read_object(path: Path, warn: Warn) -> dict[str, Any]:
    """Reads a JSON object from a file. Returns {} if the file is missing; warns and returns {} if it is broken."""
    try:
        content = load(path)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        warn(f"{path}: cannot be read as JSON: {error}")
        return {}
    if not isinstance(content, dict):
        warn(f"{path}: must contain a JSON object")
    return mapping(content)


def mapping(value: Any) -> dict[str, Any]:
    """Returns the value if it is an object, otherwise an empty object."""
    return value if isinstance(value, dict) else {}


def number(value: Any) -> float | None:
    """Converts a number or a string to a finite number. Returns None if that is impossible."""
    try:
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return result if math.isfinite(result) else None
