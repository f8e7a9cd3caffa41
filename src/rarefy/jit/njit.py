"""Loops as `numba.njit` compiles, caches and calls them.

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

from rarefy.jit.code_folder import CodeFolder
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
    classes = tuple(_classes(arguments))
    with _refusals(), compiling():
        kinds = tuple(map(numba.typeof, arguments))
        cached = _cached_dispatcher(function, classes, folder) if folder else None
        if cached is not None:
            try:
                cached.compile(kinds)
                return cached  # type: ignore[no-any-return]
            except NumbaError:
                raise
            except Exception:  # a damaged file, of which Numba takes no care, or a full disk
                pass
        dispatcher = _dispatcher(function, classes)
        dispatcher.compile(kinds)
        return dispatcher  # type: ignore[no-any-return]


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


@functools.cache
def _cached_dispatcher(
    function: Callable[..., Any], classes: tuple[type, ...], folder: CodeFolder
) -> Any:
    """Numba's cache does not notice changes of what a loop calls; the folder's name does.

    None, if the folder is not safe for what is opened by its path, or Numba chooses another.
    """
    path = folder.path_for_others()
    if path is None:
        return None
    before, config.CACHE_DIR = config.CACHE_DIR, str(path)
    try:
        made = numba.njit(nogil=True, cache=True, **IN_PLACE)(function)
    except RuntimeError:  # there is no place for a cache
        return None
    finally:
        config.CACHE_DIR = before
    return made if path in Path(made.stats.cache_path).parents else None
