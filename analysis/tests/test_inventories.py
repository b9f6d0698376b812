"""Checks that every inventory can be copied, names its scenario, and has the published number and kind of hosts."""

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.inventory.manager import InventoryManager  # type: ignore[import-untyped]
from ansible.parsing.dataloader import DataLoader  # type: ignore[import-untyped]
from ansible.template import Templar, trust_as_template  # type: ignore[import-untyped]
from ansible.vars.manager import VariableManager  # type: ignore[import-untyped]

from dohyo import cli
from dohyo.ansible import playbook
from dohyo.places import ANSIBLE, ROOT, WORKLOADS
from dohyo.planning import sizing
from dohyo.scenario import loading, published
from dohyo.systems.catalogue import all_systems
from dohyo.systems.context import Context
from lookup.system import Variables

# Folders of the inventories in the repository, except those that aws.yml creates.
FOLDERS = sorted(
    file.parent for file in (ANSIBLE / "inventories").glob("*/hosts.yml") if not file.parent.name.startswith("aws-")
)
RECORDS = {path.stem: published.load(path) for path in sorted(published.FOLDER.glob("*.yml"))}
# Differences in hardware that are known before a run. Dohyo's HBase master shares a host with a region server
# (docs/hbase.md), and yokozuna-long uses one of yokozuna's hosts.
DIFFERS = {"hbase-cache": {"master on"}, "yokozuna-long": {"database hosts", "client hosts"}}


def scenarios(inventory: Path) -> list[str]:
    """Returns the scenarios that the first line of an inventory names."""
    first = re.match("---\n# For (.*)", (inventory / "hosts.yml").read_text("utf-8"))
    return [word for word in re.findall(r"[\w-]+", first[1]) if word in loading.scenario_files()] if first else []


def variables(inventory: Path) -> dict[str, tuple[list[str], dict[str, Any]]]:
    """Returns the groups and variables of each host as Ansible reads them, without the inventory's path."""
    loader = DataLoader()
    manager = InventoryManager(loader, [str(inventory)])
    variable_manager = VariableManager(loader, manager)
    paths = ("inventory_dir", "inventory_file", "playbook_dir")
    return {
        host.name: (
            sorted(group.name for group in host.groups),
            {name: value for name, value in variable_manager.get_vars(host=host).items() if name not in paths},
        )
        for host in manager.get_hosts()
    }


FOR = [(inventory, name) for inventory in FOLDERS for name in scenarios(inventory)]


@pytest.mark.parametrize("inventory", FOLDERS, ids=lambda path: path.name)
def test_an_inventory_names_its_scenario_and_is_whole_in_a_copy(inventory: Path, tmp_path: Path) -> None:
    assert scenarios(inventory)
    copy = Path(shutil.copytree(inventory, tmp_path / "mine"))  # like cp -rL
    assert not [path for path in copy.rglob("*") if path.is_symlink()]
    assert variables(copy) == variables(inventory) != {}


def test_every_published_comparison_has_an_inventory_and_a_row_in_the_table() -> None:
    page = (ROOT / "docs/workloads.md").read_text("utf-8")
    rows = {name: row for row, name in re.findall(r"^(\| `([\w-]+)` \|.*)$", page, re.MULTILINE)}
    for name, record in RECORDS.items():
        assert record.title in rows[name]
        (inventory,) = [folder.name for folder, scenario in FOR if scenario == name]
        assert f"`{inventory}`" in rows[name]


def trusted(value: Any) -> Any:
    """Returns an inventory's value with Ansible's mark of trust. Ansible resolves only trusted templates."""
    if isinstance(value, dict):
        return {key: trusted(item) for key, item in value.items()}
    if isinstance(value, list):
        return [trusted(item) for item in value]
    return trust_as_template(value) if isinstance(value, str) else value


