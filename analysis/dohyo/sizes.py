"""Parses sizes in bytes.

Ansible filters also import this module, so it uses only Python's standard library.
"""

import re
from fractions import Fraction

# Number of bytes for each unit, in lower case.
SIZES = {
    **{f"{prefix}b": 1000**power for power, prefix in enumerate(("", "k", "m", "g", "t", "p"))},
    **{f"{prefix}ib": 1024**power for power, prefix in enumerate(("k", "m", "g", "t", "p"), start=1)},
}
# Number of bytes for each unit in JVM options such as -Xmx4g.
LETTERS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def size_bytes(text: str, units: dict[str, int] = SIZES) -> int | None:
    """Converts a size such as "40GB", "1.5 TB" or "512MiB" to bytes, rounded down. Returns None for other texts.

    :param units: number of bytes for each unit, in lower case
    """
    match = re.fullmatch(r"([0-9]{1,19}(?:\.[0-9]{1,9})?)\s*([a-z]*)", text.strip().lower())
    # A Fraction is exact; a float would lose bytes above 9 PB.
    return int(Fraction(match[1]) * units[match[2]]) if match and match[2] in units else None
