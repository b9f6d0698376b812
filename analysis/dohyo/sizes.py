"""Sizes in bytes, and the disk that data takes.

Ansible's filters compute them, too, so this imports nothing but Python's own modules.
"""

import re
from fractions import Fraction

# Bytes by unit, in lower case.
SIZES = {
    **{f"{prefix}b": 1000**power for power, prefix in enumerate(("", "k", "m", "g", "t", "p"))},
    **{f"{prefix}ib": 1024**power for power, prefix in enumerate(("k", "m", "g", "t", "p"), start=1)},
}
# As in the options of a JVM.
LETTERS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def size_bytes(text: str, units: dict[str, int] = SIZES) -> int | None:
    """The bytes that a size such as "40GB", "1.5 TB" or "512MiB" stands for, rounded down; None if it is none.

    :param units: bytes by unit, in lower case; by default kB to PB (powers of 1000) and KiB to PiB (of 1024)
    """
    match = re.fullmatch(r"([0-9]{1,19}(?:\.[0-9]{1,9})?)\s*([a-z]*)", text.strip().lower())
    # Exact: a float would lose bytes of what is above 9 PB.
    return int(Fraction(match[1]) * units[match[2]]) if match and match[2] in units else None


def copies_on(records: int, replication: int, hosts: int, *, spread: bool) -> float:
    """Copies of records on a database host; not spread, each host that has any has a copy of every record."""
    return records * replication / hosts if spread else float(records)


def disk_of(copies: float, record_disk: float, record_bytes: int, log: int) -> float:
    """Bytes of disk on a host, the formula of docs/sizing.md.

    :param copies: of records on that host
    :param record_disk: bytes of disk for one of them
    :param record_bytes: bytes of a record's values
    :param log: largest size of the log in bytes, which is never larger than what was written
    """
    return copies * record_disk + min(copies * record_bytes, log)
