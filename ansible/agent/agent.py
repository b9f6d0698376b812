"""Starts, watches and stops processes on a host during a trial, injects faults, and samples the host.

  agent start NAME DIR OUT ERR COMMAND...  start COMMAND in DIR, in a new session, with its output in the files OUT and ERR
  agent until NAME SECONDS COMMAND...      wait until COMMAND succeeds; fail immediately if the process NAME ends first
  agent ready NAME SECONDS COMMAND...      like until; COMMAND is recorded as the check that NAME is ready
  agent status NAME                        exit code 0: NAME runs; 3: it has ended (prints why); 4: it was not started
  agent stop NAME SECONDS                  send TERM, wait, send KILL; 0 seconds: send KILL at once
  agent stop-all SECONDS [NAME [LANE...]]  stop all processes that the agent started, except those of each LANE; kill NAME and
                                           all NAME-PART immediately
  agent log NAME                           print the output of NAME
  agent start-unit NAME ERR UNIT [SLICE PROPERTY...]  set the properties of SLICE, read the file of the systemd unit UNIT
                                           from standard input, and start NAME as that unit; needs root
  agent units                              print the paths of the unit files that the agent wrote
  agent remove-units                       remove these files and the properties of the slice; needs root
  agent faults check|serve|boot|undo ...   faults.py
  agent sample ...                         sampler.py
  agent converse                           conversation.py

If a command fails, the exit code is 1, and a line that begins with ERROR: states the reason. A host needs only Python 3.9 and its
standard library. `status` is called often, so modules that it does not need are imported only where they are used.
"""

import os
import sys

from processes import HOME, AgentError, Processes


def main(verb="", *arguments):
    """Executes a verb and returns the exit code."""
    if verb == "sample":
        import sampler

        sampler.main(os.path.join(HOME, "run"), *arguments)
        return 0
    processes = Processes()
    if verb == "converse":
        import conversation

        conversation.Agent(processes).serve()
    elif verb == "faults":
        import faults

        faults.main(processes, *arguments)
    elif verb == "start":
        processes.start(*arguments)
    elif verb == "supervise":
        processes.supervise(*arguments)
    elif verb == "until":
        processes.until(arguments[0], int(arguments[1]), arguments[2:])
    elif verb == "ready":
        processes.ready(arguments[0], int(arguments[1]), arguments[2:])
    elif verb == "status":
        message, code = processes.status(*arguments)
        say(message)
        return code
    elif verb == "stop":
        say(processes.stop(arguments[0], int(arguments[1])))
    elif verb == "stop-all":
        for sentence in processes.stop_all(int(arguments[0]), *arguments[1:]):
            say(sentence)
    elif verb == "log":
        with open(processes.path(*arguments, "errors"), "rb") as log:
            while part := log.read(65536):
                os.write(1, part)
    elif verb == "start-unit":
        processes.unit(arguments[0]).start(*arguments[1:3], sys.stdin.read(), arguments[3:])
    elif verb == "units":
        import units

        for file in units.files(processes):
            say(file)
    elif verb == "remove-units":
        import units

        units.remove(processes)
    else:
        raise AgentError(f"unknown verb '{verb}'; see main in ansible/agent/agent.py")
    return 0


def say(text):
    """Prints a line and flushes standard output. Does nothing if the text is empty."""
    if text:
        sys.stdout.buffer.write(f"{text}\n".encode("utf-8", "surrogateescape"))
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except (AgentError, OSError) as error:
        sys.exit(f"ERROR: {error}")
