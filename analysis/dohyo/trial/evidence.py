"""Collects the evidence of a trial: its folder on the control machine, the samples, and the files of the hosts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from dohyo import plain_yaml
from dohyo.places import ANSIBLE
from dohyo.systems.context import Context
from dohyo.trial import clients
from dohyo.trial.processes import tool
from dohyo.trial.world import Host, World, program, write_json

# Names of files that an earlier trial may have left in the same folder, in addition to the folders of its runs.
LEFT = (
    *("load", "load-server", "server", "hosts", "canary.json", "conditions.json", "settled.json", "kept.json"),
    *("counted.json", "probe-[0-9]*", "precondition-[0-9]*"),
)
# Files in a system's folder that describe its statistics and logs.
MEANINGS = ("figures.yml", "log.yml", "healing.yml")
# Variables of a trial that dohyo reads. They are recorded if a user starts trial.yml without an experiment.
ASKED = (
    *("trial_system", "trial_dir", "trial_properties", "trial_conditions", "trial_threads", "trial_phases"),
    *("trial_load", "trial_precondition", "trial_repeats", "trial_settle", "trial_settle_flush", "trial_settle_cache"),
    *("trial_warmup", "trial_duration", "trial_search", "trial_client_heap", "trial_strict", "trial_max_other_cpu"),
    *("trial_keep", "trial_canary", "trial_reuse", "trial_discard"),
)
# Seconds after which a sampler ends by itself if no load or run begins. The second value is for hosts on which
# nothing is deployed.
ALONE = 86400
ALONE_OBSERVED = 604800
# Script that appends a line to files in a folder whose names match patterns. Like the logs, the line has a UTC time.
END_LOGS = """
cd "$0" || exit 1
for pattern; do
  for log in $pattern; do
    [ ! -f "$log" ] || date -u '+%F %T,%3N INFO  [dohyo] The server was killed; the log ends here.' >> "$log" || exit 1
  done
