"""Checks that foreign values in a scenario, an experiment, a path or a server's response are treated as data.
Neither Ansible's templates nor a shell executes them, and they arrive unchanged.
"""

import json
import shutil
import subprocess
import sys
from contextlib import chdir
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from dohyo import places, plain_text
from dohyo.ansible.data import as_data
from dohyo.ansible.playbook import play
from dohyo.bad_input import BadInputError
from dohyo.places import ANSIBLE
from dohyo.planning import plan
from dohyo.running import experiment, runner
from dohyo.running.experiment import write_json
from dohyo.scenario import loading, properties, scenario
from dohyo.signals import Signals
from dohyo.systems.rendering import as_properties
from support import command
from support.releases import BOTH, with_lowest
from support.scenarios import again

# Shell code that creates the file MARKER in the current folder, if it is executed in any way.
SHELL = "$(touch MARKER) `touch MARKER`; touch MARKER #"
TEMPLATES = ["{{ 7*7 }}", "{% if 1 %}x{% endif %}", '{{ lookup("pipe", "touch MARKER; echo x") }}', "{# x #}"]
VISIBLE = [
    *TEMPLATES,
    SHELL,
    'it\'s "quoted" \\',
    "%s %n",
    "\\1 \\g<0>",
    "!unsafe x",
    "@x",
    "- 1",
    "true",
    "0x10",
    "ö 日本",
]
INVISIBLE = ["a\nb=c", "a\0b", "a\x1b[2Jb", "a\u202eb", "a\u2066b", "a\u2028b", "a\tb", "a\x85b", "a\x7fb", "a\udcffb"]
NAME = "".join(TEMPLATES).replace("/", "") + SHELL + 'it\'s "quoted" \\1 %s ö, x'


def dohyo(folder: Path, *arguments: str) -> command.Answer:
    """Runs the command in `folder`, where a value that is executed would create the file MARKER."""
    with chdir(folder):
        return command.dohyo(*arguments)


def markers(folder: Path) -> list[Path]:
    """Returns the files that executed values created, in `folder` or in Ansible's folders."""
    return [*folder.rglob("MARKER"), *ANSIBLE.glob("MARKER"), *ANSIBLE.glob("playbooks/MARKER")]


@pytest.fixture(autouse=True)
def nothing_was_run(tmp_path: Path) -> Any:
    yield
    markers_found = markers(tmp_path)
    for marker in markers_found:
        marker.unlink()
    assert markers_found == []


# ---- Ansible ---------------------------------------------------------------------------------------------------------

# Play that uses values and the output of a program as Dohyo's playbooks do. It passes them on, combines them, keeps
# them as facts, writes them to files and environments, and loops over them.
PROBE = """
- hosts: database
  vars:
    handed_on: "{{ given }}"
    inside: "{{ {'text': given.texts[2], 'joined': given.texts | join('|')} | combine(given.by_name) }}"
    answered: "{{ answer.stdout | from_json }}"
  tasks:
    - ansible.builtin.command: {argv: [cat, "{{ answer_file }}"]}
      register: answer
      changed_when: false
    - ansible.builtin.set_fact:
        fact: "{{ handed_on }}"
        "{{ 'fact_' ~ 'two' }}": "{{ answered.notes + given.texts }}"
        answer_fact: "{{ answered | combine({'again': answered.notes}) }}"
    - ansible.builtin.set_fact: {facts: "{{ facts | default([]) + [item] }}"}
      loop: "{{ answered.notes[:3] }}"
    - ansible.builtin.shell: {cmd: 'printf %s "$TEXT"'}
      environment: {TEXT: "{{ given.texts | reject('search', nul) | join('|') }}"}
      register: printed
      changed_when: false
      vars: {nul: "\\0"}
    - agent:
        do: program
        argv: [sh, -c, 'printf %s "$TEXT$1"', sh, "{{ given.texts | reject('search', nul) | join('|') }}"]
      environment: {TEXT: "{{ given.texts[2] }}"}
      register: run
      vars: {nul: "\\0"}
    - agent: {do: files, files: [{path: "{{ to }}/written", content: "{{ given.texts | to_json }}"}]}
    - ansible.builtin.template: {src: "{{ playbook_dir }}/probe.j2", dest: "{{ to }}/templated.json", mode: "0644"}
    - ansible.builtin.copy:
        content: "{{ {'given': given, 'inside': inside, 'fact': fact, 'two': fact_two, 'answer': answer_fact,
                      'facts': facts, 'printed': printed.stdout, 'run': run.stdout,
                      'template': lookup('ansible.builtin.template', playbook_dir ~ '/probe.j2')} | to_json }}"
        dest: "{{ to }}/seen.json"
        mode: "0644"
"""


