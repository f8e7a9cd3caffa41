"""A run that was stopped and gone on with gives the file of one that was not, byte for byte."""

from __future__ import annotations

import functools
import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest

import rarefy.readers
from rarefy.cli.plan import Plan, new_plan, resumed_plan
from rarefy.cli.train import given_options, train
from rarefy.model_file import load_model
from rarefy.readers.source import blocks
from rarefy.stores import make_store
from rarefy.stores.hashed import _note_owners
from tests import data

N_ROWS = 150
KINDS = ("binary", "multiclass", "regression")
STORES = {
    "array": ("--store", "array"),
    "hashed": ("-b", "4"),
    "table": ("--store", "table"),
    "capped": ("--max-features", "20"),
}
PENALISED = ("--l1", "0.01", "--l2", "0.003")
RULES = {
    "ogd": (),
    "fobos": PENALISED,
    "fr-comid": (*PENALISED, "--q", "2"),
    "sgft": ("--l1", "0.01", "--q", "3"),
    "rda": PENALISED[:2],
    "frda": (*PENALISED[:2], "--q", "1", "--basis", "feature"),
    "ftprl": PENALISED,
    "ftpfrl": (*PENALISED, "--cap", "inf"),
    "truncated-gradient": ("--l1", "0.01", "--truncate-every", "7", "--threshold", "inf"),
    "rounding": ("--truncate-every", "7", "--threshold", "0.05", "--schedule", "inv_t"),
    "adagrad-fobos": PENALISED,
    "adagrad-rda": PENALISED,
    "ftrl": ("--l1", "0.3", "--l2", "0.1", "--beta", "0.5"),
    "fobos cumulative": PENALISED[:2],
    "fobos cumulative l2": PENALISED,
    "fr-comid cumulative": PENALISED[:2],
    "fr-comid cumulative l2": (*PENALISED, "--schedule", "constant"),
}


def rule_options(rule: str) -> tuple[str, ...]:
    name, *cumulative = rule.split()
    return ("--rule", name, *(["--cumulative"] if cumulative else []), *RULES[rule])


def loss_options(kind: str) -> tuple[str, ...]:
    return ("--loss", "huber", "--eta0", "0.1") if kind == "regression" else ()


def csv_text(n_rows: int = N_ROWS) -> str:
    """Word labels, text, names, numbers, weights of a row, and lines that are none."""
    rng = np.random.default_rng(1)
    lines = ["kind,site,ad,message,price,weight"]
    for n in range(n_rows):
        site, ad, word = rng.integers(0, [6, 30, 40])
        kind = ("ham", "spam", "eggs")[(n + (site > 2)) % 3 if n > 2 else n]
        lines.append(f"{kind},s{site},a{ad},w{word} buy w{word + 1},{rng.normal():.3f},{n % 4}")
        if n % 40 == 7:
            lines.append("spam,s1,too few")
    return "\n".join(lines) + "\n"


def json_text(n_rows: int = N_ROWS) -> str:
    rng = np.random.default_rng(2)
    rows = [
        {"label": int(rng.integers(2)), "site": f"s{rng.integers(9)}", "n": float(rng.normal())}
        for _ in range(n_rows)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    """The working directory, with data in it."""
    before, path = os.getcwd(), tmp_path_factory.mktemp("runs")
    os.chdir(path)
    for kind in KINDS:
        text = data.svmlight_text(data.problem(kind, n=N_ROWS, d=40))
        Path(f"{kind}.svm").write_text(text)
        lines = text.splitlines(keepends=True)
        Path(f"{kind}-a.svm").write_text("".join(lines[:60]))
        Path(f"{kind}-b.svm.gz").write_bytes(gzip.compress("".join(lines[60:]).encode()))
    Path("mail.csv").write_text(csv_text())
    Path("clicks.json").write_text(json_text())
    yield path
    os.chdir(before)


# --- runs in this process -------------------------------------------------------------------


def plan_of(*arguments: str) -> Plan:
    """What the command would carry out."""
    context = train.make_context("train", [*arguments])
    if context.params["resume"] is None:
        return new_plan(**context.params)
    return resumed_plan(given=given_options(context), **context.params)


def carried_out(plan: Plan, *, until: int | None = None) -> bytes:
    """The file of a run that was carried out to its end, or until so many examples."""
    model = plan.run.model
    for _ in plan.run.steps(lambda: 1 << 40 if until is None else until - model.t):
        if until is not None and model.t >= until:
            break
    plan.save(slim=plan.slim and plan.run.is_over)
    return Path(plan.path).read_bytes()


def in_blocks(n_bytes: int | None) -> None:
    """Let readers read blocks of that size; None: the usual one."""
    patched = blocks if n_bytes is None else functools.partial(blocks, block_bytes=n_bytes)
    rarefy.readers.blocks = patched


@pytest.fixture(autouse=True)
def usual_blocks():
    yield
    in_blocks(None)


def assert_stops_leave_no_trace(
    arguments: tuple[str, ...], *stops: int, block_sizes: tuple[int | None, ...] = (None,)
) -> None:
    """Stop after so many examples, each time with blocks of another size."""
    in_blocks(block_sizes[0])
    expected = carried_out(plan_of(*arguments, "-o", "whole.model"))
    n_examples = load_model("whole.model").examples
    carried_out(plan_of(*arguments, "-o", "some.model"), until=stops[0])
    for n, stop in enumerate(sorted(stops)[1:], 1):
        in_blocks(block_sizes[n % len(block_sizes)])
        carried_out(plan_of("--resume", "some.model"), until=stop)
        assert load_model("some.model").examples == min(max(stop, 1), n_examples)
    in_blocks(block_sizes[-1])
    assert carried_out(plan_of("--resume", "some.model")) == expected


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("rule", RULES)
def test_every_rule_in_every_store(rule, store):
    arguments = ("binary.svm", *rule_options(rule), *STORES[store], "--passes", "2")
    assert_stops_leave_no_trace(arguments, 70, 200)


def test_marks_of_shared_places_do_not_depend_on_the_order_of_blocks():
    """Readers' threads note them side by side."""
    rng = np.random.default_rng(3)
    keys = rng.integers(0, 1 << 30, 4000).astype(np.uint64)
    snapshots = []
    for order in (np.arange(4000), np.arange(4000)[::-1], rng.permutation(4000)):
        store = make_store("hashed", bits=10)
        for part in np.array_split(order, 7):
            _note_owners(keys[part], store._owners)
        snapshots.append(store._owners.tobytes())
    assert len(set(snapshots)) == 1
    assert store.findings()["n_used"] == len(np.unique(keys % 1024))


# --- stops at awkward moments ---------------------------------------------------------------


class Interruption(BaseException):
    """Comes while a run waits for data."""


@pytest.mark.parametrize("n_batches", range(5))
def test_stopped_while_passing_over_what_was_learned(n_batches):
    """The model is ahead of what has been read; it must not learn these rows again."""
    expected = carried_out(plan_of("binary.svm", "--passes", "2", "-o", "whole.model"))
    carried_out(plan_of("binary.svm", "--passes", "2", "-o", "some.model"), until=N_ROWS + 100)
    in_blocks(2000)
    plan = plan_of("--resume", "some.model")
    give, left = plan.run._next, iter(range(n_batches))

    def interrupted(batches):
        if next(left, None) is None:
            raise Interruption
        return give(batches)

    plan.run._next = interrupted
    with pytest.raises(Interruption):
        carried_out(plan)
    assert plan.run.model.t == N_ROWS + 100
    plan.save()
    assert carried_out(plan_of("--resume", "some.model")) == expected
