"""Checks that no input file is overwritten, under whatever name."""

import os
import stat
from collections.abc import Iterable
from typing import Any

from rarefy.errors import InputError

STREAM = "-"  # standard input as an input, standard output as an output
STDOUT, STDERR = 1, 2


def check_outputs(outputs: Iterable[str | None], inputs: Iterable[str | None]) -> None:
    """Refuse to write to what is read, or to one place twice, by whatever names it goes.

    Standard error is no input, either; it may well go where an output does.
    """
    taken: dict[Any, tuple[str, str]] = {}
    for path in inputs:
        if path is not None:
            taken[_identity(path, 0)] = "read", _name(path, 0)
    _check_errors(taken)
    for path in outputs:
        if path is None:
            continue
        identity, name = _identity(path, 1), _name(path, 1)
        if identity is not None and identity in taken:
            what, other = taken[identity]
            known = "" if other == name else f", as {other}"
            raise InputError(f"{name} is also {what}{known}: write to another file.")
        taken[identity] = "written", name


def _check_errors(inputs: dict[Any, tuple[str, str]]) -> None:
    """Refuse to say anything in a file that is read; even that is said elsewhere."""
    errors, output = (_identity_of_stream(stream) for stream in (STDERR, STDOUT))
    if errors is None or errors not in inputs:
        return
    _, name = inputs[errors]
    if output is not None and output in inputs:
        os.dup2(os.open(os.devnull, os.O_WRONLY), STDERR)
    else:
        os.dup2(STDOUT, STDERR)
    raise InputError(f"standard error is also read, as {name}: write to another file.")


def _name(path: str, stream: int) -> str:
    return ("standard input", "standard output")[stream] if path == STREAM else path


def _identity_of_stream(stream: int) -> Any:
    try:
        return _identity_of(os.fstat(stream))
    except OSError:  # it is closed
        return None


def _identity(path: str, stream: int) -> Any:
    """What all names of a file have in common; None for what is not used up, such as a terminal."""
    if path == STREAM:
        return _identity_of_stream(stream)
    try:
        return _identity_of(os.stat(path))
    except OSError:
        folder, name = os.path.split(os.path.realpath(path))
        try:
            status = os.stat(folder)
        except OSError:
            return None
        return status.st_dev, status.st_ino, name


def _identity_of(status: os.stat_result) -> Any:
    if stat.S_ISREG(status.st_mode) or stat.S_ISFIFO(status.st_mode):
        return status.st_dev, status.st_ino
    return None
