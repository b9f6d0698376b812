"""The command `dohyo` with its subcommands, options and exit codes.

Exit codes: 0 success; 1 something failed or has no valid numbers; 2 bad input, nothing was started; 3 to 5 results of
`dohyo compare` (see docs/method.md#two-experiments); 130 or 143 a signal.

Each command imports its modules when it runs, so that --help and errors in options appear at once.
"""

# ruff: noqa: PLC0415

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

import click

from dohyo import output, plain_text, terminal
from dohyo.bad_input import BadInputError
from dohyo.places import DOHYO, LOCAL_HOME, RESULTS, RUN, command, shown
from dohyo.signals import Interruption

if TYPE_CHECKING:
    from dohyo.foreign.tabulate import Format as TableFormat
    from dohyo.running.two_experiments import Format as ComparisonFormat
    from dohyo.scenario.hosts import Hosts
    from dohyo.scenario.scenario import Scenario

# Parameters of `run` that are allowed with --resume; all others would change the measurement.
_WITH_RESUME = ("name", "list_", "keep", "experiment", "open_", "details", "yes")
_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class _Commands(click.Group):
    """A group of commands that rejects empty arguments, because these come from unset variables in scripts."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        for before, argument in pairwise(["", *args]):
            if not argument or re.fullmatch("--[a-z-]+=", argument):
                raise BadInputError(f"{argument or before} '': it is empty; give a value, or leave it out".lstrip())
        return super().parse_args(ctx, args)


def _show_version(context: click.Context, _: click.Parameter, is_requested: bool) -> None:
    if is_requested:
        from dohyo import host

        versions = host.versions()
        terminal.say(f"dohyo {versions['dohyo']}, commit {versions['commit'] or 'not known'}")
        context.exit()


_with_version = click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version,
                             help="Show the version, then exit.")  # fmt: skip


@click.group(cls=_Commands, context_settings=_CONTEXT)
@_with_version
def cli() -> None:
    """Compares NoSQL databases on your hardware, under equal conditions."""


@cli.command(context_settings=_CONTEXT)
@click.argument("name", metavar="SCENARIO", required=False)
@click.option("--list", "list_", is_flag=True, help="Show the scenarios and the systems, then exit.")
@_with_version
@click.option("--systems", "systems_", metavar="A,B", help="Systems to compare, in that order.")
@click.option("--inventory", metavar="FILE", help="Ansible inventory of the hosts. Default: this machine.")
@click.option("--set", "assignments", metavar="KEY=VALUE", multiple=True,
              help="Set a property (docs/properties.md) or a variable of a system; repeatable.")  # fmt: skip
@click.option("--fetch", "fetch_", metavar="A,B",
              help="Download these systems' servers from their vendors, after asking about the licence.")  # fmt: skip
@click.option("--attach", "attach_", metavar="SYSTEM=HOSTS", multiple=True,
              help="Measure servers that are already running, in a new database; repeatable.")  # fmt: skip
@click.option("--attach-secrets", "secrets", metavar="FILE", help="Credentials file for attached servers, mode 0600.")
@click.option("--attach-may", "may", metavar="settle", multiple=True, type=click.Choice(["settle"]),
              help="Flush and compact Dohyo's own tables in attached servers.")  # fmt: skip
@click.option("--target", metavar="N",
              help="Maximum operations per second (in the load of attached servers: records).")  # fmt: skip
@click.option("--max-data", "max_data", metavar="SIZE", help="Most data to write to attached servers: 500MB, 10GB.")
@click.option("--yes", is_flag=True,
              help="Do not ask before writing to attached servers or measuring a busy machine.")  # fmt: skip
@click.option("--rounds", metavar="N", help="Number of times to measure all systems in turn, with fresh servers.")
@click.option("--repeats", metavar="N", help="Runs of a system in each round, after one load.")
@click.option("--duration", metavar="TIME", help="Measured time of a run: 60s, 5m, 2h, or seconds.")
@click.option("--records", metavar="N", help="Records to load: 50000, 100k, 5M.")
@click.option("--scale", metavar="SHARE", help="Multiply the numbers of records and operations by SHARE, such as 0.01.")
@click.option("--full", is_flag=True, help="If the scenario has two sizes, use the full one, for clusters.")
@click.option("--plan", "plan_", is_flag=True,
              help="Show what would be measured, how long it takes and what the hosts need, then exit.")  # fmt: skip
@click.option("--doctor", "doctor_", is_flag=True,
              help="Measure the client alone, say whether it will be the bottleneck, then exit.")  # fmt: skip
@click.option("--strict-conditions", "strict", is_flag=True,
              help="Do not measure a system that cannot meet the scenario's conditions.")  # fmt: skip
@click.option("--keep", is_flag=True, help="Keep the last system's servers running.")
@click.option("--resume", "experiment", metavar="ID",
              help="Repeat only what did not finish in an experiment (its ID or folder).")  # fmt: skip
@click.option("--out", metavar="DIR", help="Folder of the experiment. Default: a new one below results/.")
@click.option("--open", "open_", is_flag=True, help="Open the report in a browser at the end.")
@click.option("--details", is_flag=True, help="Print all of summary.md before the results.")
def run(
    name: str | None,
    list_: bool,
    systems_: str | None,
    inventory: str | None,
    assignments: tuple[str, ...],
    fetch_: str | None,
    attach_: tuple[str, ...],
    secrets: str | None,
    may: tuple[str, ...],
    target: str | None,
    max_data: str | None,
    yes: bool,
    rounds: str | None,
    repeats: str | None,
    duration: str | None,
    records: str | None,
    scale: str | None,
    full: bool,
    plan_: bool,
    doctor_: bool,
    strict: bool,
    keep: bool,
    experiment: str | None,
    out: str | None,
    open_: bool,
    details: bool,
) -> int:
    """Measures SCENARIO (a name from --list or a YCSB property file) and prints the table.

    \b
    ./run.sh workloadA
    ./run.sh workloadA --systems cassandra --records 1M --duration 5m --rounds 3
    ./run.sh workloadA --set threadcount=32 --set cassandra_heap=2g
    ./run.sh workloadA --set datasize=40GB --plan
    ./run.sh workloadA --set target=20000 --doctor
    ./run.sh workloadA --attach cassandra=10.0.0.1,10.0.0.2 --attach-secrets secrets.yml --target 5000 --max-data 1GB

    A system whose servers are not available is skipped, and the reason is printed.

    Exit code: 0 all systems have valid numbers, or were skipped and not named with --systems; 1 a system has no valid
    numbers, no system was measured, or a search found no rate; with --doctor, 1 the client will be the bottleneck or
    could not be measured; 2 bad input, nothing was started.
    """
    chosen_inventory, hosts = _inventory(inventory)
    if list_:
        _list(chosen_inventory, details=details)
        return 0

    from dohyo.console import Console
    from dohyo.planning import sizing
    from dohyo.running import attachment
    from dohyo.scenario import contradictions, loading
    from dohyo.systems import catalogue

    if experiment is not None:
        from dohyo.running import runner
        from dohyo.running.experiment import reopen

        context = click.get_current_context()
        excluded = [parameter for parameter in context.command.params if parameter.name not in _WITH_RESUME]
        if names := [option.opts[0] for option in excluded if context.params.get(option.name or "")]:
            raise BadInputError(f"--resume repeats an experiment as it was, so leave out {', '.join(names)}")
        attachment.agree(reopen(experiment)[0].scenario, agreed=yes)
        output.make_last()
        options = runner.Options(keep=keep, open_report=open_, details=details, agreed=yes)
        return runner.resume(experiment, name, options, Console())
    if name is None:
        start = command(RUN, "workloadA")
        raise BadInputError(f"no scenario given; {command(RUN, '--list')} shows all, {start} is a good start")
    _check_is_no_option(name)
    attached = attachment.overrides(attach_, secrets, may, chosen_inventory)
    changes = loading.overrides(
        (*assignments, *(catalogue.fetching(fetch_) if fetch_ else ())),
        {
            **attached,
            "systems": systems_ or attached.get("systems"),
            "rounds": rounds,
            "repeats": repeats,
            "duration": duration,
            "recordcount": records,
            "scale": scale,
            "strict_conditions": "true" if strict else None,
        },
    )
    caches = sizing.caches(chosen_inventory)
    chosen = attachment.loaded(
        partial(loading.load, loading.find(name), hosts=hosts, full=full, caches=caches), changes, target
    )
    if fetch_:
        catalogue.check_fetching(fetch_, chosen.systems)
    attachment.check_measured(attach_, chosen)
    attachment.check(chosen, target, max_data, changes)
    count = hosts.stated(chosen.values).count
    contradictions.check_copies_at(chosen, count, attachment.of(chosen))
    contradictions.check_faults_at(
        chosen,
        count,
        attachment.of(chosen),
        local=chosen_inventory is None and "host_count" not in chosen.values,
    )
    if doctor_:
        from dohyo.running import doctor

        if plan_:
            raise BadInputError("--plan and --doctor exclude each other; give only one of them")
        if attachment.of(chosen) and (code := attachment.examine(chosen, chosen_inventory)):
            return code
        return doctor.examine(chosen, chosen_inventory, Console())
    if plan_:
        from dohyo.running import preview

        for line in attachment.describe(chosen):
            terminal.say(line)
        return preview.show_plan(chosen, chosen_inventory, hosts, Console())

    from dohyo.running import runner

    agree(chosen)
    attachment.agree(chosen, agreed=yes)
    output.make_last()
    options = runner.Options(
        inventory=chosen_inventory,
        hosts=hosts,
        keep=keep,
        names_systems="systems" in changes,
        out=Path(out).absolute() if out else None,
        open_report=open_,
        details=details,
        agreed=yes,
    )
    return runner.run(chosen, options, Console())


@cli.command("doctor", context_settings=_CONTEXT)
@click.argument("name", metavar="[SCENARIO]", default="workloadA")
@click.option("--inventory", metavar="FILE", help="Ansible inventory of the hosts. Default: this machine.")
@click.option(
    "--attach", "attach_", metavar="SYSTEM=HOSTS", multiple=True, help="Servers that are already running; repeatable."
)
@click.option("--attach-secrets", "secrets", metavar="FILE", help="Credentials file for attached servers, mode 0600.")
@click.pass_context
def doctor_command(
    context: click.Context, name: str, inventory: str | None, attach_: tuple[str, ...], secrets: str | None
) -> int:
    """Checks attached servers (versions, distance, permissions), and whether the client is the bottleneck.

    Does the same as ./run.sh SCENARIO --attach … --doctor, which has more options. Writes nothing to the servers.
    """
    code: int = context.invoke(run, name=name, inventory=inventory, attach_=attach_, secrets=secrets, doctor_=True)
    return code


@cli.command(context_settings=_CONTEXT)
@click.argument("folders", metavar="FOLDER...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--format", "format_", type=click.Choice(["table", "md", "csv", "json"]), default="table", show_default=True
)
@click.option("--details", is_flag=True, help="Print all rows and figures, and then the table.")
@click.option("--records-per-operation", "records_each", metavar="[SYSTEM=]N", multiple=True,
              help="Number of records per operation, for all systems or for one, if the logs do not state it;"
                   " repeatable.")  # fmt: skip
@click.option("--repeats", is_flag=True, help="The logs in a folder are repeats, not clients of one run.")
def tabulate(
    folders: tuple[Path, ...], format_: TableFormat, details: bool, records_each: tuple[str, ...], repeats: bool
) -> int:
    """Prints the table of an experiment, or of folders with YCSB logs from elsewhere (text or JSON exports, status
    lines, .hdr, gzip)."""
    from dohyo.foreign import tabulate as foreign

    sizes = _records_each(records_each)
    return foreign.tabulate(folders, format_, details=details, records_each=sizes, repeats=repeats)


def _records_each(arguments: tuple[str, ...]) -> dict[str, int]:
    """Parses the number of records per operation for each system; "" stands for all other systems."""
    sizes: dict[str, int] = {}
    for argument in arguments:
        system, _, count = argument.rpartition("=")
        if not re.fullmatch("[1-9][0-9]{0,8}", count):
            raise BadInputError(
                f"--records-per-operation {argument}: must read N or SYSTEM=N, with N from 1 to 999999999"
            )
        if system in sizes:
            raise BadInputError(f"--records-per-operation {argument}: {system or 'N'} is given twice; leave one out")
        sizes[system] = int(count)
    return sizes


@cli.command()
@click.argument("experiment", metavar="[EXPERIMENT]", required=False)
@click.option("--details", is_flag=True, help="Print all of summary.md before the results.")
def show(experiment: str | None, details: bool) -> int:
    """Prints the results of EXPERIMENT (its ID or folder; default: the newest that is not running): the ranking, its
    caveats, and the verdict.

    Computes the results from the evidence; without evidence, reads them from summary.json.

    Exit code: 0 success; 1 something is missing, is broken or has no valid numbers; 2 bad input.
    """
    from dohyo.console import Console
    from dohyo.evidence import experiment_folder
    from dohyo.summary import summary_file
    from dohyo.summary.summary import summarise
    from dohyo.tables import screen, table

    folder = _experiment(experiment)
    facts = experiment_folder.read(folder)
    summary = summarise(folder) if (folder / "raw").is_dir() else summary_file.read(folder)
    console = Console()
    if details:
        table.render(summary, console)
    screen.render(summary, console, folder)
    return 0 if summary.is_sound(skipped=not facts.named) else 1


@cli.command("compare", context_settings=_CONTEXT)
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@click.option("--margin", metavar="PERCENT", type=click.FloatRange(0, 99), default=5.0,
              show_default=True, help="Smaller changes count as no change.")  # fmt: skip
@click.option("--force", is_flag=True, help="Compare even if something differs that must be equal.")
@click.option("--format", "format_", type=click.Choice(["table", "json"]), default="table", show_default=True)
def compare_command(before: str, after: str, margin: float, force: bool, format_: ComparisonFormat) -> int:
    """Compares two experiments (IDs below results/, or their folders): before and after an upgrade, or two machines.

    \b
    ./dohyo compare 20261121-070000-workloadA 20261122-070000-workloadA
    ./dohyo compare /srv/ci/release ./results/20261122-070000-workloadA --margin 10

    Exit code: 0 everything is within the margin or better; 1 something has no valid numbers, or is missing in B; 2 bad
    input, or A and B have nothing in common; 3 a regression; 4 not comparable; 5 inconclusive, or in doubt. See
    docs/method.md#two-experiments.
    """
    from dohyo.foreign.tabulate import refuse_logs
    from dohyo.running import two_experiments

    try:
        return two_experiments.compare(before, after, margin / 100, format_, force=force)
    except BadInputError:
        refuse_logs((before, after))
        raise


@cli.command()
@click.argument("experiment", metavar="[EXPERIMENT|FOLDER]", required=False)
@click.option("--out", metavar="FILE", type=click.Path(path_type=Path),
              help="File to write the page to. Default: report.html in the folder.")  # fmt: skip
@click.option("--figures", is_flag=True, help="Also write the charts as SVG and PNG, and the tables as Markdown.")
@click.option("--open", "open_", is_flag=True, help="Open the page in a browser.")
def report(experiment: str | None, out: Path | None, figures: bool, open_: bool) -> int:
    """Writes report.html, a page with charts, into the folder of EXPERIMENT (its ID or folder; default: the newest
    that is not being measured right now).

    FOLDER may also contain logs that any YCSB client wrote elsewhere, as for `dohyo tabulate`.

    Exit code: 0 success; 1 some evidence is missing, broken, contradictory or without valid numbers (the output names
    it, and the page contains everything else); 2 bad input, nothing was written.
    """
    from dohyo.evidence import experiment_folder
    from dohyo.foreign import page as foreign
    from dohyo.report import chart_data, files, page
    from dohyo.summary.summary import is_experiment

    folder = _folder(experiment)
    target = files.place(folder, out)
    if is_experiment(folder):
        experiment_folder.read(folder)
        content = page.gather(folder, chart_data.read(folder))
    else:
        content = foreign.gather(folder)
    summary = content.summary
    for warning in summary.warnings:
        terminal.warn(warning)
    if content.under_way:
        terminal.warn(f"{summary.name}, process {content.process}: {content.under_way}")
    for trial in summary.compared:
        if trial.status != "ok":
            terminal.say(f"{trial.name}: {trial.status}: {trial.reason or 'no results'}", err=True)
    written = files.write_report(content, target, figures=figures)
    for path in written:
        terminal.say(shown(path))
    if open_:
        files.open_in_browser(written[0])
    return 0 if summary.is_sound(skipped=not content.facts.get("named")) else 1


@cli.command("db")
@click.argument("experiments", metavar="EXPERIMENT…", nargs=-1, required=True)
@click.option("--out", metavar="FILE", type=click.Path(path_type=Path),
              help="File to write the database to. Default for one experiment: facts.db in its folder.")  # fmt: skip
def db_command(experiments: tuple[str, ...], out: Path | None) -> int:
    """Writes the evidence of experiments (IDs below results/, or their folders) as one SQLite database, for queries
    in SQL, pandas or Datasette. docs/facts.md describes its tables.

    \b
    ./dohyo db 20261121-070000-workloadA
    ./dohyo db 20261121-070000-workloadA 20261122-070000-workloadA --out both.db

    Exit code: 0 success; 1 some evidence is missing, broken, contradictory or without valid numbers (the output names
    it, and the database contains everything else); 2 bad input, nothing was written.
    """
    from dohyo.facts import database
    from dohyo.report import files

    # Several arguments may name the same folder.
    folders = list({folder.resolve(): folder for folder in map(_experiment, experiments)}.values())
    if len(folders) > 1 and out is None:
        raise BadInputError("several experiments: name the database with --out FILE")
    target = files.place(folders[0], out, database.FILE, database.is_ours, ("database", "database"))
    database.check(target)
    sound = True
    for facts, summary in database.write(folders, target):
        for warning in summary.warnings:
            terminal.warn(warning)
        sound = sound and summary.is_sound(skipped=not facts.named)
    terminal.say(shown(target))
    return 0 if sound else 1


@cli.command("site")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--results", metavar="DIR", type=click.Path(path_type=Path), default=RESULTS,
              help="Folder with the experiments. Default: results/ in this checkout.")  # fmt: skip
def site_command(folder: Path, results: Path) -> int:
    """Writes an index of all experiments and their reports into DIR. It needs no web server.

    Exit code: 0 success; 1 an experiment cannot be read: it is named and left out; 2 bad input.
    """
    from dohyo.report import site

    unread: list[str] = []
    terminal.say(shown(site.write(site.experiments(results), folder, unread.append)))
    for warning in unread:
        terminal.warn(warning)
    return 1 if unread else 0


@cli.command("list")
@click.option("--inventory", metavar="FILE", help="Ansible inventory of the hosts. Default: this machine.")
@click.option("--details", is_flag=True, help="Also show how to get each skipped system.")
def list_command(inventory: str | None, details: bool) -> int:
    """Shows the scenarios and the systems."""
    _list(_inventory(inventory)[0], details=details)
    return 0


@cli.command("properties")
def properties_command() -> int:
    """Prints docs/properties.md, the reference of all scenario properties."""
    from dohyo.scenario import properties

    click.echo(properties.reference(), nl=False)
    return 0


@cli.command("checks")
def checks_command() -> int:
    """Prints the table of docs/method.md#when-a-run-is-invalid: what makes a run invalid, and which check finds it."""
    from dohyo.summary import validity

    click.echo(validity.table(), nl=False)
    return 0


