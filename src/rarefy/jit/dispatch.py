"""Loops: functions that run as machine code, compiled once for each kind of arguments."""

import ctypes
import functools
import hashlib
import os
import sys
import threading
import warnings
from collections.abc import Callable
from enum import IntEnum
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from rarefy.errors import RarefyWarning
from rarefy.jit.code_folder import CodeFolder, UnsafeFolderError
from rarefy.jit.marks import is_ours
from rarefy.jit.object_code import content_of, host, load_image, load_kept

F = TypeVar("F", bound=Callable[..., Any])

SCALARS: dict[type, str] = {
    bool: "bool",
    np.bool_: "bool",
    np.int64: "int64",
    np.int32: "int32",
    np.float64: "float64",
}
LARGEST = 2**63 - 1
WHOLE_NUMBERS = range(-LARGEST, 2**64)
FLAGS_THAT_MATTER = 0x1 | 0x2 | 0x100 | 0x400  # NumPy's: C and Fortran order, aligned, writeable
HEAD_BYTES = object.__basicsize__  # behind which an array has the address of its data
_address = ctypes.c_size_t.from_address  # ten times as fast as asking the array
_finding = threading.Lock()


class CompileError(Exception):
    """The compiler refuses: what it says is meant for whoever wrote the function."""


class _Strange(Exception):  # noqa: N818
    """An argument of another kind than loops of our own have."""


def compiled(function: F) -> F:
    """Have a loop compiled when it is called. It takes and gives no keywords, and makes no arrays.

    What comes of it is kept on disk until a source of the package changes. Of other people's rules
    and functions we would not notice that: for them it is compiled afresh in every process.
    """
    return Loop(function)  # type: ignore[return-value]


class Loop:
    """A compiled function of numbers, arrays, None, and tuples of these.

    Other people's rules may have parameters of other kinds; then it is called as Numba does it.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._calls: dict[tuple[Any, ...], Callable[..., Any]] = {}

    def __call__(self, *arguments: Any) -> Any:
        kinds: list[Any] = []
        spread: list[Any] = []
        try:
            _spread(arguments, kinds, spread)
        except _Strange:
            return _compiler().call(self.function, arguments)
        key = tuple(kinds)
        call = self._calls.get(key)
        if call is None:
            with _finding:
                call = self._calls[key] = self._calls.get(key) or self._find(key, arguments, spread)
        return call(spread)

    def _find(
        self, kinds: tuple[Any, ...], arguments: tuple[Any, ...], spread: list[Any]
    ) -> Callable[..., Any]:
        others = {kind for kind in kinds if isinstance(kind, type)} - {tuple}
        folder = _cache_folder() if all(map(is_ours, (self.function, *others))) else None
        name = self._file_name(kinds)
        kept = folder.read(name) if folder else None
        call = load_kept(kept, spread) if kept else None
        if call is None:
            image = _compiler().compile_image(self.function, arguments)
            if folder:
                folder.write(name, content_of(image))
            call = load_image(image._replace(code=b""))
            assert call is not None
        return call

    def _file_name(self, kinds: tuple[Any, ...]) -> str:
        function = f"{self.function.__module__}.{self.function.__qualname__}"
        return f"{function}-{hashlib.sha256(repr(kinds).encode()).hexdigest()[:32]}"


def _compiler() -> Any:
    return import_module("rarefy.jit.compiler")


def _spread(values: tuple[Any, ...], kinds: list[Any], spread: list[Any]) -> None:
    """Append what the code has to be compiled for, and the numbers and addresses it is called with.

    An array is passed as Numba's struct of it: two owners (here none), number and size of items,
    address, shape and strides.
    """
    for value in values:
        if type(value) is float:
            kinds.append("float64")
            spread.append(value)
        elif isinstance(value, np.ndarray):
            kinds += (value.dtype, value.ndim, value.flags.num & FLAGS_THAT_MATTER)
            spread += (0, 0, value.size, value.itemsize, _address(id(value) + HEAD_BYTES).value)
            spread += value.shape
            spread += value.strides
        elif isinstance(value, tuple):
            kinds += (type(value), len(value))
            _spread(value, kinds, spread)
        elif value is None:
            kinds.append(None)
            spread.append(0)
        elif type(value) is int and value in WHOLE_NUMBERS:
            kinds.append("int64" if value <= LARGEST else "uint64")
            spread.append(value if value <= LARGEST else value - 2**64)
        elif type(value) is np.uint64:
            kinds.append("uint64")
            spread.append(int(value.view(np.int64)))
        elif isinstance(value, IntEnum):
            kinds.append(type(value))
            spread.append(value)
        elif type(value) in SCALARS:
            kinds.append(SCALARS[type(value)])
            spread.append(value.item() if isinstance(value, np.generic) else value)
        else:
            raise _Strange


@functools.cache
def _cache_folder() -> CodeFolder | None:
    """Our own cache folder, or None if there is no place for one, or it is not safe."""
    try:
        user_cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        caches = Path(os.environ.get("NUMBA_CACHE_DIR") or user_cache).absolute()
        folder = CodeFolder(caches, _digest())
        folder.make()
    except UnsafeFolderError as error:
        warnings.warn(
            f"No machine code is read or kept, and loops are compiled anew, which takes seconds: "
            f"{error}. Remove it, or set NUMBA_CACHE_DIR to a folder of your own.",
            RarefyWarning,
            stacklevel=2,
        )
        return None
    except (OSError, RuntimeError):  # the latter without a home
        return None
    return folder


def _digest() -> str:
    """Of all that the code depends on: our sources, the compiler, its settings, the processor."""
    digest = hashlib.sha256(f"{sys.version} {_compiler_version()} {host()} {SOURCES}".encode())
    settings = {key: value for key, value in os.environ.items() if key.startswith("NUMBA_")}
    settings.pop("NUMBA_CACHE_DIR", None)
    digest.update(repr(sorted(settings.items())).encode())
    return digest.hexdigest()[:16]


def _compiler_version() -> str:
    spec = find_spec("numba")
    assert spec is not None
    return Path(str(spec.origin)).with_name("_version.py").read_text()


def _sources(package: Path) -> str:
    digest = hashlib.sha256()
    for source in sorted(package.rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()


SOURCES = _sources(Path(__file__).parents[1])  # when imported: an update may replace them later
