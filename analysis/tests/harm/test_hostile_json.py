"""Checks that hostile content of JSON files and evidence causes a one-line error and an exit code, but no traceback."""

import copy
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dohyo.bad_input import BadInputError
from dohyo.running import experiment
from support.command import dohyo, finished, tree

HOSTILE = {
    "empty": b"",
    "truncated": b'{"status": "done", "plan": ["01',
    "not UTF-8": b'{"status": "\xff\xfe"}',
    "nested": b'{"plan":' + b"[" * 100_000,
    "nested and whole": b'{"status":' + b"[" * 5000 + b"]" * 5000 + b"}",
    "text": b'"done"',
    "list": b'["done"]',
    "null": b"null",
    "number": b"1" * 5000,
    "status": b'{"status": ["done"]}',
    "started": b'{"started": {"a": 1}}',
}
FACTS = {
    "plan": b'{"plan": [{}]}', "plan of text": b'{"plan": "01-cassandra"}', "systems": b'{"systems": [[]]}',
    "hosts": b'{"hosts": []}', "inventory": b'{"inventory": 3}', "named": b'{"named": "yes"}',
}  # fmt: skip


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = finished(tmp_path_factory.mktemp("original") / "it", sealed=False)
    for log in folder.rglob("*.hdr"):  # these tests do not need the logs, which are slow to read
        log.unlink()
    return folder


CASES = [
    *(("experiment.json", name) for name in [*HOSTILE, *FACTS]),
    *(("raw/01-cassandra/state.json", name) for name in HOSTILE),
]


@pytest.mark.parametrize(("file", "kind"), CASES)
def test_a_broken_file_of_ours_is_named_in_one_line(file: str, kind: str, original: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(original, tmp_path / "results" / "it")
    (folder / file).write_bytes({**HOSTILE, **FACTS}[kind])
    before = tree(folder)
    for arguments in (["report", folder], ["compare", folder, folder], ["run", "--resume", folder]):
        answer = dohyo(*arguments)
        assert (answer.code, answer.out) == (2, ""), answer
        assert answer.err.startswith(f"ERROR: {folder / file}: ")
        assert (answer.err.count("\n"), len(answer.err) < 500) == (1, True)
    finished(tmp_path / "results" / "good")
    answer = dohyo("site", tmp_path / "site", "--results", tmp_path / "results")
    assert (answer.code, answer.err.count("\n")) == (1, 1)
    assert answer.err.startswith(f"warning: {folder / file}: ")
    assert "good/report.html" in (tmp_path / "site/index.html").read_text("utf-8")
    assert tree(folder) == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"inventory": "/no/such/inventory"}, "the inventory /no/such/inventory does not exist"),
        ({"inventory": "{}/hosts"}, "is in a results folder, but can run code"),
        ({"hosts": {"count": "four"}}, "expected `int`, got `str` - at `$.count`"),
        ({"inventory": ...}, "'inventory' is missing"),
        ({"scenario": ...}, "'scenario' is missing"),
    ],
)
def test_what_cannot_be_resumed_says_why(change: dict[str, Any], message: str, original: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(original, tmp_path / "it")
    (folder / "hosts").write_text("#!/bin/sh\ntouch ran\n")
    (folder / "hosts").chmod(0o755)
    facts = json.loads((folder / "experiment.json").read_text())
    for key, value in change.items():
        facts[key] = value.format(folder) if isinstance(value, str) else value
    (folder / "experiment.json").write_text(json.dumps({key: fact for key, fact in facts.items() if fact is not ...}))
    answer = dohyo("run", "--resume", folder)
    assert (answer.code, message in answer.err, answer.err.count("\n")) == (2, True, 1), answer


def test_a_file_too_large_to_be_ours_is_not_read(original: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(original, tmp_path / "it")
    with (folder / "experiment.json").open("r+b") as file:
        file.truncate(10**12)
    answer = dohyo("report", folder)
    assert (answer.code, "experiment.json: cannot be read as JSON: it is larger than" in answer.err) == (2, True)


@pytest.mark.parametrize("change", [{"replication": "9" * 5000}, {"usd_per_hour": {"a": 10**400}}])
def test_endless_numbers_in_conditions_are_no_traceback(change: dict[str, Any], original: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(original, tmp_path / "it")
    for file in folder.rglob("conditions.json"):
        file.write_text(json.dumps({**json.loads(file.read_text("utf-8")), **change}), "utf-8")
    assert dohyo("show", folder, "--details").code == 0


# ---- any value -------------------------------------------------------------------------------------------------------

# JSON values that Dohyo never writes.
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | st.text(max_size=5)
    | st.sampled_from(["\ud800", "\x1b[2J", "{{ 7*7 }}", "../../x", "/etc", "1e999", "nan", "OVERALL", "x" * 10**5]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=3) | st.just("name"), inner, max_size=3),
    max_leaves=4,
) | st.sampled_from([json.loads("[" * depth + "]" * depth) for depth in (300, 900)])  # fmt: skip


def paths(content: Any) -> Iterator[tuple[Any, ...]]:
    """Yields the path of every value inside a JSON value."""
    yield ()
    entries = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, below in entries:
        yield from ((key, *rest) for rest in paths(below))


def changed(content: Any, keys: tuple[Any, ...], value: Any) -> Any:
    """Returns a copy of a JSON value in which the value at a path is replaced."""
    if not keys:
        return value
    result = copy.deepcopy(content)
    inner = result
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = value
    return result


@pytest.mark.slow
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_value_anywhere_is_a_traceback(
    data: st.DataObject, original: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = shutil.copytree(original, tmp_path_factory.mktemp("fuzzed") / "it")
    files = sorted(path for path in folder.rglob("*.json"))
    for _ in range(data.draw(st.integers(1, 3))):
        file = data.draw(st.sampled_from(files))
        content = json.loads(file.read_text("utf-8"))
        keys = data.draw(st.sampled_from(list(paths(content))))
        file.write_text(json.dumps(changed(content, keys, data.draw(values))), "utf-8")
    site = folder.parent / "site"
    for arguments in (
        ["report", folder],
        ["compare", folder, folder],
        ["site", site, "--results", folder.parent],
        ["tabulate", folder],
        ["tabulate", folder, "--format", "json"],
        ["next-probe", folder / "raw" / "01-cassandra"],
    ):
        answer = dohyo(*arguments)
        assert answer.code in range(6), answer
        assert answer.code == 0 or answer.err or answer.out
        assert not answer.err.startswith("Traceback")
    try:
        the_experiment, _ = experiment.reopen(str(folder))
        assert all(isinstance(the_experiment.state(trial), str) for trial in the_experiment.trials)
    except BadInputError:
        pass
