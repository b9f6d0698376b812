"""What the controller asks a host to do, one request after another.

The controller sends this program with all modules of the agent over the connection (conducting/sent.py), so nothing need be
installed, and both sides are of one version. In lines of JSON:

In:   {"do": VERB, "arguments": {...}, "bound": bool}    bound: what the verb has started ends with the connection
Out:  {"is": "hello"}
      {"is": "answer", "answer": {...}}                  what the function `answer` of the verb's module returns
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

SILENCE = 60.0  # seconds without a sign of life after which the controller counts as gone
VERBS = (
    "canary", "detach", "files", "free_ports", "host_devices", "host_resources", "host_settings", "in_use", "kept_load", "observe",
    "owned", "process_limits", "program", "reachable", "transfer",
)  # fmt: skip


def perform(verb, arguments):
    """Does what a verb says, and returns its answer; raises AgentError.

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
    """Performs a verb and prints what came of it."""
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
    """Does what is asked for until the end of the input.

    What is bound ends as well when the controller is silent while it waits for an answer: it sends an empty line every few seconds.
    """
    # A login may have printed something without a line end.
    sys.stdout.buffer.write(b"\n")
    say({"is": "hello"})
    work, bound, received = None, False, b""
    while True:
        busy = bound and work is not None and work.is_alive()
        if busy and not select.select([0], [], [], SILENCE)[0]:
            if work.is_alive():
                break
            continue  # it has answered meanwhile, and the controller need not speak before the next request
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
