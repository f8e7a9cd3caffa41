"""Loops as machine code: what goes in and comes back, and what is kept of it on disk."""

from __future__ import annotations

import gc
import math
import multiprocessing
import os
import shutil
import subprocess
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from rarefy.arrays import longest
from rarefy.jit import (
    CompileError,
    compile_methods,
    compiled,
    compiler,
    dispatch,
    helper,
    in_turn,
    object_code,
)
from rarefy.jit.code_folder import CodeFolder
from tests.jit.test_jit import FIT, copy_package, machine_code, run_python, triple_the_steps

# --- arrays -------------------------------------------------------------------------------


@compiled
def about(array):
    """All that is passed of an array, and its items, each with a weight of its own."""
    total = 0.0
    for i in range(array.shape[0]):
        for j in range(array.shape[1]):
            total += array[i, j] * (1 + i + 10 * j)
    return array.size, array.itemsize, array.shape, array.strides, total


def plainly_about(array):
    n, m = array.shape
    weights = 1 + np.arange(n)[:, np.newaxis] + 10 * np.arange(m)
    total = float((np.asarray(array, dtype=np.float64) * weights).sum())
    return array.size, array.itemsize, array.shape, array.strides, total


def unaligned(array):
    return np.frombuffer(b"?" + array.tobytes(), array.dtype, offset=1).reshape(array.shape)


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def mapped(array, tmp_path):
    made = np.memmap(tmp_path / "array", array.dtype, "w+", shape=array.shape)
    made[:] = array
    return made


NUMBERS = np.random.default_rng(0).integers(0, 100, size=(5, 7))


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"])
def test_arrays_of_all_kinds_of_numbers(dtype):
    array = NUMBERS.astype(dtype)
    assert about(array) == plainly_about(array)


@pytest.mark.parametrize(
    "arranged",
    [
        np.asfortranarray,
        lambda array: array[::-1, ::-2],
        lambda array: array[:0],
        lambda array: array[:, :0],
        lambda array: np.broadcast_to(array[0], array.shape),
        unaligned,
        read_only,
        np.matrix,
    ],
    ids=[
        "Fortran",
        "backwards",
        "no rows",
        "no columns",
        "repeated",
        "unaligned",
        "read-only",
        "matrix",
    ],
)
@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_arrays_of_all_arrangements(arranged):
    array = arranged(NUMBERS.astype(np.float64))
    assert about(array) == plainly_about(array)


def test_arrays_in_files(tmp_path):
    array = mapped(NUMBERS.astype(np.float64), tmp_path)
    assert about(array) == plainly_about(array)


def test_arrays_without_dimensions():
    @compiled
    def item(array):
        return array[()], array.size

    assert item(np.array(2.5)) == (2.5, 1)


def test_the_other_byte_order_is_refused():
    with pytest.raises(CompileError, match="Unsupported array dtype"):
        about(NUMBERS.astype(">f8"))


# --- numbers and tuples -----------------------------------------------------------------------


@compiled
def same(value):
    return value


class Size(IntEnum):
    SMALL = 1
    LARGE = 2


class Nothing(NamedTuple):
    pass


class Pair(NamedTuple):
    one: object
    other: object


VALUES = [
    *(0, -1, 2**31, -(2**31) - 1, 2**63 - 1, -(2**63) + 1, -(2**63), 2**63, 2**64 - 1),
    *(np.int32(-5), np.int64(-(2**63)), np.uint64(2**64 - 1), np.int8(-3), np.uint16(65535)),
    *(-0.0, math.inf, 5e-324, np.float32(0.1), np.float64(0.1)),
    *(True, False, np.True_, None, Size.LARGE),
    *((), (True, False, True), (None, (None,)), (Size.SMALL, Size.LARGE), Nothing()),
    (True, (1, True), (2.0, (False, np.int32(7), True, 9))),
    (np.int32(1), True, np.int32(2), 3.0, False),
    Pair(Nothing(), True),
    Pair(True, Pair(False, (True, 1.0))),
    ((True, Nothing()), (False, Nothing())),
]


