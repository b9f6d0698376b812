"""Packs and unpacks folders on a host. See plugins/action/transfer_folder.py and conducting/hosts.py for the controller's side."""

from __future__ import annotations

import base64
import hashlib
import os
import tempfile
import zipfile

from failure import AgentError
from folder_marks import MANIFEST, NotOursError, refuse_links, remove_path, unlisted

PART = 4 * 2**20  # size of a part in bytes
IN_MEMORY = 64 * 2**20  # bytes of an unnamed archive up to which it stays in memory: the disk may be full, even as a result
archives = []  # the last archive that `packed` created, until `read` has reached its end


def read_manifest(folder: str) -> str:
    """Returns the manifest of the files that were last unpacked to this folder, or "" if one of them is missing."""
    try:
        with open(os.path.join(folder, MANIFEST), encoding="utf-8") as file:
            manifest = file.read()
    except FileNotFoundError:
        return ""
    names = [line.partition("  ")[2] for line in manifest.splitlines()]
    return manifest if all(os.path.isfile(os.path.join(folder, name)) for name in names) else ""


def digest_of(manifest: str) -> str:
    """Returns the SHA-256 of a manifest. For an empty manifest, the result is empty."""
    return hashlib.sha256(manifest.encode()).hexdigest() if manifest else ""


def verify(folder: str, digest: str) -> None:
    """Reads back all unpacked files. Raises ValueError if one of them differs from the packed file."""
    manifest = read_manifest(folder)
    if digest_of(manifest) != digest:
        raise ValueError(f"{folder} does not contain the files that were packed on the control machine")
    for line in manifest.splitlines():
        checksum, _, name = line.partition("  ")
        total = hashlib.sha256()
        with open(os.path.join(folder, name), "rb") as file:
            for chunk in iter(lambda: file.read(1 << 20), b""):
                total.update(chunk)
        if total.hexdigest() != checksum:
            raise ValueError(f"{name} differs from the file on the control machine; check the disk of {folder}")


def unpack(archive: str, folder: str, digest: str) -> int:
    """Replaces the content of a folder with the files of an archive. Returns the number of files.

    Raises ValueError if a file is damaged, and NotOursError if the folder contains a file that was not in the last archive.
    """
    refuse_links(folder)
    if foreign := unlisted(folder):
        raise NotOursError("; ".join(foreign))
    # Use names that users are unlikely to choose for their own copies.
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


def pack(folder, archive):
    """Writes a file, or all regular files below a folder, to an archive. Returns the number of files.

    :param archive: path or open file
    """
    count, walked = 0, os.walk(folder)
    if not os.path.isdir(folder):
        folder, name = os.path.split(folder)
        walked = [(folder, [], [name])]
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1, strict_timestamps=False) as files:
        for parent, _, names in walked:
            for name in names:
                path = os.path.join(parent, name)
                if os.path.isfile(path) and not os.path.islink(path):
                    files.write(path, os.path.relpath(path, folder))
                    count += 1
    return count


def packed(folder):
    """Packs a folder or a file into an unnamed archive, which :func:`read` returns in parts."""
    if archives:
        archives.pop().close()
    # Create a large archive on the disk of the packed files, because /tmp may be small.
    parent = folder if os.path.isdir(folder) else os.path.dirname(folder)
    disk = parent if os.access(parent, os.W_OK) else None
    archive = tempfile.SpooledTemporaryFile(IN_MEMORY, dir=disk)  # noqa: SIM115 - `read` needs it open
    archives.append(archive)
    count = pack(folder, archive)
    archive.seek(0, os.SEEK_END)
    return {"files": count, "bytes": archive.tell()}


def read(offset):
    """Returns the part of the unnamed archive that begins at byte `offset`, encoded in Base64."""
    if not archives:
        raise AgentError("the packed archive no longer exists: the connection was lost")
    archives[0].seek(offset)
    part = archives[0].read(PART)
    if len(part) < PART:
        archives.pop().close()
    return {"part": base64.b64encode(part).decode("ascii")}


def answer(step, folder="", archive="", digest="", at=0):
    """Executes one step of a transfer; the controller executes the others (plugins/action/transfer_folder.py).

    :param step: look: returns the folder's ``manifest`` and its ``digest``. unpack: replaces the folder's content with the archive
        that has that digest. pack: packs the folder into ``archive`` or, if this is empty, into an unnamed archive. read: returns a
        ``part`` of the unnamed archive.
    """
    folder, archive = (os.path.expanduser(path) for path in (folder, archive))
    if step == "look":
        manifest = read_manifest(folder)
        return {"digest": digest_of(manifest), "manifest": manifest}
    if step == "unpack":
        try:
            return {"changed": True, "files": unpack(archive, folder, digest)}
        except (ValueError, NotOursError, zipfile.BadZipFile) as error:
            raise AgentError(f"{error}; run deploy.yml again") from error
    if step == "pack":
        return {"files": pack(folder, archive)} if archive else packed(folder)
    if step == "read":
        return read(at)
    raise AgentError(f"step '{step}': must be look, unpack, pack or read")
