"""Formats numbers for tables and texts. An unknown number (None) becomes a dash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

UNKNOWN = "\N{EN DASH}"


def point_name(point: Mapping[str, str]) -> str:
    """Formats a point of the matrix: "batchsize=100 tablecount=4", or an empty string without a matrix."""
    return " ".join(f"{key}={value}" for key, value in point.items())


def system_at(system: str, point: Mapping[str, str]) -> str:
    """Formats a system at a point of the matrix: "cassandra batchsize=100"."""
    return f"{system} {point_name(point)}".rstrip()


def whole(number: int | None) -> str:
    """Formats a whole number with thousands separators."""
    return UNKNOWN if number is None else f"{number:,}"


def counted(number: int, singular: str, several: str = "") -> str:
    """Formats a number with a noun: "1 trial", "2,000 trials".

    :param several: the plural, if it is irregular
    """
    return f"{number:,} {singular if number == 1 else several or singular + 's'}"


def listed(texts: Sequence[str]) -> str:
    """Joins texts, at least one: "a, b and c"."""
    return " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))


def formatted(number: float | None, form: str) -> str:
    """Formats a number with a Python format specification such as ".1f"."""
    return UNKNOWN if number is None else format(number, form)


def rate(number: float | None) -> str:
    """Formats a rate with at least three significant digits."""
    if number is None:
        return UNKNOWN
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


# Largest half-width of an interval to show, as a percentage of the mean: ± more than 100 % would include 0.
_WIDEST_HALF = 100


def half_interval(mean: float, high: float, least: float = 9.95) -> str:
    """Formats the half-width of a mean's interval as a percentage of the mean, or "cannot tell" above 100 %.

    :param least: smallest percentage that is rounded to a whole number
    """
    half = 100 * (high / mean - 1)
    return "cannot tell" if half > _WIDEST_HALF else f"{half:.1f}%" if half < least else f"{half:.0f}%"


def percent(share: float) -> str:
    """Formats the half-width of an interval, given as a share of the mean, as "± 2.5 %" with at most one decimal."""
    return f"\N{PLUS-MINUS SIGN} {100 * share:.{1 if share < 0.0995 and round(1000 * share) % 10 else 0}f} %"


def milliseconds(number: float | None) -> str:
    """Formats milliseconds with three significant digits and at most three decimals; whole ms from 100 upwards."""
    if number is None:
        return UNKNOWN
    if number >= 99.95:
        return f"{number:,.0f}"
    return f"{number:.1f}" if number >= 9.995 else f"{number:.2f}" if number >= 0.9995 else f"{number:.3f}"


def size(number: float) -> str:
    """Formats bytes in decimal units (1 GB = 10^9 bytes) with up to four significant digits."""
    for unit, factor in (("PB", 10**15), ("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if number >= factor:
            return f"{number / factor:,.4g} {unit}"
    return f"{number:,.0f} B"


def named(name: str, number: float | None) -> str:
    """Formats a number in the unit with which its name ends (`_bytes`, `_ms`, `_seconds`, `_ratio`), or as a count."""
    if number is None:
        return UNKNOWN
    match name.rpartition("_")[2]:
        case "bytes":
            return size(number)
        case "ms":
            return f"{milliseconds(number)} ms" if number else "0 ms"
        case "seconds":
            return f"{rate(number)} s"
        case "ratio":
            return f"{100 * number:.1f}%"
    return f"{number:,.0f}"


def scaled(scale: float | None, full: int | None) -> str:
    """Formats the scale of a trial with fewer records than its scenario; `full` is the number of records at scale 1."""
    return f"scale {scale:g} of {'?' if full is None else f'{full:,}'} records"


def dollars(number: float) -> str:
    """Formats dollars with three significant digits; whole dollars from $100 upwards."""
    return f"${number:,.0f}" if number >= 100 else f"${number:.3g}"


def instant(seconds: float) -> str:
    """Formats seconds since 1970 as a time in UTC, or as a number of seconds if Python cannot represent the date."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        return f"{seconds:g} s after 1970"


def about(seconds: float) -> str:
    """Formats a duration in at most two units: "40 min", "3 h 5 min", "2 d 4 h". The shortest is "1 min"."""
    minutes = max(1, round(seconds / 60))
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 24 else f"{hours // 24:,} d {hours % 24} h"
