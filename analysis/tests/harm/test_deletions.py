"""Checks that only the listed code, which checks the owner, removes folders, file systems and tables.

The rule applies to all code except tests.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from dohyo.places import ANSIBLE, ROOT

DELETIONS = re.compile(
    r"\brm\b['\",\s]+(-[\w-]*['\",\s]+)*-(\w*[rR]|-recursive)|\brmdir\b|find .*-delete\b|\bblkdiscard|\bwipefs|\bmkfs"
    r"|\brmtree\b|\bremovedirs\b|deleteRecursively|deleteDirectory|Files\.walkFileTree"
    r"|(?i:\bDROP +(TABLE|KEYSPACE|DATABASE|SCHEMA|USER|ROLE|NAMESPACE|INDEX)|\bTRUNCATE +[a-z`\"])"
    r"|(disable|delete|truncate|drop)(Table|Keyspace|Namespace)s?\("
)
# Lines that may remove something, listed by file; a part of a line is enough. Each comment says why the lines are safe.
PLACES = {
    # The mark was checked before.
    "ansible/agent/verbs/folder_marks.py": ["os.rmdir(current)", "os.rmdir(name, dir_fd=parent)"],
    # The agent's verb host_devices reported these devices as empty or as Dohyo's.
    "ansible/roles/host/tasks/devices.yml": ["mkfs.xfs, -q, -L"],
    "ansible/roles/host/tasks/release.yml": [
        "wipefs, --all, --quiet",
        "[blkdiscard,",
        "rmdir, --ignore-fail-on-non-empty",
    ],
    # An empty folder whose name contains the deployment's id.
    "ansible/agent/verbs/observe.py": ["os.rmdir(folder)"],
    # A command that is only shown to the user.
    "ansible/agent/verbs/host_devices.py": ["way_out ="],
    # The script has checked that each device is empty or Dohyo's.
    "ansible/systems/aerospike/files/raw-devices": [
        "is not empty${found",
        'blkdiscard "$1"',
        'blkdiscard -z --length "$header" "$1"',
        'blkdiscard -z "$part"',
        'wipefs --all --quiet "$device"',
    ],
    # Folders that mktemp created in .dohyo of the checkout.
    "ansible/roles/system/tasks/install.yml": ['rm -rf -- "$part"', 'rm -rf -- "$unpacked"'],
    "ansible/systems/hbase/tasks/install.yml": ['rm -rf -- "$jar"'],
    "ansible/systems/aerospike/tasks/install.yml": ['rm -rf -- "$unpacked"'],
    # Only an empty folder is removed.
    "ansible/roles/host/tasks/restore.yml": ["rmdir, --ignore-fail-on-non-empty, /etc/systemd/system.conf.d"],
    # Folders that mktemp created.
    "ansible/roles/jdk/files/fetch-jdk": ['rm -rf -- "$work"', 'rm -rf -- "${work:?}"/'],
    # Folders that mktemp created on this machine and on the host.
    "ansible/roles/bootstrap/files/pack": ['rm -rf -- "$work"'],
    "ansible/roles/bootstrap/files/install": ['rm -rf -- "$folder"'],
    # The testbed's own folder in the checkout.
    "ansible/testbed/image.sh": ['-- "$image"', '-- "$image.tmp"'],
    "ansible/testbed/testbed": ["-exec rmdir {}", 'find "$state"', 'rmdir --ignore-fail-on-non-empty -- "$state"'],
    # An environment with Dohyo's mark, Maven's output (which can be built again), and a folder of mktemp in .setup.
    "setup.sh": ['rm -rf -- "$venv"', 'rm -rf -- "$root"/ycsb-bindings/*/target', 'rm -rf -- "$folder"'],
    # Default accounts of servers that Dohyo has just created.
    "ansible/systems/mysql/templates/init.sql.j2": ["DROP USER IF EXISTS root@localhost"],
    "ycsb-bindings/cassandra/src/main/java/dohyo/cassandra/admin/CqlAdmin.java": ["DROP ROLE IF EXISTS"],
    # A hostile name in the contract tests, which no server may execute.
    "ycsb-bindings/contract/src/main/java/dohyo/contract/BindingContract.java": ['"; DROP TABLE t"'],
    # An empty folder in dohyo_home, after all objects of a trial on an attached system were removed.
    "ansible/agent/verbs/detach.py": ["os.rmdir("],
    # Objects that a trial created on an attached system. Their marks were all checked.
    "ycsb-bindings/cassandra/src/main/java/dohyo/cassandra/admin/AttachedCql.java": ["DROP KEYSPACE"],
    "ycsb-bindings/hbase/src/main/java/dohyo/hbase/admin/AttachedHBase.java": [
        "disableTable(name)",
        "deleteTable(name)",
        "deleteNamespace(place())",
    ],
    "ycsb-bindings/mysql/src/main/java/dohyo/mysql/admin/AttachedMysql.java": ["DROP DATABASE"],
    "ycsb-bindings/postgresql/src/main/java/dohyo/postgresql/admin/AttachedPostgresql.java": ["DROP DATABASE"],
    # Empty folders: one in dohyo_home/run for notes on the faults of a run, and one for systemd in /run.
    "ansible/agent/faults.py": ["folder.rmdir()"],
    # A folder that was just created and is still empty.
    "analysis/dohyo/claimed_folders.py": ["folder.rmdir()"],
}
# Tasks that remove something with Ansible's own module. They remove only files, or a folder that tempfile created.
FILE_TASKS = {
    ("roles/bootstrap/tasks/packages.yml", "Remove the temporary folder"),
    ("roles/host/tasks/restore.yml", "Remove the files that set values at boot"),
}
SKIPPED = {"tests", "test", "e2e", "suite", "target", "__pycache__", "docs"}
SUFFIXES = {"", ".sh", ".py", ".yml", ".yaml", ".j2", ".java", ".sql", ".xml"}


def sources() -> Iterator[Path]:
    """Yields all sources of the checkout except tests."""
    for folder in ("ansible", "analysis", "benchmarks", "ycsb-bindings"):
        for path in sorted((ROOT / folder).rglob("*")):
            parts = path.relative_to(ROOT).parts
            if path.is_file() and path.suffix in SUFFIXES and not SKIPPED & set(parts) and "/." not in "/".join(parts):
                yield path
    yield from (path for path in ROOT.glob("*.sh") if path.name != "test.sh")


def deletions(text: str) -> list[str]:
    """Returns the lines of a text that remove something; comments are left out."""
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if not line.startswith(("#", "//", "*", "--")) and DELETIONS.search(line)]


def elsewhere(name: str, text: str) -> list[str]:
    """Returns the lines of a file that remove something but are not listed."""
    return [line for line in deletions(text) if not any(part in line for part in PLACES.get(name, []))]


def file_removals(tasks: Any) -> Iterator[str]:
    """Yields the names of the tasks that remove something with Ansible's own module."""
    if isinstance(tasks, list):
        for task in tasks:
            yield from file_removals(task)
    elif isinstance(tasks, dict):
        for module in ("ansible.builtin.file", "file", "action", "local_action"):
            arguments = tasks.get(module)
            state = arguments.get("state") if isinstance(arguments, dict) else arguments
            if "absent" in str(state):
                yield str(tasks.get("name"))
        for key in ("tasks", "pre_tasks", "post_tasks", "handlers", "block", "rescue", "always"):
            yield from file_removals(tasks.get(key))


