"""Executes the controller's requests on a host, one after another.

The controller sends this program with all modules of the agent over the connection (conducting/sent.py). So nothing has to be
installed, and both sides have one version. In lines of JSON:

In:   {"do": VERB, "arguments": {...}, "bound": bool}    bound: programs that the verb has started end with the connection
Out:  {"is": "hello"}
      {"is": "answer", "answer": {...}}                  return value of the function `answer` in the verb's module
      {"is": "failure", "msg": "...", "answer": {...}}
"""

import importlib
import json
import os
import select
import sys
import threading

import program
from failure import AgentError

SILENCE = 60.0  # seconds without a message after which the controller counts as gone
VERBS = (
    "canary", "detach", "files", "free_ports", "host_devices", "host_resources", "host_settings", "in_use", "kept_load", "observe",
    "owned", "process_limits", "program", "reachable", "transfer",
)  # fmt: skip


def perform(verb, arguments):
    """Executes a verb and returns its answer; raises AgentError.

    :param arguments: keyword arguments of the function `answer` of the verb's module
    """
    if verb not in VERBS:
        raise AgentError(f"unknown verb '{verb}': {', '.join(VERBS)}")
    module = importlib.import_module(verb)
    code = module.answer.__code__  # importing the module inspect takes 4 ms
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if unknown := [name for name in arguments if name not in known]:
        raise AgentError(f"{verb} has no {', '.join(unknown)}: {', '.join(known)}")
    try:
        return module.answer(**arguments)
    except OSError as error:
        raise AgentError(f"{error.filename}: {error.strerror}" if error.filename else str(error)) from error


def reply(verb, arguments):
    """Executes a verb and prints its answer, or why it failed."""
    try:
        said = {"is": "answer", "answer": perform(verb, arguments)}
    except AgentError as error:
        said = {"is": "failure", "msg": str(error), "answer": error.answer}
    except Exception as error:  # the controller must learn of every failure
        said = {"is": "failure", "msg": f"{verb}: {type(error).__name__}: {error}", "answer": {}}
    say(said)


def say(message):
    """Prints a line at once."""
    sys.stdout.buffer.write(json.dumps(message).encode() + b"\n")
    sys.stdout.buffer.flush()


def serve():
    """Executes requests until the end of the input.

    A bound verb also ends if the controller is silent meanwhile: it sends an empty line every few seconds while it waits.
    """
    # The login shell may have printed a line without an end.
    sys.stdout.buffer.write(b"\n")
    say({"is": "hello"})
    work, bound, received = None, False, b""
    while True:
        busy = bound and work is not None and work.is_alive()
        if busy and not select.select([0], [], [], SILENCE)[0]:
            if work.is_alive():
                break
            continue  # the verb has answered meanwhile, and the controller may be silent before the next request
        fresh = os.read(0, 65536)
        if not fresh:
            break
        *lines, received = (received + fresh).split(b"\n")
        for request in map(json.loads, filter(None, lines)):
            bound = request["bound"]
            # The controller asks only after an answer. The end of the input is noticed while the verb is at work.
            work = threading.Thread(target=reply, args=(request["do"], request["arguments"]), daemon=True)
            work.start()
    if work is not None and work.is_alive():
        if bound:
            program.end_all()
            os._exit(1)
        work.join()
