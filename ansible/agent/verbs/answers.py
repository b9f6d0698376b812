"""Executes the controller's requests on a host, one after another.

The controller sends this program with all modules of the agent over the connection (conducting/sent.py). Therefore, nothing
has to be installed, and both sides have the same version. Messages are lines of JSON:

In:   {"do": VERB, "arguments": {...}, "bound": bool}    bound: end the verb's programs if the connection ends
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

SILENCE = 60.0  # seconds without a message after which the connection to the controller counts as lost
VERBS = (
    "canary", "detach", "files", "free_ports", "host_devices", "host_resources", "host_settings", "in_use", "kept_load", "observe",
    "owned", "process_limits", "program", "reachable", "transfer",
)  # fmt: skip


def perform(verb, arguments):
    """Executes a verb and returns its answer. Raises AgentError if the verb fails.

    :param arguments: keyword arguments of the function `answer` of the verb's module
    """
    if verb not in VERBS:
        raise AgentError(f"unknown verb '{verb}'; the verbs are {', '.join(VERBS)}")
    module = importlib.import_module(verb)
    code = module.answer.__code__  # not inspect.signature, because importing inspect takes 4 ms
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if unknown := [name for name in arguments if name not in parameters]:
        raise AgentError(f"{verb} has no parameter {', '.join(unknown)}; its parameters are {', '.join(parameters)}")
    try:
        return module.answer(**arguments)
    except OSError as error:
        raise AgentError(f"{error.filename}: {error.strerror}" if error.filename else str(error)) from error


def reply(verb, arguments):
    """Executes a verb and prints its answer or the reason for its failure."""
    try:
        message = {"is": "answer", "answer": perform(verb, arguments)}
    except AgentError as error:
        message = {"is": "failure", "msg": str(error), "answer": error.answer}
    except Exception as error:  # every failure must be reported to the controller
        message = {"is": "failure", "msg": f"{verb}: {type(error).__name__}: {error}", "answer": {}}
    say(message)


def say(message):
    """Prints a message as a line and flushes it."""
    sys.stdout.buffer.write(json.dumps(message).encode() + b"\n")
    sys.stdout.buffer.flush()


def serve():
    """Executes requests until the end of the input.

    While the controller waits for an answer, it sends an empty line every few seconds. If none arrives, a bound verb ends.
    """
    # Begin with a line break, because the login shell may have printed text that does not end with one.
    sys.stdout.buffer.write(b"\n")
    say({"is": "hello"})
    work, bound, received = None, False, b""
    while True:
        busy = bound and work is not None and work.is_alive()
        if busy and not select.select([0], [], [], SILENCE)[0]:
            if work.is_alive():
                break
            continue  # the verb has just ended, and the controller may be silent between requests
        fresh = os.read(0, 65536)
        if not fresh:
            break
        *lines, received = (received + fresh).split(b"\n")
        for request in map(json.loads, filter(None, lines)):
            bound = request["bound"]
            # The verb runs in a thread so that this loop notices the end of the input. The controller sends one request at a time.
            work = threading.Thread(target=reply, args=(request["do"], request["arguments"]), daemon=True)
            work.start()
    if work is not None and work.is_alive():
        if bound:
            program.end_all()
            os._exit(1)
        work.join()
