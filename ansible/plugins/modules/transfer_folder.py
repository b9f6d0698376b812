"""Ansible module: the host's half of transfer_folder; the action plugin of the same name is the other half."""

from __future__ import annotations

import hashlib
import os
import zipfile

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.ours import MANIFEST, NotOursError, refuse_links, remove_path, unlisted


def read_manifest(folder: str) -> str:
    """What was last pushed to this folder; empty if nothing was, or if a file of it is gone."""
    try:
        with open(os.path.join(folder, MANIFEST), encoding="utf-8") as file:
            manifest = file.read()
    except FileNotFoundError:
        return ""
    names = [line.partition("  ")[2] for line in manifest.splitlines()]
    return manifest if all(os.path.isfile(os.path.join(folder, name)) for name in names) else ""


def digest_of(manifest: str) -> str:
    """SHA-256 of a manifest; empty without one."""
    return hashlib.sha256(manifest.encode()).hexdigest() if manifest else ""


def verify(folder: str, digest: str) -> None:
    """Read every file back; raises ValueError for one that is not what was packed."""
    manifest = read_manifest(folder)
    if digest_of(manifest) != digest:
        raise ValueError(f"{folder} does not hold the files that were packed on the control machine")
    for line in manifest.splitlines():
        wanted, _, name = line.partition("  ")
        total = hashlib.sha256()
        with open(os.path.join(folder, name), "rb") as file:
            for chunk in iter(lambda: file.read(1 << 20), b""):
                total.update(chunk)
        if total.hexdigest() != wanted:
            raise ValueError(f"{name} is not what was packed on the control machine; is the disk of {folder} in order?")


def unpack(archive: str, folder: str, digest: str) -> int:
    """Replace the folder by the archive's contents; returns the number of files.

    Raises ValueError for damage, and NotOursError where the folder holds a file that the last archive has not brought.
    """
    refuse_links(folder)
    if foreign := unlisted(folder):
        raise NotOursError("; ".join(foreign))
    # By these names nobody keeps a copy of their own.
    new, old = f"{folder}.dohyo-new", f"{folder}.dohyo-old"
    for leftover in (new, old):
        remove_path(leftover)
    os.makedirs(new)
    with zipfile.ZipFile(archive) as files:
        for info in files.infolist():
            os.chmod(files.extract(info, new), info.external_attr >> 16 & 0o777)
        count = len(files.infolist())
    verify(new, digest)
    if os.path.exists(folder):
        os.rename(folder, old)
    os.rename(new, folder)
    remove_path(old)
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
            "step": {"type": "str", "choices": ["look", "unpack", "pack"], "required": True},
            "folder": {"type": "path", "required": True},
            "archive": {"type": "path"},
            "digest": {"type": "str"},
        },
        supports_check_mode=True,
    )
    step, folder, archive = (module.params[name] for name in ("step", "folder", "archive"))
    if step == "look":
        manifest = read_manifest(folder)
        module.exit_json(changed=False, digest=digest_of(manifest), manifest=manifest)
    elif step == "unpack":
        try:
            module.exit_json(changed=True, files=unpack(archive, folder, module.params["digest"]))
        except (ValueError, NotOursError, zipfile.BadZipFile) as error:
            module.fail_json(msg=f"{error}; run deploy.yml again")
    else:
        module.exit_json(changed=False, files=pack(folder, archive))


if __name__ == "__main__":
    main()
