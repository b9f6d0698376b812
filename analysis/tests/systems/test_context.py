"""What systems reckon with of a scenario."""

from typing import Any

import pytest

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
