"""What every end-to-end test asks for: little work on small servers, and nothing that a busy machine could spoil."""

import json
import signal

import yaml

from dohyo.places import ANSIBLE

# Variables of the roles, also for those who play a playbook by hand.
ROLES = yaml.safe_load((ANSIBLE / "tests/quick_start.yml").read_text(encoding="utf-8"))

# Nobody looks at a speed here: what else the machine does makes no run invalid, and a server may answer late. A client,
# which is alone, may begin as late as its window.
SETTINGS = {
    "warmuptime": "1",
    "operationtimeout": "30000",
    "threadcount": "2",
    "canary": "false",
    "preconditioning": "2000",
    "max.other.cpu": "100%",
    "client_heap": "128m",
    "cassandra_heap": "512m",
    "hbase_heap": "512m",
    "mysql_buffer_pool": "128m",
    **{name: value if isinstance(value, str) else json.dumps(value) for name, value in ROLES.items()},
}


def options(*, rounds: int = 1, duration: int = 3, without: str = "") -> list[str]:
    """Options of run.sh."""
    settings = [f"--set={name}={value}" for name, value in SETTINGS.items() if name != without]
    return [f"--rounds={rounds}", f"--duration={duration}s", *settings]


def listen() -> None:
    """Where the tests themselves run in a script's background or below nohup, these are ignored and would stay so."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