@cli.command("profiles")
def profiles_command() -> int:
    """Prints the tables of docs/conditions.md#profiles: every value that differs, with its source."""
    from dohyo.systems import catalogue

    click.echo(catalogue.profiles(), nl=False)
    return 0


@cli.command("variables")
@click.argument("folder", metavar="TRIAL_FOLDER", type=click.Path(path_type=Path))
def variables_command(folder: Path) -> int:
    """Prints the variables of a trial as a YAML file, for `ansible-playbook trial.yml -e @FILE`.

    TRIAL_FOLDER is the trial's folder below raw/. The variables come from the experiment's scenario, checked as in
    ./run.sh. Ansible reads their strings as data, but those in trial.json as templates, which can run programs.
    """
    from dohyo.ansible.data import as_data
    from dohyo.evidence import experiment_folder
    from dohyo.running.experiment import reopen

    folder = folder.absolute()
    if not (folder.parent.parent / experiment_folder.FACTS).is_file():
        raise BadInputError(f"{folder} is not the folder of a trial; name one below raw/ of an experiment")
    opened, _ = reopen(str(folder.parent.parent))
    trial = next((trial for trial in opened.trials if trial.name == folder.name), None)
    if trial is None:
        raise BadInputError(f"{folder} is not the folder of a trial: {opened.folder} has no trial of that name")
    click.echo(as_data(opened.variables(trial, keep=False)), nl=False)
    return 0


