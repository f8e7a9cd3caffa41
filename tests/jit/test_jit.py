"""The compiler's side: other people's code is left alone, and no stale machine code is used."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import rarefy
from rarefy.jit import CompileError, compile_methods, compiled, dispatch, helper
from rarefy.model.clock import clock_after, next_round
from rarefy.model.schedules import InvSqrt
from rarefy.rules import RULES
from tests.selecting import slow_but

PACKAGE = Path(rarefy.__file__).parent
ROOT = Path(__file__).parents[2]


def run_python(program: str, **environment: str) -> str:
    """What a program prints in a fresh process."""
    run = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


# --- other people's NamedTuples -------------------------------------------------------------


class Plan(NamedTuple):
    """Fields named as the methods of rules, losses and schedules are."""

    weight: float
    step: float
    eta: float
    value: float
    slope: float


Uneven = namedtuple("Uneven", ["weight", "step", "eta", "value", "slope"])


class Parcel(NamedTuple):
    """A method of that name, which Numba knows nothing of."""

    mass: float

    def weight(self):
        return 9.81 * self.mass


@compiled
def add_up(plan):
    return plan.weight + 10 * plan.step + 100 * plan.eta + 1000 * plan.value + 10000 * plan.slope


@pytest.mark.parametrize(
    "plan",
    [Plan(1.0, 2.0, 3.0, 4.0, 5.0), Uneven(1, 2.0, 3, 4.0, 5)],
    ids=["one type", "several types"],
)
def test_fields_of_other_named_tuples_are_read_as_ever(plan):
    assert add_up(plan) == 54321.0


def test_methods_of_other_named_tuples_are_unknown_as_ever():
    @compiled
    def weigh(parcel):
        return parcel.weight()

    with pytest.raises(CompileError, match="Unknown attribute 'weight'"):
        weigh(Parcel(1.0))


def test_attributes_that_a_rule_lacks_are_unknown():
    @compiled
    def read(rule):
        return rule.nothing

    with pytest.raises(CompileError, match="Unknown attribute 'nothing'"):
        read(RULES["fobos"]())


def test_a_rule_has_fields_and_methods_in_compiled_code():
    @compiled
    def use(rule, clock):
        return rule.l1, rule.weight(clock, rule.step(clock, (0.0, 0.0), -1.0, 1.0))

    rule = RULES["fobos"](l1=0.25)
    clock = next_round(rule, clock_after(rule, InvSqrt(1.0)))
    expected = rule.weight(clock, rule.step(clock, (0.0, 0.0), -1.0, 1.0))
    assert use(rule, clock) == (0.25, expected)


@compile_methods
class Doubling(NamedTuple):
    factor: float

    def apply(self, a: float) -> float:
        return self.factor * a


@compile_methods
class Shifting(NamedTuple):
    """Another class with a method of the same name, and no fields."""

    def apply(self, a: float) -> float:
        return a + 1.0


def test_methods_of_the_same_name_are_told_apart_by_class():
    @compiled
    def both(one, other, a):
        return one.apply(a), other.apply(a), other.apply(one.apply(a))

    assert both(Doubling(2.0), Shifting(), 5.0) == (10.0, 6.0, 11.0)


# --- arguments and results --------------------------------------------------------------


class Colour(IntEnum):
    RED = 1
    BLUE = 2


class Inner(NamedTuple):
    small: bool
    number: float


class Outer(NamedTuple):
    inner: Inner
    colour: Colour
    array: np.ndarray


@compiled
def echo(outer, pair, big, nothing, small):
    """All kinds of numbers, more than fit the registers, and back."""
    outer.array[0] += 1.0
    total = pair[0] + pair[1] + (0.0 if nothing is None else nothing[0, 1])
    inner = Inner(not outer.inner.small, outer.inner.number * 2.0)
    return inner, Colour.BLUE, big + np.uint64(1), (small, total), len(outer.array)


@pytest.mark.parametrize("number", [1.5, np.float64(1.5)], ids=["Python's", "NumPy's"])
@pytest.mark.parametrize("small", [True, np.False_], ids=["Python's", "NumPy's"])
@pytest.mark.parametrize(
    ("nothing", "more"),
    [(None, 0.0), (np.eye(3).T, 0.0), (np.arange(6.0).reshape(2, 3)[:, ::2], 2.0)],
    ids=["None", "Fortran's order", "with gaps"],
)
def test_arguments_arrive_and_results_come_back(number, small, nothing, more):
    array = np.zeros(7)
    outer = Outer(Inner(small, number), Colour.RED, array)
    found = echo(outer, (2, 0.25), np.uint64(2**64 - 2), nothing, small)
    expected = (Inner(not small, 3.0), Colour.BLUE, 2**64 - 1, (bool(small), 2.25 + more), 7)
    assert found == expected
    assert isinstance(found[0], Inner)
    assert isinstance(found[1], Colour)
    assert found[0].small is (not small)
    assert array[0] == 1.0


@compiled
def both_of(one, other):
    return one, other


def test_integers_beyond_int64_are_unsigned():
    assert both_of(2**63, -1) == (2**63, -1)
    assert both_of(2**63 - 1, 2**64 - 1) == (2**63 - 1, 2**64 - 1)


def test_what_is_read_only_stays_so():
    @compiled
    def write(array):
        array[0] = 1.0

    array = np.zeros(1)
    write(array)
    assert array[0] == 1.0
    array.flags.writeable = False
    with pytest.raises(CompileError, match="readonly"):
        write(array)


def test_other_arguments_are_as_numba_takes_them():
    assert both_of(1.0, ("text", 2)) == (1.0, ("text", 2))
    with pytest.raises(CompileError, match="Cannot determine Numba type of"):
        both_of(1.0, object())


def test_many_threads_share_a_loop():
    @compiled
    def total(array):
        found = 0.0
        for i in range(len(array)):
            found += array[i]
        return found

    arrays = [np.full(1000, float(n)) for n in range(64)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(total, arrays)) == [1000.0 * n for n in range(64)]


@helper
def _three_halves(x):
    return np.full(3, x / 2.0).sum()


def test_other_people_s_functions_may_make_arrays():
    @compiled
    def use(x):
        return _three_halves(x)

    assert use(4.0) == 6.0


# --- machine code on disk -------------------------------------------------------------------


def digest_of(package: Path, monkeypatch) -> str:
    monkeypatch.setattr(dispatch, "SOURCES", dispatch._sources(package))
    return dispatch._digest()


@pytest.mark.parametrize("step", slow_but([1, 6], 6), ids=["all sources", "some sources"])
def test_the_cache_folder_depends_on_all_that_loops_do(step, tmp_path, monkeypatch):
    package = shutil.copytree(PACKAGE, tmp_path / "rarefy")
    original = digest_of(package, monkeypatch)
    assert original == digest_of(PACKAGE, monkeypatch)
    seen, n_of_loops = {original}, 0
    for source in sorted(package.rglob("*.py"))[::step]:
        text = source.read_bytes()
        source.write_bytes(text + b"\n# edited\n")
        seen.add(digest_of(package, monkeypatch))
        source.write_bytes(text)
        n_of_loops += source.relative_to(package).parts[0] not in dispatch.WITHOUT_LOOPS
    assert len(seen) == 1 + n_of_loops
    assert digest_of(package, monkeypatch) == original
    for setting in ("_compiler_version", "host"):
        with monkeypatch.context() as patch:
            patch.setattr(dispatch, setting, lambda: "another")
            seen.add(digest_of(package, patch))
    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "1")
    seen.add(digest_of(package, monkeypatch))
    assert len(seen) == 4 + n_of_loops


FIT = """
from rarefy import SparseOnlineClassifier
model = SparseOnlineClassifier(rule="ogd", loss="hinge", passes=1).fit([[1.0], [-1.0]], [1, 0])
print(model.coef_[0, 0])
"""


def machine_code(folder: Path) -> dict[Path, int]:
    """The cached functions, of ours and of Numba's cache, and when they were written."""
    found = (*folder.rglob("rarefy.*-*"), *folder.rglob("*.nbc"))
    return {path: path.stat().st_mtime_ns for path in found}


