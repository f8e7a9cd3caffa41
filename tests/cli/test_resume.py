"""A run that was stopped and gone on with gives the file of one that was not, byte for byte."""

from __future__ import annotations

import errno
import functools
import gzip
import itertools
import json
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import rarefy.readers
from rarefy import InputError
from rarefy.cli import main
from rarefy.cli.commands.train import plan_of as planned
from rarefy.cli.commands.train import train
from rarefy.files.model_file import load_model, save_model
from rarefy.readers.source import blocks
from rarefy.stores import make_store
from rarefy.stores.hashed import note_owners
from rarefy.system.atomic_write import Output
from rarefy.training.plan import Plan
from rarefy.training.resumption import LATER_SETTINGS
from tests import data
from tests.selecting import examples, slow_but

N_ROWS = 150
KINDS = ("binary", "multiclass", "regression")
STORES = {
    "array": ("--store", "array"),
    "hashed": ("-b", "4"),
    "table": ("--store", "table"),
    "capped": ("--capacity", "20"),
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
    "scale-free": ("--l1", "1.5", "--l2", "0.1"),
    "scale-free-ftrl": ("--l1", "1.5", "--l2", "0.1"),
    "fobos cumulative": PENALISED[:2],
    "fobos cumulative l2": PENALISED,
    "fr-comid cumulative": PENALISED[:2],
    "fr-comid cumulative l2": (*PENALISED, "--schedule", "constant"),
    "da": (),
    "coin": ("--eta0", "0.01"),
    "pa": (),
    "arow": ("--l1", "0.3"),
    "pegasos": ("--l1", "0.001", "--l2", "0.01"),
    "normalized": ("--l1", "0.001", "--q", "2"),
    "normalized-adagrad": (),
    "eg": ("--radius", "5"),
    "p-norm": ("--p", "4"),
    "adagrad-ftprl": (*PENALISED, "--q", "2", "--basis", "feature"),
}


def rule_options(rule: str) -> tuple[str, ...]:
    name, *cumulative = rule.split()
    return ("--rule", name, *(["--cumulative"] if cumulative else []), *RULES[rule])


BY_DEFAULT = ("frda", "ftpfrl", "ftrl", "scale-free", "fobos cumulative", "arow", "coin")
OF_CLASSES = {"pa", "arow"}  # rules that act on margins


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
    return planned(train.make_context("train", [*arguments], **main.context_settings))


def carried_out(plan: Plan, *, until: int | None = None) -> bytes:
    """The file of a run that was carried out to its end, or until so many examples."""
    model = plan.run.model
    for _ in plan.run.steps(lambda: 1 << 40 if until is None else until - model.t):
        if until is not None and model.t >= until:
            break
    if plan.run.is_over:
        plan.run.model = model.settled()
    plan.save(Output(plan.path), slim=plan.slim and plan.run.is_over)
    return Path(plan.path).read_bytes()


def in_blocks(n_bytes: int | None) -> None:
    """Let readers read blocks of that size; None: the usual one."""
    patched = blocks if n_bytes is None else functools.partial(blocks, block_bytes=n_bytes)
    rarefy.readers.reader.blocks = patched


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
    plan = plan_of(*arguments, "-o", "some.model")
    for n, stop in enumerate(stops, 1):
        carried_out(plan, until=stop)
        if plan.run.is_over:
            break
        in_blocks(block_sizes[n % len(block_sizes)])
        plan = plan_of("--resume", "some.model")
        assert plan.run.model.t >= stop
    if not plan.run.is_over:
        carried_out(plan)
    assert Path("some.model").read_bytes() == expected


@pytest.mark.parametrize(
    ("rule", "store"),
    [
        pytest.param(rule, store, marks=() if rule in BY_DEFAULT else pytest.mark.slow)
        for rule, store in zip(RULES, itertools.cycle(STORES), strict=False)
    ],
)
def test_every_rule(rule, store):
    arguments = ("binary.svm", *rule_options(rule), *STORES[store], "--passes", "2")
    assert_stops_leave_no_trace(arguments, 70, 200)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("rule", RULES)
