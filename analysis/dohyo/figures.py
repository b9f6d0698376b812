"""Numbers as people read them in tables."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

UNKNOWN = "\N{EN DASH}"


def point_name(point: Mapping[str, str]) -> str:
    """A point of the matrix: "batchsize=100 tablecount=4"; nothing where there is no matrix."""
    return " ".join(f"{key}={value}" for key, value in point.items())


def whole(number: int | None) -> str:
    """With thousands separated."""
    return UNKNOWN if number is None else f"{number:,}"


def counted(number: int, one: str, several: str = "") -> str:
    """A number of things: "1 trial", "2,000 trials".

    :param several: the plural where it is not the singular with an s
    """
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def formatted(number: float | None, form: str) -> str:
    """In a form of `format`."""
    return UNKNOWN if number is None else format(number, form)


def rate(number: float | None) -> str:
    """Three digits at least."""
    if number is None:
        return UNKNOWN
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


# In percent: such an interval of a rate includes 0.
_WIDEST_HALF = 100


def half_interval(mean: float, high: float, least: float = 9.95) -> str:
    """How exactly a mean is known: ± in percent of it; "cannot tell" if the interval includes 0.

    :param least: percentages from there on are whole
    """
    half = 100 * (high / mean - 1)
    return "cannot tell" if half > _WIDEST_HALF else f"{half:.1f}%" if half < least else f"{half:.0f}%"


def percent(share: float) -> str:
    """Half of an interval: ± in percent, with useful digits only."""
    return f"\N{PLUS-MINUS SIGN} {100 * share:.{1 if share < 0.0995 and round(1000 * share) % 10 else 0}f} %"


def milliseconds(number: float | None) -> str:
    """Three digits, as many as the histograms keep; whole ms from 100 on, and never finer than 1 µs."""
    if number is None:
        return UNKNOWN
    if number >= 99.95:
        return f"{number:,.0f}"
    return f"{number:.1f}" if number >= 9.995 else f"{number:.2f}" if number >= 0.9995 else f"{number:.3f}"


def size(number: float) -> str:
    """Bytes in decimal units, 1 GB = 10^9 bytes, with up to four digits."""
    for unit, factor in (("PB", 10**15), ("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if number >= factor:
            return f"{number / factor:,.4g} {unit}"
    return f"{number:,.0f} B"


def named(name: str, number: float | None) -> str:
    """With the unit that its name ends with: `_bytes`, `_ms`, `_seconds`, `_ratio` (of 1, in percent); else a count."""
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
    """The scale of a trial that was not of the full size."""
    return f"scale {scale:g} of {'?' if full is None else f'{full:,}'} records"


def dollars(number: float) -> str:
    """Three digits."""
    return f"${number:,.0f}" if number >= 100 else f"${number:.3g}"


def instant(seconds: float) -> str:
    """Seconds since 1970 as a time in UTC; as a number where no calendar has that time."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        return f"{seconds:g} s after 1970"


def about(seconds: float) -> str:
    """A time in words: two units at most."""
    minutes = max(1, round(seconds / 60))
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 24 else f"{hours // 24:,} d {hours % 24} h"