done
"""
# Prefix of the names of the files that record trials under way. Each trial that takes turns has its own file.
UNDER_WAY = "trial-under-way"


class Evidence:
    """The folder of a trial, and the samplers that write its evidence.

    :ivar folder: folder of the trial on the control machine
    :ivar is_ours: whether the folder has Dohyo's mark, and contains no earlier evidence
    :ivar trial_note: note about the trial under way, which says what to fetch; empty before :meth:`note`
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.is_ours = False
        self.trial_note: dict[str, Any] = {}
        self.values = world.first.values
        self.lane = clients.lane_of(self.values)
        self.folder = Path(self.values["trial_dir"])

    # ---- the folder -------------------------------------------------------------------------------------------------

    @property
    def experiment(self) -> Path:
        """Folder of the experiment, whose folder raw contains the trials; without raw, the trial's own folder."""
        return self.folder.parent.parent if self.folder.parent.name == "raw" else self.folder

    @property
    def is_by_hand(self) -> bool:
        """Whether a user started the trial with trial.yml, without an experiment."""
        return not (self.experiment / "experiment.json").exists()

    def begin(self, role: str) -> None:
        """Marks the folder, empties it, and records the variables of the trial."""
        values = self.values
        # The folder may contain evidence of any deployment. Files that dohyo writes before a trial are not evidence.
        beside = ["trial.json", "state.json", "ansible.log", "events.jsonl"]
        runs = [f"{phase['name']}-[0-9]*" for phase in values["trial_phases"]]

        def mark(host: Host) -> None:
            host.do(
                "owned", state="present", kind="evidence", folders=[[str(self.folder), ""]], beside=beside,
                controller=values["dohyo_controller"],
            )  # fmt: skip
            host.do("owned", state="absent", home=str(self.folder), inside=[*LEFT, *runs])

        self.world.here("Mark the folder of the evidence", mark)
        self.is_ours = True
        if self.is_by_hand:
            write_json(self.folder / "trial.json", {name: values[name] for name in ASKED})
            self.state("running")
        # Copy the files, because a later version may define the names differently.
        (self.folder / "server").mkdir(exist_ok=True)
        for name in MEANINGS:
            if (file := ANSIBLE / "systems" / role / name).is_file():
                (self.folder / "server" / name).write_text(file.read_text("utf-8"), encoding="utf-8")

    def note(self, role: str) -> None:
        """Records that the trial is under way. From now on, the files of clients on the hosts are its evidence."""

        def forget(host: Host) -> None:
            values = host.values
            host.do(
                "owned", state="absent", deployment=values["dohyo_deployment"], home=values["dohyo_home"],
                inside=[clients.files_of(self.lane)],
            )  # fmt: skip

        self.world.on(self.world.hosts, "Remove the files of earlier clients", forget)
        self.trial_note = {
            "role": role,
            "lane": self.lane,
            "dir": str(self.folder),
            "deployment": self.values["dohyo_deployment"],
            "hosts": [*self.world.hosts],
        }
        note = note_file(self.world, self.lane)
        # If a killed trial's note remained, stop.yml would fetch this trial's files into the killed trial's folder.
        lanes = {self.lane, *self.values["trial_beside"]}
        for file in note.parent.glob(f"{UNDER_WAY}*"):
            if file.suffix.removeprefix(".") not in lanes:
                file.unlink(missing_ok=True)
        write_json(note, self.trial_note)

    @property
    def needs_shutdown(self) -> bool:
        """Whether servers must be shut down properly even if their data is not kept.

        When a server is killed, its logs lose no lines, except for the log of JDK 8's garbage collector.
        """
        return "-Xloggc:gc.log" in Context(self.values).gc_options

    @property
    def logs(self) -> list[str]:
        """Patterns for the names of the servers' logs that the analysis reads."""
        meaning = self.folder / "server/log.yml"
        kinds = plain_yaml.load(meaning) if meaning.is_file() else {}
        return sorted({name for kind in kinds.values() for name in plain_yaml.as_list(kind["files"])})

    def end_logs(self, host: Host, role: str) -> None:
        """Appends a line to the logs of killed servers, so that readers can tell up to which time a log is complete."""
        folder = f"{host.values['dohyo_home']}/run/{role}"
        program(host, ["sh", "-c", END_LOGS, folder, *self.logs], removes=folder)

    def state(self, status: str, reason: str | None = None) -> None:
        """Records the state of a trial without an experiment."""
        write_json(self.folder / "state.json", {"status": status, "reason": reason})

    # ---- samples of the hosts ---------------------------------------------------------------------------------------

    def begin_samples(self, servers: str) -> None:
        """Begins to sample the hosts. The samplers run until the evidence is fetched.

        :param servers: addresses of an attached system, whose processes are unknown; otherwise empty
        """
        process = controller(self.values)

        def begin(host: Host) -> None:
            # The samples are stored next to the clients' files, so that one step fetches both.
            folder = f"{host.values['dohyo_home']}/{clients.files_of(self.lane)}/hosts/{host.name}"
            script = 'mkdir -p "$0" && exec "$@"'
            sampler = [tool(host), "sample", str(ALONE), process, servers, *filter(None, [self.lane])]
            name = clients.in_lane("host-metrics", self.lane)
            argv = [tool(host), "start", name, folder, "metrics.jsonl.gz", "host-metrics.log", *sampler]
            program(host, ["sh", "-c", script, folder, *argv])

        self.world.on(self.world.hosts, "Start the sampler", begin)

    def begin_observing(self) -> None:
        """Begins to sample an attached system's hosts, on which nothing is deployed."""
        names = self.values["dohyo_observed"]
        for name in names:
            (self.folder / "hosts" / name).mkdir(parents=True, exist_ok=True)  # samples are expected here
        step = "Start the sampler of the attached system"
        self.world.on(names, step, lambda host: observe(host, "begin", self.values, self.folder))

    def end_observing(self) -> None:
        """Ends the samplers of :meth:`begin_observing`, and fetches their samples. Skips hosts that do not respond."""
        end_observing(self.world, self.folder)

    # ---- the end ----------------------------------------------------------------------------------------------------

    def bring_home(self, names: list[str]) -> dict[str, str]:
        """Fetches the evidence of the trial from hosts, and returns the failures by host."""
        # Another call of stop.yml or trial.yml may have replaced or removed the note.
        trials = (
            [self.trial_note]
            if self.trial_note
            else [note for note in under_way(self.world) if note.get("lane", "") == self.lane]
        )
        return dict(chain.from_iterable(collect(self.world, names, trial).items() for trial in trials))