def _check_trial(folder: Path) -> None:
    """Checks that the folder belongs to a trial and can be read."""
    if not (folder / "trial.json").is_file():
        raise BadInputError(f"{folder} is not the folder of a trial: trial.json is missing")
    from dohyo import folders

    folders.check(folder)


@cli.command("next-probe", hidden=True)
@click.argument("folder", metavar="TRIAL_FOLDER", type=click.Path(path_type=Path))
def next_probe_command(folder: Path) -> int:
    """Prints the next rate of a trial's search as JSON; `dohyo.trial.measurement` calls it between two probes.

    TRIAL_FOLDER is the trial's folder below raw/. When the search is over, `target` is null, and `conclusion` says why.
    """
    from dohyo.summary.summary import read_trial

    _check_trial(folder)
    search = read_trial(folder).search
    if search is None:
        raise BadInputError(f"{folder}/trial.json: the trial has no search; add search=max to its scenario")
    click.echo(json.dumps({"target": search.next_target, "conclusion": search.conclusion}))
    return 0


@cli.command("own-target", hidden=True)
@click.argument("folder", metavar="TRIAL_FOLDER", type=click.Path(path_type=Path))
def own_target_command(folder: Path) -> int:
    """Prints the rate of a trial's phase `own`, which is computed from the last run of the phase `max`."""
    from dohyo.summary.trial_evidence import own_target

    _check_trial(folder)
    click.echo(f"{own_target(folder):g}")
    return 0


