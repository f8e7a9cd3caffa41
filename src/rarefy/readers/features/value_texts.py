"""The text of numbers and other values in categorical columns.

Usually that is as PyArrow writes them: whole numbers as digits, 1.0 too; other floats in the
shortest form that leads back to them (0.1, 1e-7); true and false; 2024-01-31 for a date, and
2024-01-31 23:59:59.000 for a moment, with the decimals that its unit has, and with +0100 behind
them, or Z, if it has a zone. A column may have another form, for which an example stands: True,
TRUE, 1.0 (a point in all numbers, as Python writes floats), or a moment with zeros for its digits
and a plus for its sign.
"""

import datetime
import math
import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import numpy as np

LARGEST_WHOLE = float(1 << 53)
FLOATS = "1.0"
TRUTHS = {"True": ("True", "False"), "TRUE": ("TRUE", "FALSE")}
MOMENT = re.compile(
    r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d:\d\d(\.(\d{3}|\d{6}|\d{9}))?(?P<zone>Z|[-+]\d\d:?\d\d)?)?",
    re.ASCII,
)
FLOAT = re.compile(r"-?\d+(\.\d+|(\.\d+)?e[-+]\d\d+)", re.ASCII)
DATE_FORM = "0000-00-00"
UTC_FORM, OFFSET_FORM = "Z", "+0000"
UNIT_FORMS = {
    unit: f"{DATE_FORM} 00:00:00{decimals}"
    for unit, decimals in {"s": "", "ms": ".000", "us": ".000000", "ns": ".000000000"}.items()
}
NUMPY_UNITS = {"Y": "D", "M": "D", "W": "D", "h": "s", "m": "s", "ps": "ns", "fs": "ns", "as": "ns"}


def form_of(values: Iterable[bytes]) -> str | None:
    """The form of the values of a column that are there; None if it is the usual one."""
    texts = {value.decode() for value in values if value}
    for form, truths in TRUTHS.items():
        if texts and texts <= set(truths):
            return form
    if any(text.endswith(".0") for text in texts) and all(map(FLOAT.fullmatch, texts)):
        return FLOATS
    if all(map(MOMENT.fullmatch, texts)):
        shapes = {re.sub(r"-(?=00:?00$)", "+", re.sub(r"\d", "0", text)) for text in texts}
        return shapes.pop() if len(shapes) == 1 else None
    return None


def moment_form(form: str | None) -> tuple[str, str] | None:
    """The forms of moments and of their zone, empty if they have none; None for all other forms."""
    found = MOMENT.fullmatch(form or "")
    if found is None:
        return None
    zone = found["zone"] or ""
    return found[0].removesuffix(zone), zone


def zone_form(zone: str | None) -> str:
    """How a zone is usually written, by its name; nothing where there is none."""
    if zone is None:
        return ""
    return UTC_FORM if zone == "UTC" else OFFSET_FORM


def written(value: Any, form: str | None = None) -> str | None:
    """The text of a value; None if it is one of another kind."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, bool | np.bool_):
        return TRUTHS.get(form or "", ("true", "false"))[0 if value else 1]
    if isinstance(value, int | np.integer):
        return str(float(value)) if form == FLOATS else str(int(value))
    if isinstance(value, float | np.floating):
        value = np.float32(value) if isinstance(value, np.float16) else value
        return str(value) if form == FLOATS else _shortest(value)
    if isinstance(value, Decimal):
        return str(value) if value.adjusted() < 0 else format(value, "f")
    if isinstance(value, datetime.date | np.datetime64):
        return _moment(value, form)
    if isinstance(value, datetime.time) and value.tzinfo is None:
        return value.isoformat("microseconds")
    return None


def _shortest(value: float | np.floating[Any]) -> str:
    """A float as PyArrow writes it, but for whole numbers."""
    if not math.isfinite(value):
        return str(value)
    if float(value).is_integer() and abs(float(value)) <= LARGEST_WHOLE:
        return str(int(value))
    number = Decimal(str(value)).normalize()
    if -7 < number.adjusted() < 10:
        return format(number, "f")
    digits = "".join(map(str, number.as_tuple().digits))
    point = "." if len(digits) > 1 else ""
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[0]}{point}{digits[1:]}e{number.adjusted():+d}"


def _moment(value: datetime.date | np.datetime64, form: str | None) -> str:
    """A date or a moment; with all its decimals where the form would lose some."""
    moment, zone = moment_form(form) or ("", "")
    has_zone = getattr(value, "tzinfo", None) is not None
    if isinstance(value, datetime.datetime) and has_zone and zone == UTC_FORM:
        value = value.astimezone(datetime.UTC)
    text, unit_form = _digits(value)
    longer = len(text) - len(UNIT_FORMS["ns"])  # years may have more than four digits
    if not moment or has_zone != bool(zone) or text[longer + len(moment) :].strip("0:. "):
        moment = unit_form
        zone = zone_form(str(getattr(value, "tzinfo", None))) if has_zone else ""
    text = text[: longer + len(moment)].replace(" ", moment[10:11])
    return text + _zone(value, zone) if isinstance(value, datetime.datetime) else text


def _digits(value: Any) -> tuple[str, str]:
    """A date or a moment to the nanosecond, in the time of its zone, and the form of its unit."""
    if isinstance(value, datetime.datetime):
        value = value.replace(tzinfo=None)
    if not isinstance(value, np.datetime64):  # the moments of pandas have other units than Python's
        value = value.to_datetime64() if hasattr(value, "to_datetime64") else np.datetime64(value)
    unit = np.datetime_data(value.dtype)[0]
    unit = NUMPY_UNITS.get(unit, unit)
    text = str(value.astype(f"datetime64[{unit}]")).replace("T", " ")
    form = UNIT_FORMS.get(unit, DATE_FORM)
    return text + UNIT_FORMS["ns"][len(form) :], form


def _zone(value: datetime.datetime, form: str) -> str:
    """How far a moment with a zone is ahead of UTC; nothing for one without."""
    offset = value.strftime("%z")[:5]
    if offset and form == UTC_FORM:
        return UTC_FORM
    return f"{offset[:3]}:{offset[3:]}" if offset and ":" in form else offset
