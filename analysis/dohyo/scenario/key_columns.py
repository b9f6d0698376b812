"""The property keycolumns: columns of a record's key. The client's class dohyo.binding.KeyColumns also reads it."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

# Limits of KeyColumns: MySQL's maximum number of columns in a key, and the length of the key column without keycolumns.
MOST_COLUMNS = 16
MOST_BYTES = 255

_BYTES = {"int": 4, "bigint": 8, "timestamp": 8}
# Number of values of a column by type. Values are whole numbers from 0; like record numbers, they are below 2^63.
_ROOM = {"int": 2**31, "bigint": 2**63 - 1, "timestamp": 2**63 - 1}
_COLUMN = re.compile(
    r"([a-z][a-z0-9_]{0,39}) +(int|bigint|timestamp|text\(([1-9][0-9]{0,2})\))(?: +([1-9][0-9]{0,17}))?"
)
# Form of a column. The last column does not state its number of values.
_FORM = "a name (a-z, 0-9, _), a type and a number of values"
_LAST_FORM = "a name (a-z, 0-9, _) and a type"


@dataclass(frozen=True)
class KeyColumn:
    """One column of a key.

    :ivar name: name of the column
    :ivar type: int, bigint, timestamp or text(N)
    :ivar bytes: size of a value in a stored key
    :ivar values: number of values; for the last column, the maximum of its type
    """

    name: str
    type: str
    bytes: int
    values: int


def parse(text: str) -> list[KeyColumn]:
    """Returns the columns in a value of the property, in order; an empty list for an empty value.

    :raises ValueError: with the error and what is allowed; the caller adds the property's name and value
    """
    if not text:
        return []
    parts, _ = _parts(text)
    if not 2 <= len(parts) <= MOST_COLUMNS:
        raise ValueError(
            f"must have 2 to {MOST_COLUMNS} columns, not {len(parts)}, as in 'host int 10, when timestamp'"
        )
    columns = [_column(part, last=index == len(parts) - 1) for index, part in enumerate(parts)]
    names = [column.name for column in columns]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"the name {twice} occurs twice")
    if (length := sum(column.bytes for column in columns)) > MOST_BYTES:
        raise ValueError(f"a key has {length} bytes; at most {MOST_BYTES} are allowed; make texts shorter")
    return columns


def _parts(text: str) -> tuple[list[str], int]:
    """Returns the text of each column, and the number of columns in parentheses, which form the partition key.

    :raises ValueError: if the parenthesis is not closed before the last column
    """
    parts = [part.strip() for part in text.split(",")]
    if not parts[0].startswith("("):
        return parts, 0
    parts[0] = parts[0][1:]
    for index, part in enumerate(parts[:-1]):
        if part.endswith(")"):
            parts[index] = part[:-1]
            return parts, index + 1
    raise ValueError("the parenthesis must be closed before the last column")


def _column(part: str, *, last: bool) -> KeyColumn:
    match = _COLUMN.fullmatch(part)
    if match is None or last != (match[4] is None):
        raise ValueError(f"'{part}' must be {_LAST_FORM if last else _FORM}; types: int, bigint, text(N), timestamp")
    room = _ROOM.get(match[2]) or min(10 ** int(match[3]), 2**63 - 1)
    values = room if last else int(match[4])
    if values > room:
        raise ValueError(f"'{part}': the type has room for {room} values")
    return KeyColumn(match[1], match[2], _BYTES.get(match[2]) or int(match[3]), values)


def plain(text: str) -> str:
    """Returns valid columns in the form that the systems' classes parse, such as "host int 10, when timestamp"."""
    *first, last = parse(text)
    _, grouped = _parts(text)
    parts = [*(f"{column.name} {column.type} {column.values}" for column in first), f"{last.name} {last.type}"]
    return ", ".join([f"({', '.join(parts[:grouped])})", *parts[grouped:]] if grouped else parts)


def series(partitions: int) -> str:
    """Returns the columns of a time series with this number of partitions."""
    return f"series bigint {partitions}, time timestamp"


def records(columns: Sequence[KeyColumn]) -> int:
    """Returns the number of different keys."""
    return math.prod(column.values for column in columns)
