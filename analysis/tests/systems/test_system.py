"""Tests the members of the systems' classes that tasks, plans and docs/adding-a-system.md use."""

import dataclasses
import inspect
import re
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dohyo.bad_input import BadInputError
from dohyo.places import ANSIBLE, ROOT
from dohyo.systems import catalogue
from dohyo.systems.catalogue import all_systems
from dohyo.systems.context import Context
from dohyo.systems.system import System
from support.described import described
from vars import systems as plugin

ROLES = sorted({system.role for system in all_systems().values()})
EXAMPLES = sorted(ROOT.glob("examples/*/ansible/systems/*/system.py"))
TASKS = [
    *(file for pattern in ("*.yml", "tasks/*.yml", "group_vars/*.yml") for file in ANSIBLE.glob(pattern)),
    *(file for file in ANSIBLE.glob("roles/**/*.yml") if "systems" not in file.parts[file.parts.index("roles") :]),
    *ANSIBLE.glob("systems/*/tasks/*.yml"),
    *ROOT.glob("examples/*/ansible/systems/*/tasks/*.yml"),
]
LOOKUP = re.compile(r"""(?:lookup|query|q)\('system', *([^,)]+)([^)]*)\)((?:\.\w+\b(?!\())*)""")


def public(owner: type) -> set[str]:
    """Returns the names of all public members of a class, including those that are inherited or only declared."""
    declared = {name for base in inspect.getmro(owner) for name in inspect.get_annotations(base)}
    return {name for name in declared | {*dir(owner)} if not name.startswith("_")}


def own_members(owner: type) -> set[str]:
    """Returns the names of the members that a class adds to its bases."""
    names = {name for name in {*vars(owner), *inspect.get_annotations(owner)} if not name.startswith("_")}
    return names - {name for base in inspect.getmro(owner)[1:] for name in public(base)}


def kind(owner: type, name: str) -> Any:
    """Returns the dataclass that is the type of a member's value, or None if the type is unknown or not a dataclass."""
    member = inspect.getattr_static(owner, name, None)
    hints = typing.get_type_hints(member.fget if isinstance(member, property) else member or owner)
    returned = hints.get("return") if member is not None and not isinstance(member, type) else None
    parts = [part for part in typing.get_args(returned) or [returned] if part not in (None, types.NoneType)]
    return parts[0] if len(parts) == 1 and dataclasses.is_dataclass(parts[0]) else None


def lookups(text: str) -> Iterator[tuple[str, str]]:
    """Yields the path of each member that a task file looks up, and the arguments of the lookup."""
    for name, arguments, behind in LOOKUP.findall(text):
        yield name.strip("'") + behind, arguments


def unknown(owner: type, path: str) -> str:
    """Returns a message about the first unknown name in a path; empty if all names exist."""
    for name in path.split("."):
        if name not in public(owner):
            return f"{owner.__name__} has no {name}"
        within = kind(owner, name) if isinstance(getattr(owner, name, None), property) else None
        if within is None:
            break
        owner = within
    return ""


def missing(file: Path) -> list[str]:
    """Returns the lookups in a task file that name a member which no class has."""
    folder_name = file.parts[file.parts.index("systems") + 1] if "systems" in file.parts else ""
    unknown_lookups = []
    for path, arguments in lookups(file.read_text("utf-8")):
        named = re.search(r"system='(\w+)'", arguments)
        role = named[1] if named else folder_name
        if path.startswith("context."):
            problems = [unknown(Context, path.removeprefix("context."))]
        else:
            problems = [unknown(type(catalogue.of_role(role)) if role in ROLES else System, path)]
        unknown_lookups += [f"{file}: {path}: {problem}" for problem in problems if problem]
    return unknown_lookups


def test_whatever_tasks_look_up_is_a_member() -> None:
    assert sum(len([*lookups(file.read_text("utf-8"))]) for file in TASKS) > 80
    assert [problem for file in TASKS for problem in missing(file)] == []
    every = "".join(file.read_text("utf-8") for file in TASKS)
    assert len(re.findall(r"'system',", every)) == len([*lookups(every)]), "a lookup whose name is not a literal"


@pytest.mark.parametrize(
    ("path", "text", "problem"),
    [
        ("tasks/a.yml", "lookup('system', 'comand')", "System has no comand"),
        ("tasks/a.yml", "lookup('system', 'parts_here')", "System has no parts_here"),
        ("tasks/a.yml", "lookup('system', 'jvm.jdkk')", "Jvm has no jdkk"),
        ("tasks/a.yml", "lookup('system', 'server_archive').soruce | x", "Archive has no soruce"),
        ("tasks/a.yml", "query('system', 'log_disk', every=true)", "System has no log_disk"),
        ("tasks/a.yml", "lookup('system', 'raw_wrods', system='aerospike')", "Aerospike has no raw_wrods"),
        ("tasks/a.yml", "lookup('system', 'context.record')", "Context has no record"),
        ("systems/hbase/tasks/a.yml", "lookup('system', 'part_comand', 'x')", "HBase has no part_comand"),
    ],
)
def test_a_member_that_nobody_has_is_found(path: str, text: str, problem: str, tmp_path: Path) -> None:
    (file := tmp_path / path).parent.mkdir(parents=True)
    file.write_text(text)
    assert [lookup.rpartition(": ")[2] for lookup in missing(file)] == [problem]