def controller(values: Mapping[str, Any]) -> str:
    """Returns the identity of the playbook's process. The samplers end when this process has ended."""
    process = values["dohyo_controller"]
    return f"{process['pid']} {process['start']} {process['machine']}"


def observe(host: Host, verb: str, values: Mapping[str, Any], folder: Path) -> None:
    """Begins or ends the sampling of a host on which nothing is deployed. At the end, fetches the samples.

    :param values: variables of a host of the trial
    :param folder: folder of the trial, on the control machine
    """
    deployment = values["dohyo_deployment"]
    play = controller(values)
    samples = host.do("observe", state=verb, deployment=deployment, seconds=ALONE_OBSERVED, controller=play)["samples"]
    if verb == "end":
        host.pull(samples, folder / "hosts" / host.name)
        host.do("observe", state="leave", deployment=deployment)


def end_observing(world: World, folder: Path) -> bool:
    """Ends the samplers on observed hosts, and fetches their samples. Returns whether all hosts responded."""
    values = world.first.values
    _, failures = world.attempt(values["dohyo_observed"], lambda host: observe(host, "end", values, folder))
    for name, message in failures.items():
        world.event("note", text=f"{name}: {message}; its sampler may still be running; stop.yml ends it")
    return not failures


def note_file(world: World, lane: str) -> Path:
    """Returns the file on the control machine that notes the trial under way in a lane."""
    return Path(world.first.values["dohyo_control"]) / clients.in_lane(UNDER_WAY, lane)


def under_way(world: World) -> list[dict[str, Any]]:
    """Returns the notes of the trials that are under way on these hosts.

    A note about other hosts belongs to another inventory, and is left out.
    """
    values = world.first.values
    files = sorted(Path(values["dohyo_control"]).glob(f"{UNDER_WAY}*"))
    notes = [json.loads(file.read_text("utf-8")) for file in files if file.suffix != ".new"]
    return [
        note
        for note in notes
        if note.get("deployment") == values["dohyo_deployment"] and {*note.get("hosts", [])} <= {*world.hosts}
    ]


def collect(world: World, names: list[str], trial: Mapping[str, Any], *, keeps_note: bool = False) -> dict[str, str]:
    """Fetches the evidence of a trial from hosts, even if it is incomplete.

    :param trial: content of the trial's note
    :param keeps_note: whether the note is kept, because something else must be fetched later
    :returns: failures by host
    """
    folder, lane = Path(trial["dir"]), str(trial.get("lane", ""))

    def fetch(host: Host) -> None:
        home = host.values["dohyo_home"]
        # The servers may stay up, but the sampler must end.
        host.do("program", argv=[tool(host), "stop", clients.in_lane("host-metrics", lane), "5"], removes=tool(host))
        if host.name in world.databases:
            host.pull(f"{home}/run/{trial['role']}", folder / "server" / host.name)
        host.pull(f"{home}/{clients.files_of(lane)}", folder)
        if host.name in world.clients:
            # A client that never became ready leaves its secrets file behind.
            host.do(
                "owned", state="absent", deployment=host.values["dohyo_deployment"], home=home,
                inside=[f"secret/client-{clients.in_lane(host.name, lane)}.properties"],
            )  # fmt: skip

    _, failures = world.attempt(names, fetch)
    # Keep the note while any host, even a lost one, has evidence that was not fetched: stop.yml fetches it later.
    is_whole = not failures and not {*trial["hosts"]} - {*names}
    if is_whole and not keeps_note and trial["dir"] in (note["dir"] for note in under_way(world)):
        note_file(world, lane).unlink(missing_ok=True)
    return failures
