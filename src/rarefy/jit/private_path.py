"""Whether Numba's and llvmlite's private parts are as the code here expects them.

If it is, loops are machine code that a later start loads without Numba. If not, they are functions
of `numba.njit` (njit.py): the same models to the last bit, and later starts that take seconds.
"""

import math
import os
import warnings
from typing import Any, NamedTuple

import numpy as np

from rarefy.errors import RarefyWarning
from rarefy.jit.arguments import spread_out
from rarefy.jit.code_folder import CodeFolder

VERDICT = "private-path"  # the file beside the machine code; the folder's name has all versions
WORKS, FAILS = b"works", b"fails"


def is_refused() -> bool:
    """Whether RAREFY_PLAIN_NUMBA=1 asks for `numba.njit`, as tests do, or to find an error."""
    return os.environ.get("RAREFY_PLAIN_NUMBA", "0") not in ("", "0")


def works(folder: CodeFolder | None) -> bool:
    """Whether a small loop, compiled the private way, returns what it should.

    What is found is written to the folder, for all later starts. That it fails is written before
    the loop is run: if that is the end of the process, it is so only once.
    """
    known = folder.read(VERDICT) if folder else None
    if known in (WORKS, FAILS):
        return known == WORKS
    try:
        is_right = _is_trial_right(folder)
    except Exception:  # whatever a compiler raises that is made differently
        is_right = False
    _write(folder, WORKS if is_right else FAILS)
    if not is_right:
        _warn()
    return is_right


def _write(folder: CodeFolder | None, verdict: bytes) -> None:
    if folder:
        folder.write(VERDICT, verdict)


def _warn() -> None:
    """Once: later starts find the verdict."""
    import numba

    warnings.warn(
        f"Numba {numba.__version__} differs from the versions that rarefy was tested with: loops "
        f"are compiled by numba.njit. Results are the same, but starting takes longer.",
        RarefyWarning,
        stacklevel=2,
    )


class Pair(NamedTuple):
    """Numbers of different sizes, between which memory has gaps."""

    flag: bool
    factor: float


def trial(matrix: Any, pair: Pair, whole: int, nothing: None) -> Any:
    """Arguments and results of all kinds, a function that is not its own, and an exception."""
    if whole < 0:
        raise ValueError("negative", 1)
    total = 0.0
    for row in range(matrix.shape[0]):
        for column in range(matrix.shape[1]):
            total += matrix[row, column] * (row + 10 * column)
    matrix[0, 0] += 1.0
    return Pair(not pair.flag, math.log1p(total * pair.factor)), (whole + 1, nothing is None)


MATRIX, PAIR, WHOLE, NOTHING = "PPqqPqqqq", "bd", "q", "P"  # as `struct` names their parts


def _is_trial_right(folder: CodeFolder | None) -> bool:
    from rarefy.jit.compiler import compile_object_code
    from rarefy.jit.object_code import file_content, load, load_cached

    matrix = np.arange(12.0).reshape(3, 4)[::2, ::-1]
    arguments = matrix, Pair(True, 0.5), 2**40, None
    spread, wrong = _spread(arguments), _spread((*arguments[:2], -1, None))
    made = compile_object_code(trial, arguments)
    if made.arguments != MATRIX + PAIR + WHOLE + NOTHING:
        return False
    _write(folder, FAILS)
    for call in (load(made._replace(code=b"")), load_cached(file_content(made), spread)):
        expected = trial(*arguments)
        matrix[0, 0] -= 1.0
        before = matrix[0, 0]
        if call is None or repr(call(spread)) != repr(expected) or matrix[0, 0] != before + 1.0:
            return False
    return _raises_what_it_should(load(made._replace(code=b"")), wrong)


def _raises_what_it_should(call: Any, arguments: list[Any]) -> bool:
    try:
        call(arguments)
    except ValueError as error:
        return error.args == ("negative", 1)
    return False


def _spread(arguments: tuple[Any, ...]) -> list[Any]:
    spread: list[Any] = []
    spread_out(arguments, [], spread)
    return spread
