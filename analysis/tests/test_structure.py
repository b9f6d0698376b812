"""Tests that imports between packages of `dohyo` follow the flow of data, and that tests do not import tests."""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from graphlib import TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import dohyo
from dohyo.places import ANSIBLE, BINDINGS, ROOT
from dohyo.scenario import properties

PACKAGE = Path(dohyo.__file__).parent
# Packages in the order in which the docstring of `dohyo` lists them.
ORDER = re.findall(r"^- (\w+):", dohyo.__doc__ or "", re.MULTILINE)


def allowed(package: str) -> set[str]:
    """Returns the packages that a package may import, according to its docstring."""
    (docstring,) = ast.parse((PACKAGE / package / "__init__.py").read_text("utf-8")).body  # no other statement
    return set(re.findall(r"`dohyo\.(\w+)`", ast.unparse(docstring)))


@cache
def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"))


def imported(module: ast.Module) -> Iterator[str]:
    """Yields the modules of `dohyo` that a module imports in any scope. The names have no prefix `dohyo.`."""
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "only absolute imports are allowed"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        yield from (name.removeprefix("dohyo.") for name in names if name.startswith("dohyo."))


def packages(files: Iterable[Path]) -> set[str]:
    """Returns the packages of `dohyo` from which the files import."""
    return {name.partition(".")[0] for file in files for name in imported(parsed(file))} & set(ORDER)


def test_imports_are_found_in_every_form() -> None:
    source = """
from dohyo import figures
from dohyo.tables import table
import dohyo.summary.knee
import json
def later():
    from dohyo.running.runner import run
"""
    assert sorted(imported(ast.parse(source))) == ["figures", "running.runner.run", "summary.knee", "tables.table"]


def test_the_map_has_all_packages_in_an_order_without_cycles() -> None:
    assert set(ORDER) == {file.parent.name for file in PACKAGE.glob("*/__init__.py")}
    for position, package in enumerate(ORDER):
        assert allowed(package) <= set(ORDER[:position])


@pytest.mark.parametrize("package", ORDER)
def test_a_package_imports_what_its_docstring_says(package: str) -> None:
    assert packages((PACKAGE / package).rglob("*.py")) - {package} == allowed(package)


def test_nothing_but_the_command_imports_what_reads_the_logs_of_others() -> None:
    outside = [file for file in PACKAGE.rglob("*.py") if file.parent.name != "foreign"]
    users = {file.stem for file in outside if "foreign" in packages([file])}
    assert users == {"cli"}


def test_no_modules_import_each_other() -> None:
    """Includes imports that are used only for types, and cycles through other modules."""
    modules = {".".join(file.relative_to(PACKAGE).with_suffix("").parts): file for file in PACKAGE.rglob("*.py")}
    # `from dohyo.tables import table` names a module, `from dohyo.tables.table import rows` a member of a module.
    uses = {
        name: {module for target in imported(parsed(file)) if (module := _module(target, modules)) not in ("", name)}
        for name, file in modules.items()
    }
    assert uses["scenario.contradictions"] >= {"scenario.scenario", "scenario.search"}
    TopologicalSorter(uses).prepare()  # raises CycleError, which names the modules


def _module(name: str, modules: Mapping[str, Path]) -> str:
    return name if name in modules else name.rpartition(".")[0] if name.rpartition(".")[0] in modules else ""


def test_names_of_classes_are_unique() -> None:
    names = Counter(
        node.name.lstrip("_")
        for file in PACKAGE.rglob("*.py")
        for node in parsed(file).body
        if isinstance(node, ast.ClassDef)
    )
    assert names["Scenario"] == 1
    assert [name for name, count in names.items() if count > 1] == []


# Names whose meaning depends on the module. Record fields may have them, because evidence and summary.json use them.
VAGUE = {
    *(
        "of", "own", "each", "both", "found", "there", "known", "given", "wanted", "taken", "kept", "asked", "said",
        "told",
    ),
    *("ours", "mine", "it", "far", "place"),
}  # fmt: skip


def declared(module: ast.Module) -> Iterator[str]:
    """Yields the names of parameters and variables, except the fields of classes."""
    nodes = [*ast.walk(module)]
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    fields = {id(line.target) for node in classes for line in node.body if isinstance(line, ast.AnnAssign)}
    for node in nodes:
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in fields:
            yield node.id


