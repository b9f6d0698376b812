"""Tests which packages bootstrap.yml installs on each operating system.

Only Debian 12 is started for real (ansible/tests/cluster/bootstrap_test.sh).
"""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from dohyo.places import ANSIBLE, ROOT
from support.playbooks import play

ROLE = ANSIBLE / "roles/bootstrap"
DEBIAN = ["python3", "python3-apt", "sudo", "xfsprogs", "chrony"]
REDHAT = ["python3", "sudo", "xfsprogs", "chrony"]
# The content of /etc/os-release of each system, and the packages that a bare host needs, or the reported problem.
SYSTEMS = {
    "debian12": ('ID=debian\nVERSION_ID="12"\nVERSION_CODENAME=bookworm', [*DEBIAN, "openjdk-17-jre-headless"]),
    "debian13": ('ID=debian\nVERSION_ID="13"\nVERSION_CODENAME=trixie', "has no known JDK 17 package"),
    "ubuntu22": (
        'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="22.04"\nVERSION_CODENAME=jammy',
        [*DEBIAN, "openjdk-17-jre-headless"],
    ),
    "ubuntu24": (
        'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"\nVERSION_CODENAME=noble',
        [*DEBIAN, "openjdk-17-jre-headless"],
    ),
    "rocky9": ('ID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.4"', [*REDHAT, "java-17-openjdk-headless"]),
    "rhel9": ('ID="rhel"\nID_LIKE="fedora"\nVERSION_ID="9.6"', [*REDHAT, "java-17-openjdk-headless"]),
    "rhel10": ('ID="rhel"\nID_LIKE="centos fedora"\nVERSION_ID="10.0"', "has no known JDK 17 package"),
    "plan9": ("ID=plan9\nVERSION_ID=4", "it runs plan9, not Debian, Ubuntu or Red Hat"),
}


def look(folder: Path, release: str) -> str:
    """Returns what the role's script prints for this /etc/os-release on a host without packages."""
    (folder / "etc").mkdir(parents=True, exist_ok=True)
    (folder / "etc/os-release").write_text(f'{release}\nPRETTY_NAME="{folder.name}"\n')
    run = subprocess.run(["sh", ROLE / "files/look", folder], capture_output=True, text=True, check=True)
    return run.stdout


WRONG_ACCOUNTS = ["ALL", "root", "%sudo", "#1000", "a b", "a,b", "a\nALL", "-x", "", "a" * 33]
ARCHIVES = {"dohyo_jdk_archives": {"17": {"url": "/jdk.tar.gz", "sha256": "0" * 64}}}
OTHER_RELEASE = {"bootstrap_release": "bookworm x86_64", "bootstrap_packages": "download"}
DEVICES = {"dohyo_devices": ["/dev/disk/by-id/nvme-*"]}
# Operating system and variables of each host.
HOSTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in SYSTEMS},
    "archive": ("debian13", ARCHIVES),
    "archive-downloads": ("debian13", {**ARCHIVES, **OTHER_RELEASE}),
    "raid0": ("debian12", {**DEVICES, "host_disk_layout": "raid0"}),
    "jbod": ("debian12", {**DEVICES, "host_disk_layout": "jbod"}),
    "account": ("debian12", {"bootstrap_account": "dohyo_2-x"}),
    "has": ("ubuntu24", {}),
    **{f"account{n}": ("debian12", {"bootstrap_account": name}) for n, name in enumerate(WRONG_ACCOUNTS)},
}


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Returns the packages that the role would install on each host, and the problems that the role reports."""
    folder = tmp_path_factory.mktemp("bootstrap")
    has_some_packages(folder / "has")
    hosts = {
        name: {"bootstrap_looked": {"stdout": look(folder / name, SYSTEMS[system][0])}, **variables}
        for name, (system, variables) in HOSTS.items()
    }
    files = [ROLE / "defaults/main.yml", ROLE / "vars/main.yml"]
    defaults = {name: value for file in files for name, value in yaml.safe_load(file.read_text("utf-8")).items()}
    answer = {"missing": "{{ _bootstrap_missing }}", "problems": "{{ _bootstrap_problems }}"}
    facts = play(folder, [{"set_fact": {"plan": answer}}], hosts, 0, ["plan"], **defaults)
    return dict(zip(sorted(hosts), facts["plan"], strict=True))


def has_some_packages(root: Path) -> None:
    """Creates the files of a host that has a time service, a JDK and sudo, and from which xfsprogs was removed."""
    for file in ("lib/systemd/system/systemd-timesyncd.service", "usr/lib/jvm/java-17-openjdk-amd64/bin/java"):
        (root / file).parent.mkdir(parents=True)
        (root / file).touch(mode=0o755)
    (root / "var/lib/dpkg").mkdir(parents=True)
    (root / "var/lib/dpkg/status").write_text(
        "Package: sudo\nStatus: install ok installed\nVersion: 1\nArchitecture: amd64\n\n"
        "Package: xfsprogs\nStatus: deinstall ok config-files\nVersion: 1\nArchitecture: amd64\n"
    )


Plans = dict[str, dict[str, Any]]


def test_each_system_gets_its_packages_or_a_reason(plans: Plans) -> None:
    """Package names depend on the operating system's family. A system without a JDK 17 package needs an archive."""
    for name, (_, expected) in SYSTEMS.items():
        if isinstance(expected, str):
            assert expected in " ".join(plans[name]["problems"]), (name, plans[name])
        else:
            assert (plans[name]["missing"], plans[name]["problems"]) == (expected, []), name


