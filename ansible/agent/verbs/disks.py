"""Reads facts about block devices from /sys."""

from __future__ import annotations

import os


def sysfs_of(number: tuple[int, int]) -> str:
    """Returns the folder in /sys of the block device with this major and minor number."""
    return os.path.realpath(f"/sys/dev/block/{number[0]}:{number[1]}")


def text(path: str) -> str:
    """Returns the content of a file in /sys, or an empty string if the file does not exist."""
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def kind_of(sysfs: str) -> str:
    """Returns the kind of the disk that has this folder in /sys: nvme, rotational, or ssd (the default)."""
    if os.path.basename(sysfs).startswith("nvme"):
        return "nvme"
    return "rotational" if text(f"{sysfs}/queue/rotational") == "1" else "ssd"
