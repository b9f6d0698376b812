"""Parses sizes in bytes.

Ansible's filters use it, too, so it imports only Python's standard library.
"""

import re
from fractions import Fraction

# Bytes by unit, in lower case.
SIZES = {
    **{f"{prefix}b": 1000**power for power, prefix in enumerate(("", "k", "m", "g", "t", "p"))},
    **{f"{prefix}ib": 1024**power for power, prefix in enumerate(("k", "m", "g", "t", "p"), start=1)},
}
# Bytes by the unit in JVM options.
LETTERS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def size_bytes(text: str, units: dict[str, int] = SIZES) -> int | None:
    """Parses a size such as "40GB", "1.5 TB" or "512MiB" to bytes, rounded down; returns None if it is not a size.

    :param units: bytes by unit, in lower case; by default kB to PB (powers of 1000) and KiB to PiB (of 1024)
    """
    match = re.fullmatch(r"([0-9]{1,19}(?:\.[0-9]{1,9})?)\s*([a-z]*)", text.strip().lower())
    # A Fraction is exact; a float would lose bytes above 9 PB.
    return int(Fraction(match[1]) * units[match[2]]) if match and match[2] in units else None
