"""What bootstrap.yml installs on each operating system.

Only Debian 12 is started for real (ansible/tests/cluster/bootstrap_test.sh).
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from dohyo.places import ANSIBLE, ROOT

ROLE = ANSIBLE / "roles/bootstrap"
# /etc/os-release as these systems have it, and what a host without anything gets.
DEBIAN = ["python3", "python3-apt", "sudo", "xfsprogs", "chrony"]
REDHAT = ["python3", "sudo", "xfsprogs", "chrony"]
SYSTEMS = {
    "debian12": ('ID=debian\nVERSION_ID="12"\nVERSION_CODENAME=bookworm', [*DEBIAN, "openjdk-17-jre-headless"]),
    "debian13": ('ID=debian\nVERSION_ID="13"\nVERSION_CODENAME=trixie', "has no package of JDK 17"),
    "ubuntu22": (
        'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="22.04"\nVERSION_CODENAME=jammy',
        [*DEBIAN, "openjdk-17-jre-headless"],
    ),
    "ubuntu24": (
        'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"\nVERSION_CODENAME=noble',
        [*DEBIAN, "openjdk-17-jre-headless"],
    ),
    "rocky9": (
        'ID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.4"',
        [*REDHAT, "java-17-openjdk-headless"],
    ),
    "rhel9": ('ID="rhel"\nID_LIKE="fedora"\nVERSION_ID="9.6"', [*REDHAT, "java-17-openjdk-headless"]),
    "rhel10": ('ID="rhel"\nID_LIKE="centos fedora"\nVERSION_ID="10.0"', "has no package of JDK 17"),
    "plan9": ("ID=plan9\nVERSION_ID=4", "the operating system is"),
}


def look(folder: Path, release: str) -> str:
    """What the role's script says of a system with that /etc/os-release and no packages."""
    (folder / "etc").mkdir(parents=True, exist_ok=True)
    (folder / "etc/os-release").write_text(f'{release}\nPRETTY_NAME="{folder.name}"\n')
    run = subprocess.run(["sh", ROLE / "files/look", folder], capture_output=True, text=True, check=True)
    return run.stdout


