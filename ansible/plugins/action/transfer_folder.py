"""Ansible action plugin: the control machine's half of transfer_folder; see the module of the same name."""

from __future__ import annotations

import hashlib
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase


def digest_of(folder: Path) -> str:
    """SHA-256 over the names and contents of all files below the folder."""
    total = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            contents = hashlib.file_digest(file, "sha256").hexdigest()
        total.update(f"{contents} {path.relative_to(folder)}\n".encode())
    return total.hexdigest()


class ActionModule(ActionBase):  # type: ignore[misc]
    """Copies a folder to or from a host as one archive."""

    _VALID_ARGS = frozenset(("direction", "src", "dest"))

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Entry point; raises AnsibleActionFail when the folder to push is missing."""
        super().run(tmp, task_vars)
        missing = sorted(self._VALID_ARGS - self._task.args.keys())
        if missing:
            raise AnsibleActionFail(f"transfer_folder needs {', '.join(missing)}")
        step = {"push": self._push, "pull": self._pull}.get(self._task.args["direction"])
        if step is None:
            raise AnsibleActionFail(f"direction {self._task.args['direction']!r}: it is push or pull")
        try:
            return step(self._task.args["src"], self._task.args["dest"], task_vars or {})
        finally:
            self._remove_tmp_path(self._connection._shell.tmpdir)

    def _push(self, src: str, dest: str, task_vars: dict[str, Any]) -> dict[str, Any]:
        source = Path(src)
        if not source.is_dir():
            raise AnsibleActionFail(f"{src}: no such folder on the control machine")
        if self._connection.transport == "local" and os.path.realpath(src) == os.path.realpath(dest):
            return {"changed": False, "files": 0}
        digest = digest_of(source)
        there = self._on_host(task_vars, step="digest", folder=dest)
        if there.get("failed") or there["digest"] == digest:
            return there
        if self._task.check_mode:
            return {"changed": True}
        with tempfile.NamedTemporaryFile(suffix=".zip") as archive:
            # Stored, not deflated: jars are compressed already.
            with zipfile.ZipFile(archive, "w", strict_timestamps=False) as files:
                for path in sorted(path for path in source.rglob("*") if path.is_file()):
                    files.write(path, path.relative_to(source))
            archive.flush()
            remote = self._transfer_file(archive.name, self._remote_archive())
        return self._on_host(task_vars, step="unpack", folder=dest, archive=remote, digest=digest)

    def _pull(self, src: str, dest: str, task_vars: dict[str, Any]) -> dict[str, Any]:
        if self._task.check_mode:
            return {"changed": True}
        remote = self._remote_archive()
        packed = self._on_host(task_vars, step="pack", folder=src, archive=remote)
        if packed.get("failed") or not packed["files"]:
            return packed
        with tempfile.TemporaryDirectory() as folder:
            archive = os.path.join(folder, "folder.zip")
            self._connection.fetch_file(remote, archive)
            with zipfile.ZipFile(archive) as files:
                files.extractall(dest)
        return {"changed": True, "files": packed["files"]}

    def _remote_archive(self) -> str:
        return str(self._connection._shell.join_path(self._make_tmp_path(), "folder.zip"))

    def _on_host(self, task_vars: dict[str, Any], **arguments: str) -> dict[str, Any]:
        result: dict[str, Any] = self._execute_module(
            module_name="transfer_folder", module_args=arguments, task_vars=task_vars
        )
        return result
