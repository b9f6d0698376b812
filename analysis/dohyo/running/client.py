"""Builds the benchmark client."""

from dohyo.ansible.playbook import execute
from dohyo.bad_input import BadInputError
from dohyo.places import SETUP
from dohyo.signals import Signals


def build_client(signals: Signals) -> None:
    """Installs JDK 17 and Maven, and builds the client, unless they already exist."""
    if execute([SETUP, "client"], None, check=signals.check) != 0:
        raise BadInputError("setting up JDK 17, Maven and the client failed, see above; nothing was started")