@pytest.mark.slow
@BOTH
def test_no_text_from_outside_is_a_template_to_ansible(
    lowest: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if lowest:
        monkeypatch.setenv("PYTHONPATH", with_lowest())
    texts = [*VISIBLE, *INVISIBLE[:-1]]
    by_name = {text: text for text in texts}
    texts_given = {"texts": texts, "by_name": by_name, "numbers": [1, 1e-7, True, None, "1", "4.10", "null", ""]}
    (tmp_path / "probe.yml").write_text(PROBE)
    (tmp_path / "probe.j2").write_text("{{ given | to_json }}")
    (tmp_path / "answer.json").write_text(json.dumps({"notes": texts}))
    out = tmp_path / NAME
    out.mkdir()
    variables = {"given": texts_given, "to": str(out), "answer_file": str(tmp_path / "answer.json")}

    failure = play(str(tmp_path / "probe.yml"), None, tmp_path, check=lambda: None, variables=variables)

    assert failure is None
    seen = json.loads((out / "seen.json").read_text())
    assert seen["given"] == seen["fact"] == texts_given
    assert json.loads((out / "templated.json").read_text()) == json.loads(seen["template"]) == texts_given
    assert seen["inside"] == {"text": texts[2], "joined": "|".join(texts), **by_name}
    assert seen["two"] == texts + texts
    assert seen["answer"] == {"notes": texts, "again": texts}
    assert seen["facts"] == texts[:3]
    assert json.loads((out / "written").read_text()) == texts
    assert seen["run"] == texts[2] + seen["printed"]
    assert seen["printed"] == "|".join(text for text in texts if "\0" not in text)


class Reader(yaml.SafeLoader):
    """Reads YAML in which each mapping and list must have the tag that marks it as data."""


def tagged(reader: yaml.SafeLoader, node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return reader.construct_mapping(node, deep=True)
    assert isinstance(node, yaml.SequenceNode)
    return reader.construct_sequence(node, deep=True)


def untagged(_: yaml.SafeLoader, node: yaml.Node) -> None:
    raise AssertionError(node)


yaml.add_constructor("!unsafe", tagged, Reader)
yaml.add_constructor("tag:yaml.org,2002:map", untagged, Reader)
yaml.add_constructor("tag:yaml.org,2002:seq", untagged, Reader)


@settings(max_examples=30)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
                    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))  # fmt: skip
def test_as_data_changes_no_value(value: Any) -> None:
    assert yaml.load(as_data({"key": value}), Reader) == {"key": value}  # noqa: S506 - a subclass of SafeLoader


ENCODABLE = st.characters(codec="utf-8")
HOSTILE = {
    "hbase.client.x": TEMPLATES[2],
    "hbase.{{ 7*7 }}": "{{ 7*7 }}",
    "hdrhistogram.percentiles": TEMPLATES[1],
    "label": SHELL,
    "cassandra_java_options": json.dumps(VISIBLE),
    "mysql_settings": json.dumps({f"x{number}": text for number, text in enumerate(VISIBLE)}),
    "matrix.variant": "{{ 7*7 }} $(touch MARKER)",
    "variant.{{ 7*7 }} $(touch MARKER).hbase.y": TEMPLATES[2],
}
MIX = {"recordcount": "1000", "operationcount": "1000", "readproportion": "1", "updateproportion": "0"}


def hostile_scenario(folder: Path, **more: str) -> Path:
    file = folder / f"{NAME}.properties"
    file.write_text(properties.write({**MIX, "systems": "mysql-innodb,hbase", **HOSTILE, **more}, "made by somebody"))
    return file