def test_only_the_listed_places_remove_folders_file_systems_or_tables() -> None:
    named, seen = {}, set()
    for path in sources():
        name, text = str(path.relative_to(ROOT)), path.read_text("utf-8", "replace")
        if names := elsewhere(name, text):
            named[name] = names
        seen |= {(name, part) for part in PLACES.get(name, []) if any(part in line for line in deletions(text))}
    assert not named, (
        "call the agent's `owned` (ansible) or dohyo.claimed_folders (analysis) instead, or list the line in PLACES"
    )
    assert seen == {(name, part) for name, parts in PLACES.items() for part in parts}, "a listed line no longer exists"


def test_only_owned_of_the_agent_removes_folders_in_playbooks() -> None:
    removals = set()
    for path in sorted(ANSIBLE.rglob("*.yml")):
        below = path.relative_to(ANSIBLE)
        if not {"tests", "templates", "inventories"} & set(below.parts):
            removals |= {(str(below), name) for name in file_removals(yaml.safe_load(path.read_text("utf-8")))}
    assert removals == FILE_TASKS


REMOVALS = """
rm -rf "$FOLDER"
rm -f -r x
{{ ['rm', '-rf', '--', dohyo_home ~ '/run/' ~ trial_system ~ '.properties']
argv: [rm, -rf, --, /var/lib/mysql]
subprocess.run(["rm", "-rf", x])
rm --recursive --force /x
execute("drop table x")
cmd: cd /x && rm -fr data
argv: [wipefs, --all, /dev/sdb]
mkfs.ext4 /dev/sdb
blkdiscard -f x
shutil.rmtree(folder, ignore_errors=True)
execute("DROP TABLE " + name)
session.execute("TRUNCATE ycsb.usertable")
admin.disableTable(table);
admin.deleteTable(table);
find . -type d -delete
path.rmdir()
"""


@pytest.mark.parametrize("line", REMOVALS.split("\n")[1:-1])
def test_the_rule_sees(line: str) -> None:
    assert elsewhere("ansible/roles/new/tasks/wipe.yml", f"text\n    {line}\n") == [line]


def test_the_rule_sees_tasks_of_ansible() -> None:
    play = yaml.safe_load("""
- hosts: all
  tasks:
    - block:
        - {name: inner, ansible.builtin.file: {path: /x, state: absent}}
      always:
        - {name: templated, ansible.builtin.file: {path: /x, state: "{{ 'absent' if gone else 'directory' }}"}}
        - {name: short, ansible.builtin.file: path=/x state=absent}
        - {name: old, action: {module: file, path: /x, state: absent}}
        - {name: made, ansible.builtin.file: {path: /x, state: directory}}
""")
    assert list(file_removals(play)) == ["inner", "templated", "short", "old"]
