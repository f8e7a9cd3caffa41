"""Dispatch of loops: machine code is looked up, or compiled, by the types of arguments.

There are two ways to compile them: our own (compiler.py), whose machine code a later start loads
without Numba, and `numba.njit` (njit.py), where the former does not work.
"""

import functools
import hashlib
import os
import sys
import threading
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import llvmlite

from rarefy.errors import RarefyWarning
from rarefy.jit import private_path
from rarefy.jit.arguments import UnknownArgumentError, spread_out
from rarefy.jit.code_folder import CodeFolder, UnsafeFolderError
from rarefy.jit.marks import is_ours
from rarefy.jit.object_code import (
    NOTHING_GIVEN,
    BoundCode,
    Code,
    file_content,
    function_of,
    host,
    load,
    load_cached,
)

F = TypeVar("F", bound=Callable[..., Any])
Call = Callable[[tuple[Any, ...], list[Any]], Any]  # with arguments, also spread out

WITHOUT_LOOPS = ("analysis", "cli", "training")  # folders that no loop depends on

_finding = threading.Lock()


class CompileError(Exception):
    """The compiler refuses: what it says is meant for whoever wrote the function."""


def compiled(function: F) -> F:
    """Have a loop compiled when it is called. It takes and gives no keywords, and makes no arrays.

    The machine code is cached on disk until a source of the package changes. Of other people's
    rules and functions we would not notice that: for them it is compiled afresh in every process.
    """
    return Loop(function)  # type: ignore[return-value]


def in_turn(
    *steps: tuple[Any, tuple[Any, ...]], given: Any = NOTHING_GIVEN, answer: Any = None
) -> Callable[..., Any] | None:
    """Loops, each with its arguments, as one function of an object and floats, which are `given`.

    They are called in turn, until one does not give 0; nothing else happens in Python meanwhile.
    With `answer`, the function gives the first number of that, or None if one did not give 0; else
    it gives what the last one called did, a whole number. None where loops are compiled in another
    way, as in `bound`.
    """
    found = [loop._step(arguments) for loop, arguments in steps]
    bound = [step for step in found if step is not None]
    return function_of(bound, given, answer) if len(bound) == len(found) else None


class Loop:
    """A compiled function of numbers, arrays, None, and tuples of these.

    Other people's rules may have parameters of other kinds; then it is called as Numba does it.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._calls: dict[tuple[Any, ...], Call] = {}
        self._codes: dict[tuple[Any, ...], Code] = {}

    def __call__(self, *arguments: Any) -> Any:
        kinds: list[Any] = []
        spread: list[Any] = []
        try:
            spread_out(arguments, kinds, spread)
        except UnknownArgumentError:
            return _module("njit").call(self.function, arguments)
        return self._call_for(tuple(kinds), arguments, spread)(arguments, spread)

    def bound(self, *arguments: Any, open_at: int | None = None) -> Callable[..., Any] | None:
        """A call with these arguments, to be made again and again; it gives a whole number.

        Arrays stay where they are, and may have other numbers in them each time. The interpreter's
        lock is held meanwhile. With `open_at`, the argument at that place is a whole number, which
        each call is given anew. None where loops are compiled in another way, and do not hold it.
        """
        step = self._step(arguments)
        call = None if step is None else function_of([step], NOTHING_GIVEN, None)
        if step is None or call is None or open_at is None:
            return call
        before: list[Any] = []
        spread_out(arguments[:open_at], [], before)
        words, place = memoryview(step.packed).cast("B").cast("q"), step.code.word_at(len(before))

        def call_with(number: int) -> Any:
            words[place] = number
            return call()

        return call_with

    def _step(self, arguments: tuple[Any, ...]) -> BoundCode | None:
        kinds: list[Any] = []
        spread: list[Any] = []
        try:
            spread_out(arguments, kinds, spread)
        except UnknownArgumentError:
            return None
        key = tuple(kinds)
        self._call_for(key, arguments, spread)
        code = self._codes.get(key)
        return None if code is None else code.step(spread, keeps=arguments)

    def _call_for(
        self, key: tuple[Any, ...], arguments: tuple[Any, ...], spread: list[Any]
    ) -> Call:
        call = self._calls.get(key)
        if call is None:
            with _finding:
                call = self._calls[key] = self._calls.get(key) or self._find(key, arguments, spread)
        return call

    def _find(self, kinds: tuple[Any, ...], arguments: tuple[Any, ...], spread: list[Any]) -> Call:
        others = {kind for kind in kinds if isinstance(kind, type)} - {tuple}
        folder = _cache_folder() if all(map(is_ours, (self.function, *others))) else None
        code = None if private_path.is_refused() else self._load(kinds, arguments, spread, folder)
        if code:
            self._codes[kinds] = code
            return lambda _, spread: code(spread)
        function = _module("njit").prepare(self.function, arguments, folder)
        return lambda arguments, _: function(*arguments)

    def _load(
        self,
        kinds: tuple[Any, ...],
        arguments: tuple[Any, ...],
        spread: list[Any],
        folder: CodeFolder | None,
    ) -> Code | None:
        """Load machine code from the folder, or compile it; None if that does not work."""
        name = self._file_name(kinds)
        cached = folder.read(name) if folder else None
        call = load_cached(cached, spread) if cached else None
        if call is None and _private_path_works():
            try:
                made = _module("compiler").compile_object_code(self.function, arguments)
                call = load(made._replace(code=b""))
            except CompileError:
                raise
            except Exception:  # something in Numba that the trial has not met, or in the function
                return None
            if folder:
                folder.write(name, file_content(made))
        return call

    def _file_name(self, kinds: tuple[Any, ...]) -> str:
        function = f"{self.function.__module__}.{self.function.__qualname__}"
        return f"{function}-{hashlib.sha256(repr(kinds).encode()).hexdigest()[:32]}"


def _module(name: str) -> Any:
    """One that imports Numba."""
    return import_module(f"rarefy.jit.{name}")


@functools.cache
def _private_path_works() -> bool:
    return private_path.works(_cache_folder())


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
            f"The cache of compiled code is not used, so starting takes seconds longer: {error}. "
            f"Remove it, or set NUMBA_CACHE_DIR to a folder of your own.",
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
    """Of Numba, which is not imported for it, and of llvmlite."""
    spec = find_spec("numba")
    assert spec is not None
    numba = Path(str(spec.origin)).with_name("_version.py").read_text()
    return f"{numba} {llvmlite.__version__}"


def _sources(package: Path) -> str:
    """Of all that loops may depend on."""
    digest = hashlib.sha256()
    for source in sorted(package.rglob("*.py")):
        if source.relative_to(package).parts[0] not in WITHOUT_LOOPS:
            digest.update(source.read_bytes())
    return digest.hexdigest()


SOURCES = _sources(Path(__file__).parents[1])  # when imported: an update may replace them later
