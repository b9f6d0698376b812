"""Reads and writes files of scenario properties, and lists all known properties."""

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from runpy import run_path
from typing import Any

from dohyo import folders
from dohyo.bad_input import BadInputError
from dohyo.places import BINDINGS
from dohyo.scenario import common_properties
from dohyo.scenario.property_types import BOTH, CLIENT, DOHYO, STOCK, Property, Refused
from dohyo.sizes import LETTERS, size_bytes
from dohyo.systems import catalogue
from dohyo.systems.option import WHOLE
from dohyo.systems.rendering import property_line

# Names of the programs that read a property.
READERS = {DOHYO: "Dohyo", BOTH: "our client, stock YCSB", CLIENT: "our client", STOCK: "stock YCSB"}
# Blanks in Java's property files; Python's str.strip() removes more characters.
_BLANKS = " \t\f"


def heap_bytes(text: str) -> int:
    """Returns the size in bytes of a heap such as "512m"; the text must be valid."""
    return size_bytes(text, LETTERS) or 0


def plain(value: Any) -> str:
    """Returns a value from JSON as the text that a property file contains, such as true, 2000 or 0.5."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
    return text.rstrip("0").rstrip(".") if re.fullmatch(r"[0-9]+\.[0-9]+", text) else text


def _groups() -> dict[str, list[Property]]:
    """Returns all properties by group: first the common properties, then the bindings' properties."""
    groups = dict(common_properties.GROUPS)
    for file in sorted(BINDINGS.glob("*/properties.py")):
        binding = file.parent.name
        groups[f"Binding {binding}"] = [replace(entry, reader=binding) for entry in run_path(str(file))["PROPERTIES"]]
    return groups


@cache
def known() -> dict[str, Property]:
    """Returns all properties by key."""
    return {entry.key: entry for group in _groups().values() for entry in group}


@cache
def of_the_workload() -> frozenset[str]:
    """Returns the properties that must be equal for all clients of a run and for all trials at a point."""
    return frozenset(key for key, entry in known().items() if entry.same)


def find(key: str) -> Property | None:
    """Returns the property of a key, or None; an entry ``prefix.*`` matches all keys with the prefix."""
    parts = key.split(".")
    families = (".".join([*parts[:length], "*"]) for length in range(len(parts) - 1, 0, -1))
    return next((known()[name] for name in (key, *families) if name in known()), None)


def text(path: Path) -> str:
    """Returns the text of a property file, decoded as UTF-8, or as Latin-1 (Java's encoding) if it is not UTF-8.

    :raises BadInputError: if the file cannot be read, or is in UTF-16 or binary
    """
    try:
        content = folders.content(path)
    except (OSError, ValueError) as error:
        cause = getattr(error, "strerror", None) or error
        raise BadInputError(f"cannot read the property file {path}: {cause}") from error
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in content:
        raise BadInputError(f"cannot read the property file {path}: it is UTF-16 or binary; save it as UTF-8")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def read(path: Path) -> dict[str, str]:
    """Reads a file in the format of java.util.Properties, as the stock client does.

    :raises BadInputError: if the file cannot be read, or contains a key twice (Java would silently use the last value)
    """
    values: dict[str, str] = {}
    lines: dict[str, int] = {}
    for number, line in _logical_lines(text(path)):
        # The first unescaped blank, = or : ends the key.
        match = re.fullmatch(rf"((?:\\.|[^\\{_BLANKS}=:])+)[{_BLANKS}]*[=:]?[{_BLANKS}]*(.*)", line, re.DOTALL)
        if match is None:
            raise BadInputError(f"{path}, line {number}: '{line}' is not a property; write key=value")
        key = _unescaped(match[1])
        if key in lines:
            raise BadInputError(f"{path}: {key} is set twice, in lines {lines[key]} and {number}; remove one")
        lines[key] = number
        values[key] = _unescaped(match[2]).strip(_BLANKS)
    return values


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yields each logical line with the number of its first line; joins continuation lines and omits comments."""
    start, joined = 0, ""
    for number, raw in enumerate(re.split(r"\r\n|\r|\n", text), start=1):
        line = raw.lstrip(_BLANKS)
        if not joined:
            start = number
            if not line or line[0] in "#!":
                continue
        joined += line
        backslashes = len(joined) - len(joined.rstrip("\\"))
        if backslashes % 2:
            joined = joined[:-1]
            continue
        yield start, joined
        joined = ""
    if joined:
        yield start, joined


def _unescaped(text: str) -> str:
    controls = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
    return re.sub(
        r"\\(?:u([0-9a-fA-F]{4})|(.))",
        lambda m: chr(int(m[1], 16)) if m[1] else controls.get(m[2], m[2]),
        text,
        flags=re.DOTALL,
    )


def write(values: dict[str, str], comment: str) -> str:
    """Returns the text of a property file that :func:`read` and Java read back as these values."""
    return f"# {comment}\n" + "".join(property_line(key, value) for key, value in values.items())


def reference() -> str:
    """Returns the text of docs/properties.md, which lists all properties that a scenario can set."""
    lines = [
        "# Properties of a scenario",
        "",
        "Everything that a file in `workloads/` or `--set key=value` may contain. Other keys are refused,"
        " and the message says what to set instead.",
        "",
        "This page is written by `./dohyo properties`, from `analysis/dohyo/scenario/common_properties.py`, the"
        " bindings' `ycsb-bindings/*/properties.py` and the classes in `ansible/systems/*/system.py`.",
    ]
    for group, entries in _groups().items():
        if not (settable := [entry for entry in entries if not isinstance(entry.type, Refused)]):
            continue
        lines += ["", f"## {group}", "", "| Key | Meaning | Allowed | Default | Read by |", "|---|---|---|---|---|"]
        for entry in settable:
            default = f"`{entry.default}`" if entry.default is not None else ""
            lines.append(
                f"| `{entry.key}` | {entry.about} | {entry.type.allowed} | {default}"
                f" | {READERS.get(entry.reader, f'{entry.reader} binding')} |"
            )
    lines += ["", "## Variables of the systems", "", "An inventory may also set them."]
    lines += ["", "| Variable | Meaning | Allowed | Default |", "|---|---|---|---|"]
    for option in catalogue.all_options().values():
        allowed = ", ".join(map(str, option.choices)) or {"str": "text"}.get(option.type, option.type)
        allowed += f" that matches `{option.pattern}`" if option.pattern not in (".*", WHOLE) else ""
        default = "" if option.default in (None, "", [], {}) else f"`{plain(option.default)}`"
        if option.about:
            lines.append(f"| `{option.name}` | {option.about} | {_cell(allowed)} | {_cell(default)} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Returns text for a Markdown table, with bars escaped."""
    return text.replace("|", "\\|")