def test_an_archive_replaces_the_package(plans: Plans) -> None:
    """Debian 13 needs only an archive of the JDK. A control machine of another release cannot download packages."""
    assert plans["archive"] == {"missing": DEBIAN, "problems": []}
    [problem] = plans["archive-downloads"]["problems"]
    assert " is not this machine's bookworm x86_64; name a folder" in problem


def test_an_account_that_sudoers_would_misread_is_refused(plans: Plans) -> None:
    """In sudoers, the name ALL would give every user the rights of root."""
    assert plans["account"]["problems"] == []
    assert [len(plans[f"account{n}"]["problems"]) for n, _ in enumerate(WRONG_ACCOUNTS)] == [1] * len(WRONG_ACCOUNTS)
    assert plans["account0"]["problems"][0].startswith("bootstrap_account=ALL: must be lower-case letters")


def test_an_array_takes_its_tool(plans: Plans) -> None:
    for layout, tools in (("raid0", ["mdadm"]), ("jbod", [])):
        assert plans[layout]["missing"] == [*SYSTEMS["debian12"][1], *tools]


def test_what_a_host_has_is_left_alone(plans: Plans) -> None:
    """A second time service would replace the first, and a second JDK could be a different build."""
    assert plans["has"] == {"missing": ["python3", "python3-apt", "xfsprogs"], "problems": []}


def test_the_folder_for_hosts_of_the_red_hat_family_has_all_packages() -> None:
    """These hosts cannot download packages, so the folder must contain all of them."""
    page = (ROOT / "docs/cluster.md").read_text("utf-8")
    [command] = re.findall(r"`dnf download ([^`]+)`", page)
    assert {*SYSTEMS["rocky9"][1], "mdadm"} <= set(command.split())


@pytest.mark.parametrize("page", ["cluster", "aws"])
def test_the_commands_of_a_page_begin_with_it(page: str) -> None:
    """Preflight rejects hosts without a JDK, such as EC2's images, and a fresh clone does not contain Ansible."""
    commands = (ROOT / f"docs/{page}.md").read_text("utf-8").split("```")[1]
    assert -1 < commands.find("./setup.sh ") < commands.find(" bootstrap.yml") < commands.find(" deploy.yml")


def test_the_page_names_what_the_role_has() -> None:
    """The page names variables that users may set, and files that they must remove. The role must have all of them."""
    page = (ROOT / "docs/cluster.md").read_text("utf-8")
    defaults = yaml.safe_load((ROLE / "defaults/main.yml").read_text("utf-8"))
    documented = set(re.findall(r"`(bootstrap_[a-z_]+)`", page))
    assert documented == {"bootstrap_user", "bootstrap_account", "bootstrap_key", "bootstrap_packages"}
    assert documented <= set(defaults)
    tasks = "".join(path.read_text("utf-8") for path in ROLE.rglob("*.yml"))
    removed = re.findall(r"sudo rm (?:-rf )?(/[\w/-]+)", page)
    assert len(removed) == 2
    assert all(path in tasks for path in removed)