def planned(
    names: Sequence[str], inventory: Path, variables: Mapping[str, Any], *_: object
) -> dict[str, list[dict[str, Any]]]:
    """Returns what plan.yml would return for an inventory: the needs of the systems on its first three hosts."""
    groups, needs = playbook._groups(ANSIBLE / "inventories" / inventory.name), dict[str, list[dict[str, Any]]]()
    defaults = yaml.safe_load((ANSIBLE / "group_vars/all.yml").read_text("utf-8"))

    def hosts(group: str) -> list[str]:
        subtree = groups.get(group, {})
        return [*subtree.get("hosts", []), *(host for child in subtree.get("children", []) for host in hosts(child))]

    members = {name: hosts(name) for name in ("database", "client")}
    for host in members["database"][:3]:
        values_of_host = {**defaults, "playbook_dir": str(ANSIBLE), **groups["_meta"]["hostvars"].get(host, {})}
        values = {**trusted(values_of_host), **variables, "groups": members, "inventory_hostname": host}
        context = Context(Variables(values, Templar(DataLoader(), variables=values)))
        for name in names:
            system = all_systems()[name].on(context)
            assert list(system.misfits) == []
            needs.setdefault(name, []).append(system.planned)
    return needs


@pytest.mark.slow
def test_plan_yml_says_the_same() -> None:
    """Compares `planned` with Ansible's output for an inventory with templates."""
    inventory = ANSIBLE / "inventories/twelve-disks"
    variables = {"trial_properties": {"recordcount": 1000}, "trial_conditions": {"profile": "tuned"}}
    systems = ["cassandra", "hbase", "mysql-innodb"]
    expected = json.loads(json.dumps(planned(systems, inventory, variables)))
    assert sizing._of_inventory(systems, inventory, variables, lambda: None) == expected


@pytest.mark.slow
def test_a_plan_keeps_the_order_of_the_hosts_when_the_first_answers_last(tmp_path: Path) -> None:
    slow = "{{ lookup('ansible.builtin.pipe', 'sleep 2; echo local') }}"
    hosts = {
        f"node{number}": {"cassandra_heap": f"{number}g", "ansible_connection": slow if number == 1 else "local"}
        for number in (1, 2, 3)
    }
    inventory = tmp_path / "hosts.yml"
    inventory.write_text(
        yaml.safe_dump(
            {
                "all": {
                    "vars": {"dohyo_home": str(tmp_path)},
                    "children": {"database": {"hosts": hosts}, "client": {"hosts": {"node1": {}}}},
                }
            }
        )
    )
    planned_needs = sizing._of_inventory(["cassandra"], inventory, {}, lambda: None)
    memory = [needs["memory_mb"] for needs in planned_needs["cassandra"]]
    assert (len(memory), memory) == (3, sorted(set(memory)))


@pytest.mark.parametrize(("inventory", "name"), FOR, ids=lambda value: getattr(value, "name", value))
def test_the_plan_of_its_scenario_is_accepted_and_its_hosts_are_the_published_ones(
    inventory: Path, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizing, "_of_inventory", planned)
    of_original = playbook._groups(inventory)
    monkeypatch.setattr(playbook, "_groups", lambda _: of_original)
    copy = str(shutil.copytree(inventory, tmp_path / inventory.name))
    full = ["--full"] if re.search(r"^full\.", (WORKLOADS / name).read_text("utf-8"), re.MULTILINE) else []
    argv = ["run", name, *full, "--inventory", copy, "--plan"]
    assert not cli.cli.main(argv, prog_name="dohyo", standalone_mode=False)
    output = capsys.readouterr().out
    assert f"plan of {name} for the hosts of {copy}" in output
    if name in RECORDS:
        (hardware,) = re.findall(r"^hardware\n((?:  .*\n)*)", output, re.MULTILINE)
        lines = [line for line in hardware.splitlines() if not line.endswith("not known")]
        assert {line.partition(":")[0].strip() for line in lines} == DIFFERS.get(name, set())