def as_python(value):
    if not isinstance(value, tuple):
        return value.item() if isinstance(value, np.generic) else value
    parts = map(as_python, value)
    return value._make(parts) if hasattr(value, "_make") else tuple(parts)


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_values_come_back_as_they_were(value):
    assert repr(same(value)) == repr(as_python(value))


def test_whole_numbers_of_more_than_64_bits_are_refused():
    assert same(1) == 1
    assert same(2**63) == 2**63
    for number in (2**64, -(2**63) - 1, 2**100):
        with pytest.raises(OverflowError):
            same(number)


def test_more_numbers_than_registers_keep_their_places():
    values = (1, 2.5, True, np.int32(3), None, *np.arange(10.0), False, *range(9), np.uint64(2**63))
    assert same(values) == values


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "?"])
def test_items_of_arrays_come_back(dtype):
    @compiled
    def last_item(array):
        return array[-1], 1.5

    array = np.array([0, -1]).astype(dtype)  # the largest of those without a sign
    assert last_item(array) == (array[1], 1.5)


def test_division_by_zero_is_no_error():
    assert compiled(lambda x: -1.0 / x)(0.0) == -math.inf


def test_what_no_loop_returns():
    with pytest.raises(CompileError, match="cannot return OptionalType"):
        compiled(lambda x: x if x > 0.0 else None)(1.0)
    with pytest.raises(CompileError, match="cannot return complex128"):
        compiled(lambda array: array[0])(np.ones(1, dtype=complex))


# --- other people's code -----------------------------------------------------------------------


def scaling_by(factor):
    """A class anew under the same name, as a cell of a notebook makes it when it is run again."""

    @compile_methods
    class Scaling(NamedTuple):
        parameter: object

        def apply(self, x):
            return factor * x

    return Scaling


@pytest.mark.parametrize("parameter", [1.0, np.float32(1.0), "text"], ids=repr)
def test_a_class_that_is_defined_anew_is_used(parameter):
    @compiled
    def apply(scaling, x):
        return scaling.apply(x)

    first, second = scaling_by(2.0)(parameter), scaling_by(3.0)(parameter)
    assert [apply(each, 5.0) for each in (first, second, first)] == [10.0, 15.0, 10.0]


NAMELESS = """
from typing import NamedTuple
from rarefy.jit import compile_methods
@compile_methods
class Nameless(NamedTuple):
    factor: float
    def apply(self, x):
        return SIGN self.factor * x
"""


def of_the_package(function):
    """A loop of whose kind code is kept."""
    function.__module__ = "rarefy.trial"
    return compiled(function)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    made = CodeFolder(tmp_path, "trial")
    made.make()
    assert dispatch._private_path_works()  # the verdict is not written to this folder
    monkeypatch.setattr(dispatch, "_cache_folder", lambda: made)
    return made.path


def test_classes_of_no_module_are_not_kept(folder):
    def apply(scaling, x):
        return scaling.apply(x)

    found = []
    for sign in ("+", "-"):
        names: dict[str, type] = {}
        exec(NAMELESS.replace("SIGN", sign), names)
        assert names["Nameless"].__module__ == "builtins"
        found.append(of_the_package(apply)(names["Nameless"](2.0), 1.0))
    assert found == [2.0, -2.0]
    assert not list(folder.iterdir())


class TooLargeError(Exception):
    pass


def test_errors_are_those_that_were_raised():
    @compiled
    def check(x):
        if x > 2.0:
            raise TooLargeError
        if x > 1.0:
            raise ValueError("more than one", 1)
        return x

    assert check(1.0) == 1.0
    with pytest.raises(ValueError, match="more than one") as error:
        check(2.0)
    assert error.value.args == ("more than one", 1)
    with pytest.raises(TooLargeError):
        check(3.0)


