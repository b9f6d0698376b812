"""Runs a program on the host."""

import os
import signal
import subprocess
import threading

from failure import AgentError

PATIENCE = 10  # seconds between TERM and KILL
# Running programs. `end_all` ends them and prevents further starts.
_running = set()
_lock = threading.Lock()
_gone = False


def answer(argv, stdin="", chdir=None, creates=None, removes=None, timeout=None, environment=None):
    """Runs a program without a shell. Returns its output as `stdout` and `stderr`, and its exit code as `rc`.

    :param creates: path; if it exists, the program is not run
    :param removes: path; if it does not exist, the program is not run
    :param timeout: seconds after which the program and all processes of its session are ended
    :param environment: environment variables that are added to those of this process
    :raises AgentError: if the program's exit code is not 0; contains the program's output
    """
    if (creates and os.path.exists(creates)) or (removes and not os.path.exists(removes)):
        return {"rc": 0, "stdout": "", "stderr": "", "changed": False}
    process = begin([str(argument) for argument in argv], chdir, {**os.environ, **(environment or {})})
    try:
        output, complaints = process.communicate(stdin.encode("utf-8", "surrogateescape"), timeout)
    except subprocess.TimeoutExpired:
        output, complaints = end(process)
        complaints += f"{argv[0]} did not end within {timeout} s\n".encode()
    finally:
        _running.discard(process)
    answered = {"rc": process.returncode, "stdout": text(output), "stderr": text(complaints), "changed": True}
    if process.returncode:
        message = answered["stderr"] or answered["stdout"] or f"{argv[0]} ended with exit code {process.returncode}"
        raise AgentError(message.removeprefix("ERROR: "), answered)
    return answered


def text(output):
    """Returns output as text without trailing line breaks."""
    return output.decode("utf-8", "surrogateescape").rstrip("\r\n")


def begin(command, folder, environment):
    """Starts a program in a new session. Raises AgentError if this fails or `end_all` was called."""
    with _lock:
        if _gone:
            raise AgentError("the connection to the controller was lost")
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder, env=environment,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise AgentError(f"{error.filename or command[0]}: {error.strerror}") from error
        _running.add(process)
    return process


def end(process):
    """Ends a program and all processes of its session, and returns its output."""
    kill(process)
    try:
        return process.communicate(timeout=1)
    except subprocess.TimeoutExpired as error:  # a descendant in another session may keep the pipes open
        return error.stdout or b"", error.stderr or b""


def kill(process):
    """Sends TERM to a program and all processes of its session, and KILL after PATIENCE seconds."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(PATIENCE)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
        return


def end_all():
    """Ends all running programs and prevents further starts."""
    global _gone  # noqa: PLW0603 - the state is that of the whole process
    with _lock:
        _gone = True
        running = list(_running)
    for process in running:
        kill(process)
