"""Systems under test: the base class, the options that users set, and the catalogue of all systems."""

from dohyo.systems.catalogue import (
    ATTACHED,
    all_options,
    all_systems,
    check_fetching,
    defaults,
    fetching,
    not_attached,
    of_role,
    profiles,
)
from dohyo.systems.option import Option, option
from dohyo.systems.system import System

__all__ = [
    "ATTACHED",
    "Option",
    "System",
    "all_options",
    "all_systems",
    "check_fetching",
    "defaults",
    "fetching",
    "not_attached",
    "of_role",
    "option",
    "profiles",
]
