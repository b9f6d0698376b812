"""A scenario: a checked property file with what the command line changes; loading.py makes it."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from dohyo.scenario import faults, phases, properties, published
from dohyo.scenario.hosts import Hosts
from dohyo.systems import catalogue

MATRIX = "matrix."
# The dimension whose values are names, each of several properties: variant.NAME.key=value.
VARIANT = "variant"
CONDITIONS = ("replication", "write_acks", "read_acks", "durability", "compression", "profile")


@dataclass(frozen=True)
class Scenario:
    """Everything that one comparison is about.

    ``values`` has the given properties in their checked form, without defaults; ``role_variables`` the given variables
    of the systems, typed. Counts in ``values`` are scaled.
    """

    name: str
    values: Mapping[str, str]
    role_variables: Mapping[str, Any]
    # The file's title, with changes to operations and faults; empty if the file has none.
    title: str = field(default="", compare=False)
    # Counts as they were before ``scale`` made them smaller; empty where it did not.
    full: Mapping[str, str] = field(default_factory=dict)
    # The size that recordcount was computed from, if any.
    datasize: str = ""
    # For a multiple of them: the data, in bytes, whose copies fill the systems' own caches on all hosts; 0 without one.
    caches: Mapping[str, int] = field(default_factory=dict)
    # What single phases have instead, by phase and key, counts in full: ``of`` puts it together.
    phase_values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    # Values by dimension. With a matrix ``values`` has what all points share, as it was given, and ``points`` each
    # system with the whole scenario at each of its points, in the order of measuring.
    matrix: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # What the values of the dimension "variant" stand for: properties by name of the variant.
    variants: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    points: tuple[tuple[str, "Scenario"], ...] = ()
    # Where in the matrix this scenario is: value by dimension.
    point: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, key: str) -> str:
        """The effective value of a property: the given one or the default, "" if there is neither."""
        return self.values.get(key, properties.known()[key].default or "")

    def number(self, key: str) -> int:
        """The effective value of a whole-number property."""
        return int(self[key] or 0)

    @property
    def systems(self) -> list[str]:
        """Names of the systems to compare, in the order of their trials."""
        if self["systems"] == "all":
            return [system.name for system in catalogue.all_systems().values() if not system.by_name]
        return self["systems"].split(",")

    @property
    def published(self) -> list[Path]:
        """Files with published figures to show below ours."""
        return published.files(self.name, self["published"])

    @property
    def repeats(self) -> int:
        """How often a trial goes through its phases."""
        return self.number("repeats")

    @property
    def precision(self) -> float | None:
        """Half of the interval of a rate, as a share of it, that ends the rounds; None: something else does."""
        return None if self["precision"] in ("decided", "none") else _share(self["precision"])

    @property
    def adds_rounds(self) -> bool:
        """Whether rounds beyond `rounds` are measured until the results are exact enough or decided."""
        return self["precision"] != "none"

    @property
    def alike(self) -> float:
        """The share within which neighbours in a ranking are alike."""
        return _share(self["alike"])

    @property
    def budget(self) -> float:
        """Seconds within which a round beyond `rounds` must end."""
        return math.inf if self["budget"] == "none" else float(self["budget"])

    @property
    def most_rounds(self) -> int:
        """How many rounds there may be."""
        least = self.number("rounds")
        return max(least, self.number("rounds.max")) if self.adds_rounds else least

    @property
    def phases(self) -> list[str]:
        """Names of the runs after the load, in order; none where the load is what is measured."""
        return phases.split(self["phases"])

    @property
    def measures_load(self) -> bool:
        """Whether the load is measured and compared like a run: `phases` names it."""
        return phases.names_load(self["phases"])

    @property
    def equal_target(self) -> float | None:
        """The rate of the phase `equal` where it is given, of all clients; None: it follows from what is measured."""
        return float(self.of(phases.EQUAL)["target"]) or None

    @property
    def share_of_equal(self) -> float:
        """That rate as a share of what the slowest system does in the phase `max`."""
        return self.share_of_max(phases.EQUAL)

    def share_of_max(self, phase: str) -> float:
        """The rate of a phase of `phases.AT_RATE` as a share of a rate of the phase `max`."""
        return float(self[phases.SHARES[phase]].removesuffix("%")) / 100

    def of(self, phase: str) -> "Scenario":
        """The scenario as one phase has it; "insert" is the load, "precondition" the updates before the runs."""
        if phase == phases.PRECONDITION:
            load = self.of(phases.INSERT)
            operations = math.ceil(self.preconditions / load.number("batchsize"))
            return replace(load, values={**load.values, **phases.ONLY_UPDATES, "operationcount": str(operations)})
        own = dict(self.phase_values.get(phase, {}))
        if "operationcount" in own:
            # Meant to end the run, also where the scenario bounds runs by time.
            own.setdefault("duration", "0")
            own["operationcount"] = share_of(own["operationcount"], self["scale"])
        implied = phases.IMPLIED.get(phase, {})
        if phase == phases.INSERT and not self.measures_load:
            # Drivers divide the time of an operation among its tries.
            tries = 1 + int(own.get("retries", phases.RETRIES_OF_A_LOAD))
            implied = {
                **implied,
                "retries": phases.RETRIES_OF_A_LOAD,
                "operationtimeout": str(tries * self.number("operationtimeout")),
            }
        values = {**self.values, **implied, **own}
        if passes := int(values.get("passes", "0")):
            values["operationcount"] = str(self.records * passes // int(values.get("batchsize", "1")))
        if values.get("faults", faults.NONE) != faults.NONE:
            # What a fault costs is the result: a client goes on as long as the window lasts.
            stall = str(max(self.number("stalltime"), min(86_400, int(values.get("duration", "0")))))
            values = {"maxerrorrate": "1", "maxnotfoundrate": "1", "stalltime": stall, **values}
        return replace(self, values=values, phase_values={})

    @property
    def faults(self) -> list[faults.Fault]:
        """What is done to the servers in a run, in the order of their times."""
        return faults.parse(self["faults"])

    @property
    def warmup(self) -> int:
        """Seconds before the measured window; with warmup=steady the most."""
        return self.number("warmuptime")

    @property
    def warmup_words(self) -> str:
        """The warm-up, for people."""
        return f"{'at most ' if self['warmup'] == 'steady' and self.warmup else ''}{self.warmup} s warm-up"

    @property
    def duration(self) -> int:
        """Seconds of the measured window; 0 where only operationcount ends a run."""
        return self.number("duration")

    @property
    def conditions(self) -> dict[str, str | int]:
        """The conditions that must be equal for a comparison to be fair."""
        return {key: self.number(key) if key == "replication" else self[key] for key in CONDITIONS}

    @property
    def client_properties(self) -> dict[str, str]:
        """The client's properties in all phases, without those that only Dohyo, a system's class or the stock
        client reads.

        Ansible adds what differs between load and runs: warm-up, duration, folders.
        """
        known = properties.known()
        elsewhere = {key for key, entry in known.items() if entry.by in ("dohyo", "stock")} | {"warmuptime"}
        # The stock client needs a count also where time is meant to end a run; ours would end at whichever comes first.
        if self.duration:
            elsewhere.add("operationcount")
        return {key: value for key, value in self.values.items() if key not in elsewhere}

    @property
    def preconditions(self) -> int:
        """Updates of records after the load has settled and before the runs."""
        return self.number("preconditioning")

    @property
    def ignored(self) -> list[str]:
        """Given properties that only the stock client reads."""
        known = properties.known()
        return [key for key in self.values if key in known and known[key].by == "stock"]

    @property
    def unused(self) -> list[str]:
        """Dimensions of the matrix that no chosen system has."""
        return [key for key in self.matrix if not any(key in scenario.point for _, scenario in self.points)]

    @property
    def record_bytes(self) -> int:
        """Bytes of a record's values, of the longest where lengths vary."""
        return self.number("fieldcount") * self.number("fieldlength")

    @property
    def records(self) -> int:
        """Number of records that are loaded and requested."""
        return self.number("insertcount") or self.number("recordcount") - self.number("insertstart")

    @property
    def full_records(self) -> int:
        """That number without ``scale``."""
        return replace(self, values={**self.values, **self.full}).records

    @property
    def data_bytes(self) -> int:
        """Size of the loaded records, in bytes, with the longest values and without the databases' own overhead."""
        return self.records * self.record_bytes

    def text(self) -> str:
        """The scenario as a property file, which :func:`load` reads back."""
        # JSON is YAML too, and a string stands without quotes in a property file.
        role_variables = {
            name: value if isinstance(value, str) else json.dumps(value) for name, value in self.role_variables.items()
        }
        # Named one by one, so that --resume finds the same trials also where a system was added since.
        # Counts in full beside the scale, which load() applies again.
        values = {**self.values, **self.full, "systems": ",".join(self.systems)}
        values |= {f"{phase}.{key}": value for phase, own in self.phase_values.items() for key, value in own.items()}
        values |= {f"{MATRIX}{key}": ",".join(each) for key, each in self.matrix.items()}
        values |= {
            f"{VARIANT}.{name}.{key}": value for name, own in self.variants.items() for key, value in own.items()
        }
        comment = f"scenario {self.name} as it was run" + (f", datasize={self.datasize}" if self.datasize else "")
        return properties.write({**values, **role_variables}, comment)


# Sizes of the systems' own caches, as Scenario.caches, of a scenario whose records are not counted yet.
Caches = Callable[[Scenario, Hosts], Mapping[str, int]]


def share_of(count: str, scale: str) -> str:
    return str(max(1, round(int(count) * Fraction(scale)))) if int(count) else count


def _share(percentage: str) -> float:
    """Such as 0.05 for "5%"."""
    return float(percentage.removesuffix("%")) / 100