def hostile_inventory(folder: Path) -> Path:
    """Copies the default inventory to a folder with a hostile name. Only the content of an inventory may be code."""
    return Path(shutil.copytree(ANSIBLE / "inventories/local", folder / f"inventory {NAME}"))


@pytest.fixture
def chosen(tmp_path: Path) -> scenario.Scenario:
    return loading.load(hostile_scenario(tmp_path))


def test_a_scenario_keeps_its_values_as_they_are(chosen: scenario.Scenario, tmp_path: Path) -> None:
    assert again(tmp_path, chosen) == chosen
    assert chosen.name == NAME
    assert chosen.role_variables["mysql_settings"] == {f"x{number}": text for number, text in enumerate(VISIBLE)}
    trial = next(trial for trial in plan.trials(chosen) if trial.system == "hbase")
    variables = plan.variables(trial, tmp_path / NAME, keep=False)
    assert variables["trial_properties"]["hbase.client.x"] == TEMPLATES[2]
    assert variables["trial_point"] == {"variant": "{{ 7*7 }} $(touch MARKER)"}


@pytest.mark.slow
def test_plan_runs_nothing_of_a_scenario(tmp_path: Path) -> None:
    file, inventory = hostile_scenario(tmp_path), hostile_inventory(tmp_path)
    result = dohyo(
        tmp_path, "run", str(file), "--plan", "--inventory", str(inventory), "--set", f"hbase.z={TEMPLATES[2]}"
    )
    assert (result.code, result.err) == (0, "")
    assert f"plan of {NAME} for the hosts of {inventory}" in result.out


@pytest.mark.parametrize(
    "assignment",
    [
        f"fieldnameprefix={TEMPLATES[2]}",
        f"mysql_server={TEMPLATES[2]}",
    ],
)
def test_plan_runs_nothing_of_set(tmp_path: Path, assignment: str) -> None:
    result = dohyo(tmp_path, "run", "workloadA", "--systems", "mysql-innodb", "--plan", "--set", assignment)
    # Some of these texts are invalid values, which are reported as errors. No text is executed.
    assert (result.code == 0) == (result.err == "")


@pytest.mark.slow
def test_list_runs_nothing_of_an_inventorys_name(tmp_path: Path) -> None:
    inventory = hostile_inventory(tmp_path)
    result = dohyo(tmp_path, "list", "--inventory", str(inventory))
    assert (result.code, result.err) == (0, "")
    assert f"systems on {inventory}:" in result.out


# ---- characters in texts ---------------------------------------------------------------------------------------------


def refused(*arguments: str) -> str:
    """Returns the only line that `dohyo run` prints when it rejects its arguments."""
    output = command.dohyo("run", *arguments)
    assert (output.code, output.out) == (2, "")
    (line,) = output.err.splitlines()
    assert plain_text.escaped(line) == line
    return line


@pytest.mark.parametrize("text", INVISIBLE)
def test_control_characters_are_refused_everywhere(text: str, tmp_path: Path) -> None:
    shown = plain_text.escaped(text)
    which = f"U+{ord(text[1]):04X}"

    def refuse(*arguments: str) -> str:
        line = refused(*arguments)
        assert f"the control character {which}; leave it out" in line
        return line

    assert f"hbase.x={shown}:" in refuse("workloadA", "--set", f"hbase.x={text}")
    assert f"hbase.{shown}=x:" in refuse("workloadA", "--set", f"hbase.{text}=x")
    assert f"mysql_run_as={shown}:" in refuse("workloadA", "--set", f"mysql_run_as={text}")
    assert f"recordcount={shown}:" in refuse("workloadA", "--records", text)
    inside = json.dumps({"a": [text]})
    assert f"mysql_settings={inside}:" in refuse("workloadA", "--set", f"mysql_settings={inside}")
    inside = json.dumps({text: 1})
    assert f"mysql_settings={inside}:" in refuse("workloadA", "--set", f"mysql_settings={inside}")
    file = tmp_path / "scenario"
    escapes = "".join(f"\\u{ord(character):04x}" for character in text)
    file.write_text(f"recordcount=1000\nhbase.x={escapes}\n")
    assert f"hbase.x={shown}:" in refuse(str(file))
    file.write_text(f"recordcount=1000\nvariant.{escapes}.threadcount=2\n")
    assert f"variant.{shown}.threadcount=2:" in refuse(str(file))
    assert "the scenario " in refuse(f"/tmp/{text}")
    if text[1] not in "\0\udcff":  # other texts cannot be a file name or an argument
        (tmp_path / text).write_text("recordcount=1000\n")
        assert f"/{shown}:" in refuse("workloadA", "--inventory", str(tmp_path / text))
    assert f"/{shown}:" in refuse("workloadA", "--out", str(tmp_path / text))


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("{day: 2026-11-22}", "must be of type dict"),
        ("{[1]: 2}", "must be of type dict"),
        ("{day: 2026-99-99}", "line 1 contains no valid timestamp; correct it"),
        ("&a {a: *a}", "line 1 contains an alias; write the value out"),
        ("[" * 1200, "it is nested too deeply"),
    ],
)
def test_a_role_variable_is_of_types_that_json_has(value: str, reason: str) -> None:
    line = refused("workloadA", "--set", f"mysql_settings={value}")
    assert line.endswith(f"mysql_settings={value}: {reason}")


