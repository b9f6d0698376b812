"""What a property of scenarios is, and the types of its values."""

import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import ClassVar

from dohyo.bad_input import BadInputError
from dohyo.scenario import faults, key_columns, slo
from dohyo.sizes import LETTERS, SIZES, size_bytes


class Text:
    """Any text; the base of all types."""

    # Words after "must be" in a message.
    allowed = "some text"
    # Words that are allowed, all of them or beside numbers.
    words: tuple[str, ...] = ()

    def plain(self, value: str) -> str | None:
        """Returns the value in the form that all readers understand ("100k" becomes "100000", "5m" becomes "300").

        None stands for a value that is not allowed.

        :raises ValueError: with a message that says more than `allowed`
        """
        return value


class Refused(Text):
    """The type of a property that Dohyo sets itself; the message says why."""

    allowed = "nothing"

    def __init__(self, why: str) -> None:
        self.why = why

    def plain(self, value: str) -> str | None:  # noqa: ARG002
        raise ValueError(f"a scenario cannot set it, because {self.why}")


class Choice(Text):
    def __init__(self, *words: str) -> None:
        self.words = words
        self.allowed = f"one of {', '.join(words)}"

    def plain(self, value: str) -> str | None:
        value = re.sub(r"^com\.yahoo\.ycsb\.", "site.ycsb.", value)  # YCSB's packages before 0.16
        return value if value in self.words else None


class Boolean(Text):
    allowed = "true or false"

    def plain(self, value: str) -> str | None:
        return value.lower() if value.lower() in ("true", "false") else None


class Number(Text):
    """A number between two limits, which are included, or one of the words."""

    form = "a number {}"

    def __init__(self, lowest: float, highest: float, *words: str) -> None:
        self.lowest, self.highest, self.words = lowest, highest, words
        limits = f"from {_shown(lowest)} to {_shown(highest)}"
        self.allowed = ", or ".join([self.form.format(limits), *words])

    def plain(self, value: str) -> str | None:
        return value if value in self.words else self._number(value)

    def _number(self, value: str) -> str | None:
        if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", value):
            return None
        return value if self.lowest <= float(value) <= self.highest else None


class Percent(Number):
    form = "a percentage such as 5% {} percent"

    def _number(self, value: str) -> str | None:
        bare = value.removesuffix("%").rstrip()
        return f"{bare}%" if value.endswith("%") and super()._number(bare) else None


class Whole(Number):
    form = "a whole number {}"
    units: ClassVar[Mapping[str, int]] = {"": 1}

    def _number(self, value: str) -> str | None:
        # ASCII digits only: int() would also take "1_000" and other scripts' digits, which Java does not.
        match = re.fullmatch(r"([+-]?[0-9]{1,19})([a-z]?)", value.lower())
        if match is None or match[2] not in self.units:
            return None
        number = int(match[1]) * self.units[match[2]]
        return str(number) if self.lowest <= number <= self.highest else None


class Count(Whole):
    form = "a whole number {} (100k and 5M are understood)"
    units: ClassVar = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9}


class Duration(Whole):
    form = "a time such as 60s, 5m or 2h {} seconds"
    units: ClassVar = {"": 1, "s": 1, "m": 60, "h": 3600}


class Memory(Text):
    allowed = "a size in megabytes or gigabytes, such as 512m or 2g"

    def plain(self, value: str) -> str | None:
        return value.lower() if re.fullmatch(r"[1-9][0-9]{0,6}[mMgG]", value) else None


class Size(Text):
    allowed = "a size such as 192g (GiB, as for a heap), 192GiB or 15TB"

    def plain(self, value: str) -> str | None:
        found = size_bytes(value, SIZES | LETTERS)
        return str(found) if found else None


class DataSize(Text):
    allowed = (
        "a size such as 40GB, 1TB or 512MiB, or a multiple of the hosts' memory such as 4*ram, or of the systems' own"
        " caches such as 0.6*cache"
    )

    def plain(self, value: str) -> str | None:
        if multiple := re.fullmatch(r"([0-9]*\.?[0-9]+)\s*\*\s*(ram|cache)", value.lower()):
            return f"{multiple[1]}*{multiple[2]}" if float(multiple[1]) > 0 else None
        return value if size_bytes(value) else None


class Identifier(Text):
    """Names that every system accepts, also with a number appended; `Property.names` has the limits of a binding."""

    allowed = "at most 40 letters A-Z, digits, _ and -, the first of them a letter or _"

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
        # Absolute, because clients work in folders of their own.
        return str(Path(value).resolve()) if Path(value).is_file() else None


class Bounds(Text):
    allowed = (
        "a bound such as p99<10ms or read.p99.9<500us, or several separated by commas:"
        f" {', '.join(slo.PERCENTILES)}; of every operation, or of {', '.join(slo.OPERATIONS)}; us, ms, s"
    )

    def plain(self, value: str) -> str | None:
        try:
            slo.bounds(value)
        except ValueError:
            return None
        return slo.plain(value)


class FaultList(Text):
    allowed = f"faults such as {faults.EXAMPLE}, or {faults.NONE}; kinds: {', '.join(faults.KINDS)}"

    def plain(self, value: str) -> str | None:
        return faults.plain(value)


class Columns(Text):
    allowed = "columns such as host int 10, user bigint 1000, when timestamp"

    def plain(self, value: str) -> str | None:
        return key_columns.plain(value) if value else ""


# Readers of a property; those of a binding are read by it alone.
DOHYO, BOTH, CLIENT, STOCK = "dohyo", "both", "client", "stock"


@dataclass(frozen=True)
class Property:
    """A property that a scenario may hold. A key `prefix.*` stands for all keys that begin with the prefix."""

    key: str
    type: Text
    # DOHYO (planning), BOTH (our client and stock YCSB), CLIENT (only ours), STOCK (only stock YCSB), or a binding's
    # name. properties.py fills in the binding's name for the properties in its folder.
    by: str = ""
    _: KW_ONLY
    # Description, for docs/properties.md.
    about: str
    # Value that is used where the key is missing.
    default: str | None = None
    # Reason why all phases of a trial have the same value; empty: they may differ.
    fixed: str = ""
    # Clients of a run, and trials at one point, with another value belong to another scenario.
    same: bool = False
    # False: the value applies to the whole experiment, so that it is no dimension of the matrix.
    matrix: bool = True
    # False: the load has no such property, because it only inserts and ends when all records are there.
    load: bool = True
    # The property only says where and how often the client reports.
    output: bool = False
    # {VALUE: {OTHER: why}}: this value excludes any value of the property OTHER.
    never: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    # {VALUE: (N, why)}: with this value the binding takes names of fields with at most N characters.
    names: Mapping[str, tuple[int, str]] = field(default_factory=dict)

    def check(self, value: str) -> str:
        """Returns the value in the form that all readers understand.

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
