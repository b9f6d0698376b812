"""Implements `--plan`: shows what a run would measure, how long it would take, and what the hosts need."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from dohyo import host
from dohyo.ansible import availability
from dohyo.bad_input import BadInputError
from dohyo.figures import counted, point_name
from dohyo.places import RUN, command
from dohyo.planning import plan, sizing
from dohyo.scenario import published
from dohyo.scenario.hosts import Hosts
from dohyo.scenario.scenario import Scenario


def show_plan(scenario: Scenario, inventory: Path | None, hosts: Hosts, console: Console) -> int:
    """Shows what :func:`runner.run` would do. Returns the exit code.

    :param hosts: facts about the database hosts
    :raises BadInputError: if the hosts do not have enough room
    """
    if inventory is not None:
        check_count(scenario, hosts)
    hosts = hosts.stated(scenario.values)
    # Other hosts may not exist yet, so only this machine is checked.
    if inventory is None and "host_count" not in scenario.values:
        scenario = _available(scenario, console)
    sizes = sizing.ask_points(scenario, hosts, inventory)
    sizing.show(scenario, sizes, console)
    _show_differences(scenario, sizes, hosts, console)
    for at_point in sizes:
        at_point.check()
    return 0


def check_count(scenario: Scenario, hosts: Hosts) -> None:
    """Checks that host_count, if the scenario sets it, equals the number of database hosts.

    :raises BadInputError: if the numbers differ
    """
    if hosts.stated(scenario.values).count != hosts.count:
        raise BadInputError(
            f"host_count={scenario['host_count']}: {hosts.where} has {counted(hosts.count, 'database host')}; leave it"
            " out, or use --plan without --inventory"
        )


def _available(scenario: Scenario, console: Console) -> Scenario:
    """Prints which systems this machine skips. Returns the scenario without them, or unchanged if it skips all."""
    if skipped := availability.skipped(scenario, None):
        listing = command(RUN, "--list")
        console.print(Text(f"skipped on this machine: {', '.join(skipped)} (reasons: {listing})"), soft_wrap=True)
    if not (rest := [name for name in scenario.systems if name not in skipped]):
        return scenario
    points = tuple(point for point in scenario.points if point[0] in rest)
    return replace(scenario, values={**scenario.values, "systems": ",".join(rest)}, points=points)


def _show_differences(scenario: Scenario, sizes: Sequence[sizing.Sizes], hosts: Hosts, console: Console) -> None:
    """Shows how the scenario differs from the setups of the published experiments that it repeats."""
    setups = [record for record in map(published.load, scenario.published) if record.setup]
    if not setups:
        return
    # These imports take longer than the rest of the preview.
    from dohyo.summary import differences  # noqa: PLC0415
    from dohyo.tables import table  # noqa: PLC0415

    values = {
        (system, point_name(at_point.scenario.point)): needs.values
        for at_point in sizes
        for system, needs in at_point.needs.items()
    }
    trials = (plan.variables(trial, Path(), keep=False) for trial in plan.trials(scenario, 1))
    planned = differences.before(trials, values, hosts, host.hardware())
    for record in setups:
        table.print_differences(differences.compare(record, planned), console)