@cli.command("disturbed", hidden=True)
@click.argument("folder", metavar="TRIAL_FOLDER", type=click.Path(path_type=Path))
def disturbed_command(folder: Path) -> int:
    """Prints why others disturbed the last repeat of a trial, or nothing."""
    from dohyo.summary.trial_evidence import disturbed

    _check_trial(folder)
    click.echo(disturbed(folder))
    return 0


def agree(chosen: Scenario) -> None:
    """Prints the licence of each server that would be downloaded for the first time; on a terminal, asks for consent.

    :raises BadInputError: if the user declines
    """
    from dohyo.systems import catalogue

    for name in chosen.systems:
        system = catalogue.all_systems()[name]
        requested = chosen.role_variables.get(f"{system.role}_fetch")
        if not requested or any((LOCAL_HOME / "packages" / system.role).glob("*/*")):
            continue
        terminal.say(f"{system.title} will be downloaded from its vendor: {system.licence}", err=True)
        if sys.stdin.isatty() and not click.confirm("Download it under this licence?", err=True):
            raise BadInputError(f"{name} was not downloaded, and nothing was started; leave out --fetch {name}")


def _inventory(name: str | None) -> tuple[Path | None, Hosts]:
    from dohyo.ansible.playbook import check_inventory
    from dohyo.scenario.hosts import here

    if name is None:
        return None, here()
    inventory = Path(name).absolute()
    return inventory, check_inventory(inventory)