def copy_package(folder: Path) -> Path:
    return shutil.copytree(PACKAGE, folder / "rarefy", ignore=shutil.ignore_patterns("__pycache__"))


def triple_the_steps(package: Path) -> None:
    """An edit of a rule; it is in another file than the loop that is cached."""
    source = package / "rules" / "ogd.py"
    text = source.read_text()
    edited = text.replace("state[0] - clock.eta * g", "state[0] - 3.0 * clock.eta * g")
    assert edited != text
    source.write_text(edited)


@pytest.mark.slow
@pytest.mark.parametrize("plain", ["0", pytest.param("1", marks=pytest.mark.slow)])
def test_an_edited_source_is_compiled_again(plain, tmp_path):
    """Numba itself would not notice."""
    package, cache = copy_package(tmp_path / "sources"), tmp_path / "cache"
    environment = {
        "PYTHONPATH": str(package.parent),
        "NUMBA_CACHE_DIR": str(cache),
        "RAREFY_PLAIN_NUMBA": plain,
    }
    first = float(run_python(FIT, **environment))
    written = machine_code(cache)
    assert written
    assert len({path.relative_to(cache).parts[:2] for path in written}) == 1

    assert float(run_python(FIT, **environment)) == first
    assert machine_code(cache) == written  # used, and not written again

    triple_the_steps(package)
    assert float(run_python(FIT, **environment)) == pytest.approx(3.0 * first)
    assert len({path.relative_to(cache).parts[:2] for path in machine_code(cache)}) == 2


def test_no_loop_depends_on_folders_without_loops():
    for source in PACKAGE.rglob("*.py"):
        text = source.read_text()
        uses_loops = re.search(r"^@(compiled|helper|compile_methods|rule\()", text, re.MULTILINE)
        if source.relative_to(PACKAGE).parts[0] in dispatch.WITHOUT_LOOPS:
            assert not uses_loops, source
        elif uses_loops:
            assert not re.search(rf"rarefy\.({'|'.join(dispatch.WITHOUT_LOOPS)})\b", text), source


