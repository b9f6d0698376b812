"""Samples a host without a deployment, such as a host of an attached system (docs/attach.md).

The sampler's folder belongs to the login user and one deployment. The sampler also ends by itself: after `seconds`, or soon after
the controller has ended if the controller runs on the same machine.
"""

import contextlib
import glob
import importlib.util
import os
import signal
import subprocess
import sys

import proc

MODULES = ("proc", "sampler")
SAMPLES = "metrics.jsonl.gz"
PATIENCE = 10  # seconds that a sampler may take to end
# Starts a program, with the same pid, after a line of input. If this process ends before its pid file is written, none starts.
AS_SOON_AS_ASKED = ("sh", "-c", 'read -r _ && exec "$@" </dev/null', "sh")


def answer(state, deployment, seconds=0, controller=""):
    """Starts or ends sampling the host.

    :param state: ``begin``, ``end``, or ``leave``, which removes the files of a sampler that has ended
    :param seconds: seconds after which the sampler ends by itself
    :param controller: process that runs the playbook, in the format of sampler.py
    :returns: ``samples``, the path of the file with the samples
    """
    folder = os.path.expanduser(f"~/.dohyo-metrics-{deployment}")
    if state == "leave":
        leave(folder)
    else:
        end(folder)
    if state == "begin":
        begin(folder, seconds, controller)
    return {"samples": os.path.join(folder, SAMPLES)}


def begin(folder, seconds, controller):
    """Starts a sampler, which outlives this process."""
    os.makedirs(folder, 0o700, exist_ok=True)
    for name in MODULES:
        proc.write(os.path.join(folder, f"{name}.py"), importlib.util.find_spec(name).loader.get_source(name))
    command = [sys.executable, "-B", os.path.join(folder, "sampler.py"), str(seconds), controller, "localhost"]
    with open(os.path.join(folder, SAMPLES), "wb") as samples, open(os.path.join(folder, "sampler.log"), "wb") as log:
        sampler = subprocess.Popen([*AS_SOON_AS_ASKED, *command], stdin=subprocess.PIPE, stdout=samples, stderr=log, start_new_session=True)
    with sampler.stdin as begins:
        proc.write_pid(os.path.join(folder, "pid"), sampler.pid)
        begins.write(b"begin\n")


def end(folder):
    """Ends the sampler if it is running, and waits until it has written its last sample."""
    process = proc.read_pid(os.path.join(folder, "pid"))
    if process and proc.is_alive(*process):
        proc.send(signal.SIGTERM, [process[0]])
        proc.waited(lambda: not proc.is_alive(*process), PATIENCE)


def leave(folder):
    """Removes the sampler's files, and the folder if it contains nothing else. On a full disk, proc.write leaves parts of files."""
    parts = glob.glob(os.path.join(glob.escape(folder), "*.[0-9]*.new"))
    for name in (*(f"{module}.py" for module in MODULES), "sampler.log", SAMPLES, "pid", *parts):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, name))
    with contextlib.suppress(OSError):
        os.rmdir(folder)