def _check_is_no_option(name: str) -> None:
    """Rejects a scenario's name if it is a command, or an option without its dashes.

    :raises BadInputError: with a suggestion: the option or the command
    """
    from dohyo.scenario import loading

    if name in loading.scenario_files() or Path(name).exists():
        return
    options = {option for parameter in click.get_current_context().command.params for option in parameter.opts}
    if f"--{name}" in options or name in cli.commands:
        meant = command(RUN, f"--{name}") if f"--{name}" in options else command(DOHYO, name)
        raise BadInputError(f"unknown scenario '{name}': did you mean {meant}? (--list shows all scenarios)")


def _folder(name: str | None) -> Path:
    """Returns the folder of an experiment, or a folder with logs.

    :raises BadInputError: if it does not exist or cannot be read
    """
    from dohyo.evidence import experiment_folder
    from dohyo.report import site
    from dohyo.summary.summary import is_experiment

    if name is None:
        folders = site.experiments(RESULTS)
        newest = next((folder for folder in folders if not experiment_folder.running(folder)), None)
        if newest is None:
            running = f"; {folders[0].name} is still being measured; give its ID to see it" if folders else ""
            make = command(RUN, "workloadA")
            raise BadInputError(f"{shown(RESULTS)} contains no experiment{running}; {make} creates one")
        return newest
    folder = RESULTS / name if "/" not in name and (RESULTS / name).is_dir() else Path(name)
    try:
        folder.stat()
        is_experiment(folder)
    except FileNotFoundError as error:
        raise BadInputError(f"{name} is neither an ID in {shown(RESULTS)} nor a folder with YCSB logs") from error
    except OSError as error:
        raise BadInputError(f"{name} cannot be read: {error.strerror or error}") from error
    return folder


