"""The phases of a trial: its runs after the load, by name, and the properties that may differ between them.
docs/scenarios.md.
"""

import re
from collections.abc import Sequence

from dohyo.bad_input import BadInputError, unknown
from dohyo.scenario import faults, properties
from dohyo.scenario.property_types import Property
from dohyo.systems import catalogue

# The scenario's name of the load; folders and rows call it "load".
INSERT = "insert"
# The phase of a scenario that names none.
RUN = "run"
# All systems as fast as they can, and all at the same rate, which follows from that; docs/scenarios.md#at-equal-rate.
MAX, EQUAL = "max", "equal"
# Each system at a share of what it has just done in max.
OWN = "own"
# Updates before the runs, which are not measured.
PRECONDITION = "precondition"
# What follows `max` at a rate that follows from it: the rate is asked for, and so tells nothing of a system.
AT_RATE = (EQUAL, OWN)
SHARES = {phase: f"{phase}.share" for phase in AT_RATE}
SHARE = SHARES[EQUAL]

PROPORTIONS = ("readproportion", "updateproportion", "insertproportion", "scanproportion", "readmodifywriteproportion")
_NO_MIX = dict.fromkeys(PROPORTIONS, "0")
# Properties that follow from a phase's name; its own properties override them, and they override the scenario's.
IMPLIED = {
    "update": {**_NO_MIX, "updateproportion": "1"},
    "read": {**_NO_MIX, "readproportion": "1"},
    # A target rate is meant for the runs; a load has one where insert.target says so.
    # Faults have their times in a run.
    INSERT: {"target": "0", "faults": faults.NONE},
    MAX: {"target": "0"},
    EQUAL: {"target": "0"},
    OWN: {"target": "0"},
}

# Properties of the phase `precondition`, whose requests are otherwise like the load's.
ONLY_UPDATES = {
    **IMPLIED["update"],
    "readbeforewrite": "false",
    "target": "0",
    "duration": "0",
    "warmup": "fixed",
    "warmuptime": "0",
}

# A load that is not measured must be whole. It waits for a server that refuses writes for a while
# (RegionTooBusyException), as often as HBase's own client does (hbase.client.retries.number).
RETRIES_OF_A_LOAD = "15"

# Steps of every trial, which events and folders call by these names.
_STEPS = (
    "deploy", "canary", "start", "schema", "load", "settle", PRECONDITION, "probe", "stats", "count", "stop", "matrix",
    "variant", "full",
)  # fmt: skip


def split(text: str) -> list[str]:
    """The runs that a value of the property ``phases`` names, in order, without the load."""
    named = [name.strip() for name in text.split(",")]
    return named[1:] if names_load(text) else named


def names_load(text: str) -> bool:
    """Whether a value of the property ``phases`` names the load, so that it is measured."""
    return text.partition(",")[0].strip() == INSERT


def check(text: str) -> None:
    """Checks a value of the property ``phases``.

    :raises BadInputError: naming the phase that cannot be, and why
    """
    named = split(text)
    for name in named:
        if name == INSERT:
            raise BadInputError(f"phases={text}: insert is the load, which comes first; inserts of a run are"
                                " insertproportion=1 in a phase of another name")  # fmt: skip
        if not re.fullmatch(r"[a-z][a-z0-9-]{0,39}", name):
            raise BadInputError(
                f"phases={text}: '{name}' must be of lower-case letters, digits and -, begin with a letter and have at"
                " most 40 characters"
            )
        taken = name in _STEPS or any(key.startswith(f"{name}.") for key in properties.known())
        if taken and name not in (MAX, *AT_RATE):
            raise BadInputError(f"phases={text}: '{name}' means something else to Dohyo; choose another name")
        if named.count(name) > 1:
            raise BadInputError(
                f"phases={text}: '{name}' is named twice; repeats=N measures all again, and any other name such as"
                f" {name}-again takes the scenario's mix"
            )
    for name in AT_RATE:
        if name in named and named != [MAX, name]:
            raise BadInputError(
                f"phases={text}: {name} goes with {MAX} alone, by which rates are ranked; say phases={MAX},{name}, and"
                " measure other phases in an experiment of their own"
            )


def property_of(phase: str, key: str, named: Sequence[str]) -> Property:
    """The property that PHASE.KEY is about.

    :param named: the trial's runs
    :raises BadInputError: if there is no such phase, no such property, or if it cannot differ from phase to phase
    """
    known = properties.find(key)
    if known is None and key not in catalogue.all_options():
        raise unknown("property", f"{phase}.{key}", properties.known(), "docs/properties.md lists all")
    if phase not in (INSERT, *named):
        there = [INSERT, *named]
        raise unknown("phase", phase, there, f"of {phase}.{key}; phases={','.join(there)} names those that exist")
    if known is None:
        reason = "the servers are started with a system's variables"
    else:
        reason = known.fixed
        if phase == INSERT and not known.load:
            reason = "the load inserts every record once, and ends then"
    if known is None or reason:
        raise BadInputError(
            f"{phase}.{key}: cannot differ from phase to phase, because {reason}; set {key} without a phase"
        )
    return known
