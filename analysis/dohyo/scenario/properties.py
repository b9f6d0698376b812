"""Scenario properties: reading property files, and checking every key and value against the lists in properties.yml."""

import codecs
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from dohyo.bad_input import BadInputError
from dohyo.places import BINDINGS
from dohyo.scenario import faults, key_columns, slo
from dohyo.sizes import LETTERS, SIZES, size_bytes

# Who reads a property (``by`` in properties.yml), in words; a binding's own are read by it alone.
READERS = {"dohyo": "Dohyo", "both": "our client, stock YCSB", "client": "our client", "stock": "stock YCSB"}
_SUFFIXES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9}
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
# Names of fields that every system accepts, also with a number appended; what a binding accepts beyond that is in
# its own properties.yml (names).
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,39}")
# Blanks in Java's property files; Python has more.
_BLANKS = " \t\f"


@dataclass(frozen=True)
class Property:
    """One entry of properties.yml, where the fields are explained."""

    key: str
    group: str
    type: str
    by: str
    about: str
    default: str | None = None
    min: float | None = None
    max: float | None = None
    choices: tuple[str, ...] = ()
    refused: str | None = None
    fixed: str = ""
    kind: str = ""
    same: bool = False
    matrix: bool = True
    load: bool = True
    never: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    names: Mapping[str, tuple[int, str]] = field(default_factory=dict)

    def check(self, value: str) -> str:
        """Returns the value in the form that all readers understand ("100k" becomes "100000", "5m" becomes "300").

        :raises BadInputError: naming key, value and what is allowed
        """
        if self.refused:
            shown = "***" if re.search("passw", self.key) else value
            raise BadInputError(f"{self.key}={shown}: a scenario cannot set it, because {self.refused}")
        value = value.strip()
        if self.type != "choice" and value in self.choices:
            return value
        checked = getattr(self, f"_{self.type}")(value)
        if checked is None:
            raise BadInputError(f"{self.key}={value}: must be {self.range()}")
        return str(checked)

    def range(self) -> str:
        """What is allowed, in words."""
        limits = f" from {_plain(self.min)} to {_plain(self.max)}" if self.min is not None else ""
        words = "".join(f", or {word}" for word in self.choices) if self.type != "choice" else ""
        return self._range(limits) + words

    def _range(self, limits: str) -> str:
        return {
            "whole": f"a whole number{limits}",
            "count": f"a whole number{limits} (100k and 5M are understood)",
            "number": f"a number{limits}",
            "percent": f"a percentage such as 5%{limits and limits + ' percent'}",
            "seconds": f"a time such as 60s, 5m or 2h{limits and limits + ' seconds'}",
            "memory": "a size in megabytes or gigabytes, such as 512m or 2g",
            "size": "a size such as 192g (GiB, as for a heap), 192GiB or 15TB",
            "datasize": "a size such as 40GB, 1TB or 512MiB, or a multiple of the hosts' memory such as 4*ram, or of"
            " the systems' own caches such as 0.6*cache",
            "boolean": "true or false",
            "choice": "one of " + ", ".join(self.choices),
            "names": "names separated by commas",
            "bounds": "a bound such as p99<10ms or read.p99.9<500us, or several separated by commas:"
            f" {', '.join(slo.PERCENTILES)}; of every operation, or of {', '.join(slo.OPERATIONS)}; us, ms, s",
            "faults": f"faults such as {faults.EXAMPLE}, or {faults.NONE}; kinds: {', '.join(faults.KINDS)}",
            "columns": "columns such as host int 10, user bigint 1000, when timestamp",
            "identifier": "at most 40 letters A-Z, digits, _ and -, the first of them a letter or _",
            "file": "the name of a file that exists",
            "text": "some text",
        }[self.type]

    # One method per type: the value in its plain form, or None if it is none.

    def _whole(self, value: str) -> int | None:
        return self._scaled(value, {"": 1})

    def _count(self, value: str) -> int | None:
        return self._scaled(value, _SUFFIXES)

    def _seconds(self, value: str) -> int | None:
        return self._scaled(value, _SECONDS)

    def _scaled(self, value: str, units: dict[str, int]) -> int | None:
        # ASCII digits only: int() would also take "1_000" and other scripts' digits, which Java does not.
        match = re.fullmatch(r"([+-]?[0-9]{1,19})([a-z]?)", value.lower())
        if match is None or match[2] not in units:
            return None
        number = int(match[1]) * units[match[2]]
        return number if self._in_range(number) else None

    def _number(self, value: str) -> str | None:
        if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", value):
            return None
        return value if self._in_range(float(value)) else None

    def _percent(self, value: str) -> str | None:
        bare = value.removesuffix("%").rstrip()
        return f"{bare}%" if value.endswith("%") and self._number(bare) else None

    def _memory(self, value: str) -> str | None:
        return value.lower() if re.fullmatch(r"[1-9][0-9]{0,6}[mMgG]", value) else None

    def _size(self, value: str) -> int | None:
        found = size_bytes(value, SIZES | LETTERS)
        return found if found and self._in_range(found) else None

    def _datasize(self, value: str) -> str | None:
        if multiple := re.fullmatch(r"([0-9]*\.?[0-9]+)\s*\*\s*(ram|cache)", value.lower()):
            return f"{multiple[1]}*{multiple[2]}" if float(multiple[1]) > 0 else None
        return value if size_bytes(value) else None

    def _boolean(self, value: str) -> str | None:
        return value.lower() if value.lower() in ("true", "false") else None

    def _choice(self, value: str) -> str | None:
        value = re.sub(r"^com\.yahoo\.ycsb\.", "site.ycsb.", value)  # YCSB's packages before 0.16
        return value if value in self.choices else None

    def _text(self, value: str) -> str:
        return value

    def _identifier(self, value: str) -> str | None:
        return value if _IDENTIFIER.fullmatch(value) else None

    def _names(self, value: str) -> str | None:
        names = [name.strip() for name in value.split(",")]
        return ",".join(names) if all(names) else None

    def _bounds(self, value: str) -> str | None:
        try:
            slo.bounds(value)
        except ValueError:
            return None
        return slo.plain(value)

    def _faults(self, value: str) -> str:
        return faults.plain(value)

    def _columns(self, value: str) -> str:
        try:
            return key_columns.plain(value) if value else ""
        except ValueError as error:
            raise BadInputError(f"{self.key}={value}: {error}") from error

    def _file(self, value: str) -> str | None:
        # Absolute, because clients work in folders of their own.
        return str(Path(value).resolve()) if Path(value).is_file() else None

    def _in_range(self, number: float) -> bool:
        return (self.min is None or number >= self.min) and (self.max is None or number <= self.max)


