"""What the administration of a system is asked on its hosts: settling, statistics, counting rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dohyo.systems.option import BOOLEANS
from dohyo.systems.system import System
from dohyo.trial.world import Host, World, program

# Seconds for a call that does not wait for work. A server that answers no question must not hold up the trial for ever.
ADMIN_SECONDS = 900


def admin(host: Host, system: System, verb: Sequence[str], words: Sequence[str], seconds: int = ADMIN_SECONDS) -> str:
    """Calls the administration of a system on a host, and returns its answer.

    :param verb: the verb, and what must be right behind it
    :param words: further arguments NAME=VALUE
    :param seconds: after which it is ended
    :raises HostError: with what it wrote, if it fails or takes longer
    """
    values = host.values
    attached = system.name in values["attached"]
    name = system.attachment.admin if attached else system.admin
    own = system.attached_words if attached else system.admin_words
    java = [*values["dohyo_admin"], "-cp", f"{values['dohyo_home']}/bundle/{system.binding}/*", name]
    return program(host, ["timeout", str(seconds), *java, *verb, *own, *words])


def is_attached(world: World) -> bool:
    """The servers run already, and are not ours."""
    return world.first.values["trial_system"] in world.first.values["attached"]


def asked(world: World) -> list[str]:
    """Hosts whose servers have statistics of their own; of an attached system the first host asks for all."""
    attached = is_attached(world)
    systems = {name: world.system(name) for name in world.databases}
    return [name for name, system in systems.items() if system.serves and (system.is_first or not attached)]


def stats(world: World, folder: str) -> None:
    """Keeps what the servers say of themselves, in a folder of each one's run folder, which is evidence.

    Most of it is counted since the start of a server: what a run has done is the difference of two.
    """

    def keep(host: Host) -> None:
        system = world.system(host.name)
        admin(host, system, ["stats"], [f"folder={system.run}/{folder}"])

    world.on(asked(world), "Keep the server's own statistics", keep)


def settle(world: World, folder: str) -> dict[str, Any]:
    """Lets the servers settle, keeps their statistics in a folder as :func:`stats`, and returns what there is to keep.

    :param folder: of the statistics
    """
    values = world.first.values
    flush = BOOLEANS.get(str(values["trial_settle_flush"]).lower(), False)
    drops, attached = str(values["trial_settle_cache"]) == "drop", is_attached(world)
    # One call for both where there is one server to ask, and nothing to do between the two.
    at_once = len(world.databases) == 1 and not drops
    world.phase("settle")

    def settled(host: Host) -> dict[str, Any]:
        system = world.system(host.name)
        may_flush = flush and (not attached or "settle" in values["attached_may"])
        seconds = system.timeouts["settle"]
        words = [f"flush={str(may_flush).lower()}", f"timeout={seconds}"]
        if not attached:
            words = [*system.first_words, *words, *system.settle_words]
        verb = ["settle+stats", f"folder={system.run}/{folder}"] if at_once else ["settle"]
        # It may wait that long without progress, again and again: only its silence is bounded, by itself.
        answer: dict[str, Any] = json.loads(admin(host, system, verb, words, seconds=0))
        return answer

    names = [name for name in world.databases if _settles(world.system(name), attached)]
    answers = world.on(names, "Flush, wait for what is written in the background, count the rows", settled)
    dropped = None
    pages: dict[str, Any] = {}
    if drops:
        # Begins on all hosts after the rows were counted.
        dropping = [] if attached else [name for name in names if world.system(name).drops_here]
        said = world.on(
            dropping, "Empty the server's caches",
            lambda host: json.loads(admin(host, world.system(host.name), ["drop"], [])),
        )  # fmt: skip
        dropped = next(iter(said.values()), {})
        pages = world.on(world.databases, "Empty the page cache", drop_page_cache)
    first = next(iter(answers.values()))
    title = world.system(world.databases[0]).title
    kept = with_notes(first, list(answers.values()), title, flush, dropped, pages)
    if not at_once:
        stats(world, folder)
    return kept


def _settles(system: System, attached: bool) -> bool:
    return system.serves and system.is_first if attached else system.settles_here


def count(world: World, records: int) -> dict[str, Any]:
    """Has the servers count their rows, and returns them by table.

    :param records: how many there should be; a system counts up to a number that it sets
    """
    world.phase("count")

    def counted(host: Host) -> dict[str, Any]:
        system = world.system(host.name, trial_recordcount=records)
        if is_attached(world):
            return dict(json.loads(admin(host, system, ["count"], [], seconds=0)))
        seconds = system.timeouts["settle"]
        words = [*system.first_words, f"timeout={seconds}"]
        return dict(json.loads(admin(host, system, [system.count_verb], words, seconds=0)))

    first = [name for name in world.databases if world.system(name).is_first]
    rows: dict[str, Any] = next(iter(world.on(first, "Count the rows", counted).values()))["rows"]
    return rows


# Only root may; in most containers nobody may. Only clean pages can be dropped, hence sync.
DROP_PAGE_CACHE = """
cached() { awk '$1 == "Cached:" {print int($2 / 1024)}' /proc/meminfo; }
sync
before=$(cached)
echo 1 > /proc/sys/vm/drop_caches
printf '{"page_cache_mb_before": %d, "page_cache_mb_after": %d}\\n' "$before" "$(cached)"
"""


def drop_page_cache(host: Host) -> dict[str, int]:
    """Empties the page cache of a host; returns MiB before and after it."""
    answer: dict[str, int] = json.loads(program(host, ["bash", "-ec", DROP_PAGE_CACHE], root=True))
    return answer


def with_notes(
    settled: Mapping[str, Any],
    answers: Sequence[Mapping[str, Any]],
    title: str,
    flush: bool,
    dropped: Mapping[str, Any] | None,
    pages: Mapping[str, Any],
) -> dict[str, Any]:
    """Returns what is kept of settling: what the first host's server has answered, with the notes of all hosts.

    A server that does not say ``flushed`` always flushes; one that does not say ``dropped`` keeps its caches.

    :param answers: what the server of each host has answered
    :param title: of the system
    :param flush: false where the scenario asks for no flush
    :param dropped: what the server said when it emptied its caches; None where the scenario asks for full ones
    :param pages: MiB of the page cache of each host before and after it was emptied
    """
    notes = [note for each in answers for note in each.get("notes", [])] + list((dropped or {}).get("notes", []))
    if not flush and settled.get("flushed", True):
        notes.append(f"settle.flush=false changes nothing: {title} has no memory that only a flush empties")
    if dropped is not None:
        notes.append("settle.cache=drop: the page caches of the hosts were emptied before the runs")
        if not dropped:
            notes.append(f"settle.cache=drop: {title} keeps its own caches, which only a restart would empty")
    emptied = {} if dropped is None else {"dropped": {**dropped, "hosts": dict(pages)}}
    return {**settled, "notes": list(dict.fromkeys(notes)), **emptied}
