"""Ansible module: the host's half of transfer_folder (the other half is the action plugin of the same name)."""

from __future__ import annotations

import os
import shutil
import zipfile

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: transfer_folder
short_description: Copy a whole folder between the control machine and a host, as one archive
description:
  - Pushing compares a digest of the folder's contents and copies only when something differs; the new folder takes
    the place of the old one in one step, so that nobody sees half of it.
  - Pulling adds to what is there on the control machine.
  - A folder of a hundred files takes one task and about half a second; with ansible.builtin.copy, or fetch, a minute.
options:
  direction:
    description: Control machine to host, or host to control machine.
    type: str
    choices: [push, pull]
    required: true
  src:
    description: Folder to copy. A folder that is not there is an error when pushing and nothing to do when pulling.
    type: path
    required: true
  dest:
    description: Folder to write to.
    type: path
    required: true
"""

EXAMPLES = r"""
- name: Put the jars on the host
  transfer_folder:
    direction: push
    src: "{{ playbook_dir }}/lib"
    dest: /srv/dohyo/lib
"""

RETURN = r"""
files:
  description: Number of files copied.
  type: int
  returned: success
"""

# Written into a pushed folder; says what it holds.
DIGEST = ".digest"


def read_digest(folder: str) -> str:
    """Digest of what was last pushed to this folder; empty if nothing was."""
    try:
        with open(os.path.join(folder, DIGEST), encoding="ascii") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def unpack(archive: str, folder: str, digest: str) -> int:
    """Replace the folder by the archive's contents; returns the number of files."""
    new, old = f"{folder}.new", f"{folder}.old"
    for leftover in (new, old):
        shutil.rmtree(leftover, ignore_errors=True)
    os.makedirs(new)
    with zipfile.ZipFile(archive) as files:
        for info in files.infolist():
            os.chmod(files.extract(info, new), info.external_attr >> 16 & 0o777)
        count = len(files.infolist())
    with open(os.path.join(new, DIGEST), "w", encoding="ascii") as file:
        file.write(digest)
    if os.path.exists(folder):
        os.rename(folder, old)
    os.rename(new, folder)
    shutil.rmtree(old, ignore_errors=True)
    return count


def pack(folder: str, archive: str) -> int:
    """Write every regular file below the folder into the archive; returns their number."""
    count = 0
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1, strict_timestamps=False) as files:
        for parent, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(parent, name)
                if os.path.isfile(path) and not os.path.islink(path):
                    files.write(path, os.path.relpath(path, folder))
                    count += 1
    return count


def main() -> None:
    """Do the step that the action plugin asks for."""
    module = AnsibleModule(
        argument_spec={
            "step": {"type": "str", "choices": ["digest", "unpack", "pack"], "required": True},
            "folder": {"type": "path", "required": True},
            "archive": {"type": "path"},
            "digest": {"type": "str"},
        },
    )
    step, folder, archive = (module.params[name] for name in ("step", "folder", "archive"))
    if step == "digest":
        module.exit_json(changed=False, digest=read_digest(folder))
    elif step == "unpack":
        module.exit_json(changed=True, files=unpack(archive, folder, module.params["digest"]))
    else:
        module.exit_json(changed=False, files=pack(folder, archive))


if __name__ == "__main__":
    main()