def nowhere(tmp_path: Path, package: Path) -> dict[str, str]:
    """An environment in which no folder for the cache can be made: all are below a file."""
    (tmp_path / "file").touch()
    below = str(tmp_path / "file" / "cache")
    return {
        "PYTHONPATH": str(package.parent),
        "NUMBA_CACHE_DIR": below,
        "XDG_CACHE_HOME": below,
        "HOME": below,
    }


@pytest.mark.slow
def test_without_a_folder_for_the_cache_no_stale_code_is_used(tmp_path):
    """Numba would fall back to the package's own folder, which says nothing of the sources."""
    package = copy_package(tmp_path)
    environment = nowhere(tmp_path, package)
    first = float(run_python(FIT, **environment))
    triple_the_steps(package)
    assert float(run_python(FIT, **environment)) == pytest.approx(3.0 * first)


def test_rarefy_works_where_nothing_can_be_written(tmp_path):
    package = copy_package(tmp_path)
    for folder in (package, package / "rules"):
        (folder / "__pycache__").touch()
    assert np.isfinite(float(run_python(FIT, **nowhere(tmp_path, package))))
    assert not machine_code(tmp_path)


CHECKED = """
import numpy as np
from rarefy.jit import compiled, helper

@helper
def item(array, i):
    return array[i]

@compiled
def indirectly(array, i):
    return item(array, i)

@compiled
def directly(array, i):
    return array[i]

for loop in (indirectly, directly):
    assert loop(np.arange(3.0), 2) == 2.0
    try:
        loop(np.arange(3.0), 3)
    except IndexError:
        print("refused")
"""


def test_bounds_are_checked_if_numba_is_told_to(tmp_path):
    found = run_python(CHECKED, NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(tmp_path))
    assert found == "refused\n" * 2


def test_what_is_on_disk_is_used_without_the_compiler(tmp_path):
    environment = {"NUMBA_CACHE_DIR": str(tmp_path)}
    rows = tmp_path / "rows.svm"
    rows.write_text("1 1:1\n-1 2:1\n")
    program = f"""
import sys
import rarefy.cli
try:
    rarefy.cli.main(["train", "--quiet", {str(rows)!r}, "-o", {str(tmp_path / "a.model")!r}])
except SystemExit as end:
    assert end.code == 0
print("numba" in sys.modules)
"""
    assert run_python(program, **environment) == "True\n"
    assert run_python(program, **environment) == "False\n"


def test_other_people_s_code_is_not_kept(tmp_path):
    program = """
from rarefy import SparseOnlineClassifier
from tests.rules.test_custom_rule import ClippedFobos
model = SparseOnlineClassifier(ClippedFobos(l1=0.01), passes=1).fit([[1.0], [-1.0]], [1, 0])
"""
    run_python(program, NUMBA_CACHE_DIR=str(tmp_path), PYTHONPATH=f"{PACKAGE.parent}:{ROOT}")
    names = [path.name for path in machine_code(tmp_path)]
    assert not any("engine.learn" in name for name in names)


@pytest.mark.slow
@pytest.mark.parametrize("damage", slow_but([10, 0, -1, "all"], 10), ids=str)
def test_damaged_machine_code_is_compiled_again(damage, tmp_path):
    environment = {"NUMBA_CACHE_DIR": str(tmp_path)}
    first = run_python(FIT, **environment)
    for path in machine_code(tmp_path):
        code = path.read_bytes()
        path.write_bytes(b"" if damage == "all" else code[:damage] + b"?" + code[damage:][1:])
    damaged = {path: path.read_bytes() for path in machine_code(tmp_path)}
    assert run_python(FIT, **environment) == first
    assert all(path.read_bytes() != code for path, code in damaged.items())


EXAMPLES = """
import numba
from rarefy import SparseOnlineClassifier
from rarefy.jit import compiled, helper
from tests.rules.test_custom_rule import ClippedFobos

@helper
def double(x):
    return 2.0 * x

print(compiled(lambda x, text: double(x))(4.0, "text"))
for rule in (ClippedFobos(l1=0.01), "scale-free"):
    print(SparseOnlineClassifier(rule=rule).fit([[1.0], [-1.0]], [1, 0]).coef_[0, 0])
print(hasattr(numba.njit(lambda x: x), "py_func"))
"""


@pytest.mark.slow
def test_loops_are_compiled_even_if_numba_is_told_not_to():
    """They are not Python alone; functions of others are left as they are."""
    path = f"{PACKAGE.parent}:{ROOT}"
    *usual, are_others_compiled = run_python(EXAMPLES, PYTHONPATH=path).split()
    assert are_others_compiled == "True"
    found = run_python(EXAMPLES, PYTHONPATH=path, NUMBA_DISABLE_JIT="1").split()
    assert found == [*usual, "False"]
    assert usual[0] == "8.0"
