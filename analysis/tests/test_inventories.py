"""Every inventory can be copied, names the scenario that it is for, and has the shape that was published of it."""

import re
import shutil
from pathlib import Path

import pytest

from dohyo import cli
from dohyo.ansible.playbook import check_inventory, host_variables
from dohyo.places import ANSIBLE, ROOT, WORKLOADS
from dohyo.scenario import loading, published

# aws.yml makes the others.
FOLDERS = sorted(
    file.parent for file in (ANSIBLE / "inventories").glob("*/hosts.yml") if not file.parent.name.startswith("aws-")
)
RECORDS = {path.stem: published.load(path) for path in sorted(published.FOLDER.glob("*.yml"))}
# What differs of the hardware as far as it is known before a run. Dohyo's master of HBase is on a host with a region
# server (docs/hbase.md), and yokozuna-long takes one host of yokozuna's.
DIFFERS = {"hbase-cache": {"master on"}, "yokozuna-long": {"database hosts", "client hosts"}}


def scenarios(inventory: Path) -> list[str]:
    """The scenarios that the first line of an inventory names."""
    first = re.match("---\n# For (.*)", (inventory / "hosts.yml").read_text("utf-8"))
    return [word for word in re.findall(r"[\w-]+", first[1]) if word in loading.scenario_files()] if first else []


FOR = [(inventory, name) for inventory in FOLDERS for name in scenarios(inventory)]


@pytest.mark.parametrize("inventory", FOLDERS, ids=lambda path: path.name)
def test_an_inventory_names_its_scenario_and_is_whole_in_a_copy(inventory: Path, tmp_path: Path) -> None:
    assert scenarios(inventory)
    mine = Path(shutil.copytree(inventory, tmp_path / "mine"))  # as cp -rL
    assert not [path for path in mine.rglob("*") if path.is_symlink()]
    assert check_inventory(mine).count == check_inventory(inventory).count
    assert host_variables(mine) == host_variables(inventory)


def test_every_published_comparison_has_an_inventory_and_a_row_in_the_table() -> None:
    page = (ROOT / "docs/workloads.md").read_text("utf-8")
    rows = {name: row for row, name in re.findall(r"^(\| `([\w-]+)` \|.*)$", page, re.MULTILINE)}
    for name, record in RECORDS.items():
        assert record.title in rows[name]
        (inventory,) = [folder.name for folder, scenario in FOR if scenario == name]
        assert f"`{inventory}`" in rows[name]


@pytest.mark.slow
@pytest.mark.parametrize(("inventory", "name"), FOR, ids=lambda value: getattr(value, "name", value))
def test_the_plan_of_its_scenario_is_accepted_and_its_hosts_are_the_published_ones(
    inventory: Path, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = str(shutil.copytree(inventory, tmp_path / "mine"))
    full = ["--full"] if re.search(r"^full\.", (WORKLOADS / name).read_text("utf-8"), re.MULTILINE) else []
    words = ["run", name, *full, "--inventory", mine, "--plan"]
    assert not cli.cli.main(words, prog_name="dohyo", standalone_mode=False)
    said = capsys.readouterr().out
    assert f"plan of {name} for the hosts of {mine}" in said
    if name in RECORDS:
        (hardware,) = re.findall(r"^hardware\n((?:  .*\n)*)", said, re.MULTILINE)
        known = [line for line in hardware.splitlines() if not line.endswith("not known")]
        assert {line.partition(":")[0].strip() for line in known} == DIFFERS.get(name, set())
