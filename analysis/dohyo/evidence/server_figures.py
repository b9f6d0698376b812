"""Computes figures from the statistics of servers, which a trial stores after the load and after each run.

`ansible/systems/NAME/figures.yml` defines the figures of a system. A trial has a copy in its folder `server`, so that
its figures do not depend on the checkout that reads them. For example:

    pending_compactions:
      file: stats-metrics.json
      keys: "*:name=PendingTasks,type=Compaction Value"
      note: compactions still pending at the end

`file` may contain wildcards if each server on a host has its own file. A figure is the sum of the values that match
`keys` (one pattern or several, with `*` for anything), minus the sum of `less`, divided by the sum of `per`, times
`scale`. All of these except `keys` are optional. With `take: max` the figure is the largest value instead of the sum,
for values such as percentiles that cannot be added. With a `note` the report names every host on which the figure is
not 0. With `counter: true` the values count from the start of the server, and the figure of a run is their growth in
the run; otherwise it is the value after the run. `absent` is the value for a file without the keys, because some
servers leave out counters that are 0. The end of a figure's name gives the unit: `_bytes`, `_ms`, `_seconds`, `_ratio`
(0 to 1). Other names are counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct

from dohyo import plain_yaml
from dohyo.bad_input import BadInputError
from dohyo.evidence.json_values import Number, loads, number
from dohyo.evidence.text_file import Warn, blocks

FILE = "figures.yml"
# Valid patterns of file names: relative paths without "..", in which `*` stands for anything.
FILES = re.compile(r"(?!.*\.\.)[\w.*-]+(/[\w.*-]+)*")
_NAMED = re.compile(r"[\w.\[\]-]+=")


class Values(NamedTuple):
    """The values of one or more hosts, from which a figure is computed."""

    keys: Sequence[float] = ()
    less: Sequence[float] = ()
    per: Sequence[float] = ()


class Keys:
    """Patterns of keys, in which `*` stands for anything. A key must match one of them.

    They are not regular expressions: untrusted expressions could take hours to match a long key.
    """

    def __init__(self, patterns: Any) -> None:
        """:param patterns: a string or a list of strings; ValueError is raised for anything else"""
        listed = plain_yaml.as_list(patterns)
        if not listed or not all(isinstance(pattern, str) for pattern in listed):
            raise ValueError("must be a pattern of keys, or a list of patterns")
        self._whole = frozenset(pattern for pattern in listed if "*" not in pattern)
        self._parted = [pattern.split("*") for pattern in listed if "*" in pattern]
        self._ends = tuple(parts[-1] for parts in self._parted)

    def values(self, pairs: Sequence[tuple[str, float]]) -> list[float]:
        """Returns the values whose keys match."""
        return [
            value
            for key, value in pairs
            # The second condition is quick, and true for few of the thousands of keys.
            if key in self._whole or (key.endswith(self._ends) and any(_matches(key, parts) for parts in self._parted))
        ]


def _matches(key: str, parts: Sequence[str]) -> bool:
    first, *between, last = parts
    position, end = len(first), len(key) - len(last)
    if not (key.startswith(first) and key.endswith(last)):
        return False
    for part in between:
        position = key.find(part, position, end) + len(part)
        if position < len(part):
            return False
    return position <= end


class ServerFigure(Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of a system's figures.yml. The module's docstring describes the fields."""

    name: str
    file: str
    keys: Keys
    less: Keys | None = None
    per: Keys | None = None
    scale: Number = 1
    take: Literal["max"] | None = None
    counter: bool = False
    absent: Number | None = None
    note: str = ""

    def find(self, pairs: Sequence[tuple[str, float]]) -> Values:
        """Selects the figure's values from the keys and values of its file."""
        values = Values(*(keys.values(pairs) if keys else [] for keys in (self.keys, self.less, self.per)))
        return values if values.keys or self.absent is None else values._replace(keys=[self.absent])

    def of_run(self, before: Values | None, after: Values) -> Values:
        """Returns the values of a run: the growth of a counter in the run, otherwise the values after the run.

        :param before: values before the run; None if not known
        :returns: no values if the growth is not known, for example because the server was restarted
        """
        if not self.counter:
            return after
        if before is None:
            return Values()
        parts = zip(before, after, strict=True)
        grown = [[sum(later) - sum(earlier)] if later else [] for earlier, later in parts]
        return Values() if any(value < 0 for values in grown for value in values) else Values(*grown)

    def mean(self, runs: Sequence[Sequence[Values]]) -> float | None:
        """Returns the mean of the figure over several runs, each given by the values of its hosts. A ratio is computed
        from the sums over all runs; a maximum is the largest value of all runs.
        """
        value = self.value([host for hosts in runs for host in hosts])
        together = self.take or self.per is not None
        return value if value is None or together or not runs else value / len(runs)

    def value(self, hosts: Sequence[Values]) -> float | None:
        """Returns the figure for all the hosts together, or None if a part is not known or the divisor is 0."""
        keys = [value for host in hosts for value in host.keys]
        if self.take:
            return max(keys) * self.scale if keys else None
        if not all(host.keys and (host.less or not self.less) for host in hosts):
            return None
        result = (sum(keys) - sum(value for host in hosts for value in host.less)) * self.scale
        if self.per is None:
            return result
        per = sum(value for host in hosts for value in host.per)
        return result / per if per else None


