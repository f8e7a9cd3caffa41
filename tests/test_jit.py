"""The compiler's side: other people's code is left alone, and no stale machine code is used."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import namedtuple
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest

import rarefy
from rarefy import jit
from rarefy.clock import clock_after, next_round
from rarefy.rules import RULES
from rarefy.schedules import InvSqrt

PACKAGE = Path(rarefy.__file__).parent


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


@numba.njit
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
    @numba.njit
    def weigh(parcel):
        return parcel.weight()

    with pytest.raises(numba.TypingError, match="Unknown attribute 'weight'"):
        weigh(Parcel(1.0))


def test_attributes_that_a_rule_lacks_are_unknown():
    @numba.njit
    def read(rule):
        return rule.nothing

    with pytest.raises(numba.TypingError, match="Unknown attribute 'nothing'"):
        read(RULES["fobos"]())


def test_a_rule_has_fields_and_methods_in_compiled_code():
    @numba.njit
    def use(rule, clock):
        return rule.l1, rule.weight(clock, rule.step(clock, (0.0, 0.0), -1.0, 1.0))

    rule = RULES["fobos"](l1=0.25)
    clock = next_round(rule, clock_after(rule, InvSqrt(1.0)))
    expected = rule.weight(clock, rule.step(clock, (0.0, 0.0), -1.0, 1.0))
    assert use(rule, clock) == (0.25, expected)


@jit.compile_methods
class Doubling(NamedTuple):
    factor: float

    def apply(self, a: float) -> float:
        return self.factor * a


@jit.compile_methods
class Shifting(NamedTuple):
    """Another class with a method of the same name, and no fields."""

    def apply(self, a: float) -> float:
        return a + 1.0


def test_methods_of_the_same_name_are_told_apart_by_class():
    @numba.njit
    def both(one, other, a):
        return one.apply(a), other.apply(a), other.apply(one.apply(a))

    assert both(Doubling(2.0), Shifting(), 5.0) == (10.0, 6.0, 11.0)


# --- the cache on disk ----------------------------------------------------------------------


IMPORT = """
import json, numba
before = numba.config.CACHE_DIR
import rarefy
print(json.dumps([before, numba.config.CACHE_DIR]))
"""


@pytest.mark.parametrize("given", [None, "cache"], ids=["default", "NUMBA_CACHE_DIR"])
def test_importing_leaves_the_configuration_of_numba_alone(given, tmp_path):
    before, after = json.loads(
        run_python(IMPORT, NUMBA_CACHE_DIR=str(tmp_path / given) if given else "")
    )
    assert before == after == (str(tmp_path / given) if given else "")


def test_the_cache_directory_is_set_back_after_an_error():
    before, inside = numba.config.CACHE_DIR, []

    def fail():
        with jit._numba_cache_in("elsewhere"):
            inside.append(numba.config.CACHE_DIR)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert inside != [before]
    assert before == numba.config.CACHE_DIR


def digest_of(package: Path, monkeypatch) -> str:
    monkeypatch.setattr(jit, "__file__", str(package / "jit.py"))
    return jit._source_digest.__wrapped__()


def test_the_cache_folder_depends_on_all_sources(tmp_path, monkeypatch):
    package = shutil.copytree(PACKAGE, tmp_path / "rarefy")
    original = digest_of(package, monkeypatch)
    assert original == digest_of(PACKAGE, monkeypatch)
    seen = {original}
    for source in sorted(package.rglob("*.py")):
        text = source.read_bytes()
        source.write_bytes(text + b"\n# edited\n")
        seen.add(digest_of(package, monkeypatch))
        source.write_bytes(text)
    assert len(seen) == 1 + len(list(package.rglob("*.py")))
    assert digest_of(package, monkeypatch) == original
    monkeypatch.setattr(numba, "__version__", "0.0")
    assert digest_of(package, monkeypatch) != original


FIT = """
from rarefy import SparseOnlineClassifier
model = SparseOnlineClassifier(rule="ogd", loss="hinge").fit([[1.0], [-1.0]], [1, 0])
print(model.coef_[0, 0])
"""


def machine_code(folder: Path) -> dict[Path, int]:
    """The cached functions, and when they were written."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*.nbc")}


def copy_package(folder: Path) -> Path:
    return shutil.copytree(PACKAGE, folder / "rarefy", ignore=shutil.ignore_patterns("__pycache__"))


def triple_the_steps(package: Path) -> None:
    """An edit of a rule; it is in another file than the loop that is cached."""
    source = package / "rules" / "ogd.py"
    text = source.read_text()
    edited = text.replace("state[0] - clock.eta * g", "state[0] - 3.0 * clock.eta * g")
    assert edited != text
    source.write_text(edited)


def test_an_edited_source_is_compiled_again(tmp_path):
    """Numba itself would not notice."""
    package, cache = copy_package(tmp_path / "sources"), tmp_path / "cache"
    environment = {"PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(cache)}
    first = float(run_python(FIT, **environment))
    written = machine_code(cache)
    assert written
    assert len({path.relative_to(cache).parts[:2] for path in written}) == 1

    assert float(run_python(FIT, **environment)) == first
    assert machine_code(cache) == written  # used, and not written again

    triple_the_steps(package)
    assert float(run_python(FIT, **environment)) == pytest.approx(3.0 * first)
    assert len({path.relative_to(cache).parts[:2] for path in machine_code(cache)}) == 2


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
