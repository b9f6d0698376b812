"""Ansible module: all of it is in the action plugin of the same name; here is its documentation."""

from __future__ import annotations

DOCUMENTATION = r"""
module: conduct_clients
short_description: Drive the clients of all hosts through one load or run, together
description:
  - Opens one connection to each host, with Ansible's own settings for it, and starts there the agent that lies beside
    the tool I(agents.HOST.tool). Launches the clients, measures the hosts' clocks, agrees with all of them on one
    instant, follows their logs, and ends everything on all hosts when one client fails, hangs or vanishes.
  - Writes C(clients.json), and the logs as they grow, into I(folder) on the controller.
  - Runs once for all hosts, and does not fail when the clients do, because a task that runs once would fail on the
    first host alone. C(clients.failure) says why the phase does not count, for a task that fails on all of them.
options:
  agents:
    description:
      - By host, the first message to its agent. C(tool) is the path of the project's service tool; C(client) is null,
        or has C(name), C(folder), C(command) and C(secrets) of the client, the last a file that is removed once it
        was read; C(servers) is the system whose processes are watched, or empty.
    type: dict
    required: true
  folder:
    description: Folder of the phase on the controller.
    type: path
    required: true
  phase:
    description: What people call it.
    type: str
    required: true
  measured:
    description: It is a run, or a load that is measured; how exactly the clients of other loads begin does not matter.
    type: bool
    required: true
  ready_timeout:
    description: Seconds for a client to be ready.
    type: float
    required: true
  start_delay_ms:
    description: How far ahead of now several clients agree to begin.
    type: float
    required: true
  launch_interval_ms:
    description: Time between the launches of two clients.
    type: float
    default: 0
  warmup:
    description: Seconds from the agreed instant to the measured window.
    type: float
    required: true
  steady:
    description:
      - I(warmup) is the most; the window begins as soon as the rate of all clients is steady and JIT compilers rest.
    type: bool
    default: false
  duration:
    description: Seconds of the measured window; 0 where the clients end by their number of operations.
    type: float
    required: true
  bound:
    description: Seconds from the agreed instant to when every client must have ended.
    type: float
    required: true
  silence:
    description: Seconds in the measured window without anything new in its logs after which a client hangs.
    type: float
    required: true
  skew_limit_ms:
    description: A run whose clients began further apart, or the clock of whose hosts is known less exactly, is invalid.
    type: float
    required: true
"""

EXAMPLES = r"""
- name: Conduct
  conduct_clients:
    agents:
      host1:
        tool: /home/dohyo/dohyo/bin/service
        client: {name: client-host1, folder: …/client/run-1/host1, secrets: …/secret/host1, command: [java, …]}
        servers: cassandra
    folder: /home/me/results/run-1
    phase: run 1
    measured: true
    ready_timeout: 120
    start_delay_ms: 2000
    warmup: 10
    duration: 60
    bound: 160
    silence: 30
    skew_limit_ms: 10
"""

RETURN = r"""
clients:
  description: What clients.json holds.
  type: dict
  returned: always
vanished:
  description: Hosts whose connection was lost; they are not to be talked to any more.
  type: list
  elements: str
  returned: always
notes:
  description: Sentences for people.
  type: list
  elements: str
  returned: always
"""