def _experiment(name: str | None) -> Path:
    """Returns the folder of an experiment.

    :raises BadInputError: if it does not exist, or contains logs of clients other than Dohyo's
    """
    from dohyo.summary.summary import is_experiment

    folder = _folder(name)
    if not is_experiment(folder):
        takes = command(DOHYO, "tabulate", str(folder))
        raise BadInputError(f"{folder} is not the folder of an experiment; for logs of other clients: {takes}")
    return folder


def _list(inventory: Path | None, *, details: bool) -> None:
    from dohyo.ansible import availability
    from dohyo.console import Console
    from dohyo.running import attachment
    from dohyo.scenario import loading
    from dohyo.systems import catalogue

    attachment.overrides((), None, (), inventory)
    console = Console()

    def show(name: str, text: str) -> None:
        # Lines are wrapped only on a terminal, not in a pipe.
        most = console.width - width - 2 if console.is_terminal else sys.maxsize
        lines = wrap(text, most, break_on_hyphens=False)
        for head, line in zip([name, *[""] * len(lines)], lines, strict=False):
            console.print(f"  {head:{width}}{line}", highlight=False, markup=False, soft_wrap=True)

    files = loading.scenario_files()
    width = max(map(len, [*files, *catalogue.all_systems()])) + 2
    console.print("scenarios (workloads/):", highlight=False)
    for name, path in files.items():
        show(name, loading.description(path))
    console.print(f"systems on {inventory or 'this machine'}:", highlight=False, markup=False, soft_wrap=True)
    reasons = availability.ask(inventory)
    for name, system in catalogue.all_systems().items():
        state = "installed" if inventory is None and system.is_installed() else "available"
        reason = reasons[name] if details else reasons[name].partition(";")[0]
        show(name, f"{system.title}: {f'skipped: {reason}' if reason else state}")
    if not details and any(reasons.values()):
        how_to_get = command(RUN, "--list", "--details")
        console.print(f"how to get the skipped systems: {how_to_get}", highlight=False, markup=False, soft_wrap=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command, and prints the user's errors as messages without a traceback.

    :param arguments: arguments of the command line; by default those of this process
    :returns: the exit code
    """
    terminal.set_up()
    try:
        code: int = cli.main(arguments, prog_name="dohyo", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except BadInputError as error:
        # The message has one line per problem.
        terminal.say(f"ERROR: {plain_text.escaped(str(error), keep=chr(10))}", err=True)
        return 2
    except Interruption as interruption:
        click.echo(f"interrupted {interruption}; nothing was started", err=True)
        return interruption.exit_code
    except click.Abort:  # Ctrl-C at a prompt, or before signals are handled
        click.echo("interrupted; nothing was started", err=True)
        return 130
    except OSError as error:
        # For example a full disk, or a results folder that became read-only.
        terminal.say(
            f"ERROR: {error if error.filename else f'the output cannot be written: {error.strerror}'}", err=True
        )
        return 1
    return code
