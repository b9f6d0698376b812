"""Ansible module: makes several folders and writes several files in one call to the host.

``ansible.builtin.file``, ``copy`` and ``template`` need two calls for each; a configuration of six files on four hosts
takes as long as one file here. Content comes from lookups on the controller. Files that are as they should be stay
untouched; others are replaced in one step. Check mode and diff are supported.

Returns ``written``, the paths of files whose content was different.
"""

from __future__ import annotations

import os
import tempfile

from ansible.module_utils.basic import AnsibleModule


def make_folder(module: AnsibleModule, path: str) -> bool:
    """Make it where it is missing, and set its mode and owner; returns whether that changed anything."""
    missing = not os.path.isdir(path)
    if missing and not module.check_mode:
        os.makedirs(path, exist_ok=True)
    attributes = {key: module.params[f"folder_{key}"] for key in ("mode", "owner", "group")}
    return set_attributes(module, path, attributes, missing)


def write_file(module: AnsibleModule, file: dict[str, str]) -> tuple[bool, dict[str, str]]:
    """Write it where its content differs; returns whether anything was changed, and how the content was."""
    path, content = file["path"], file["content"]
    attributes = {"mode": module.params["mode"], "owner": file["owner"]}
    missing = not os.path.exists(path)
    before = ""
    if not missing:
        with open(path, encoding="utf-8", errors="replace", newline="") as there:
            before = there.read()
    if not missing and before == content:
        return set_attributes(module, path, attributes, missing), {}
    if not module.check_mode:
        # In a folder that only the user can read, and with its mode before it has its name: a secret is never open.
        handle, new = tempfile.mkstemp(dir=module.tmpdir)
        with open(handle, "w", encoding="utf-8", newline="") as output:
            output.write(content)
        set_attributes(module, new, attributes, missing=False)
        module.atomic_move(new, path)
        set_attributes(module, path, attributes, missing=False)
    return True, {"before_header": path, "after_header": path, "before": before, "after": content}


def set_attributes(module: AnsibleModule, path: str, attributes: dict[str, str | None], missing: bool) -> bool:
    """Mode, owner and group, as far as they are given; returns whether that changed anything."""
    if module.check_mode and missing:
        return True
    given = {key: value for key, value in attributes.items() if value is not None}
    return bool(module.set_fs_attributes_if_different(module.load_file_common_arguments(given, path=path), missing))


def main() -> None:
    """Read the parameters, do it, answer."""
    file = {
        "path": {"type": "path", "required": True},
        "content": {"type": "str", "required": True},
        "owner": {"type": "str"},
    }
    module = AnsibleModule(
        argument_spec={
            # Made in this order, before the files; missing parents with the user's defaults.
            "folders": {"type": "list", "elements": "path", "default": []},
            "folder_mode": {"type": "raw"},
            "folder_owner": {"type": "str"},
            "folder_group": {"type": "str"},
            "files": {"type": "list", "elements": "dict", "default": [], "options": file},
            "mode": {"type": "raw"},
        },
        supports_check_mode=True,
    )
    try:
        folders_changed = [make_folder(module, folder) for folder in module.params["folders"]]
        outcomes = [write_file(module, file) for file in module.params["files"]]
    except OSError as error:
        module.fail_json(msg=f"{error.filename}: {error.strerror}")
    module.exit_json(
        changed=any(folders_changed) or any(changed for changed, _ in outcomes),
        written=[diff["after_header"] for _, diff in outcomes if diff],
        diff=[diff for _, diff in outcomes if diff],
    )


if __name__ == "__main__":
    main()
