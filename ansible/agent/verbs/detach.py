"""Removes the tables and other objects that trials made on attached systems (docs/attach.md)."""

import contextlib
import json
import os
import shlex

import program
from failure import AgentError

PATIENCE = 300  # maximum seconds for the removal of one system's objects


def answer(home, roles, host):
    """Runs the script `remove` that trials wrote to the folder of each system's role, and then removes the folder.

    :param home: folder of the deployment on this host
    :param host: name of this host, for messages
    :returns: ``left``, one line for each script that failed, with the command to repeat; empty if all scripts succeeded.
        ``kept``, one sentence for each system that keeps something nevertheless
    """
    failures, remarks, around = [], [], os.path.join(home, "attached")
    for role in roles:
        folder = os.path.join(around, role)
        script = os.path.join(folder, "remove")
        # Do not follow symbolic links, which another user may have made.
        if any(map(os.path.islink, (around, folder, script))) or not os.path.isfile(script):
            continue
        try:
            output = program.answer(["sh", script], timeout=PATIENCE)["stdout"]
        except AgentError as error:
            failures.append(f"{error} on {host}; the trial's objects are still there. Remove them with: sh {shlex.quote(script)}")
            continue
        with contextlib.suppress(ValueError, LookupError, TypeError):  # no place was created
            remarks += [f"{role} keeps {text}"] if (text := json.loads(output)["left"]) else []
        for name in ("connection.properties", "made", "remove"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(folder, name))
        with contextlib.suppress(OSError):  # the folder may contain other files
            os.rmdir(folder)
    return {"left": "\n".join(failures), "kept": remarks}
