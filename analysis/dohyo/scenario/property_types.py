"""The class of scenario properties, and the types of their values."""

import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import ClassVar

from dohyo.bad_input import BadInputError
from dohyo.scenario import faults, key_columns, slo
from dohyo.sizes import LETTERS, SIZES, size_bytes


class Text:
    """The base class of all types; it accepts any text."""

    # Text that follows "must be" in a message.
    allowed = "some text"
    # Words that are allowed: all values of a choice, or further values besides numbers.
    choices: tuple[str, ...] = ()

    def plain(self, value: str) -> str | None:
        """Returns the value in canonical form ("100k" becomes "100000", "5m" becomes "300").

        :returns: None if the value is not allowed
        :raises ValueError: with a message that is more specific than `allowed`
        """
        return value


class Refused(Text):
    """Type of a property that a scenario cannot set, because Dohyo sets it; `reason` says why."""

    allowed = "nothing"

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def plain(self, value: str) -> str | None:  # noqa: ARG002
        raise ValueError(f"a scenario cannot set it, because {self.reason}")


class Choice(Text):
    def __init__(self, *choices: str) -> None:
        self.choices = choices
        self.allowed = f"one of {', '.join(choices)}"

    def plain(self, value: str) -> str | None:
        value = re.sub(r"^com\.yahoo\.ycsb\.", "site.ycsb.", value)  # package names before YCSB 0.16
        return value if value in self.choices else None


class Boolean(Text):
    allowed = "true or false"

    def plain(self, value: str) -> str | None:
        return value.lower() if value.lower() in ("true", "false") else None


class Number(Text):
    """A number between two inclusive limits, or one of the given words."""

    form = "a number {}"

    def __init__(self, lowest: float, highest: float, *choices: str) -> None:
        self.lowest, self.highest, self.choices = lowest, highest, choices
        limits = f"from {_shown(lowest)} to {_shown(highest)}"
        self.allowed = ", or ".join([self.form.format(limits), *choices])

    def plain(self, value: str) -> str | None:
        return value if value in self.choices else self._number(value)

    def _number(self, value: str) -> str | None:
        if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", value):
            return None
        return value if self.lowest <= float(value) <= self.highest else None


class Percent(Number):
    form = "a percentage {}, such as 5%"

    def _number(self, value: str) -> str | None:
        bare = value.removesuffix("%").rstrip()
        return f"{bare}%" if value.endswith("%") and super()._number(bare) else None


class Whole(Number):
    form = "a whole number {}"
    units: ClassVar[Mapping[str, int]] = {"": 1}

    def _number(self, value: str) -> str | None:
        # ASCII digits only, as in Java; int() also accepts "1_000" and digits of other scripts.
        match = re.fullmatch(r"([+-]?[0-9]{1,19})([a-z]?)", value.lower())
        if match is None or match[2] not in self.units:
            return None
        number = int(match[1]) * self.units[match[2]]
        return str(number) if self.lowest <= number <= self.highest else None


class Count(Whole):
    form = "a whole number {}, also as 100k or 5M"
    units: ClassVar = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9}


class Duration(Whole):
    form = "a time {} seconds, such as 60s, 5m or 2h"
    units: ClassVar = {"": 1, "s": 1, "m": 60, "h": 3600}


class Memory(Text):
    allowed = "a size in megabytes or gigabytes, such as 512m or 2g"

    def plain(self, value: str) -> str | None:
        return value.lower() if re.fullmatch(r"[1-9][0-9]{0,6}[mMgG]", value) else None


class Size(Text):
    allowed = "a size such as 192g (GiB, as for a heap), 192GiB or 15TB"

    def plain(self, value: str) -> str | None:
        size = size_bytes(value, SIZES | LETTERS)
        return str(size) if size else None


class DataSize(Text):
    allowed = "a size such as 40GB, or a multiple such as 4*ram or 0.6*cache"

    def plain(self, value: str) -> str | None:
        if multiple := re.fullmatch(r"([0-9]*\.?[0-9]+)\s*\*\s*(ram|cache)", value.lower()):
            return f"{multiple[1]}*{multiple[2]}" if float(multiple[1]) > 0 else None
        return value if size_bytes(value) else None


class Identifier(Text):
    """A name that every system accepts, even with a number appended; `Property.names` sets further limits."""

    allowed = "up to 40 of A-Z, a-z, 0-9, _ and -, beginning with a letter or _"

    def plain(self, value: str) -> str | None:
        return value if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,39}", value) else None


class Names(Text):
    allowed = "names separated by commas"

    def plain(self, value: str) -> str | None:
        names = [name.strip() for name in value.split(",")]
        return ",".join(names) if all(names) else None


class ExistingFile(Text):
    allowed = "the name of a file that exists"

    def plain(self, value: str) -> str | None:
        # The path must be absolute, because clients run in other folders.
        return str(Path(value).resolve()) if Path(value).is_file() else None


class Bounds(Text):
    allowed = "bounds such as p99<10ms,read.p99.9<500us (docs/knee.md)"

    def plain(self, value: str) -> str | None:
        try:
            slo.bounds(value)
        except ValueError:
            return None
        return slo.plain(value)


class FaultList(Text):
    allowed = f"faults such as {faults.EXAMPLE}, or {faults.NONE} (docs/faults.md)"

    def plain(self, value: str) -> str | None:
        return faults.plain(value)


class Columns(Text):
    allowed = "columns such as 'host int 10, user bigint 1000, when timestamp'"

    def plain(self, value: str) -> str | None:
        return key_columns.plain(value) if value else ""


# Readers of a property. The reader of a binding's property is the binding's name.
DOHYO, BOTH, CLIENT, STOCK = "dohyo", "both", "client", "stock"


@dataclass(frozen=True)
class Property:
    """A property that a scenario may contain. The key `prefix.*` stands for all keys with the prefix."""

    key: str
    type: Text
    # Reader: DOHYO (planning), BOTH (our client and stock YCSB), CLIENT (only our client), STOCK (only stock YCSB), or
    # a binding's name. properties.py fills in the binding's name for the properties in its folder.
    reader: str = ""
    _: KW_ONLY
    # Description for docs/properties.md.
    about: str
    # Value if the key is missing.
    default: str | None = None
    # Reason why the value must be the same in all phases of a trial; empty if it may differ.
    fixed: str = ""
    # Whether the value must be equal for all clients of a run and for all trials at a point.
    same: bool = False
    # Whether the property can be a dimension of the matrix; otherwise it applies to the whole experiment.
    matrix: bool = True
    # Whether the property applies to the load, which only inserts and ends with the last record.
    load: bool = True
    # Whether the property only changes where and how often the client reports.
    output: bool = False
    # {VALUE: {OTHER: reason}}: with this value the property OTHER cannot be set.
    never: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    # {VALUE: (N, reason)}: with this value a field name has at most N characters.
    names: Mapping[str, tuple[int, str]] = field(default_factory=dict)

    def check(self, value: str) -> str:
        """Returns the value in canonical form.

        :raises BadInputError: naming key, value and what is allowed
        """
        value = value.strip()
        shown = "***" if "passw" in self.key else value
        try:
            plain = self.type.plain(value)
        except ValueError as error:
            raise BadInputError(f"{self.key}={shown}: {error}") from error
        if plain is None:
            raise BadInputError(f"{self.key}={shown}: must be {self.type.allowed}")
        return plain


def _shown(number: float) -> str:
    return f"{number:.10g}" if isinstance(number, float) else str(number)