@helper
def _half(x):
    print("half of", x)
    return x / 2.0


def test_compiled_code_may_print(capfd):
    @compiled
    def quarter(x):
        print("a quarter of", x)
        return _half(_half(x))

    assert quarter(4.0) == 1.0
    assert capfd.readouterr().out == "a quarter of 4.0\nhalf of 4.0\nhalf of 2.0\n"


def test_functions_may_be_marked_after_others_were_compiled():
    assert same(1.0) == 1.0

    @helper
    def half(x):
        return x / 2.0

    assert compiled(lambda x: half(x) + 1.0)(3.0) == 2.5


# --- at the same time -------------------------------------------------------------------------


def test_threads_that_call_a_new_loop_at_once_have_it_compiled_once(monkeypatch):
    made = []
    compile_object_code = compiler.compile_object_code

    def counted(*arguments):
        made.append(arguments)
        return compile_object_code(*arguments)

    monkeypatch.setattr(compiler, "compile_object_code", counted)
    start = threading.Barrier(8)
    doubled = compiled(lambda x: 2.0 * x)

    def call(number):
        start.wait()
        return doubled(number)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(call, np.arange(8.0))) == list(np.arange(0.0, 16.0, 2.0))
    assert len(made) == 1


def _longest_of(rows, answer):
    answer.put(longest(rows))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_loops_run_in_a_fork():
    rows = np.array([0, 3, 7, 8])
    assert longest(rows) == 4
    context = multiprocessing.get_context("fork")
    answer = context.SimpleQueue()
    child = context.Process(target=_longest_of, args=(rows, answer))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert answer.get() == 4