@pytest.mark.parametrize("name", ["$HOME", "a ${HOME} b"])
def test_a_path_that_ansible_would_change_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    for option in ("--out", "--inventory"):
        line = refused("workloadA", option, str(tmp_path / name))
        assert "as an environment variable; rename it" in line


def test_a_folder_below_results_is_named_in_safe_characters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiment, "RESULTS", tmp_path)
    folder = experiment.new_folder(scenario.Scenario(NAME, {}, {}), None)
    assert folder.parent == tmp_path
    assert plan.shell_safe(folder.name) == folder.name
    assert (
        subprocess.run(["bash", "-c", f"printf %s {folder.name}"], capture_output=True, text=True, check=True).stdout
        == folder.name
    )


@given(st.dictionaries(st.text(ENCODABLE, min_size=1), st.text(ENCODABLE)))
def test_a_value_stays_in_its_line_of_a_property_file(values: dict[str, str]) -> None:
    text = as_properties(values)
    assert text.count("\n") == len(values)
    with NamedTemporaryFile("w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        assert properties.read(Path(file.name)) == {key: value.strip(" \t\f") for key, value in values.items()}


# ---- experiments -----------------------------------------------------------------------------------------------------


def create(folder: Path, chosen: scenario.Scenario, inventory: Path | None = None) -> experiment.Experiment:
    about = {"inventory": str(inventory) if inventory else None, "named": True}
    return experiment.create(chosen, experiment.new_folder(chosen, folder), about)


def change(file: Path, **fields: Any) -> None:
    write_json(file, {**json.loads(file.read_text()), **fields})


def test_resume_takes_its_values_as_data(tmp_path: Path, chosen: scenario.Scenario) -> None:
    inventory = hostile_inventory(tmp_path)
    the_experiment = create(tmp_path / f"out {NAME}", chosen, inventory)
    assert experiment.reopen(str(the_experiment.folder)) == (the_experiment, inventory)


@pytest.mark.parametrize("where", ["raw/hosts.yml", "../out/raw/hosts.yml", "../link/hosts.yml"])
def test_resume_plays_no_inventory_that_came_with_the_results(
    where: str, tmp_path: Path, chosen: scenario.Scenario
) -> None:
    the_experiment = create(tmp_path / "out", chosen)
    (the_experiment.folder / "raw/hosts.yml").write_text(f"all: {{vars: {{x: '{TEMPLATES[0]}'}}}}")
    (tmp_path / "link").symlink_to("out/raw")
    change(the_experiment.folder / "experiment.json", inventory=str(the_experiment.folder / where))
    with pytest.raises(BadInputError, match="is in a results folder, but can run code"):
        experiment.reopen(str(the_experiment.folder))


@pytest.mark.parametrize(
    "inventory", [*TEMPLATES, SHELL, "localhost,", "--list-hosts", "/no/such/{{ 7*7 }}", "/a\0b", "/$HOME"]
)
def test_resume_refuses_what_is_no_inventory(inventory: str, tmp_path: Path, chosen: scenario.Scenario) -> None:
    the_experiment = create(tmp_path / "out", chosen)
    change(the_experiment.folder / "experiment.json", inventory=inventory)
    with pytest.raises(BadInputError, match="inventory"):
        experiment.reopen(str(the_experiment.folder))


@pytest.mark.parametrize("name", INVISIBLE[:-1])
def test_resume_refuses_a_scenario_without_a_plain_name(name: str, tmp_path: Path, chosen: scenario.Scenario) -> None:
    the_experiment = create(tmp_path / "out", chosen)
    change(the_experiment.folder / "experiment.json", scenario=name)
    with pytest.raises(BadInputError, match="contains the control character"):
        experiment.reopen(str(the_experiment.folder))


def test_a_trial_by_hand_takes_its_variables_as_data(tmp_path: Path, chosen: scenario.Scenario) -> None:
    the_experiment = create(tmp_path / f"out {NAME}", chosen)
    trial = the_experiment.trials[0]
    folder = the_experiment.trial_folder(trial)
    # The command must not read this file, because a variable in it may name a program that Dohyo would run.
    write_json(folder / "trial.json", {"trial_python": SHELL, "trial_system": TEMPLATES[2]})
    printed = dohyo(tmp_path, "variables", str(folder))
    assert (printed.code, printed.err) == (0, "")
    assert printed.out == as_data(plan.variables(trial, folder, keep=False))
    file = tmp_path / "variables.yml"
    file.write_text(printed.out)
    playbook = Path(sys.executable).with_name("ansible-playbook")
    result = subprocess.run(
        [playbook, "plan.yml", "-e", f"@{file}", "-e", '{"plan_systems": ["mysql-innodb"]}'],
        cwd=ANSIBLE, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout


def test_variables_are_those_of_a_trial(tmp_path: Path, chosen: scenario.Scenario) -> None:
    the_experiment = create(tmp_path / "out", chosen)
    result = dohyo(tmp_path, "variables", str(the_experiment.folder / "raw/99-other"))
    assert result.code == 2
    assert "99-other is not the folder of a trial" in result.err
    result = dohyo(tmp_path, "variables", "/no/such")
    assert result.code == 2
    assert result.err == "ERROR: /no/such is not the folder of a trial; name one below raw/ of an experiment\n"


# ---- commands to paste -----------------------------------------------------------------------------------------------


def pasted(command: str) -> list[str]:
    """Returns the words into which bash splits a pasted command."""
    result = subprocess.run(["bash", "-c", f"printf '%s\\0' {command}"], capture_output=True, text=True, check=True)
    return result.stdout.split("\0")[:-1]


@pytest.mark.parametrize("below", [True, False])
def test_the_hint_to_resume_can_be_pasted(
    below: bool, tmp_path: Path, chosen: scenario.Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experiment, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(places, "RESULTS", tmp_path / "results")
    monkeypatch.chdir(tmp_path)  # outside the checkout, the command contains the absolute path of run.sh
    folder = experiment.new_folder(chosen, None if below else tmp_path / f"-out {NAME}")
    the_experiment = experiment.create(chosen, folder, {"inventory": None})
    with (tmp_path / "said").open("w+") as log:
        console = Console(file=log)
        runner._Measurement(the_experiment, [], runner.Options(), Signals(), console).carry_out()
        log.seek(0)
        (line,) = (line for line in log.read().splitlines() if line.startswith("to repeat only what did not finish: "))
    program, option, name = pasted(line.partition(": ")[2])
    assert (program, option) == (str(places.RUN), "--resume")
    assert experiment.reopen(name)[0].folder == folder


def test_the_hint_to_stop_can_be_pasted(tmp_path: Path, chosen: scenario.Scenario) -> None:
    inventory = hostile_inventory(tmp_path)
    the_experiment = create(tmp_path / "out", chosen)
    options = runner.Options(inventory)
    with (tmp_path / "said").open("w") as log:
        command = runner._Measurement(the_experiment, [], options, Signals(), Console(file=log))._stop_command()
    change_folder, _, playing = command.partition(" && ")
    assert pasted(change_folder) == ["cd", str(ANSIBLE)]
    assert pasted(playing) == ["../.venv/bin/ansible-playbook", "stop.yml", "-i", str(inventory)]
