"""Ansible action plugin: copies a whole folder from the control machine to a host, as one archive.

``src`` and ``dest`` are folders; a missing ``src`` is an error. The plugin copies only if a digest of the contents
differs. It makes the archive once for all hosts, in dohyo_control/archives. The host reads every unpacked file back and
compares its SHA-256. Then the new folder atomically replaces the old one. A hundred files take half a second;
``ansible.builtin.copy`` takes a minute.

Returns ``files``, the number of files.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "agent/verbs"))
from action.agent import ask
from folder_marks import MANIFEST


def files_of(folder: Path) -> list[Path]:
    """Returns all files below the folder, in a fixed order.

    :raises AnsibleActionFail: for a link that points outside the folder; a JDK's archive may contain such links
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / MANIFEST)
    whole = folder.resolve()
    for path in files:
        if path.is_symlink() and not path.resolve().is_relative_to(whole):
            raise AnsibleActionFail(
                f"{path}: it is a link to {path.resolve()}, outside of {folder}; replace it with a file"
            )
    return files


def manifest_of(folder: Path) -> str:
    """Returns the folder's manifest, which contains one line with the SHA-256 of each file."""
    lines = []
    for path in files_of(folder):
        with path.open("rb") as file:
            lines.append(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {path.relative_to(folder)}\n")
    return "".join(lines)


def state_of(folder: Path) -> str:
    """Returns a digest of the files' metadata, which nearly always changes when a file changes."""
    total = hashlib.sha256()
    for path in files_of(folder):
        status = path.stat()
        total.update(f"{path.relative_to(folder)} {status.st_size} {status.st_mtime_ns} {status.st_mode}\n".encode())
    return total.hexdigest()


class Archives:
    """The archive of a folder, made once for all hosts. It needs a lock: each host's task is a separate process."""

    def __init__(self, home: Path, folder: Path) -> None:
        self._folder = folder
        self._base = home / hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]

    def seal(self) -> None:
        """Writes a new folder's manifest into it, so that a later removal can tell Dohyo's files from others."""
        with self._locked():
            if not (self._folder / MANIFEST).exists():
                new = self._folder / f"{MANIFEST}.new"
                new.unlink(missing_ok=True)  # a killed process may have left it
                # A link to a folder, or a broken link, has no contents to verify.
                links = [path for path in sorted(self._folder.rglob("*")) if path.is_symlink() and not path.is_file()]
                lines = "".join(f"{'0' * 64}  {path.relative_to(self._folder)}\n" for path in links)
                text = manifest_of(self._folder) + lines
                new.write_text(text, "utf-8")
                new.rename(self._folder / MANIFEST)

    def manifest(self) -> str:
        """Returns the folder's manifest; reads the files only if they have changed since the last time."""
        cached = self._base.with_suffix(".sha256")
        with self._locked():
            state = state_of(self._folder)
            if not cached.exists() or cached.read_text(encoding="utf-8").partition("\n")[0] != state:
                self._base.with_suffix(".zip").unlink(missing_ok=True)
                # Replace the file at once: with a part of a manifest, Dohyo's files would count as foreign.
                new = self._base.with_suffix(".new")
                new.write_text(f"{state}\n{manifest_of(self._folder)}", encoding="utf-8")
                new.rename(cached)
            return cached.read_text(encoding="utf-8").partition("\n")[2]

    def archive(self, manifest: str) -> Path:
        """Returns the archive of the files in the manifest; creates it if it does not exist."""
        archive = self._base.with_suffix(".zip")
        with self._locked():
            if not archive.exists():
                new = self._base.with_suffix(".new")
                # Store the files uncompressed, because jars are compressed already.
                with zipfile.ZipFile(new, "w", strict_timestamps=False) as files:
                    for path in files_of(self._folder):
                        files.write(path, path.relative_to(self._folder))
                    files.writestr(MANIFEST, manifest)
                new.rename(archive)
        return archive

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self._base.parent.mkdir(parents=True, exist_ok=True)
        with self._base.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


class ActionModule(ActionBase):  # type: ignore[misc]
    """Copies a folder to a host as one archive."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Executes the task; raises AnsibleActionFail if the source does not exist."""
        super().run(tmp, task_vars)
        text = {"type": "str", "required": True}
        _, arguments = self.validate_argument_spec({"src": text, "dest": text})
        try:
            return self._push(arguments["src"], arguments["dest"], task_vars or {})
        finally:
            self._remove_tmp_path(self._connection._shell.tmpdir)

    def _push(self, src: str, dest: str, task_vars: dict[str, Any]) -> dict[str, Any]:
        source = Path(src)
        if not source.is_dir():
            if self._task.check_mode:  # otherwise, an earlier task would have created it
                return {"changed": True, "diff": [{"prepared": f"{dest}: from {src}, which does not exist yet\n"}]}
            raise AnsibleActionFail(f"{src}: no such folder on the control machine")
        control = self._templar.template(task_vars["dohyo_control"])
        archives = Archives(Path(control) / "archives", source)
        if not self._task.check_mode and source.resolve().is_relative_to(Path(control).resolve()):
            archives.seal()
        if self._connection.transport == "local" and os.path.realpath(src) == os.path.realpath(dest):
            return {"changed": False, "files": 0}
        manifest = archives.manifest()
        digest = hashlib.sha256(manifest.encode()).hexdigest()
        state = self._on_host(task_vars, step="look", folder=dest)
        if state.get("failed") or state["digest"] == digest:
            state.pop("manifest", None)
            return state
        diff = [{"before": state["manifest"], "after": manifest, "before_header": dest, "after_header": dest}]
        if self._task.check_mode:
            return {"changed": True, "diff": diff}
        temporary = self._connection._shell.join_path(self._make_tmp_path(), "folder.zip")
        remote = self._transfer_file(str(archives.archive(manifest)), str(temporary))
        return {**self._on_host(task_vars, step="unpack", folder=dest, archive=remote, digest=digest), "diff": diff}

    def _on_host(self, task_vars: dict[str, Any], **arguments: str) -> dict[str, Any]:
        return ask(self, "transfer", arguments, task_vars)
