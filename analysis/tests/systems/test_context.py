"""Tests the facts and settings from which systems compute their values."""

import threading
from typing import Any

import pytest

from dohyo.systems.context import Context
from support.described import described

COLUMNS = "host int 10, user bigint 1000, object text(32) 100, int int 2, when timestamp"


@pytest.mark.parametrize(
    ("properties", "key", "row"),
    [
        ({}, 26, 2 * 12 + 26 + 2),
        ({"zeropadding": "30"}, 36, 2 * 12 + 36 + 2),
        ({"keycolumns": COLUMNS}, 4 + 8 + 32 + 4 + 8, 2 * 12 + 56 + 5 * 2),
    ],
)
def test_the_bytes_of_a_key(properties: dict[str, str], key: int, row: int) -> None:
    mysql: Any = described("mysql-innodb", properties={"fieldcount": "2", "fieldlength": "10", **properties})
    assert (mysql.context.key_bytes, mysql.row_bytes) == (key, row)


def test_a_host_whose_variable_is_being_resolved_does_not_stop_others() -> None:
    """Ansible resolves all variables in one thread. Meanwhile that thread may need the same member of another host."""
    resolved = Context({"host_memory_budget": "2g"})
    read: list[str] = []

    class Resolving(dict[str, Any]):
        def __getitem__(self, name: str) -> Any:
            thread = threading.Thread(target=lambda: read.append(resolved.budget), daemon=True)
            thread.start()
            thread.join(60)
            return super().__getitem__(name)

    assert Context(Resolving(host_memory_budget="1g")).budget == "1g"
    assert {*read} == {"2g"}


def test_a_variable_is_read_once() -> None:
    values = {"host_memory_budget": "1g"}
    context = Context(values)
    assert context.budget == "1g"
    values["host_memory_budget"] = "2g"
    assert context.budget == "1g"
