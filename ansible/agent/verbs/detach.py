"""Removes what trials have made on attached systems (docs/attach.md)."""

import contextlib
import os
import shlex

import program
from failure import AgentError

PATIENCE = 300  # seconds


def answer(home, roles, host):
    """Runs what the trials have left for it, `remove` in a folder of each system's role, and then empties that folder.

    :param home: folder of the deployment on this host
    :param host: name of this host
    :returns: `left`, what is still there and how a person removes it; empty if nothing is
    """
    left, around = [], os.path.join(home, "attached")
    for role in roles:
        folder = os.path.join(around, role)
        script = os.path.join(folder, "remove")
        # Symbolic links are not followed: another user may have made them.
        if any(map(os.path.islink, (around, folder, script))) or not os.path.isfile(script):
            continue
        try:
            program.answer(["sh", script], timeout=PATIENCE)
        except AgentError as error:
            left.append(f"{error} on {host}; what was made is still there. Remove it with: sh {shlex.quote(script)}")
            continue
        for name in ("connection.properties", "made", "remove"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(folder, name))
        with contextlib.suppress(OSError):  # it holds something else
            os.rmdir(folder)
    return {"left": "\n".join(left)}
