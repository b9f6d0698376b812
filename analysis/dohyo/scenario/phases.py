"""Phases of a trial: the runs after its load, by name, and the properties that may differ between them.

docs/scenarios.md describes them.
"""

import re
from collections.abc import Sequence

from dohyo.bad_input import BadInputError, unknown
from dohyo.scenario import faults, properties
from dohyo.scenario.property_types import Property
from dohyo.systems import catalogue

# Name of the load in scenarios; folders and rows call it "load".
INSERT = "insert"
# Default phase.
RUN = "run"
# Names of the load, which precedes all phases, and of the runs of a search for the highest rate.
LOAD, PROBE = "load", "probe"
# MAX runs as fast as possible. EQUAL runs all systems at one rate, which is derived from MAX
# (docs/scenarios.md#at-equal-rate).
MAX, EQUAL = "max", "equal"
# OWN runs each system at a share of its own rate in MAX.
OWN = "own"
# Maximum number of repeats of a trial, and of probes, that are measured again because others disturbed them.
MOST_AGAIN = 2
# Updates before the runs; these updates are not measured.
PRECONDITION = "precondition"
# Phases at a rate derived from `max`. Their throughput is prescribed, so it does not characterise a system.
AT_RATE = (EQUAL, OWN)
SHARES = {phase: f"{phase}.share" for phase in AT_RATE}
SHARE = SHARES[EQUAL]

PROPORTIONS = ("readproportion", "updateproportion", "insertproportion", "scanproportion", "readmodifywriteproportion")
_NO_MIX = dict.fromkeys(PROPORTIONS, "0")
# Properties implied by a phase's name. They override the scenario's; the phase's own properties override them.
IMPLIED = {
    "update": {**_NO_MIX, "updateproportion": "1"},
    "read": {**_NO_MIX, "readproportion": "1"},
    # A target rate and faults apply to runs; a load has a target rate only through insert.target.
    INSERT: {"target": "0", "faults": faults.NONE},
    MAX: {"target": "0"},
    EQUAL: {"target": "0"},
    OWN: {"target": "0"},
}

# Properties of the phase `precondition`, which has the same batches and target rate as the load.
ONLY_UPDATES = {
    **IMPLIED["update"], "readbeforewrite": "false", "passes": "0", "duration": "0", "warmup": "fixed",
    "warmuptime": "0",
}  # fmt: skip

# A load that is not measured must be complete, so it repeats requests that a server rejects for a while
# (RegionTooBusyException). The number is the default of HBase's client (hbase.client.retries.number).
RETRIES_OF_A_LOAD = "15"

# Names of a trial's steps in events and folders, and prefixes of keys. A phase cannot have such a name.
_STEPS = (
    "deploy", "canary", "start", "schema", "load", "settle", PRECONDITION, "probe", "stats", "count", "stop", "matrix",
    "variant", "full",
)  # fmt: skip


def most_again(most_other_cpu: str) -> int:
    """Returns the maximum number of repeats of a trial that are measured again.

    :param most_other_cpu: value of `max.other.cpu`; with 100 %, nothing counts as disturbed
    """
    return 0 if most_other_cpu == "100%" else MOST_AGAIN


def split(text: str) -> list[str]:
    """Returns the runs in a value of the property ``phases``, in order, without the load."""
    names = [name.strip() for name in text.split(",")]
    return names[1:] if names_load(text) else names


def names_load(text: str) -> bool:
    """Returns whether a value of the property ``phases`` contains the load, which is then measured."""
    return text.partition(",")[0].strip() == INSERT


def check(text: str) -> None:
    """Checks a value of the property ``phases``.

    :raises BadInputError: naming the wrong phase and the reason
    """
    names = split(text)
    for name in names:
        if name == INSERT:
            raise BadInputError(f"phases={text}: insert is the load, which comes first; or set NAME.insertproportion=1")
        if not re.fullmatch(r"[a-z][a-z0-9-]{0,39}", name):
            raise BadInputError(
                f"phases={text}: '{name}' must be at most 40 characters a-z, 0-9 and -, with a letter first"
            )
        is_reserved = name in _STEPS or any(key.startswith(f"{name}.") for key in properties.known())
        if is_reserved and name not in (MAX, *AT_RATE):
            raise BadInputError(f"phases={text}: '{name}' is reserved; choose another name")
        if names.count(name) > 1:
            raise BadInputError(f"phases={text}: '{name}' occurs twice; use {name}-again (scenario's mix) or repeats=N")
    for name in AT_RATE:
        if name in names and names != [MAX, name]:
            raise BadInputError(f"phases={text}: {name} needs {MAX} and no other phase; set phases={MAX},{name}")


def property_of(phase: str, key: str, phase_names: Sequence[str]) -> Property:
    """Returns the property that PHASE.KEY sets.

    :param phase_names: names of the trial's runs
    :raises BadInputError: if the phase or the property does not exist, or the property must be the same in all phases
    """
    entry = properties.find(key)
    if entry is None and key not in catalogue.all_options():
        raise unknown("property", f"{phase}.{key}", properties.known(), "docs/properties.md lists all")
    if phase not in (INSERT, *phase_names):
        allowed = [INSERT, *phase_names]
        raise unknown("phase", phase, allowed, f"in {phase}.{key}; the phases are {','.join(allowed)}")
    if entry is None:
        reason = "a system's variables apply from the start of its servers"
    else:
        reason = entry.fixed
        if phase == INSERT and not entry.load:
            reason = "the load ends when it has inserted every record once"
    if entry is None or reason:
        raise BadInputError(f"{phase}.{key}: {reason}; set {key} without a phase")
    return entry