def figures_of(folder: Path, warn: Warn) -> tuple[ServerFigure, ...]:
    """Reads the definitions of a trial's figures, in the order in which they are shown.

    :param folder: folder `server` of the trial; a damaged figures.yml causes a warning
    """
    path = folder / FILE
    try:
        entries = plain_yaml.load(path) if path.is_file() else {}
        if not isinstance(entries, dict):
            raise BadInputError("must be a mapping of names to figures")
        return tuple(_figure(str(name), entry) for name, entry in entries.items())
    except BadInputError as error:
        warn(f"{path}: {error}")
        return ()


def _figure(name: str, entry: Any) -> ServerFigure:
    if not isinstance(entry, dict):
        raise BadInputError(f"{name}: must be a mapping with file and keys")
    try:
        named = {**entry, "name": name}
        figure = msgspec.convert(named, ServerFigure, strict=False, dec_hook=lambda _, patterns: Keys(patterns))
    except msgspec.ValidationError as error:
        raise BadInputError(f"{name}: {error}") from error
    if not FILES.fullmatch(figure.file):
        raise BadInputError(f"{name}: file: {figure.file!r}: must be the name of a file in a host's folder")
    return figure


def pairs(path: Path, warn: Warn) -> list[tuple[str, float]]:
    """Reads keys and numbers from a file of statistics. Returns [] if it is missing; warns if it is broken.

    In JSON, a key is a path `OBJECT KEY`; an object in a list, such as a JMX bean, appears with its `name`. In text, a
    line is `key=value` (or several, separated by tabs), `key<tab>value`, or a Prometheus sample `metric{labels} value`.
    Other lines are skipped. `true` is 1, and `false` is 0.
    """
    if not path.is_file():
        return []
    text = b"".join(block for _, block in blocks(path, warn)).decode("utf-8", "replace")
    if text.lstrip()[:1] in ("{", "["):
        try:
            return list(_json_pairs(loads(text), ""))
        except (ValueError, RecursionError) as error:
            warn(f"{path}: cannot be read as JSON: {error}")
            return []
    return [(key, value) for key, word in _text_pairs(text) if (value := _number(word)) is not None]


def _json_pairs(content: Any, path: str) -> Iterator[tuple[str, float]]:
    if isinstance(content, dict):
        for key, value in content.items():
            yield from _json_pairs(value, f"{path} {key}".lstrip())
    elif isinstance(content, list):
        for item in content:
            name = item.get("name", "") if isinstance(item, dict) else ""
            yield from _json_pairs(item, f"{path} {name}".strip())
    elif (value := _number(content)) is not None:
        yield path, value


def _text_pairs(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        fields = line.split("\t")
        if line.startswith("#"):
            continue
        if _NAMED.match(line):
            for word in fields:
                key, _, value = word.partition("=")
                yield key, value
        elif len(fields) == 2:
            yield fields[0], fields[1]
        else:
            key, _, value = line.rpartition(" ")
            yield key, value


def _number(value: Any) -> float | None:
    return {"true": 1.0, "false": 0.0}[value] if value in ("true", "false") else number(value)