def test_parameters_and_variables_say_what_they_are() -> None:
    folders = [PACKAGE, ANSIBLE, *(ROOT / "analysis" / name for name in ("tests", "e2e", "suite")), ROOT / "benchmarks"]
    files = [file for folder in folders for file in folder.rglob("*.py")]
    assert len(files) > 300
    vague = {f"{file.name}: {name}" for file in files for name in declared(parsed(file)) if name in VAGUE}
    # The names of the agent's arguments are part of its protocol.
    assert vague == {"host_settings.py: kept"}


def test_no_module_names_a_property_of_a_single_binding() -> None:
    """Only a binding's properties.py, the classes of its systems, and the hints on keys of stock bindings may contain
    these names.
    """
    bindings = {file.parent.name for file in BINDINGS.glob("*/properties.py")}
    keys = [key for key, entry in properties.known().items() if entry.reader in bindings and "." in key]
    assert "aerospike.layout" in keys
    files = [
        file for file in PACKAGE.rglob("*.py") if file.name != "common_properties.py" and file.parent.name != "systems"
    ]
    trees = {file.name: ast.walk(parsed(file)) for file in files}
    constants = [(name, node.value) for name, tree in trees.items() for node in tree if isinstance(node, ast.Constant)]
    assert [(name, key) for name, text in constants if isinstance(text, str) for key in keys if key in text] == []


def test_one_module_says_which_operations_failed_or_found_nothing() -> None:
    trees = {file.stem: ast.walk(parsed(file)) for file in PACKAGE.rglob("*.py")}
    outcomes = ("-FAILED", "-NOT_FOUND")
    named = [(name, node.value) for name, tree in trees.items() for node in tree if isinstance(node, ast.Constant)]
    assert [pair for pair in named if pair[1] in outcomes] == [("operations", outcome) for outcome in outcomes]


def test_common_modules_import_no_package() -> None:
    assert packages(file for file in PACKAGE.glob("*.py") if file.stem != "cli") == set()


def test_nothing_on_a_host_becomes_root_by_itself() -> None:
    parts = ("roles", "systems", "tasks", "plugins", "templates")
    files = [
        file
        for part in parts
        for file in (ANSIBLE / part).rglob("*")
        # Ignore caches, which other programs may write at the same time.
        if file.is_file() and not {"__pycache__", ".ruff_cache"} & {*file.parts}
    ]
    files += ANSIBLE.glob("*.yml")
    assert len(files) > 100
    calls = re.compile(r"\b(sudo|doas|pkexec)\s+[-\w/\"$]|(argv|cmd).*\b(sudo|doas|pkexec)\b")
    lines = [
        f"{file}: {line}"
        for file in files
        for line in file.read_text("utf-8").splitlines()
        if calls.search(line) and not line.lstrip().startswith(("#", "- name:"))
    ]
    assert lines == []


def test_the_command_needs_only_the_packages_of_requirements_txt() -> None:
    program = "import pkgutil, sys, dohyo\nfor each in pkgutil.walk_packages(dohyo.__path__, 'dohyo.'):\n"
    program += "    __import__(each.name)\nprint(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split()
    packages = packages_distributions()
    # msgspec uses typing_extensions if another package has installed it.
    needed = {package.lower() for name in loaded for package in packages.get(name, ())} - {"dohyo", "typing_extensions"}
    pinned = set(re.findall(r"^([\w.-]+)==", (PACKAGE.parent / "requirements.txt").read_text("utf-8"), re.MULTILINE))
    assert "numpy" in needed
    assert needed <= pinned


TESTS = [file for folder in ("tests", "e2e") for file in (PACKAGE.parent / folder).rglob("*.py")]


def test_no_test_imports_another() -> None:
    """Code that several tests need must be in tests/support or e2e/runs.py."""
    tests = {file.stem for file in TESTS if file.name.startswith("test_")}
    assert {"test_structure", "test_folder_marks", "test_run"} <= tests
    problems = []
    for file in TESTS:
        for node in ast.walk(parsed(file)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            problems += [f"{file.name}: {name}" for name in names if tests & {*name.split(".")}]
    assert problems == []


def test_no_test_changes_where_modules_are_looked_for() -> None:
    """Only pythonpath in pyproject.toml sets the search path. Programs that a test starts inherit it."""
    assert [file.name for file in TESTS if re.search(r"sys\.path\b", file.read_text("utf-8"))] == []


def test_no_message_leaves_the_plural_to_the_reader() -> None:
    """Messages must use `figures.counted`, which chooses between the singular and the plural."""
    sources = [file for folder in (PACKAGE, ANSIBLE) for file in folder.rglob("*.py")]
    files = [file.name for file in sources if re.search(r"\b[a-z]{3,}\(s\)[ ,;:\"']", file.read_text(encoding="utf-8"))]
    assert files == []