# ---- classes ---------------------------------------------------------------------------------------------------------

PAGE = (ROOT / "docs/adding-a-system.md").read_text("utf-8").partition("## 2. ")[0]
SYSTEMS = [*all_systems().values(), *(system for file in EXAMPLES for system in catalogue.load(file))]
# Members that every class must define, because they have no default.
REFUSING = {"installed_version", "needs", "command", "words", "client_properties"}


def classes(system: System) -> list[type]:
    """Returns the classes of a system that are derived from the base class."""
    every = inspect.getmro(type(system))
    return [*every[: every.index(System)]]


def overridden(system: System) -> set[str]:
    """Returns the members of the base class that a system overrides, except options."""
    theirs = {name for ancestor in classes(system) for name in {*vars(ancestor), *inspect.get_annotations(ancestor)}}
    return (theirs & public(System)) - system.all_options().keys()


def test_the_page_names_whatever_a_class_may_say_otherwise() -> None:
    named = set(re.findall(r"`(\w+)(?:\(\))?`", PAGE))
    names = set.union(*map(overridden, SYSTEMS)) - {"on", "shown_options"}  # the page leaves out what only H2 overrides
    assert sorted(names - named) == []
    rows = re.findall(r"^\| [^|]+ \| (.*) \|$", PAGE, re.MULTILINE)[2:]
    theirs = public(System) | {name for system in SYSTEMS for name in system.all_options()}
    terms = {word for row in rows for word in re.findall(r"`(\w+)(?:\(\))?`", row)}
    assert sorted(name for name in terms - theirs - {"system", "context", "tuned"} if not name.startswith("h2")) == []


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_a_system_says_whatever_the_page_calls_necessary(system: System) -> None:
    necessary = {name for part in re.findall(r"\*\*(.+?)\*\*", PAGE) for name in re.findall(r"`(\w+)(?:\(\))?`", part)}
    assert necessary > REFUSING | {"role", "binding", "admin", "name", "title", "ready_timeout"}
    theirs = {name for ancestor in classes(system) for name in {*vars(ancestor), *inspect.get_annotations(ancestor)}}
    assert sorted(necessary - theirs - system.all_options().keys() - {"name", "title"}) == []
    assert system.timeouts.keys() == {"ready", "settle", "stop"}


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_a_class_says_nothing_that_nobody_reads(system: System) -> None:
    """A misspelt member would override nothing and cause no error."""
    folders = [ROOT / "analysis/dohyo", ANSIBLE / "systems" / system.role, *EXAMPLES]
    files = [file for folder in folders for file in (folder.rglob("*") if folder.is_dir() else [folder])]
    texts = [file.read_text("utf-8") for file in files if file.suffix in (".py", ".j2", ".yml")]
    text = "".join([*texts, *(file.read_text("utf-8") for file in TASKS)])
    read = set(re.findall(r"\.(\w+)|(?:'system', *|getattr\(self, f?)['\"](\w+)", text))
    read_names = {name for pair in read for name in pair}
    member_names = {name for ancestor in classes(system) for name in own_members(ancestor)}
    defaults = {f"default_{name}" for name in system.all_options()}
    put_together = {name for name in member_names if re.search("_(timeout|port)$", name)}
    assert sorted(member_names - read_names - defaults - put_together) == []


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_a_member_that_the_base_class_lacks_has_a_docstring(system: System) -> None:
    for ancestor in classes(system):
        members = {name: vars(ancestor).get(name) for name in own_members(ancestor) if not name.startswith("default_")}
        code = {name: member for name, member in members.items() if isinstance(member, property) or callable(member)}
        assert [f"{ancestor.__name__}.{name}" for name, member in code.items() if not member.__doc__] == []


@pytest.mark.parametrize("system", all_systems().values(), ids=lambda system: system.name)
def test_options_that_a_class_names_are_options(system: System) -> None:
    names = {f"{system.role}_{name}" for name in system.all_options()}
    assert {*system.disk_by, *system.of_tables, *system.variables} <= names


@pytest.mark.parametrize(
    ("system", "engine", "wrong"), [("mysql-innodb", "InnoDB", "MyISAM"), ("mysql-myisam", "MyISAM", "InnoDB")]
)
def test_a_variable_may_not_turn_one_system_into_another(system: str, engine: str, wrong: str) -> None:
    (refusal,) = described(system, mysql_engine=wrong).refusals
    assert refusal.startswith(f"mysql_engine={wrong}: {system} has {engine}; choose the system with")
    assert described(system, mysql_engine=engine).refusals == []


