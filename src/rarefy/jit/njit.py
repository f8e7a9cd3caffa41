"""Loops compiled and cached by plain `numba.njit`.

This is the way of arguments that only Numba knows, and of all loops where the private way does not
work. It needs Numba's documented interface only, and what registration.py says of it. Read from
Numba 0.68.
"""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numba
from numba.core import config
from numba.core.errors import NumbaError

from rarefy.jit.code_folder import CodeFolder, UnsafeFolderError
from rarefy.jit.dispatch import CompileError
from rarefy.jit.registration import IN_PLACE, OPTIONS, compiling


def call(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Compile for any arguments, and run."""
    with _refusals(), compiling() if config.DISABLE_JIT else nullcontext():
        return _dispatcher(function, tuple(_classes(arguments)))(*arguments)


def prepare(
    function: Callable[..., Any], arguments: tuple[Any, ...], folder: CodeFolder | None
) -> Callable[..., Any]:
    """A function for arguments like these, from the cache in the folder if it is there."""
    with _refusals(), compiling():
        kinds = tuple(map(numba.typeof, arguments))
        if folder:
            try:
                return _compiled(_cached_in(folder, function), kinds)
            except NumbaError:
                raise
            except Exception:  # there is no safe place, or a file is damaged, or the disk is full
                pass
        return _compiled(numba.njit(nogil=True, **IN_PLACE)(function), kinds)


def _compiled(dispatcher: Any, kinds: tuple[Any, ...]) -> Callable[..., Any]:
    dispatcher.compile(kinds)
    return dispatcher  # type: ignore[no-any-return]


def _cached_in(folder: CodeFolder, function: Callable[..., Any]) -> Any:
    """A function that Numba caches in a folder beside ours; an error, if it would choose another.

    Its cache notices no changes of what a function calls; the name of the folder changes with them.
    """
    path = folder.beside("njit")
    before, config.CACHE_DIR = config.CACHE_DIR, str(path)
    try:
        dispatcher = numba.njit(nogil=True, cache=True, **IN_PLACE)(function)
    finally:
        config.CACHE_DIR = before
    if path not in Path(dispatcher.stats.cache_path).parents:
        raise UnsafeFolderError(f"Numba does not cache in {path}")
    return dispatcher


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except NumbaError as error:
        raise CompileError(str(error)) from error


def _classes(arguments: tuple[Any, ...]) -> Iterator[type]:
    for argument in arguments:
        yield type(argument)
        if isinstance(argument, tuple):
            yield from _classes(argument)


@functools.cache
def _dispatcher(function: Callable[..., Any], classes: tuple[type, ...]) -> Any:
    """One for each kind of classes: Numba takes those of the same name for the same."""
    with compiling():
        return numba.njit(nogil=True, **OPTIONS)(function)
