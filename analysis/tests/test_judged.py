"""Tests how the conditions of a server are compared with the requested ones."""

from typing import Any

import pytest

from dohyo.trial.conditions import judged

ASKED = {"replication": 3, "write_acks": "all", "read_acks": "one", "durability": "memory", "compression": "none"}


def found(write_copies: int = 3, read_copies: int = 1, **others: Any) -> dict[str, Any]:
    return {**ASKED, "write_copies": write_copies, "read_copies": read_copies, **others}


@pytest.mark.parametrize(
    ("replication", "write_copies", "read_copies", "expected"),
    [(3, 3, 1, "strong"), (3, 2, 2, "strong"), (3, 2, 1, "eventual"), (3, 1, 1, "eventual"), (1, 1, 1, "strong")],
)
def test_reads_are_consistent_where_the_copies_must_overlap(
    replication: int, write_copies: int, read_copies: int, expected: str
) -> None:
    conditions = judged(found(write_copies, read_copies, replication=replication), {})
    assert conditions["consistency"] == expected
    assert conditions["differences"] == []


def test_what_is_as_asked_is_no_difference() -> None:
    assert judged(found(), ASKED)["differences"] == []


def test_every_difference_is_named() -> None:
    assert judged(found(durability="disk", compression="lz4"), ASKED)["differences"] == [
        "durability: requested 'memory', but the server has 'disk'",
        "compression: requested 'none', but the server has 'lz4'",
    ]


@pytest.mark.parametrize(
    ("asked", "write_copies", "exceeded"),
    [("quorum", 3, {"write_acks": "quorum"}), ("one", 3, {"write_acks": "one"}), ("all", 3, {}),
     ("quorum", 2, {"write_acks": "quorum"}), ("all", 2, {}), ("quorum", 1, {})],
)  # fmt: skip
def test_who_gives_more_and_cannot_give_less_exceeds_what_was_asked(
    asked: str, write_copies: int, exceeded: dict[str, str]
) -> None:
    conditions = found(write_copies, write_acks="all")
    assert judged({**conditions, "fixed": ["write_acks"]}, {**ASKED, "write_acks": asked})["exceeded"] == exceeded
    assert judged(conditions, {**ASKED, "write_acks": asked})["exceeded"] == {}


def test_a_system_may_know_better_than_the_formula() -> None:
    conditions = judged(found(consistency="available"), ASKED)
    assert conditions["consistency"] == "available"
    assert conditions["differences"] == ["consistency: requested 'strong', but the server has 'available'"]


def test_weak_reads_may_be_asked_for() -> None:
    asked = {**ASKED, "write_acks": "one"}
    assert judged(found(1, 1, write_acks="one"), asked)["differences"] == []
    assert judged({**found(2, 2), **asked}, asked)["differences"] == [
        "consistency: requested 'eventual', but the server has 'strong'"
    ]