@pytest.mark.slow
def test_processes_that_compile_at_once_share_a_folder(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", FIT], env=environment, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    printed = {run.communicate()[0] for run in runs}
    assert len(printed) == 1
    assert [run.returncode for run in runs] == [0, 0, 0]
    kept = machine_code(tmp_path)
    assert all(object_code.object_code_in(path.read_bytes()) for path in kept)
    assert run_python(FIT, NUMBA_CACHE_DIR=str(tmp_path)) in printed
    assert machine_code(tmp_path) == kept


# --- on disk ----------------------------------------------------------------------------------


def kinds_of_arguments():
    numbers = np.zeros((2, 2))
    arrays = [
        *(numbers, numbers.T.copy().T, np.zeros((4, 4))[::2, ::2], read_only(numbers)),
        *(unaligned(numbers), numbers[0], np.zeros(4)[::2]),
        *(numbers.astype("f4"), numbers.astype("i8")),
    ]
    tuples = [(), (1.0,), (1.0, 1.0), ((1.0,), 1.0), (1.0, (1.0,)), ((1.0, 1.0),), (1,), (None,)]
    return [*arrays, *tuples, 1.0, 1, 2**63, True, None, np.int32(1)]


def number_of(value, other):
    return 7 if other is None else 8


def test_code_is_kept_for_each_kind_of_arguments_and_found_again(folder, monkeypatch):
    kinds = kinds_of_arguments()
    made = of_the_package(number_of)
    assert [made(value, None) for value in kinds] == [7] * len(kinds)
    assert len(list(folder.iterdir())) == len(kinds)

    def other_number_of(value, other):
        return 9

    assert of_the_package(other_number_of)(1.0, None) == 9

    monkeypatch.setattr(dispatch, "_module", None)
    again = of_the_package(number_of)
    assert [again(value, None) for value in kinds] == [7] * len(kinds)
    assert len(again._calls) == len(kinds)


def test_what_is_kept_says_what_it_calls_and_is_not_used_without_that(folder):
    def log_of_more(x):
        return math.log1p(x)

    first = of_the_package(log_of_more)(1.0)
    (file,) = folder.iterdir()
    kept = object_code.object_code_in(file.read_bytes())
    assert kept.calls == ["log1p"]
    file.write_bytes(object_code.file_content(kept._replace(calls=["log1p", "no_such_function"])))
    assert of_the_package(log_of_more)(1.0) == first == math.log(2.0)
    assert object_code.object_code_in(file.read_bytes()).calls == ["log1p"]


def test_files_with_a_wrong_byte_or_a_missing_end_are_not_read(folder):
    of_the_package(number_of)(1.0, None)
    (file,) = folder.iterdir()
    content = file.read_bytes()
    assert (
        object_code.object_code_in(content).code.startswith(b"\x7fELF") or sys.platform != "linux"
    )
    for position in (*range(0, len(content), 7), len(content) - 1):
        wrong = bytearray(content)
        wrong[position] ^= 1
        assert object_code.object_code_in(bytes(wrong)) is None, position
        assert object_code.object_code_in(content[:position]) is None, position


FORGED = {
    "arguments": ["q!", "d", "", "q" * 500, "99999999999x", 3, None, ["d"], "\ud800"],
    "result": [
        *("nothing", 7, [], {"a": 1}, [3, "int64"], ["rarefy", "int64"], ["no.such:thing"]),
        *(["os:sep"], ["os:nothing"], ["builtins:int", "int64"], ["enum:IntEnum"]),
        ["rarefy.estimators.matrices:Findings", "int64"],
    ],
    "calls": [3, [3], None, ["\ud800"], {"no": "such"}, "text", ["a\0b"]],
    "entry": ["", "zz", "00ff", 7, None, (b"\x7fELF" + b"?" * 99).hex()],
    "code": [
        *(b"", b"?", b"?" * 999, b"\x7fELF", b"\x7fELF" + b"?" * 999, b"!<arch>\n", b"BC\xc0\xde?"),
        *(bytes.fromhex("cffaedfe") + bytes(999), b"MZ" + bytes(999)),
    ],
}
HEADERS = [
    *(b"", b"{", b"7", b"null", b"[]", b"[1, 2]", b"[1, 2, 3, 4, 5]", b"{}", b"\xff", b"1" * 10**4),
    *(b"[" * 10**5, b'{"arguments": "d", "result": null, "calls": [], "entry": ""}'),
]


def assert_compiled_anew(file, forged):
    file.write_bytes(forged)
    assert of_the_package(number_of)(1.0, None) == 7
    assert file.read_bytes() != forged
    assert object_code.load_cached(file.read_bytes(), (1.0, 0)) is not None


@pytest.mark.parametrize("part", FORGED)
def test_object_code_that_makes_no_sense_is_compiled_anew(folder, part):
    of_the_package(number_of)(1.0, None)
    (file,) = folder.iterdir()
    kept = object_code.object_code_in(file.read_bytes())
    for value in FORGED[part]:
        assert_compiled_anew(file, object_code.file_content(kept._replace(**{part: value})))


def test_object_code_without_a_proper_header_is_compiled_anew(folder):
    of_the_package(number_of)(1.0, None)
    (file,) = folder.iterdir()
    code = object_code.object_code_in(file.read_bytes()).code
    for header in HEADERS:
        forged = header + b"\n" + code
        assert_compiled_anew(file, object_code._checksum(forged) + b"\n" + forged)


def test_code_that_is_cut_off_is_compiled_anew(folder):
    of_the_package(number_of)(1.0, None)
    (file,) = folder.iterdir()
    kept = object_code.object_code_in(file.read_bytes())
    for end in (*range(1, 100, 7), len(kept.code) // 2, -64, -1):
        assert_compiled_anew(file, object_code.file_content(kept._replace(code=kept.code[:end])))


def test_nothing_is_left_where_a_file_cannot_be_completed(folder, monkeypatch):
    def full(*_, **__):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert of_the_package(number_of)(1.0, None) == 7
    assert not list(folder.iterdir())


def test_a_folder_may_vanish(folder):
    folder.rmdir()
    assert of_the_package(number_of)(1.0, None) == 7
    assert len(list(folder.iterdir())) == 1
    shutil.rmtree(folder.parents[1])
    assert of_the_package(number_of)(1.0, None) == 7
    assert not folder.exists()


def test_without_a_home_nothing_is_kept(monkeypatch):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    for name in ("XDG_CACHE_HOME", "NUMBA_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    assert dispatch._cache_folder.__wrapped__() is None


def test_code_of_sources_that_were_replaced_meanwhile_is_not_kept_for_the_new_ones(tmp_path):
    """As by an update of the package while a notebook is open."""
    package = copy_package(tmp_path / "sources")
    environment = {"PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    rule = package / "rules" / "ogd.py"
    before = rule.read_text()
    triple_the_steps(package)
    replacing_it = f"import rarefy.rules; open({str(rule)!r}, 'w').write({rule.read_text()!r})"
    rule.write_text(before)
    first = float(run_python(f"{replacing_it}\n{FIT}", **environment))
    assert float(run_python(FIT, **environment)) == pytest.approx(3.0 * first)


# --- functions of Python ---------------------------------------------------------------------


@compiled
def noted(memory, factor):
    """What was given, behind it; not 0 for what is not taken."""
    memory[3] = factor * (memory[1] + memory[2])
    return 7 if memory[1] > 3.0 else 0


def test_functions_of_python():
    memory = np.zeros(4)
    step = noted, (memory, 2.0)
    status = in_turn(step, given=memory[:3])
    answer = in_turn(step, given=memory[:3], answer=memory[3:])
    row = {}
    assert status(row, 1.0, 2.5) == 0
    assert memory[:1].view(np.int64)[0] == id(row)
    assert memory.tolist()[1:] == [1.0, 2.5, 7.0]
    assert status(row, 4.0, 2.5) == 7
    assert answer(row, 1.0, 3.0) == 8.0
    assert answer(row, 4.0, 3.0) is None
    for given in ((), (row,), (row, 1.0), (row, 1.0, 2.0, 3.0)):
        with pytest.raises(SystemError):
            status(*given)
    before = [sys.getrefcount(one) for one in (row, None)]
    for _ in range(1000):
        answer(row, 4.0, 3.0)
    after = [sys.getrefcount(one) for one in (row, None)]
    assert all(abs(a - b) < 100 for a, b in zip(after, before, strict=True))


def test_functions_of_python_keep_what_they_need():
    function = in_turn((noted, (memory := np.zeros(4), 3.0)), given=memory[:3])
    again = weakref.ref(memory)
    del memory
    gc.collect()
    assert again() is not None
    assert function(None, 1.0, 1.0) == 0
    del function
    gc.collect()
    assert again() is None


@compiled
def tripled(memory, most):
    memory[1] *= 3.0
    return 5 if memory[1] > most else 0


def test_functions_of_python_call_loops_in_turn_until_one_does_not_give_0():
    memory = np.zeros(4)
    steps = (tripled, (memory, 9.0)), (noted, (memory, 2.0)), (tripled, (memory, 9.0))
    status = in_turn(*steps, given=memory[:3])
    answer = in_turn(*steps, given=memory[:3], answer=memory[3:])
    assert status(None, 0.5, 2.5) == 0
    assert memory.tolist()[1:] == [4.5, 2.5, 8.0]
    assert answer(None, 0.5, 3.0) == 9.0
    for first, result, left in ((4.0, 5, 12.0), (1.5, 7, 4.5), (1.0, 0, 9.0)):
        assert status(None, first, 0.0) == result
        assert memory[1] == left
        assert (answer(None, first, 0.0) is None) == (result != 0)


@compiled
def last_of(numbers, end):
    return numbers[end - 1]


def test_a_bound_call_is_given_one_number():
    numbers = np.array([3, 1, 4, 1, 5])
    call = last_of.bound(numbers, 0, open_at=1)
    assert [call(n) for n in (1, 3, 5)] == [3, 4, 5]
    numbers[2] = -2
    assert call(3) == -2
