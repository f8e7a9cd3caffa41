"""Checks of single values from users; the error says what is accepted."""

import math
import numbers
import os
from collections.abc import Container, Mapping, Sequence
from typing import Any

import numpy as np

from rarefy.errors import ConfigError, InputError

NAMES_IN_SCIKIT_LEARN = {
    "log_loss": "logistic",
    "squared_error": "squared",
    "roc_auc": "auc",
    "f1_macro": "f1",
    "neg_root_mean_squared_error": "rmse",
    "neg_log_loss": "loss",
}  # and ours
OUT_OF_REACH = 1_000_000_000  # the end of a range that nobody comes near, and need not be told


def number_or_none(text: str) -> float | None:
    """The finite number that a text is, if it is one."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None


def refuse_path(rows: Any) -> None:
    """Say what reads a file where its rows are expected."""
    if isinstance(rows, str | os.PathLike):
        path = os.fspath(rows)
        raise InputError(f"{path!r} is a path, not rows: read them with rarefy.read({path!r}).")


def is_text(value: Any) -> bool:
    """Whether a value is a string that can be written in UTF-8."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_number(value: Any) -> bool:
    """Whether a value is a real number; truths are none."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def check_number(name: str, value: Any, most: float = math.inf) -> None:
    """Refuse anything but a finite number from zero on that is not above another one."""
    if not (is_number(value) and 0.0 <= value <= most and value < math.inf):
        up_to = "on" if most == math.inf else f"to {most:g}"
        raise ConfigError(f"{name}={value!r}: a number from 0 {up_to} is expected.")


def check_whole(name: str, value: Any, least: int, most: int) -> None:
    """Refuse anything but a whole number in a range."""
    is_whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if is_whole and least <= value <= most:
        return
    is_out_of_reach = most > OUT_OF_REACH and not (is_whole and value > most)
    which = f"of at least {least}" if is_out_of_reach else f"between {least} and {most}"
    raise ConfigError(f"{name}={value!r}: a whole number {which} is expected.")


def check_flag(name: str, value: Any) -> None:
    """Refuse anything but True and False."""
    if not isinstance(value, bool | np.bool_):
        raise ConfigError(f"{name}={value!r}: True or False is expected.")


def choose(name: str, value: Any, table: Mapping[str, Any]) -> Any:
    """The entry of a table of named things."""
    if not isinstance(value, str) or value not in table:
        use = use_instead(value, table)
        raise ConfigError(f"{name}={value!r}{use}: one of {', '.join(table)} is expected.")
    return table[value]


def use_instead(value: Any, names: Container[str]) -> str:
    """In brackets: what is called otherwise in scikit-learn, if it is one of the names."""
    ours = NAMES_IN_SCIKIT_LEARN.get(value) if isinstance(value, str) else None
    return f" (use {ours!r})" if ours in names else ""


def nearest(name: str, names: Sequence[str]) -> str:
    """The name that may have been meant."""
    from difflib import get_close_matches  # which takes long to import

    alike = [other for other in names if other.casefold() == name.casefold()]
    found = alike or get_close_matches(name, names, n=1)
    return f" (is it {found[0]!r}?)" if found else ""


def numbers_if_all_are(names: Sequence[str]) -> list[Any]:
    """Names as numbers, if all of them look like it, by which 1 and 1.0 are the same."""
    numbers = [number_or_none(name) for name in names]
    return list(names) if None in numbers else numbers
