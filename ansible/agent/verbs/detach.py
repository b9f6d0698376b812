"""Removes the objects that trials have made on attached systems (docs/attach.md)."""

import contextlib
import os
import shlex

import program
from failure import AgentError

PATIENCE = 300  # seconds for one removal


def answer(home, roles, host):
    """Runs the script `remove` that the trials wrote to the folder of each system's role, and then empties that folder.

    :param home: folder of the deployment on this host
    :param host: name of this host
    :returns: `left`, the objects that are still there and how a person removes them; empty if there are none
    """
    left, around = [], os.path.join(home, "attached")
    for role in roles:
        folder = os.path.join(around, role)
        script = os.path.join(folder, "remove")
        # Symbolic links are not followed: they may be another user's.
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
        with contextlib.suppress(OSError):  # the folder has other files
            os.rmdir(folder)
    return {"left": "\n".join(left)}
