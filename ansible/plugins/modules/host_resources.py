"""Ansible module: what a host has to offer to a server or a client: a JDK, memory, disk space, processors."""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: host_resources
short_description: Find a JDK, the available memory and the free disk space of a host
description:
  - Looks at I(java_home) alone where it is given, else at JAVA_HOME, the usual folders and the java on the PATH.
  - Far quicker than gathering facts; a trial needs no others.
options:
  java_home:
    description: Folder of the JDK to use; empty to search one.
    type: str
    default: ""
  java_major:
    description: Major version that the JDK must have.
    type: int
    default: 17
  java_also:
    description: Further folders that may hold the JDK, looked at last.
    type: list
    elements: str
    default: []
  path:
    description: Folder, perhaps not there yet, on whose file system the free space is asked.
    type: str
    required: true
  needs:
    description: Files and folders that should be there.
    type: list
    elements: path
    default: []
"""

EXAMPLES = r"""
- name: Look at the host
  host_resources:
    path: /srv/dohyo
  register: host
"""

RETURN = r"""
java_home:
  description: Folder of the JDK; empty if there is none of the version asked for.
  type: str
  returned: success
java_seen:
  description: What was found instead, one "folder (version)" each.
  type: list
  elements: str
  returned: success
missing:
  description: Those of I(needs) that are not there.
  type: list
  elements: str
  returned: success
disk_free_mb:
  description: Free space for us in MiB.
  type: int
  returned: success
memory_available_mb:
  description: Memory that a new process can have without swapping, in MiB.
  type: int
  returned: success
cores:
  description: Processors that a process can use.
  type: int
  returned: success
huge_pages:
  description: May a process ask the kernel for transparent huge pages?
  type: bool
  returned: success
"""


def version_of(java_home: str) -> str:
    """Version of the JDK in this folder, as "17.0.15" or "1.8.0_504"; empty if there is none."""
    if not os.access(os.path.join(java_home, "bin", "java"), os.X_OK):
        return ""
    release = os.path.join(java_home, "release")
    if os.path.exists(release):
        with open(release, encoding="utf-8", errors="replace") as lines:
            text = lines.read()
    else:  # not every packager adds the release file
        command = [os.path.join(java_home, "bin", "java"), "-XshowSettings:properties", "-version"]
        text = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60).stderr
    match = re.search(r"JAVA_VERSION=\"([^\"]+)\"|java\.version = (\S+)", text)
    return (match.group(1) or match.group(2)) if match else ""


def major_of(version: str) -> int:
    """Major version, as people call it; 0 if there is none."""
    match = re.match(r"(?:1\.)?(\d+)", version)
    return int(match.group(1)) if match else 0


def candidates(java_home: str, major: int) -> list[str]:
    """Folders that may hold a JDK, best first."""
    if java_home:
        return [java_home]
    found = [os.environ.get("JAVA_HOME", ""), *sorted(glob.glob(f"/usr/lib/jvm/*{major}*"))]
    java = shutil.which("java")
    if java:
        found.append(os.path.dirname(os.path.dirname(os.path.realpath(java))))
    return [folder for folder in found if folder]


def memory_available_mb() -> int:
    """MemAvailable of the kernel, in MiB."""
    with open("/proc/meminfo", encoding="ascii") as lines:
        fields = dict(line.split(":", 1) for line in lines)
    return int(fields["MemAvailable"].split()[0]) // 1024


def huge_pages() -> bool:
    """The kernel's setting is the word in brackets."""
    try:
        with open("/sys/kernel/mm/transparent_hugepage/enabled", encoding="ascii") as file:
            return "[never]" not in file.read()
    except OSError:
        return False


def disk_free_mb(path: str) -> int:
    """Free space in MiB of the file system that holds, or would hold, this path."""
    while not os.path.exists(path):
        path = os.path.dirname(path)
    return shutil.disk_usage(path).free // 2**20


def main() -> None:
    """Read the parameters, look, answer."""
    module = AnsibleModule(
        argument_spec={
            "java_home": {"type": "str", "default": ""},
            "java_major": {"type": "int", "default": 17},
            "java_also": {"type": "list", "elements": "str", "default": []},
            "path": {"type": "str", "required": True},
            "needs": {"type": "list", "elements": "path", "default": []},
        },
        supports_check_mode=True,
    )
    wanted = module.params["java_major"]
    folders = candidates(module.params["java_home"], wanted) + module.params["java_also"]
    seen = {folder: version_of(folder) for folder in folders}
    module.exit_json(
        changed=False,
        java_home=next((folder for folder, version in seen.items() if major_of(version) == wanted), ""),
        java_seen=[f"{folder} ({version or 'no JDK'})" for folder, version in seen.items()],
        missing=[path for path in module.params["needs"] if not os.path.exists(path)],
        disk_free_mb=disk_free_mb(os.path.abspath(module.params["path"])),
        memory_available_mb=memory_available_mb(),
        cores=len(os.sched_getaffinity(0)),
        huge_pages=huge_pages(),
    )


if __name__ == "__main__":
    main()