def test_the_default_user_of_cassandra_is_refused_at_a_public_address() -> None:
    public: dict[str, Any] = {"cassandra_authentication": True, "cassandra_address": "8.8.8.8"}
    (refusal,) = described("cassandra", **public).refusals
    assert refusal.startswith("dohyo_address=8.8.8.8: may be public (default password); set a private one, or ")
    assert described("cassandra", **public, dohyo_public=True).refusals == []
    assert described("cassandra", cassandra_authentication=True).refusals == []


def test_more_copies_than_hosts_are_refused() -> None:
    (refusal,) = described("cassandra", 3, conditions={"replication": 4}).refusals
    assert refusal.startswith("replication=4: the inventory's group database has only 3 hosts; lower it, or ")
    assert described("cassandra", 4, conditions={"replication": 4}).refusals == []


def test_a_system_has_its_own_verb_by_supplying_the_file() -> None:
    systems = plugin.all_variables()["systems"]
    assert list(systems) == list(all_systems())
    verbs = systems["hbase"]["verbs"]
    assert "'systems/hbase/tasks/install.yml'" in verbs["install"]
    assert "'attached/install.yml' if 'hbase' in attached else" in verbs["install"]
    assert verbs["needs"] == "needs"
    for facts in systems.values():
        for file in (
            file for verb in facts["verbs"].values() for file in re.findall(r"'([^']+)' (?:if|}})", verb) or [verb]
        ):
            assert (ANSIBLE / "roles/system/tasks" / file).with_suffix(".yml").is_file(), file


# ---- files that cannot be loaded -------------------------------------------------------------------------------------

H2 = EXAMPLES[0].read_text("utf-8")


@pytest.mark.parametrize(
    ("text", "replacement", "problem"),
    [
        ("SYSTEMS = .*", "", "AttributeError: module 'dohyo_systems_h2' has no attribute 'SYSTEMS'"),
        ("class H2", "clas H2", "SyntaxError: invalid syntax"),
        ("import mib", "import mibb", "ImportError: cannot import name 'mibb'"),
        ('    title: str = "H2"', "", "TypeError: .*missing 1 required keyword-only argument: 'title'"),
        ('    role = "h2"', "", "AttributeError: .* has no attribute 'role'"),
        ("pattern=HEAP", "patern=HEAP", "TypeError: .* unexpected keyword argument 'patern'"),
        ("heap: str", "heap: bytes", "BadInputError: h2_heap: its type is bytes; it must be one of int, bool, "),
        (r"H2\(\)", "1", "TypeError: SYSTEMS contains 1, which is not a system"),
        ('    role = "h2"', '    role = "h3"', "ValueError: role=h3 must be h2, the name of the folder"),
        ("def needs", "def need", "TypeError: Can't instantiate abstract class H2 with abstract method needs"),
        ("def command", "def comand", "TypeError: Can't instantiate abstract class H2 with abstract method command"),
        ("    title: str", "    order = 'x'\n    title: str", "TypeError: order=x must be a number"),
        ('"2.4.240", "Version', '"latest", "Version', "BadInputError: h2_version=latest: it must match "),
        ("pattern=HEAP", "pattern='('", r"BadInputError: h2_heap: \( is not a regular expression: "),
        (
            "    heap: str",
            "    hosts: str",
            "TypeError: h2_hosts: every system has a member hosts; choose another name",
        ),
        (
            "    port: int",
            '    other: str = option(None, "Other.")\n    port: int',
            "AttributeError: 'H2' object has no attribute 'default_other'",
        ),
        ("SYSTEMS = .*", "exit(0)", "SystemExit: 0"),
        ("^", "raise OSError('a\\nb')\n", "SyntaxError|OSError: a b$"),
    ],
)
def test_a_file_that_cannot_be_loaded_is_refused_by_name(
    text: str, replacement: str, problem: str, tmp_path: Path
) -> None:
    (file := tmp_path / "systems/h2/system.py").parent.mkdir(parents=True)
    changed, count = re.subn(text, lambda _: replacement, H2.replace("from __future__ import annotations", ""), count=1)
    assert count == 1
    file.write_text(changed)
    with pytest.raises(BadInputError) as refused:
        catalogue.load(file)
    assert re.search(rf"^\S*systems/h2/system.py: ({problem})", str(refused.value))


def test_two_systems_of_one_name_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "ANSIBLE", tmp_path)
    for name in ("a", "b"):
        (file := tmp_path / f"systems/{name}/system.py").parent.mkdir(parents=True)
        file.write_text(H2.replace('role = "h2"', f'role = "{name}"'))
    with pytest.raises(BadInputError, match=r"systems/b/system.py: the name h2 is already used; choose another name"):
        all_systems.__wrapped__()
