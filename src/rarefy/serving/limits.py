"""Limits of a service, and valid names."""

import re
from typing import NamedTuple

from rarefy.serving.refusals import RefusedError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")  # also of files, so neither dots nor slashes
LONGEST_ID = 200


class Limits(NamedTuple):
    """How much there may be; a request beyond it is refused, and changes nothing."""

    body_bytes: int = 64 << 20  # of a request, decompressed
    rows: int = 1_000_000  # of a request
    models: int = 100
    challengers: int = 8  # of a model
    classes: int = 1000
    bits: int = 24  # of hashed weights; and of a table that is begun, as many as they count
    backlog: int = 1_000_000  # rows of a model that are in the log, and not learned yet
    asked: int = 100_000  # predictions of a model that wait for their labels
    asked_seconds: float = 7 * 24 * 3600.0
    seconds: float = 30.0  # that a request may wait
    arrival_seconds: float = 30.0  # that a request may take to arrive, and more if it comes fast


def check_name(what: str, name: object) -> str:
    """A name of a model or a challenger."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise RefusedError(
            f"{what} {name!r}: up to 64 letters, digits, - and _ are expected, the first a letter "
            f"or digit."
        )
    return name


def check_id(what: str, value: object) -> str:
    """An id or a key that a client gives."""
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_ID or not value.isprintable():
        raise RefusedError(
            f"{what} {value!r}: a text of up to {LONGEST_ID} printable characters is expected."
        )
    return value
