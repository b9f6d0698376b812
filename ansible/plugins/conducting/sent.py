"""Sends the agent over a connection, so that hosts need no installation and both sides always have the same version."""

from __future__ import annotations

import json
import shlex
from functools import cache
from pathlib import Path
from typing import Any

AGENT = Path(__file__).resolve().parents[2] / "agent"
# Program that executes the next line of its input. Its errors never quote any other line, which may be a password.
RECEIVE = "l = open(0, 'rb', 0, closefd=False).readline(); exec(l if l[:5] == b'exec(' else 'raise SystemExit(9)')"
# Program, sent as that line, that reads and executes the agent. It leaves the rest of the input for the agent.
READ = """
source = open(0, "rb", 0, closefd=False)
program = b""
while len(program) < {count}:
    part = source.read({count} - len(program))
    if not part:
        raise SystemExit(9)
    program += part
exec(program)
"""
# -I: no modules from the current folder, which another user may own. -S: no slow search for installed packages.
OPTIONS = "-ISB"
# Minimum version of Python on a host (docs/cluster.md).
OLDEST = (3, 9)
NEEDED = "Python {}.{}".format(*OLDEST)
# Names that are tried if the inventory names no Python; the first one that is new enough is used.
SEARCHED = ("python3", *(f"python3.{minor}" for minor in range(15, OLDEST[1] - 1, -1)))
LOADER = f"""
import importlib.machinery, sys
if sys.version_info < {OLDEST}:
    sys.exit("{NEEDED} is needed, not %d.%d; name another one with ansible_python_interpreter" % sys.version_info[:2])
class Sent:  # a base class of importlib.abc would take longer to import than most requests
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, cls()) if name in SOURCES else None
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        exec(compile(SOURCES[module.__name__], "<string>", "exec", dont_inherit=True), module.__dict__)
    def get_source(self, name):
        return SOURCES[name]
sys.meta_path.insert(0, Sent)
import answers
answers.serve()
"""


@cache
def program() -> bytes:
    """Returns the bytes to send before the first request: the agent's modules and their loader."""
    files = [*AGENT.glob("*.py"), *AGENT.glob("verbs/*.py")]
    sources = {file.stem: file.read_text("utf-8") for file in files}
    text = f"SOURCES = {sources!a}\n{LOADER}".encode()
    return f"exec({READ.format(count=len(text))!r})\n".encode() + text


def request(verb: str, arguments: dict[str, Any], *, bound: bool) -> bytes:
    """Returns a request in the format of agent/verbs/answers.py."""
    return json.dumps({"do": verb, "arguments": arguments, "bound": bound}).encode() + b"\n"


def command(python: str) -> str:
    """Returns the command for the host's shell that receives and executes the program.

    :param python: Python on the host; ``python3`` if the inventory names none
    """
    receive = f"{OPTIONS} -c {shlex.quote(RECEIVE)}"
    if python != "python3":
        return f"exec {shlex.quote(python)} {receive}"
    new_enough = shlex.quote(f"import sys; sys.exit(sys.version_info < {OLDEST})")
    search = (
        f"for p in {' '.join(SEARCHED)}; do "
        f"if $p {OPTIONS} -c {new_enough} 2>/dev/null; then exec $p {receive}; fi; done; "
        f"echo 'there is no {NEEDED} or newer on the PATH; name one with ansible_python_interpreter' >&2; exit 1"
    )
    return f"exec /bin/sh -c {shlex.quote(search)}"
