"""Checks that the values of a scenario, which are valid individually, are also valid in combination."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container

from dohyo.bad_input import BadInputError
from dohyo.figures import counted
from dohyo.scenario import faults, key_columns, phases, properties, search
from dohyo.scenario.scenario import Scenario, conflict
from dohyo.systems import catalogue

# Length of the stamp that verify=acknowledged writes at the beginning of each value (Stamp.java).
STAMP_BYTES = 29


def check(scenario: Scenario) -> None:
    """Checks all values together.

    :raises BadInputError: naming the property that is missing or contradicts another
    """
    if "recordcount" not in scenario.values:
        raise BadInputError("recordcount is missing; set recordcount=N (number of records to load) or datasize=40GB")
    if not scenario.phases and (scenario.repeats > 1 or scenario.number("discard")):
        assignments = " ".join(f"{key}={scenario[key]}" for key in ("repeats", "discard") if key in scenario.values)
        raise BadInputError(
            f"phases={scenario['phases']} with {assignments}: there is only a load; to load N times, set rounds=N"
        )
    if scenario.number("discard") >= scenario.repeats:
        raise conflict(scenario, "discard", "repeats", reason="no repeat would be left; increase repeats")
    if not scenario.phases and scenario.faults:
        raise conflict(scenario, "faults", reason="not possible in a load; add a run (phases), or leave it out")
    _check_interleaving(scenario)
    _check_rounds(scenario)
    _check_equal(scenario)
    _check_reuse(scenario)
    _check_records(scenario)
    load = scenario.of(phases.INSERT)
    for phase in [phases.INSERT, *scenario.phases]:
        try:
            _check_batch(scenario.of(phase))
            if phase != phases.INSERT:
                _check_run(scenario.of(phase), load)
        except BadInputError as error:
            # Without phases there is one run, which needs no name in the message.
            if "phases" not in scenario.values and not scenario.phase_values:
                raise
            raise BadInputError(f"phase {phase}: {error}") from error
    search.check(scenario)


def _check_interleaving(scenario: Scenario) -> None:
    """Checks that windows of several systems can take turns."""
    if not scenario.interleaves:
        return
    roles = Counter(catalogue.all_systems()[name].role for name in scenario.systems)
    if variants := [name for name in scenario.systems if roles[catalogue.all_systems()[name].role] > 1]:
        raise BadInputError(f"interleave=on with {' and '.join(variants)}: they share ports and folders; leave one out")
    if len(scenario.phases) != 1:
        raise conflict(scenario, "interleave", "phases", reason="interleaving needs a single phase; set phases=run")
    if scenario.repeats < 2:
        reason = "interleaving needs 2 windows or more; set repeats=4"
        raise conflict(scenario, "interleave", "repeats", reason=reason)
    run = scenario.of(scenario.phases[0])
    for key, value in (("search", "none"), ("verify", "none"), ("reuse", "none"), ("settle", "load")):
        if run[key] != value:
            raise conflict(run, "interleave", key, reason=f"not possible; set {key}={value}, or interleave=off")
    if faults_asked := run.faults:
        raise BadInputError(
            f"interleave=on with faults={faults_asked}: not possible; set faults=none, or interleave=off"
        )


def _check_rounds(scenario: Scenario) -> None:
    """Checks that the properties that end the rounds are valid together."""
    if not scenario.adds_rounds:
        # precision=none, or rounds=N on the command line, disables the precision of a file.
        texts = [f"{key}={scenario[key]}" for key in ("rounds.max", "budget") if key in scenario.values]
        if texts and "precision" not in scenario.values:
            raise BadInputError(
                f"{' '.join(texts)} without precision: add precision=decided,"
                f" or leave out {' and '.join(text.partition('=')[0] for text in texts)}"
            )
    elif "rounds.max" in scenario.values and scenario.number("rounds.max") < scenario.number("rounds"):
        reason = "the maximum is below the minimum; increase rounds.max"
        raise conflict(scenario, "rounds.max", "rounds", reason=reason)


def _check_equal(scenario: Scenario) -> None:
    """Checks that nothing contradicts the rates of the phases max, equal and own."""
    names = ",".join(scenario.phases)
    for phase, key in phases.SHARES.items():
        if phase not in scenario.phases and key in scenario.values:
            raise conflict(
                scenario, key, "phases", reason=f"there is no phase {phase}; set phases={phases.MAX},{phase}"
            )
    target = scenario.of(phases.OWN)["target"]
    if phases.OWN in scenario.phases and float(target):
        raise BadInputError(
            f"{phases.OWN}.target={target}: the phase {phases.MAX} determines this rate;"
            f" set {phases.SHARES[phases.OWN]} instead"
        )
    for key, value in (("target", scenario["target"]), ("max.target", scenario.of(phases.MAX)["target"])):
        if phases.MAX in scenario.phases and float(value):
            way_out = (
                f"set {phases.EQUAL}.target={value} instead" if phases.EQUAL in scenario.phases else "leave it out"
            )
            raise BadInputError(f"{key}={value} with phases={names}: {phases.MAX} has no target rate; {way_out}")
    if not set(phases.AT_RATE) & set(scenario.phases):
        return
    if scenario["search"] != "none":
        raise BadInputError(
            f"search={scenario['search']} with phases={names}: a search sets its own rates; leave one out"
        )
    if phases.EQUAL not in scenario.phases:
        return
    share = f"{phases.SHARE}={scenario[phases.SHARE]}"
    if scenario.equal_target is None and scenario.number("rounds") < 2:
        raise BadInputError(
            f"rounds={scenario['rounds']}: round 1 determines the rate of {phases.EQUAL};"
            f" set rounds=2, or {phases.EQUAL}.target=N"
        )
    if scenario.equal_target is not None and phases.SHARE in scenario.values:
        raise BadInputError(
            f"{share} with {phases.EQUAL}.target={scenario.of(phases.EQUAL)['target']}: both say at which rate"
            f" {phases.EQUAL} runs; leave one out"
        )


def _check_reuse(scenario: Scenario) -> None:
    """Checks that a reused load is neither measured nor kept only in memory."""
    if scenario["reuse"] == "none":
        return
    if scenario.measures_load:
        raise conflict(scenario, "reuse", "phases", reason="the load is measured; leave out reuse or insert")
    if scenario["settle.flush"] == "false":
        reason = "servers with a copied load have no data in memory; leave one out"
        raise conflict(scenario, "reuse", "settle.flush", reason=reason)


def _check_records(scenario: Scenario) -> None:
    """Checks that the properties of the records are valid together."""
    records = scenario.number("recordcount")
    _at_most(scenario, "tablecount", records, "recordcount")
    _check_fields(scenario)
    _check_key(scenario)
    _at_most(scenario, "insertstart", records - 1, "recordcount - 1")
    _at_most(scenario, "insertcount", records - scenario.number("insertstart"), "recordcount - insertstart")
    if scenario.records < records and scenario.number("tablecount") > 1:
        key = next(key for key in ("insertcount", "insertstart") if key in scenario.values)
        reason = f"using part of the records requires tablecount=1, not {scenario['tablecount']}"
        raise conflict(scenario, key, reason=reason)
    if scenario["verify"] == "acknowledged":
        _check_accounting(scenario)
    _check_preconditioning(scenario)
    if scenario["fieldlengthdistribution"] == "constant":
        if "fieldlengthhistogram" in scenario.values:
            raise BadInputError("fieldlengthhistogram needs fieldlengthdistribution=histogram")
    elif scenario["dataintegrity"] == "true":
        raise BadInputError("dataintegrity=true needs fieldlengthdistribution=constant")
    else:
        _at_most(scenario, "minfieldlength", scenario.number("fieldlength"), "fieldlength")


def _check_preconditioning(scenario: Scenario) -> None:
    """Checks that the updates of the preconditioning will find their records."""
    if scenario.preconditions and scenario["requestdistribution"] == "next":
        reason = "updates would find no records; set preconditioning=0"
        raise conflict(scenario, "preconditioning", "requestdistribution", reason=reason)


def _check_accounting(scenario: Scenario) -> None:
    """Checks that every value has space for the stamp of `verify=acknowledged`."""
    distribution = scenario["fieldlengthdistribution"]
    if scenario["dataintegrity"] == "true":
        raise BadInputError("verify=acknowledged includes all checks of dataintegrity=true; set only one of the two")
    if distribution == "histogram":
        raise BadInputError(
            f"verify=acknowledged needs {STAMP_BYTES} bytes per value; leave out fieldlengthdistribution=histogram"
        )
    shortest = "fieldlength" if distribution == "constant" else "minfieldlength"
    if scenario.number(shortest) < STAMP_BYTES:
        raise BadInputError(
            f"verify=acknowledged with {shortest}={scenario[shortest]}: set {shortest} to {STAMP_BYTES} or more"
        )


def _check_fields(scenario: Scenario) -> None:
    """Checks that the names of the fields are short enough."""
    longest = f"{scenario['fieldnameprefix']}{scenario.number('fieldcount') - 1}"
    measured = {catalogue.all_systems()[name].role for name in scenario.systems}
    for entry in properties.known().values():
        most, reason = entry.names.get(scenario[entry.key], (len(longest), ""))
        if entry.reader in measured and len(longest) > most:
            raise conflict(scenario, "fieldnameprefix", reason=f"a field is called {longest}, and {reason}")


def _check_key(scenario: Scenario) -> None:
    """Checks that nothing contradicts the columns of the key."""
    columns = key_columns.parse(scenario["keycolumns"])
    if not columns:
        return
    setting = f"keycolumns={scenario['keycolumns']}"
    if scenario["insertorder"] != "ordered":
        raise BadInputError(
            "partitions and keycolumns need insertorder=ordered: the columns are made from the record's number"
        )
    if scenario["keysalt"] != "none":
        reason = f"the columns of a key ({setting}) leave no room for a salt; leave one out"
        raise conflict(scenario, "keysalt", reason=reason)
    fields = {f"{scenario['fieldnameprefix']}{number}".lower() for number in range(scenario.number("fieldcount"))}
    if same := next((column.name for column in columns if column.name in fields), None):
        raise BadInputError(f"{setting}: a field is also called {same}; rename the column")
    if scenario.number("recordcount") > key_columns.records(columns):
        reason = f"{setting} allows only {key_columns.records(columns)} keys; give the columns more values"
        raise conflict(scenario, "recordcount", reason=reason)


def _check_batch(phase: Scenario) -> None:
    for entry in properties.known().values():
        for key, reason in entry.never.get(phase[entry.key], {}).items():
            if phase[key]:
                raise conflict(phase, entry.key, key, reason=reason)
    records, tables = phase.number("recordcount"), phase.number("tablecount")
    _at_most(phase, "batchsize", records // tables, "the size of the smallest table (recordcount / tablecount)")
    _at_most(phase, "batchsize", phase.records, "the number of loaded records (insertcount)")


def _check_run(run: Scenario, load: Scenario) -> None:
    """Checks that the properties of a run are valid together."""
    shares = {key: float(run[key]) for key in phases.PROPORTIONS}
    # Accept rounded shares, such as three times 0.333.
    if abs(sum(shares.values()) - 1) > 0.0011:
        summands = " + ".join(
            f"{key}={run[key]}" + ("" if key in run.values else " (default)")
            for key in phases.PROPORTIONS
            if shares[key] or key in run.values
        )
        raise BadInputError(f"the proportions must sum to 1: {summands} = {sum(shares.values()):g}")
    _at_most(run, "minscanlength", run.number("maxscanlength"), "maxscanlength")
    # The client also checks this, but only after the load.
    if run.number("tablecount") > 1 and run["requestdistribution"] in ("latest", "exponential", "next"):
        reason = f"needs a single newest record; set tablecount=1, not {run['tablecount']}"
        raise conflict(run, "requestdistribution", reason=reason)
    if run["requestdistribution"] == "next":
        _check_next(run)
    if run.number("passes"):
        _check_passes(run)
    _check_faults(run)
    if run.duration == 0 and run.number("operationcount") == 0:
        raise BadInputError("nothing ends a run: set duration=60s or operationcount=1000000")
    if run.number("batchsize") > 1 and shares["scanproportion"] > 0:
        raise BadInputError("batchsize above 1 with scanproportion above 0: a scan is one operation; leave one out")
    if run["requestdistribution"] == "ranges" and run["threadcount"] != load["threadcount"]:
        reason = f"set threadcount={load['threadcount']}, as in the load"
        raise conflict(run, "threadcount", "requestdistribution", reason=reason)


def _check_next(run: Scenario) -> None:
    """Checks that no operation needs an existing record."""
    keys = [key for key in phases.PROPORTIONS if float(run[key]) and key not in ("insertproportion", "scanproportion")]
    keys += ["verify"] if run["verify"] != "none" else []
    if keys:
        reason = "its keys have no records; use only scans"
        raise conflict(run, "requestdistribution", keys[0], reason=reason)


def _check_passes(run: Scenario) -> None:
    """Checks that a run can end after a number of passes over all records."""
    if run.duration:
        setting = f"passes={run['passes']}"
        raise BadInputError(f"{setting} and duration={run['duration']} both determine what ends a run; set one to 0")
    if run["requestdistribution"] != "ranges":
        raise conflict(run, "passes", "requestdistribution", reason="passes need 'ranges'; leave out passes")


def _check_faults(run: Scenario) -> None:
    """Checks that the faults lie within the window of a run."""
    run_faults = run.faults
    if run_faults and run.duration == 0:
        raise conflict(run, "faults", reason="faults need a window of known length; set duration=60s")
    for fault in run_faults:
        if fault.second >= run.duration:
            raise BadInputError(
                f"{fault}: the window ends after {run.duration} s; choose an earlier time, or a longer duration"
            )
    if run_faults and run["search"] != "none":
        raise conflict(run, "search", "faults", reason="a search needs undisturbed servers; leave one out")


def check_copies_at(scenario: Scenario, hosts: int, attached: Container[str]) -> None:
    """Checks that there are enough database hosts for the copies; parameters as in :func:`check_faults_at`.

    :raises BadInputError: naming both numbers and a remedy
    """
    for system, at_point in scenario.points or [(name, scenario) for name in scenario.systems]:
        if system not in attached and at_point.number("replication") > hosts:
            raise BadInputError(
                f"replication={at_point['replication']}: only {counted(hosts, 'database host')}; lower it, or use"
                " --inventory (with --plan: host_count=N)"
            )


def check_faults_at(scenario: Scenario, hosts: int, attached: Container[str], *, local: bool) -> None:
    """Checks that the faults of each system are possible on its hosts.

    :param hosts: number of database hosts
    :param attached: names of attached systems
    :param local: whether the servers are on this machine, without an inventory
    :raises BadInputError: naming the fault and a remedy
    """
    for system, at_point in scenario.points or [(name, scenario) for name in scenario.systems]:
        role = catalogue.all_systems()[system].role
        for phase in at_point.phases:
            faults.check_place(at_point.of(phase).faults, role, hosts, attached=system in attached, local=local)


def _at_most(scenario: Scenario, key: str, limit: int, name: str) -> None:
    if scenario.number(key) > limit:
        raise conflict(scenario, key, reason=f"must be at most {limit}, which is {name}")
