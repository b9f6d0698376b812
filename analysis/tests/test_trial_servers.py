"""Tests the time limits of the calls that a trial's steps make on hosts. The hosts only record the calls."""

from typing import Any, cast

import pytest

from dohyo.trial.servers import ADMIN_SECONDS, ServerSteps
from dohyo.trial.world import World

NAME = "node1"


class Noting:
    """Replaces a host, and records the calls."""

    def __init__(self) -> None:
        self.name = NAME
        self.calls: list[dict[str, Any]] = []
        self.values: dict[str, Any] = {
            "trial_system": "cassandra",
            "attached": {},
            "inventory_hostname": NAME,
            "groups": {"database": [NAME], "client": [NAME]},
            "dohyo_home": "/opt/dohyo",
            "dohyo_admin": ["java"],
            "system_state": {"cassandra": {"node": {"address": "127.0.0.1", "cql": 9042, "jmx": 7199}}},
        }

    def do(self, action: str, **arguments: Any) -> dict[str, Any]:
        assert action == "program"
        self.calls.append(arguments)
        return {"stdout": "{}"}


@pytest.fixture
def host() -> Noting:
    return Noting()


@pytest.fixture
def servers(host: Noting) -> ServerSteps:
    unused: Any = None
    hosts = cast(Any, {NAME: host})
    return ServerSteps(World(hosts, [NAME], [NAME], *[unused] * 6))


def test_a_call_that_hangs_is_ended(host: Noting, servers: ServerSteps) -> None:
    """A call that is repeated until it succeeds may exceed its limit by ADMIN_SECONDS, the limit of one attempt."""
    servers.admin(NAME, "stats")
    servers.until_admin(NAME, "user")
    servers.until(NAME, "cassandra", ["true"])
    ready = servers.system(NAME).timeouts["ready"]
    bounds = [arguments["timeout"] for arguments in host.calls]
    assert bounds == [ADMIN_SECONDS, ready + ADMIN_SECONDS, ready + ADMIN_SECONDS]