def plans(folder: Path, hosts: dict[str, str], **variables: Any) -> dict[str, dict[str, Any]]:
    """The packages that the role would install and the problems that it sees, by host.

    :param hosts: by name, what the script look says of it
    """
    files = [str(ROLE / "defaults/main.yml"), str(ROLE / "vars/main.yml")]
    answer = {"missing": "{{ _bootstrap_missing }}", "problems": "{{ _bootstrap_problems }}"}
    playbook = [
        {
            "hosts": "all",
            "vars_files": files,
            "tasks": [{"copy": {"content": answer, "dest": f"{folder}/{{{{ inventory_hostname }}}}.json"}}],
        }
    ]
    (folder / "play.yml").write_text(yaml.safe_dump(playbook))
    (folder / "inventory").mkdir(exist_ok=True)
    inventory = {
        "all": {
            "vars": {"ansible_connection": "local", "ansible_python_interpreter": sys.executable},
            "hosts": {host: {"bootstrap_looked": {"stdout": said}} for host, said in hosts.items()},
        }
    }
    (folder / "inventory/hosts.yml").write_text(yaml.safe_dump(inventory))
    program = Path(sys.executable).with_name("ansible-playbook")
    command: list[str | Path] = [program, "-i", folder / "inventory/hosts.yml", "-e", json.dumps(variables)]
    command.append(folder / "play.yml")
    run = subprocess.run(command, cwd=ANSIBLE, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return {host: json.loads((folder / f"{host}.json").read_text()) for host in hosts}


def test_each_system_gets_its_packages_or_a_reason(tmp_path: Path) -> None:
    """Package names are those of the family; where there is no JDK 17, an archive is asked for."""
    found = plans(tmp_path, {name: look(tmp_path / name, release) for name, (release, _) in SYSTEMS.items()})
    for name, (_, wanted) in SYSTEMS.items():
        if isinstance(wanted, str):
            assert wanted in " ".join(found[name]["problems"]), (name, found[name])
        else:
            assert (found[name]["missing"], found[name]["problems"]) == (wanted, []), name


def test_an_archive_replaces_the_package(tmp_path: Path) -> None:
    """Debian 13 is fine with an archive, and a control machine of another release cannot download for it."""
    release = SYSTEMS["debian13"][0]
    archives = {"17": {"url": "/jdk.tar.gz", "sha256": "0" * 64}}
    said = {"debian13": look(tmp_path / "debian13", release)}
    assert plans(tmp_path, said, dohyo_jdk_archives=archives)["debian13"] == {"missing": DEBIAN, "problems": []}
    [problem] = plans(tmp_path, said, dohyo_jdk_archives=archives, bootstrap_release="bookworm x86_64",
                      bootstrap_packages="download")["debian13"]["problems"]  # fmt: skip
    assert "needs a control machine with the same release" in problem


def test_an_account_that_sudoers_would_misread_is_refused(tmp_path: Path) -> None:
    """ALL would make everybody root."""
    wrong = ["ALL", "root", "%sudo", "#1000", "a b", "a,b", "a\nALL", "-x", "", "a" * 33]
    accounts = {f"host{number}": name for number, name in enumerate([*wrong, "dohyo_2-x"])}
    said = dict.fromkeys(accounts, look(tmp_path / "debian12", SYSTEMS["debian12"][0]))
    found = plans(tmp_path, said, accounts=accounts, bootstrap_account="{{ accounts[inventory_hostname] }}")
    refused = [name for host, name in accounts.items() if found[host]["problems"]]
    assert refused == wrong
    assert found["host0"]["problems"][0].startswith("bootstrap_account=ALL: must be a name of small letters")


def test_an_array_takes_its_tool(tmp_path: Path) -> None:
    hosts = {"debian12": SYSTEMS["debian12"][0]}
    devices = ["/dev/disk/by-id/nvme-*"]
    for layout, tools in (("raid0", ["mdadm"]), ("jbod", [])):
        found = plans(tmp_path, {name: look(tmp_path / name, text) for name, text in hosts.items()},
                      dohyo_devices=devices, host_disk_layout=layout)  # fmt: skip
        assert found["debian12"]["missing"] == [*SYSTEMS["debian12"][1], *tools]


def test_what_a_host_has_is_left_alone(tmp_path: Path) -> None:
    """A second time service would replace the first, and a second JDK would be another build."""
    root = tmp_path / "ubuntu24"
    (root / "lib/systemd/system").mkdir(parents=True)
    (root / "lib/systemd/system/systemd-timesyncd.service").touch()
    (root / "usr/lib/jvm/java-17-openjdk-amd64/bin").mkdir(parents=True)
    (root / "usr/lib/jvm/java-17-openjdk-amd64/bin/java").touch(mode=0o755)
    (root / "var/lib/dpkg").mkdir(parents=True)
    (root / "var/lib/dpkg/status").write_text(
        "Package: sudo\nStatus: install ok installed\nVersion: 1\nArchitecture: amd64\n\n"
        "Package: xfsprogs\nStatus: deinstall ok config-files\nVersion: 1\nArchitecture: amd64\n"
    )
    found = plans(tmp_path, {"ubuntu24": look(root, SYSTEMS["ubuntu24"][0])})["ubuntu24"]
    assert found == {"missing": ["python3", "python3-apt", "xfsprogs"], "problems": []}


def test_the_folder_for_hosts_of_the_red_hat_family_has_all_packages() -> None:
    """They get nothing from elsewhere."""
    page = (ROOT / "docs/cluster.md").read_text("utf-8")
    [command] = re.findall(r"`dnf download ([^`]+)`", page)
    assert {*SYSTEMS["rocky9"][1], "mdadm"} <= set(command.split())


@pytest.mark.parametrize("page", ["cluster", "aws"])
def test_the_commands_of_a_page_begin_with_it(page: str) -> None:
    """Without a JDK preflight refuses a host, and the images of EC2 have none. A fresh clone has no Ansible."""
    commands = (ROOT / f"docs/{page}.md").read_text("utf-8").split("```")[1]
    assert -1 < commands.find("./setup.sh ") < commands.find(" bootstrap.yml") < commands.find(" deploy.yml")


def test_the_page_names_what_the_role_has() -> None:
    """Its variables, and what a person has to remove."""
    page = (ROOT / "docs/cluster.md").read_text("utf-8")
    defaults = yaml.safe_load((ROLE / "defaults/main.yml").read_text("utf-8"))
    documented = set(re.findall(r"`(bootstrap_[a-z_]+)`", page))
    assert documented == {"bootstrap_user", "bootstrap_account", "bootstrap_key", "bootstrap_packages"}
    assert documented <= set(defaults)
    tasks = "".join(path.read_text("utf-8") for path in ROLE.rglob("*.yml"))
    removed = re.findall(r"sudo rm (?:-rf )?(/[\w/-]+)", page)
    assert len(removed) == 2
    assert all(path in tasks for path in removed)
