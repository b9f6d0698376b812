"""The class of a checked scenario; loading.py creates it."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from dohyo.bad_input import BadInputError
from dohyo.scenario import faults, phases, properties, published
from dohyo.scenario.hosts import Hosts
from dohyo.systems import catalogue

MATRIX = "matrix."
# Dimension with named sets of properties: variant.NAME.key=value.
VARIANT = "variant"
CONDITIONS = ("replication", "write_acks", "read_acks", "durability", "compression", "profile")


@dataclass(frozen=True)
class Scenario:
    """A checked property file, with the changes from the command line applied.

    :ivar values: given properties in canonical form, without defaults; counts are scaled
    :ivar role_variables: given variables of the systems, typed
    """

    name: str
    values: Mapping[str, str]
    role_variables: Mapping[str, Any]
    # The file's title, plus changed operations and faults; empty if the file has none.
    title: str = field(default="", compare=False)
    # Counts before ``scale`` was applied; empty without scaling.
    full: Mapping[str, str] = field(default_factory=dict)
    # Size from which recordcount was computed; empty if recordcount was given.
    datasize: str = ""
    # Bytes of data that fill a system's own caches on all hosts, for datasize=N*cache; 0 without a cache.
    caches: Mapping[str, int] = field(default_factory=dict)
    # Properties of single phases, by phase and key, with unscaled counts; ``of`` merges them with ``values``.
    phase_values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    # Values by dimension. With a matrix, ``values`` contains the unresolved properties of all points. ``points``
    # contains each system with the whole scenario at each of its points, in the order of measurement.
    matrix: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # Properties of each variant, by its name in the dimension "variant".
    variants: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    points: tuple[tuple[str, "Scenario"], ...] = ()
    # Position of this scenario in the matrix: value by dimension.
    point: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, key: str) -> str:
        """Returns the value of a property if it is given, otherwise its default, or "" without a default."""
        return self.values.get(key, properties.known()[key].default or "")

    def number(self, key: str) -> int:
        """Returns the value of a whole-number property; 0 if it is not given and has no default."""
        return int(self[key] or 0)

    @property
    def systems(self) -> list[str]:
        """Names of the systems to compare, in the order in which they are measured."""
        if self["systems"] == "all":
            return [system.name for system in catalogue.all_systems().values() if not system.by_name]
        return self["systems"].split(",")

    @property
    def published(self) -> list[Path]:
        """Files with published figures to show below the results."""
        return published.files(self.name, self["published"])

    @property
    def repeats(self) -> int:
        """Number of times that a trial repeats its phases."""
        return self.number("repeats")

    @property
    def interleaves(self) -> bool:
        """Whether the servers of all systems run at the same time and are measured alternately."""
        return self["interleave"] == "on"

    @property
    def precision(self) -> float | None:
        """Half-width of a rate's interval, as a share of the rate, at which rounds end; None without such a limit."""
        return None if self["precision"] in ("decided", "none") else _share(self["precision"])

    @property
    def adds_rounds(self) -> bool:
        """Whether further rounds are measured until the results are exact enough or decided."""
        return self["precision"] != "none"

    @property
    def alike(self) -> float:
        """Maximum difference, as a share, at which two neighbours in a ranking still count as alike."""
        return _share(self["alike"])

    @property
    def budget(self) -> float:
        """Time within which further rounds must end, in seconds; infinite without a budget."""
        return math.inf if self["budget"] == "none" else float(self["budget"])

    @property
    def most_rounds(self) -> int:
        """Maximum number of rounds."""
        least = self.number("rounds")
        return max(least, self.number("rounds.max")) if self.adds_rounds else least

    @property
    def phases(self) -> list[str]:
        """Names of the runs after the load, in order; empty if only the load is measured."""
        return phases.split(self["phases"])

    @property
    def measures_load(self) -> bool:
        """Whether the load is measured and compared like a run."""
        return phases.names_load(self["phases"])

    @property
    def equal_target(self) -> float | None:
        """Rate that the scenario sets for all clients in the phase `equal`, in op/s; None if derived from `max`."""
        return float(self.of(phases.EQUAL)["target"]) or None

    @property
    def share_of_equal(self) -> float:
        """Rate of the phase `equal` as a share of the slowest system's rate in the phase `max`."""
        return self.share_of_max(phases.EQUAL)

    def share_of_max(self, phase: str) -> float:
        """Returns the rate of a phase in `phases.AT_RATE`, as a share of a rate in the phase `max`."""
        return float(self[phases.SHARES[phase]].removesuffix("%")) / 100

    def of(self, phase: str) -> "Scenario":
        """Returns the scenario of one phase; "insert" is the load, "precondition" the updates before the runs."""
        if phase == phases.PRECONDITION:
            load = self.of(phases.INSERT)
            operations = math.ceil(self.preconditions / load.number("batchsize"))
            return replace(load, values={**load.values, **phases.ONLY_UPDATES, "operationcount": str(operations)})
        overrides = dict(self.phase_values.get(phase, {}))
        if "operationcount" in overrides:
            # The phase's operationcount ends it, even if the scenario sets a duration.
            overrides.setdefault("duration", "0")
            overrides["operationcount"] = share_of(overrides["operationcount"], self["scale"])
        implied = phases.IMPLIED.get(phase, {})
        if phase == phases.INSERT and not self.measures_load:
            # Drivers divide the timeout of an operation among its attempts.
            tries = 1 + int(overrides.get("retries", phases.RETRIES_OF_A_LOAD))
            implied = {
                **implied,
                "retries": phases.RETRIES_OF_A_LOAD,
                "operationtimeout": str(tries * self.number("operationtimeout")),
            }
        values = {**self.values, **implied, **overrides}
        if passes := int(values.get("passes", "0")):
            values["operationcount"] = str(self.records * passes // int(values.get("batchsize", "1")))
        if values.get("faults", faults.NONE) != faults.NONE:
            # The run measures the effects of faults, so errors must not stop a client before the window ends.
            stall = str(max(self.number("stalltime"), min(86_400, int(values.get("duration", "0")))))
            values = {"maxerrorrate": "1", "maxnotfoundrate": "1", "stalltime": stall, **values}
        return replace(self, values=values, phase_values={})

    @property
    def faults(self) -> list[faults.Fault]:
        """Faults of a run, sorted by time."""
        return faults.parse(self["faults"])

    @property
    def warmup(self) -> int:
        """Duration of the warm-up in seconds; with warmup=steady, the maximum duration."""
        return self.number("warmuptime")

    @property
    def expected_warmup(self) -> float:
        """Estimated duration of the warm-up in seconds: half of the maximum with warmup=steady (docs/sizing.md)."""
        return self.warmup / 2 if self["warmup"] == "steady" else self.warmup

    @property
    def warmup_words(self) -> str:
        """Description of the warm-up for messages."""
        return f"{'at most ' if self['warmup'] == 'steady' and self.warmup else ''}{self.warmup} s warm-up"

    @property
    def duration(self) -> int:
        """Duration of the measured window in seconds; 0 if only operationcount ends a run."""
        return self.number("duration")

    @property
    def conditions(self) -> dict[str, str | int]:
        """Conditions that must be equal for a fair comparison."""
        return {key: self.number(key) if key == "replication" else self[key] for key in CONDITIONS}

    @property
    def client_properties(self) -> dict[str, str]:
        """Properties of the client in all phases, without those that only Dohyo or the stock client reads.

        The trial adds those that differ between load and runs: warm-up, duration and folders.
        """
        declared = properties.known()
        excluded = {key for key, entry in declared.items() if entry.reader in ("dohyo", "stock")} | {"warmuptime"}
        # Stock YCSB needs an operationcount even with a duration. Our client would stop at whichever comes first.
        if self.duration:
            excluded.add("operationcount")
        return {key: value for key, value in self.values.items() if key not in excluded}

    @property
    def preconditions(self) -> int:
        """Number of updates that are written between the settling of the load and the runs."""
        return self.number("preconditioning")

    @property
    def ignored(self) -> list[str]:
        """Given properties that only the stock client reads."""
        declared = properties.known()
        return [key for key in self.values if key in declared and declared[key].reader == "stock"]

    @property
    def unused(self) -> list[str]:
        """Dimensions of the matrix that concern none of the systems."""
        return [key for key in self.matrix if not any(key in scenario.point for _, scenario in self.points)]

    @property
    def record_bytes(self) -> int:
        """Size of a record's values in bytes; the maximum if lengths vary."""
        return self.number("fieldcount") * self.number("fieldlength")

    @property
    def records(self) -> int:
        """Number of records that are loaded and requested."""
        return self.number("insertcount") or self.number("recordcount") - self.number("insertstart")

    @property
    def full_records(self) -> int:
        """Number of records without ``scale``."""
        return replace(self, values={**self.values, **self.full}).records

    @property
    def data_bytes(self) -> int:
        """Size of the loaded records in bytes, with the longest values and without overhead of the databases."""
        return self.records * self.record_bytes

    def text(self) -> str:
        """Returns the scenario as a property file that :func:`load` reads back."""
        # JSON is valid YAML, and strings need no quotes in a property file.
        role_variables = {
            name: value if isinstance(value, str) else json.dumps(value) for name, value in self.role_variables.items()
        }
        # List the systems, so that --resume finds the same trials after a system was added to "all".
        # Counts are unscaled, since load() applies the scale again.
        values = {**self.values, **self.full, "systems": ",".join(self.systems)}
        values |= {f"{phase}.{key}": value for phase, part in self.phase_values.items() for key, value in part.items()}
        values |= {f"{MATRIX}{key}": ",".join(choices) for key, choices in self.matrix.items()}
        values |= {
            f"{VARIANT}.{name}.{key}": value for name, part in self.variants.items() for key, value in part.items()
        }
        comment = f"scenario {self.name} as it was run" + (f", datasize={self.datasize}" if self.datasize else "")
        return properties.write({**values, **role_variables}, comment)


# Function that returns :attr:`Scenario.caches` for a scenario without recordcount.
Caches = Callable[[Scenario, Hosts], Mapping[str, int]]


def conflict(scenario: Scenario, *keys: str, reason: str) -> BadInputError:
    """Returns the error for values that do not fit together: KEY=VALUE with KEY=VALUE: reason."""
    return BadInputError(f"{' with '.join(f'{key}={scenario[key]}' for key in keys)}: {reason}")


def share_of(count: str, scale: str) -> str:
    return str(max(1, round(int(count) * Fraction(scale)))) if int(count) else count


def _share(percentage: str) -> float:
    """Returns a percentage such as "5%" as a number such as 0.05."""
    return float(percentage.removesuffix("%")) / 100
