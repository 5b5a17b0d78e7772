"""Numbers and lists as pages print them: the one place that formats a number for a reader.

An estimate is the plain data of a ``summary.json``: a value with both ends of its 95 % interval, None where unknown,
and the ``range`` of the runs where they are too few for an interval.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Literal

from action_balance.errors import as_duration
from action_balance.files import Data

#: Stands in for a number that is not known.
NONE = "\N{EN DASH}"

MINUS = "\N{MINUS SIGN}"

#: Where an interval lies: entirely above or below a neutral value, around it, or unknown without an interval.
Side = Literal["above", "below", "around", "unknown"]

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def as_float(value: float | str | None) -> float:
    """A number of a summary, where null means unknown and infinity is a word."""
    return math.nan if value is None else float(value)


def ends(estimate: Data | None) -> tuple[float, float, float]:
    """The value and both ends of the interval of an estimate; nan where unknown."""
    value, low, high = ((estimate or {}).get(key) for key in ("value", "low", "high"))
    return as_float(value), as_float(low), as_float(high)


def number(value: float | str | None, digits: int = 0, sign: bool = False) -> str:
    """A number with thousands separators and a real minus sign."""
    known = as_float(value)
    if math.isnan(known):
        return NONE
    if math.isinf(known):
        return "∞" if known > 0 else f"{MINUS}∞"
    known = round(known, digits) + 0.0  # no minus before a zero
    return f"{known:{'+' if sign else ''},.{digits}f}".replace("-", MINUS)


def percent(share: float | str | None, digits: int = 0, sign: bool = False) -> str:
    return f"{number(100 * as_float(share), digits, sign)}\N{NO-BREAK SPACE}%"


def significant(value: float | None, resolution: float = 0.0) -> str:
    """A number with two significant digits and, where it is small, a power of ten; 0 below the resolution."""
    if value is None:
        return NONE
    if abs(value) < resolution:
        return "0"
    digits, _, power = f"{value:.2g}".replace("-", MINUS, 1 if value < 0 else 0).partition("e")
    return f"{digits}·10{str(int(power)).translate(SUPERSCRIPTS)}" if power else digits


def amount(value: float) -> str:
    """A large count, in millions from one million on."""
    return f"{value / 1e6:.3g}\N{NO-BREAK SPACE}M" if value >= 1_000_000 else number(value)


def duration(seconds: float | str | None) -> str:
    """Seconds in words: ``2 h 5 min``, ``3 min 20 s``, ``12 s``."""
    known = as_float(seconds)
    return as_duration(known) if math.isfinite(known) else NONE


def interval(estimate: Data | None, digits: int = 0) -> str:
    """Both ends of an interval; empty where there is none."""
    _, low, high = ends(estimate)
    return "" if math.isnan(low + high) else f"{number(low, digits)} to {number(high, digits)}"


def spread(estimate: Data | None, digits: int = 0) -> str:
    """Both ends of an interval or else, labelled as such, of the range of the runs; empty where there is neither."""
    if (known := interval(estimate, digits)) or not (estimate or {}).get("range"):
        return known
    least, most = (number(end, digits) for end in (estimate or {})["range"])
    return f"all {least}" if least == most else f"range {least} to {most}"


def share_interval(estimate: Data | None) -> str:
    """Both ends of the interval of a share, as percentages; empty where there is none."""
    _, low, high = ends(estimate)
    return "" if math.isnan(low + high) else f"{number(100 * low)} to {percent(high)}"


def decimals(values: Iterable[float], widths: Iterable[float] = ()) -> int:
    """Decimals with which numbers of one scale are printed side by side.

    They show three significant digits of the largest value and two of the narrowest width, as far as the largest value
    then has no more than five.
    """
    sizes = [_magnitude(value) for value in values if value and math.isfinite(value)]
    largest = max(sizes, default=0)
    narrowest = min((_magnitude(width) for width in widths if width and math.isfinite(width)), default=largest)
    return min(max(2 - largest, min(1 - narrowest, 4 - largest), 0), 6)


def _magnitude(value: float) -> int:
    return math.floor(math.log10(abs(value)))


def side(estimate: Data | None, neutral: float) -> Side:
    """Where an interval lies, relative to a neutral value."""
    _, low, high = ends(estimate)
    if math.isnan(low + high):
        return "unknown"
    return "above" if low > neutral else "below" if high < neutral else "around"


def contains(estimate: Data | None, value: float) -> bool:
    _, low, high = ends(estimate)
    return low <= value <= high


def count(quantity: int, noun: str) -> str:
    return f"{quantity:,} {noun}{'s' * (quantity != 1)}"


def listed(names: Sequence[str], most: int | None = None) -> str:
    """Names in a sentence: ``a, b and c``; beyond ``most``, the rest is only counted."""
    shown = list(names)
    if most is not None and len(shown) > most:
        shown = [*shown[:most], f"{len(shown) - most} more"]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def setting(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(f"({setting(one)})" if isinstance(one, (list, tuple)) else str(one) for one in value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