def test_every_rule_in_every_store_for_every_kind(rule, store, kind):
    if kind == "regression" and rule in OF_CLASSES:
        pytest.skip("the rule is for classification")
    options = (*loss_options(kind), *rule_options(rule), *STORES[store], "--passes", "3")
    assert_stops_leave_no_trace((f"{kind}.svm", *options), 1, 149, 150, 151, 300, 449)


MAIL = ("mail.csv", "--label", "kind", "--text", "message", "--weight", "weight", "--cross",
        "site,ad", "--bad-lines", "skip", "--passes", "2")  # fmt: skip
SETTINGS = {
    "several classes": ("multiclass.svm", "--passes", "2", "--rule", "fobos"),
    "one-vs-rest": ("multiclass.svm", "--multiclass", "ovr", "--loss", "hinge", *STORES["hashed"]),
    "regression": ("regression.svm", *loss_options("regression"), *STORES["capped"]),
    "quantile": ("regression.svm", "--loss", "quantile", "--quantile", "0.8"),
    "endowment": ("binary.svm", "--rule", "frda", "--endowment", "1", "--passes", "2"),
    "endowment by mistakes": (
        "binary.svm",
        "--rule",
        "fobos",
        "--endowment",
        "0.01",
        "--endowment-by",
        "mistakes",
        "--passes",
        "2",
    ),
    "importance-aware": (
        "binary.svm",
        "--rule",
        "ogd",
        "--endowment",
        "1",
        "--importance",
        "aware",
        "--passes",
        "2",
    ),
    "no intercept": ("binary.svm", "--no-intercept", "--loss", "perceptron"),
    "no names": ("clicks.json", "--no-names", "--passes", "2"),
    "json": ("clicks.json", "--classes", "1,0"),
    "classes balanced": ("multiclass.svm", "--class-weight", "balanced", "--passes", "2"),
    "weights of classes": (*MAIL, "--class-weight", "spam=5,ham=0.5"),
    "mail": MAIL,
    "mail, capped": (*MAIL, *STORES["capped"]),
    "mail, hashed": (*MAIL, *STORES["hashed"]),
    "several files": ("binary-a.svm", "binary-b.svm.gz", "--passes", "2"),
    "a glob": ("binary-*", "--passes", "2", *STORES["array"]),
    "cache": ("binary.svm", "--passes", "3", "--cache", "rows.cache"),
    "cache, hashed": ("binary.svm", "--passes", "2", "--cache", "hashed.cache", *STORES["hashed"]),
    "cache of mail": (*MAIL, "--cache", "mail.cache"),
    "held-out share": ("binary.svm", "--passes", "2", "--holdout", "0.3"),
    "held-out share of mail": (*MAIL, "--holdout", "0.2", "--save-every", "30"),
    "held-out file": ("binary-a.svm", "--holdout", "binary-b.svm.gz", "--passes", "3"),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_every_kind_of_data(name):
    """Stopped, and gone on with, in either pass and between them."""
    arguments = SETTINGS[name]
    if "--cache" in arguments:
        pytest.importorskip("pyarrow")
        Path(arguments[arguments.index("--cache") + 1]).unlink(missing_ok=True)
    assert_stops_leave_no_trace(arguments, 33, 101, 113, block_sizes=(None, 1500, 3000))


@settings(max_examples=15, deadline=None)
@given(
    name=st.sampled_from(["several classes", "mail, capped", "mail", "held-out share", "a glob"]),
    stops=st.lists(st.integers(0, 330), min_size=1, max_size=5).map(sorted),
    block_sizes=st.lists(st.sampled_from([None, 700, 1111, 4000]), min_size=1, max_size=3),
)
def test_any_stops(name, stops, block_sizes):
    assert_stops_leave_no_trace(SETTINGS[name], *stops, block_sizes=tuple(block_sizes))


@pytest.mark.slow
@settings(max_examples=examples(200), deadline=None)
@given(
    rule=st.sampled_from(list(RULES)),
    store=st.sampled_from(list(STORES)),
    kind=st.sampled_from(KINDS),
    passes=st.integers(1, 3),
    holdout=st.sampled_from([(), ("--holdout", "0.25")]),
    stops=st.lists(st.integers(0, 450), min_size=1, max_size=6).map(sorted),
    block_sizes=st.lists(st.sampled_from([None, 300, 1111, 4000]), min_size=1, max_size=4),
)
def test_any_stops_of_anything(rule, store, kind, passes, holdout, stops, block_sizes):
    assume(kind != "regression" or rule not in OF_CLASSES)
    classes = ("--classes", "0,1,2,3") if kind == "multiclass" else ()
    arguments = (f"{kind}.svm", *loss_options(kind), *rule_options(rule), *STORES[store],
                 "--passes", str(passes), *holdout, *classes)  # fmt: skip
    assert_stops_leave_no_trace(arguments, *stops, block_sizes=tuple(block_sizes))


def test_a_finished_model_that_learns_more_and_is_stopped():
    carried_out(plan_of(*MAIL, "-o", "first.model"))
    Path("more.csv").write_text(csv_text(60))
    more = ("more.csv", "--resume", "first.model", "--passes", "2", "--bad-lines", "skip")
    expected = carried_out(plan_of(*more, "-o", "whole.model"))
    carried_out(plan_of(*more, "-o", "some.model"), until=load_model("first.model").examples + 50)
    assert carried_out(plan_of("--resume", "some.model")) == expected


@pytest.mark.parametrize("kind", slow_but(["binary", "multiclass"], "binary"))
def test_the_difference_to_another_model(kind):
    carried_out(plan_of(f"{kind}-a.svm", "-o", "old.model"))
    arguments = (f"{kind}.svm", "--anchor", "old.model", "--l1", "0.5", "--passes", "2")
    assert_stops_leave_no_trace(arguments, 1, 70, 200, block_sizes=(None, 1500))


def test_all_at_once_is_one_after_the_other():
    """A model that goes on with new data is that of all data in one run."""
    carried_out(plan_of("binary-a.svm", "-o", "first.model"))
    carried_out(plan_of("binary-b.svm.gz", "--resume", "first.model", "-o", "some.model"))
    carried_out(plan_of("binary-a.svm", "binary-b.svm.gz", "-o", "whole.model"))
    found, expected = load_model("some.model"), load_model("whole.model")
    assert (found.clock, found.intercepts) == (expected.clock, expected.intercepts)
    assert {name: array.tobytes() for name, array in found.state.items()} == {
        name: array.tobytes() for name, array in expected.state.items()
    }


def test_to_another_place():
    expected = carried_out(plan_of("binary.svm", "-o", "whole.model"))
    stopped = carried_out(plan_of("binary.svm", "-o", "some.model"), until=70)
    assert carried_out(plan_of("--resume", "some.model", "-o", "other.model")) == expected
    assert Path("some.model").read_bytes() == stopped


@pytest.mark.parametrize("store", STORES)
def test_rows_from_a_cache_give_the_same_file(store):
    """Whether the cache was there from the beginning, or when the run went on, or never."""
    pytest.importorskip("pyarrow")
    Path("same.cache").unlink(missing_ok=True)
    arguments = ("binary.svm", "--cache", "same.cache", *STORES[store])
    expected = carried_out(plan_of(*arguments, "-o", "whole.model"))
    assert Path("same.cache").exists()
    assert carried_out(plan_of(*arguments, "-o", "whole.model")) == expected
    os.rename("same.cache", "other.cache")
    stopped_at(70, *arguments)
    os.rename("other.cache", "same.cache")
    assert carried_out(plan_of("--resume", "some.model")) == expected


# --- other data, and what may be said -------------------------------------------------------


def stopped_at(until: int, *arguments: str) -> None:
    carried_out(plan_of(*arguments, "-o", "some.model"), until=until)


class TestOtherData:
    def changed(self, change) -> str:
        lines = Path("binary.svm").read_text().splitlines()
        change(lines)
        Path("other.svm").write_text("\n".join(lines) + "\n")
        return "other.svm"

    @staticmethod
    def cut(lines: list[str]) -> None:
        del lines[99:]

    @pytest.mark.parametrize("passes", ["1", "2"])
    def test_shorter(self, passes):
        stopped_at(100, "binary.svm", "--passes", passes)
        with pytest.raises(InputError, match=r"not the data .* the first 100 rows differ"):
            carried_out(plan_of("--resume", "some.model", self.changed(self.cut)))

    @pytest.mark.parametrize("row", [0, 50, 99])
    def test_with_another_label(self, row):
        stopped_at(100, "binary.svm")

        def change(lines):
            label, rest = lines[row].split(" ", 1) if " " in lines[row] else (lines[row], "")
            lines[row] = f"{-int(label)} {rest}"

        with pytest.raises(InputError, match="not the data"):
            carried_out(plan_of("--resume", "some.model", self.changed(change)))
        assert load_model("some.model").examples == 100

    def test_with_one_feature_more(self):
        stopped_at(100, "binary.svm")

        def change(lines):
            lines[99] += " 77:1"

        with pytest.raises(InputError, match="not the data"):
            carried_out(plan_of("--resume", "some.model", self.changed(change)))

    def test_in_another_order(self):
        stopped_at(140, "binary.svm")
        with pytest.raises(InputError, match="not the data"):
            carried_out(plan_of("--resume", "some.model", self.changed(list.reverse)))

    def test_longer_behind_where_it_stopped(self):
        """Files may have grown; the new rows are learned."""
        stopped_at(100, "binary.svm")
        longer = self.changed(lambda lines: lines.extend(lines[:20]))
        carried_out(plan_of("--resume", "some.model", longer))
        assert load_model("some.model").examples == N_ROWS + 20

    def test_elsewhere(self):
        stopped_at(100, "binary.svm", "--passes", "2")
        carried_out(plan_of("binary.svm", "--passes", "2", "-o", "whole.model"))
        carried_out(plan_of("--resume", "some.model", self.changed(lambda lines: None)))
        found, expected = load_model("some.model"), load_model("whole.model")
        assert found.kept.weights.tobytes() == expected.kept.weights.tobytes()
        assert found.clock == expected.clock


def said(*arguments: str, code: int, stdin: bytes | None = None) -> str:
    result = CliRunner().invoke(main, ["train", *arguments], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise AssertionError(f"{arguments} ended in a traceback") from result.exception
    assert result.exit_code == code, result.output
    return result.output


class TestWhatMayBeSaid:
    @pytest.mark.parametrize(
        "option",
        ["--rule=fobos", "--l1=1", "--passes=2", "--save-every=5", "--holdout=0.1", "--loss=hinge",
         "--store=array", "-b=5", "--label=x", "--bad-lines=skip", "--cache=c", "--format=vw"],
    )  # fmt: skip
    def test_what_is_settled_by_the_run(self, option):
        stopped_at(50, "binary.svm")
        name, value = option.split("=")
        assert "settled by some.model" in said("--resume", "some.model", name, value, code=2)

    @pytest.mark.parametrize("option", ["--rule=fobos", "--l1=1", "--store=array", "--text=x"])
    def test_what_is_settled_by_a_finished_model(self, option):
        carried_out(plan_of("binary.svm", "-o", "some.model"))
        name, value = option.split("=")
        output = said("binary.svm", "--resume", "some.model", name, value, code=2)
        assert "settled by some.model" in output

    def test_nothing_to_do(self):
        carried_out(plan_of("binary.svm", "-o", "some.model"))
        assert "name new DATA" in said("--resume", "some.model", code=2)

    def test_slim(self):
        carried_out(plan_of("binary.svm", "-o", "some.model", "--slim"))
        for data_again in ((), ("binary.svm",)):
            assert "is slim" in said(*data_again, "--resume", "some.model", code=1)

    def test_no_model(self):
        assert "not a rarefy model" in said("--resume", "binary.svm", code=1)
        assert "does not exist" in said("--resume", "missing", code=2)

    def test_data_that_are_gone(self):
        shutil.copy("binary.svm", "gone.svm")
        stopped_at(50, "gone.svm")
        os.remove("gone.svm")
        assert "gone.svm: there is no such file" in said("--resume", "some.model", code=1)

    @pytest.mark.parametrize(
        "change",
        [
            {"place": None},
            {"place": {"pass_number": 1, "rows": "x", "fingerprint": 0}},
            {"place": {"pass_number": 1, "rows": -5, "fingerprint": 0}},
            {"place": {"pass_number": 1.5, "rows": 5, "fingerprint": 0}},
            {"passes": "many"}, {"passes": None}, {"passes": 1.5}, {"cache": 5}, {"holdout": 5},
            {"save_every": 0}, {"save_every": "x"}, {"save_every": -1}, {"reader": None},
            {"reader": {}}, {"reader": {"files": 5}}, {"target_features": 0},
            {"reader": {"files": [], "columns": {"delimiter": [1]}}},
        ],
        ids=str,
    )  # fmt: skip
    def test_a_run_that_makes_no_sense(self, change):
        """A file with a right checksum, whoever wrote it."""
        stopped_at(50, "binary.svm", "--passes", "2")
        saved = load_model("some.model")
        save_model("wrong.model", saved._replace(run={**saved.run, **change}))
        assert "is invalid" in said("--resume", "wrong.model", code=1)
        for name in set(saved.run) - set(LATER_SETTINGS):
            run = {other: value for other, value in saved.run.items() if other != name}
            save_model("wrong.model", saved._replace(run=run))
            assert "is invalid" in said("--resume", "wrong.model", code=1)


def test_standard_input_given_again():
    text = Path("binary.svm").read_bytes()
    said("-", "-o", "whole.model", code=0, stdin=text)
    carried_out(plan_of("binary.svm", "-o", "some.model"), until=100)
    # the same run, had it come from standard input
    saved = load_model("some.model")
    reader = {**saved.run["reader"], "files": ["-"]}
    save_model("some.model", saved._replace(run={**saved.run, "reader": reader}))
    assert "give the same data again, with - as DATA" in said("--resume", "some.model", code=2)
    later = text.split(b"\n", 9)[9]
    assert "not the data" in said("--resume", "some.model", "-", code=1, stdin=later)
    said("--resume", "some.model", "-", code=0, stdin=text)
    assert Path("some.model").read_bytes() == Path("whole.model").read_bytes()


def test_standard_input_beside_files():
    plan = plan_of("binary-a.svm", "-", "-o", "some model", "--slim")
    expected = "... | rarefy train --resume 'some model' --slim binary-a.svm -"
    assert plan.command_to_go_on(plan.path) == expected
    stopped_at(50, "binary-a.svm", "-")
    assert "with binary-a.svm - as DATA" in said("--resume", "some.model", code=2)


def test_marks_of_shared_places_do_not_depend_on_the_order_of_blocks():
    """Readers' threads note them side by side."""
    rng = np.random.default_rng(3)
    keys = rng.integers(0, 1 << 30, 4000).astype(np.uint64)
    snapshots = []
    for order in (np.arange(4000), np.arange(4000)[::-1], rng.permutation(4000)):
        store = make_store("hashed", bits=10)
        for part in np.array_split(order, 7):
            note_owners(keys[part], store.owners)
        snapshots.append(store.owners.tobytes())
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
    plan.save(Output(plan.path))
    assert carried_out(plan_of("--resume", "some.model")) == expected


@pytest.mark.parametrize("more", [(), ("--save-every", "50"), ("--slim",), ("--refit",)], ids=str)
def test_a_disk_that_is_full_at_the_end(monkeypatch, tmp_path, more):
    """The model is in the temporary folder."""
    said("binary.svm", "-o", "whole.model", *more, code=0)
    save = Plan.save

    def save_if_possible(plan, output, **options):
        if not output.path.startswith(str(tmp_path)):
            raise OSError(errno.ENOSPC, "No space left on device", output.path)
        return save(plan, output, **options)

    monkeypatch.setattr(Plan, "save", save_if_possible)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    output = said("binary.svm", "-o", "new.model", *more, code=1)
    assert "Error: new.model" in output
    assert "No space left on device" in output
    found = tmp_path / "new.model.unfinished"
    assert f"What was learned before the error is in {found} (examples: {N_ROWS})." in output
    assert found.read_bytes() == Path("whole.model").read_bytes()