def heap_bytes(text: str) -> int:
    """The bytes of a checked property of the type memory, such as "512m"."""
    return size_bytes(text, LETTERS) or 0


def plain(value: Any) -> str:
    """A value in one form, whether JSON or a property file had it: true, 2000, 0.5."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
    return text.rstrip("0").rstrip(".") if re.fullmatch(r"[0-9]+\.[0-9]+", text) else text


def _plain(number: float | None) -> str:
    return f"{number:.10g}" if isinstance(number, float) else str(number)


@cache
def known() -> dict[str, Property]:
    """All properties by key: the common ones, then those of the bindings."""
    groups = _yaml(Path(__file__).with_suffix(".yml"))
    result: dict[str, Property] = {}
    for group, entries in groups.items():
        common = entries.pop("_all", {})
        result |= {key: _property(key, group, {**common, **fields}) for key, fields in entries.items()}
    for file in sorted(BINDINGS.glob("*/properties.yml")):
        binding = file.parent.name
        for key, fields in _yaml(file).items():
            result[key] = _property(key, f"Binding {binding}", {**fields, "by": binding})
    return result


@cache
def of_the_workload() -> frozenset[str]:
    """Properties that must be equal for the clients of one run, and for the trials at one point: otherwise they
    measured different things.
    """
    return frozenset(key for key, entry in known().items() if entry.same)


def find(key: str) -> Property | None:
    """The property of that name; ``prefix.*`` in a list stands for all keys below the prefix."""
    parts = key.split(".")
    families = (".".join([*parts[:length], "*"]) for length in range(len(parts) - 1, 0, -1))
    return next((known()[name] for name in (key, *families) if name in known()), None)


def _yaml(file: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return content


def _property(key: str, group: str, fields: dict[str, Any]) -> Property:
    if "default" in fields:
        fields["default"] = str(fields["default"])
    return Property(key, group, **{**fields, "choices": tuple(fields.get("choices", ()))})


def text(path: Path) -> str:
    """The text of a property file: UTF-8, else Latin-1, which every sequence of bytes is and Java reads.

    :raises BadInputError: if it cannot be read, or has bytes that no text in these encodings has
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadInputError(f"cannot read the property file {path}: {error.strerror or error}") from error
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in content:
        raise BadInputError(f"cannot read the property file {path}: it is in UTF-16, or no text; save it as UTF-8")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def read(path: Path) -> dict[str, str]:
    """Reads a file in the format of java.util.Properties, as the stock client does.

    :raises BadInputError: if the file cannot be read, or a key stands there twice (Java would silently take the last)
    """
    values: dict[str, str] = {}
    lines: dict[str, int] = {}
    for number, line in _logical_lines(text(path)):
        # The key ends at the first blank, = or : that is not escaped.
        match = re.fullmatch(rf"((?:\\.|[^\\{_BLANKS}=:])+)[{_BLANKS}]*[=:]?[{_BLANKS}]*(.*)", line, re.DOTALL)
        if match is None:
            raise BadInputError(f"{path}, line {number}: '{line}' is no property; a line reads key=value")
        key = _unescaped(match[1])
        if key in lines:
            raise BadInputError(f"{path}: {key} is there twice, in lines {lines[key]} and {number}; remove one")
        lines[key] = number
        values[key] = _unescaped(match[2]).strip(_BLANKS)
    return values


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines without comments and blanks, with continuation lines joined; with the number of their first line."""
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
    """The text of a property file that :func:`read` and Java read back as these values."""
    return f"# {comment}\n" + "".join(
        f"{_escaped(key, ' =:')}={_escaped(value, '')}\n" for key, value in values.items()
    )


def _escaped(text: str, also: str) -> str:
    text = (
        text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t").replace("\f", "\\f")
    )
    for character in also:
        text = text.replace(character, "\\" + character)
    return "\\" + text if text[:1] in ("#", "!") and also else text


def reference() -> str:
    """docs/properties.md: every property, for people."""
    lines = [
        "# Properties of a scenario",
        "",
        "Everything that a file in `workloads/` or `--set key=value` may contain. Other keys are refused, except for"
        " variables of the systems, such as `cassandra_heap`, which `ansible/systems/*/system.py`"
        " explain.",
        "",
        "This page is written by `./dohyo properties`, from `analysis/dohyo/scenario/properties.yml` and the"
        " bindings' `ycsb-bindings/*/properties.yml`.",
    ]
    group = ""
    for entry in known().values():
        if entry.group != group:
            group = entry.group
            last = "Default, or why a scenario cannot set it"
            lines += ["", f"## {group}", "", f"| Key | Meaning | Allowed | {last} | Read by |", "|---|---|---|---|---|"]
        default = f"`{entry.default}`" if entry.default is not None else ""
        lines.append(
            f"| `{entry.key}` | {entry.about} | {entry.range()} | {entry.refused or default}"
            f" | {READERS.get(entry.by, f'{entry.by} binding')} |"
        )
    return "\n".join(lines) + "\n"
