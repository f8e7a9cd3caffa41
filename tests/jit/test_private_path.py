"""Two ways to compile, the same models; and how it is found out that the private one fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from numba.core import compiler as numba_compiler

from rarefy.errors import RarefyWarning
from rarefy.jit import CompileError, compiled, compiler, dispatch, njit, object_code, private_path
from rarefy.jit.code_folder import CodeFolder
from tests.jit.panel import BROAD, QUICK, digests
from tests.jit.test_jit import FIT, PACKAGE, ROOT, machine_code, run_python


@pytest.fixture
def folder(tmp_path):
    made = CodeFolder(tmp_path, "trial")
    made.make()
    return made


# --- the same models --------------------------------------------------------------------------


def plain_digests(folder, cases):
    """By numba.njit, in a process of its own."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.jit.panel", str(folder), *cases],
        env={**os.environ, "RAREFY_PLAIN_NUMBA": "1", "PYTHONPATH": f"{PACKAGE.parent}:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "numba.njit" not in run.stderr
    return json.loads(run.stdout)


@pytest.mark.slow
def test_both_ways_make_the_same_models(tmp_path):
    assert dispatch._private_path_works()
    assert plain_digests(tmp_path, QUICK) == digests(tmp_path, QUICK)


@pytest.mark.slow
def test_both_ways_make_the_same_models_of_all_kinds(tmp_path):
    assert plain_digests(tmp_path, BROAD) == digests(tmp_path, BROAD)


@pytest.mark.slow
def test_numba_caches_what_it_compiles_where_we_do(tmp_path):
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "RAREFY_PLAIN_NUMBA": "1"}
    printed = run_python(FIT, **environment)
    written = machine_code(tmp_path)
    assert written
    assert {path.suffix for path in written} == {".nbc"}
    assert run_python(FIT, **environment) == printed
    assert machine_code(tmp_path) == written
    for path in tmp_path.rglob("*.nb?"):
        path.write_bytes(b"damaged")
    assert run_python(FIT, **environment) == printed


# --- the verdict ------------------------------------------------------------------------------


def with_other_internals(patch, **internals):
    """Of which Numba itself makes use."""
    known = {"Flags": numba_compiler.Flags, "compile_extra": numba_compiler.compile_extra}
    patch.setattr(compiler, "compiler", SimpleNamespace(**{**known, **internals}))


def without_compile_extra(patch):
    with_other_internals(patch)
    del compiler.compiler.compile_extra


def with_other_flags(patch):
    class Flags:
        __slots__ = ("all_of_them",)

    with_other_internals(patch, Flags=Flags)


def with_other_arguments(patch):
    with_other_internals(patch, compile_extra=lambda function, *, kinds: None)


def with_another_layout(patch):
    patch.setattr(compiler, "_format", lambda _: "q")


def with_other_results(patch):
    right = compiler.compile_object_code

    def other(matrix, pair, whole, nothing):
        return pair, (whole, nothing is None)

    patch.setattr(compiler, "compile_object_code", lambda _, given: right(other, given))


def with_other_exceptions(patch):
    patch.setattr(object_code, "_raised", lambda *_, **__: KeyError("negative"))


def without_the_engine(patch):
    patch.delattr(object_code.llvm(), "create_mcjit_compiler")


def without_a_module(patch):
    patch.setitem(sys.modules, "rarefy.jit.compiler", None)


CHANGES = [
    *(without_compile_extra, with_other_flags, with_other_arguments, with_another_layout),
    *(with_other_results, with_other_exceptions, without_the_engine, without_a_module),
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_compiler_that_is_made_differently_is_found_out(change, folder, monkeypatch):
    with monkeypatch.context() as patch:
        change(patch)
        with pytest.warns(RarefyWarning, match=r"Numba .* numba.njit") as caught:
            assert not private_path.works(folder)
        assert len(caught) == 1
        patch.setattr(dispatch, "_private_path_works", lambda: private_path.works(folder))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert compiled(lambda x: np.log1p(2.0 * x))(3.0) == np.log1p(6.0)
    assert folder.read(private_path.VERDICT) == b"fails"
    assert not private_path.works(folder)  # until a version changes


def test_what_is_known_is_not_tried_again(folder, monkeypatch):
    assert private_path.works(folder)
    assert folder.read(private_path.VERDICT) == b"works"
    monkeypatch.setattr(private_path, "_is_trial_right", None)
    assert private_path.works(folder)


def test_a_damaged_verdict_is_found_anew(folder):
    folder.write(private_path.VERDICT, b"?")
    assert private_path.works(folder)
    assert folder.read(private_path.VERDICT) == b"works"


def test_without_a_folder_it_is_tried_in_every_process():
    assert private_path.works(None)


def test_what_ends_the_process_does_so_only_once(folder, monkeypatch):
    def crash(_):
        raise SystemExit

    monkeypatch.setattr(object_code, "load", crash)
    with pytest.raises(SystemExit):
        private_path.works(folder)
    assert not private_path.works(folder)


BROKEN = f"""
import rarefy.jit.compiler
rarefy.jit.compiler.compiler = None
{FIT}
"""


def test_a_broken_compiler_makes_the_same_model_and_says_so_once(tmp_path):
    usual = run_python(FIT)
    runs = [
        subprocess.run(
            [sys.executable, "-c", BROKEN],
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True, text=True, check=True,
        )
        for _ in range(2)
    ]  # fmt: skip
    assert [run.stdout for run in runs] == [usual, usual]
    assert [run.stderr.count("Warning") for run in runs] == [1, 0]


# --- one function -----------------------------------------------------------------------------


@pytest.mark.parametrize("error", [AttributeError, TypeError, KeyError, AssertionError])
def test_a_function_that_the_private_way_fails_at_is_compiled_by_numba(error, monkeypatch):
    def fail(*_):
        raise error("no such thing")

    monkeypatch.setattr(compiler, "compile_object_code", fail)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        doubled = compiled(lambda x: 2.0 * x)
        assert [doubled(1.5), doubled(2.5)] == [3.0, 5.0]


def test_what_numba_refuses_is_refused_by_both_ways(monkeypatch):
    def refused(x):
        return x.nothing

    for plain in ("0", "1"):
        monkeypatch.setenv("RAREFY_PLAIN_NUMBA", plain)
        with pytest.raises(CompileError, match="nothing"):
            compiled(refused)(1.0)


def test_it_can_be_asked_for(monkeypatch):
    prepared = []
    prepare = njit.prepare
    monkeypatch.setattr(njit, "prepare", lambda *given: prepared.append(given) or prepare(*given))
    for plain, expected in (("", 0), ("0", 0), ("1", 1)):
        monkeypatch.setenv("RAREFY_PLAIN_NUMBA", plain)
        assert compiled(lambda x: x + 1.0)(1.0) == 2.0
        assert len(prepared) == expected
