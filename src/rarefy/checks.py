"""Checks of single values that a user gives; the message says what is accepted."""

import functools
import math
import numbers
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

import numpy as np

from rarefy.errors import ConfigError

P = ParamSpec("P")
R = TypeVar("R")


def number_or_none(text: str) -> float | None:
    """The finite number that a text is, if it is one."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None


def is_text(value: Any) -> bool:
    """Whether a value is a string that can be written in UTF-8."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_whole(name: str, value: Any, least: int, most: int) -> None:
    """Refuse anything but a whole number in a range."""
    is_whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not is_whole or not least <= value <= most:
        raise ConfigError(
            f"{name}={value!r}: a whole number between {least} and {most} is expected."
        )


def check_flag(name: str, value: Any) -> None:
    """Refuse anything but True and False."""
    if not isinstance(value, bool | np.bool_):
        raise ConfigError(f"{name}={value!r}: True or False is expected.")


def choose(name: str, value: Any, table: Mapping[str, Any]) -> Any:
    """The entry of a table of named things."""
    if not isinstance(value, str) or value not in table:
        raise ConfigError(f"{name}={value!r}: one of {', '.join(table)} is expected.")
    return table[value]


def refuses(**renamed: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator: calls with arguments that have new names, old="new", are told so."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            for old, new in renamed.items():
                if old in kwargs:
                    raise TypeError(new_name(f"{function.__qualname__}()", old, new))
            return function(*args, **kwargs)

        return called

    return decorate


def new_name(caller: str, old: str, new: str) -> str:
    """What is said to someone who uses an old name."""
    return f"{caller} has no argument {old!r} any more; use {new!r}."
