"""Decorators for functions that loops may call; they cost nothing until Numba is imported.

Rules, losses and schedules are NamedTuples with methods. As plain Python they are just that;
`compile_methods` lets compiled code call the same methods, resolved by the class at compile time,
so that `rule.weight(clock, state)` costs nothing in the loop.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


class Marks(NamedTuple):
    """What the compiler has still to be told of."""

    functions: list[tuple[Callable[..., Any], bool]]  # and whether they are inlined
    classes: list[type]
    intrinsics: list[Callable[..., Any]]


marks = Marks([], [], [])


def is_ours(made: Any) -> bool:
    """Whether a function or class is of this package."""
    return str(made.__module__).startswith("rarefy.")


def helper(function: F) -> F:
    """Mark a plain function as callable from compiled rules, losses and schedules.

    Parameters
    ----------
    function : callable
        A function of numbers, arrays and tuples of these that Numba can compile.

    Returns
    -------
    callable
        The function itself, which Python calls as before.

    See Also
    --------
    rule : Makes a rule of a class.

    Examples
    --------
    >>> import rarefy
    >>> @rarefy.helper
    ... def clipped(g, most):
    ...     return min(max(g, -most), most)
    >>> clipped(3.0, 1.0)
    1.0
    """
    marks.functions.append((function, False))
    return function


def inlined(function: F) -> F:
    """A helper whose code is put where it is called: for what is called once an entry of a row.

    A call proper passes results through memory, and the next entry may have to wait for them.
    """
    marks.functions.append((function, True))
    return function


def compile_methods(cls: C) -> C:
    """Make the methods of a NamedTuple class, inherited ones too, callable from compiled code.

    Its objects are equal only to such of the same class: as tuples, all that have the same numbers
    would be, whatever their methods do with them.
    """
    cls.__eq__ = _is_equal  # type: ignore[method-assign, assignment]
    cls.__ne__ = _is_different  # type: ignore[method-assign, assignment]
    cls.__hash__ = _hash  # type: ignore[method-assign, assignment]
    marks.classes.append(cls)
    return cls


def _is_equal(self: Any, other: Any) -> bool:
    return type(self) is type(other) and tuple.__eq__(self, other)


def _is_different(self: Any, other: Any) -> bool:
    return not _is_equal(self, other)


def _hash(self: Any) -> int:
    return hash((type(self), tuple.__hash__(self)))


def intrinsic(definition: Callable[..., Any]) -> Any:
    """Mark a function that makes instructions itself; compiled code calls it by this name."""
    marks.intrinsics.append(definition)
    return definition


class Late:
    """A module that is imported when something of it is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)
