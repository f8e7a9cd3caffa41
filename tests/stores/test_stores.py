"""Stores: merged rows, the same weights in all of them, erasing, dropping, names, shared places."""

from __future__ import annotations

import functools
import itertools
import re
import time
from collections import Counter, defaultdict
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from rarefy import ConfigError, InputError
from rarefy.engine.task import Task
from rarefy.model.clock import clock_after, next_round
from rarefy.parameters.build import make_loss, make_rule
from rarefy.readers.batch import Batch
from rarefy.readers.feature_names import names_of, new_names
from rarefy.readers.features.columns import Columns
from rarefy.readers.prefetch import Job
from rarefy.rules import AWARE, CUMULATIVE, RULES
from rarefy.stores import STORES, Store, make_store
from rarefy.stores.store import Memory, fresh
from rarefy.streams.stream_model import StreamModel
from tests import data, naive
from tests.in_order import classifier_in_order
from tests.rules.test_exactness import (
    VARIANTS,
    assert_same_weights,
    mixed,
    setup,
    slow_where,
)
from tests.runs import learn_all
from tests.selecting import slow_but

Features = list[tuple[int, float]]
PENALISED = tuple(rule for rule in RULES if {"l1", "l2"} <= {*RULES[rule]._fields})
FORGETFUL = (
    *("ogd", "da", "fobos", "pegasos", "truncated-gradient", "rounding"),
    *("perceptron", "pa", "pa1", "pa2"),
)
GOLDEN = 0x9E3779B97F4A7C15


# --- rows in memory, and models that learn them ---------------------------------------------


class Examples(NamedTuple):
    """Rows as they are: places may be repeated and in any order, and values may be zero."""

    indptr: np.ndarray
    keys: np.ndarray
    values: np.ndarray
    y: np.ndarray

    def row(self, n: int) -> Features:
        part = slice(self.indptr[n], self.indptr[n + 1])
        return list(zip(self.keys[part].tolist(), self.values[part].tolist(), strict=True))

    @property
    def rows(self) -> list[Features]:
        return [self.row(n) for n in range(len(self.y))]


def examples_of(rows: list[Features], y=None) -> Examples:
    features = [feature for row in rows for feature in row]
    return Examples(
        np.cumsum([0, *map(len, rows)], dtype=np.int64),
        np.array([key for key, _ in features], np.uint64),
        np.array([value for _, value in features], np.float64),
        np.resize([1.0, -1.0], len(rows)) if y is None else np.asarray(y, np.float64),
    )


def examples_in(problem: data.Problem) -> Examples:
    csr = problem.csr
    return Examples(csr.indptr.astype(np.int64), csr.indices.astype(np.uint64), csr.data, problem.y)


def batch_of(examples: Examples, begin: int = 0, end: int | None = None, name_of=None) -> Batch:
    """Some of the examples, in memory of their own; labels are numbers."""
    end = len(examples.y) if end is None else end
    indptr = examples.indptr[begin : end + 1]
    part = slice(indptr[0], indptr[-1])
    keys = examples.keys[part].copy()
    names = new_names(0)
    if name_of is not None:
        named = [key for key in dict.fromkeys(keys.tolist()) if name_of(key) is not None]
        texts = [name_of(key).encode() for key in named]
        names = names_of(
            np.array(named, np.uint64),
            np.cumsum([len(text) for text in texts], dtype=np.int64),
            np.frombuffer(b"".join(texts), np.uint8),
        )
    return Batch(
        "somewhere",
        indptr - indptr[0],
        keys,
        examples.values[part].copy(),
        examples.y[begin:end].copy(),
        np.ones(end - begin),
        np.arange(begin + 1, end + 1),
        names,
    )


class InMemory:
    """What StreamModel needs of a reader: the examples in blocks of the given sizes, repeated."""

    def __init__(self, examples: Examples, block_sizes=(1 << 30,), name_of=None) -> None:
        self.examples, self.block_sizes, self.name_of = examples, block_sizes, name_of
        self.names_wanted, self.columns, self.cross, self.faults = False, Columns(), (), None

    def read_like(self, columns, cross):
        self.columns, self.cross = columns, cross

    def jobs(self, n_buffers=None):
        return (Job(lambda batch=batch: batch) for batch in self.batches())

    def batches(self):
        sizes = itertools.cycle(self.block_sizes)
        begin = 0
        while begin < len(self.examples.y):
            end = min(begin + next(sizes), len(self.examples.y))
            yield batch_of(self.examples, begin, end, self.name_of if self.names_wanted else None)
            begin = end


def task_of(chosen: dict) -> tuple[Task, int]:
    """What settings in the words of the estimators ask for; and the number of passes."""
    others = {"loss": "logistic", "multiclass": "auto", "fit_intercept": True, "passes": 1}
    others |= {name: chosen[name] for name in others if name in chosen}
    given_to_rule = {name: value for name, value in chosen.items() if name not in others}
    rule, schedule = make_rule(given_to_rule.pop("rule"), loss=others["loss"], **given_to_rule)
    loss = make_loss(others["loss"])
    return Task(rule, schedule, loss, others["multiclass"], others["fit_intercept"]), others[
        "passes"
    ]


def learned(
    store: Store | str, chosen: dict, examples: Examples, *, blocks=(1 << 30,), classes=(), **more
) -> StreamModel:
    if isinstance(store, str):
        store = make_store(store, bits=12 if store == "hashed" else None)
    task, passes = task_of(chosen)
    model = StreamModel(task, store, classes or ("-1", "1"))
    learn_all(model, InMemory(examples, blocks, **more), passes=passes)
    return model


def learned_numbers(store: Store | str, chosen: dict, examples: Examples, **more) -> StreamModel:
    """The same for examples whose labels are the numbers of classes."""
    classes = tuple(str(n) for n in range(int(examples.y.max()) + 1))
    return learned(store, chosen, examples, classes=classes, **more)


def weights_of(model: StreamModel) -> dict[tuple[int, int], float]:
    kept = model.kept()
    places = zip(kept.keys.tolist(), kept.outputs.tolist(), strict=True)
    weights = dict(zip(places, kept.weights.tolist(), strict=True))
    assert len(weights) == len(kept.weights)
    return weights


def all_of(model: StreamModel) -> tuple:
    """Everything that learning leaves, to the last bit."""
    learner = model.learner
    return weights_of(model), learner.intercept().tolist(), learner.t, learner.progressive_loss


def dense(model: StreamModel, shape: tuple[int, int]) -> np.ndarray:
    out = np.zeros(shape)
    for (key, output), weight in weights_of(model).items():
        out[output, key] = weight
    return out


# --- merging what is repeated in a row ------------------------------------------------------


def merged(row: Features, place_of=lambda key: key) -> Features:
    """Places in the order of first appearance (of a value that is not zero) and their sums."""
    sums: dict[int, float] = {}
    for key, value in row:
        if value != 0.0:
            place = place_of(key)
            sums[place] = sums[place] + value if place in sums else value
    return [(place, total) for place, total in sums.items() if total != 0.0]


def rows_from(store: Store, rows: list[Features]) -> list[Features]:
    """What a store makes of rows, in the memory of the batch or in other memory."""
    found, again = (prepared_rows(store, rows, memory) for memory in (None, fresh))
    assert found == again
    return found


def prepared_rows(store: Store, rows: list[Features], memory: Memory | None) -> list[Features]:
    examples = examples_of(rows)
    batch = batch_of(examples)
    prepared = store.prepare(batch, memory)
    found = prepared._replace(y=examples.y).rows()
    assert found.indptr[0] == 0
    assert found.indptr[-1] == len(found.indices) == len(found.values)
    assert prepared.batch.lines.tolist() == list(range(1, len(rows) + 1))
    assert found.importance.tolist() == [1.0] * len(rows)
    return [
        list(zip(found.indices[a:b].tolist(), found.values[a:b].tolist(), strict=True))
        for a, b in itertools.pairwise(found.indptr)
    ]


def random_rows(lengths: list[int], n_keys: int, seed: int, below: int = 2**64) -> list[Features]:
    """Rows with many repeated keys, zeros, and values that cancel."""
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, below, n_keys, dtype=np.uint64)
    values = (-1.5, -1.0, 0.0, 0.5, 1.0, 1.5, -0.0)
    return [
        list(zip(rng.choice(keys, n).tolist(), rng.choice(values, n).tolist(), strict=True))
        for n in lengths
    ]


some_rows = st.lists(
    st.lists(
        st.tuples(
            st.integers(0, 20) | st.integers(2**63 - 2, 2**63 + 2) | st.integers(0, 2**64 - 1),
            st.sampled_from((-1.0, 0.0, 1.0, 0.25, -0.0)),
        )
    ).map(lambda row: row if len(row) % 3 else sorted(row)),
    max_size=6,
)


class TestMergedRows:
    @settings(deadline=None)  # the first example compiles
    @given(some_rows, st.integers(1, 24))
    def test_hashed_rows_are_as_a_dict_makes_them(self, rows, bits):
        expected = [merged(row, lambda key: key % 2**bits) for row in rows]
        assert rows_from(make_store("hashed", bits=bits), rows) == expected

    @settings(deadline=None)
    @given(some_rows)
    def test_rows_of_a_table_are_as_a_dict_makes_them(self, rows):
        assert rows_from(make_store("table"), rows) == [merged(row) for row in rows]

    @settings(deadline=None)
    @given(some_rows)
    def test_rows_of_an_array_are_as_a_dict_makes_them(self, rows):
        rows = [[(key % 2**30, value) for key, value in row] for row in rows]
        assert rows_from(make_store("array"), rows) == [merged(row) for row in rows]

    @pytest.mark.parametrize("kind", STORES)
    @pytest.mark.parametrize("length", [1, 2, 31, 32, 33, 63, 64, 65, 500, 4096, 5000])
    def test_rows_of_any_length(self, length, kind):
        lengths = [length, 0, 1, length, 3]
        rows = random_rows(lengths, n_keys=max(1, length // 2), seed=length, below=2**30)
        place_of = (lambda key: key % 2**22) if kind == "hashed" else (lambda key: key)
        assert rows_from(make_store(kind), rows) == [merged(row, place_of) for row in rows]

    @pytest.mark.parametrize("kind", STORES)
    def test_one_store_serves_batch_after_batch(self, kind):
        store = make_store(kind)
        for seed, lengths in enumerate(([2] * 300, [5000], [1], [0, 0], [40] * 50, [2] * 300)):
            rows = random_rows(lengths, n_keys=100, seed=seed, below=2**22)
            assert rows_from(store, rows) == [merged(row) for row in rows]

    def test_many_rows_that_cancel(self):
        rows = [[(k, 1.0), (row, 1.0), (k, -1.0)] for row in range(500) for k in (10**6, 10**7)]
        rows += random_rows([60] * 20, n_keys=30, seed=1)
        assert rows_from(make_store("table"), rows) == [merged(row) for row in rows]

    @pytest.mark.parametrize("shift", [0, 8, 16, 24, 32, 40, 44])
    def test_keys_that_differ_in_some_bits_only_take_no_longer(self, shift):
        numbers = np.random.default_rng(0).permutation(80_000)
        batch = batch_of(examples_of([[(n << shift, 1.0) for n in numbers.tolist()]]))
        make_store("table").prepare(batch_of(examples_of([[(1, 1.0)]])))  # compiles
        begin = time.process_time()
        make_store("table").prepare(batch)
        assert time.process_time() - begin < 0.5  # comparing each with each would take seconds

    @pytest.mark.parametrize(
        ("row", "expected"),
        [
            ([], []),
            ([(5, 0.0)], []),
            ([(5, -0.0)], []),
            ([(5, 1.0), (5, -1.0)], []),
            ([(5, 1.0), (13, -1.0)], []),  # 5 = 13 modulo 8
            ([(5, 1.0), (5, -1.0), (5, 3.0)], [(5, 3.0)]),
            ([(7, 1.0), (2, 1.0), (15, 1.0)], [(7, 2.0), (2, 1.0)]),
            ([(1, 1.0), (2, 1.0), (3, 1.0), (2, -1.0), (1, 1.0)], [(1, 2.0), (3, 1.0)]),
            ([(1, 1.0), (2, 0.0), (3, 1.0)], [(1, 1.0), (3, 1.0)]),
            ([(2**64 - 1, 1.0), (0, 2.0)], [(7, 1.0), (0, 2.0)]),
        ],
        ids=("empty", "zero", "minus zero", "cancels", "cancels in a shared place", "comes back",
             "first appearance", "back after ascending", "zero in between", "largest key"),
    )  # fmt: skip
    def test_single_rows_in_eight_places(self, row, expected):
        assert rows_from(make_store("hashed", bits=3), [row]) == [expected]

    @pytest.mark.parametrize(
        "row",
        [
            [(2**63, 1.0)],
            [(2**63, 1.0), (2**63, 1.0)],
            [(2**63, 1.0), (0, 1.0), (2**63, -1.0)],
            [(1, 1.0), (2**63 + 1, 1.0), (2**64 - 1, 1.0), (1, 2.0), (2**63 + 1, 2.0)],
            [(2**64 - 1, 1.0), (2**63 - 1, 1.0), (2**64 - 1, 1.0)],
        ],
        ids=str,
    )
    def test_keys_of_all_64_bits_in_a_table(self, row):
        assert rows_from(make_store("table"), [row]) == [merged(row)]

    @pytest.mark.parametrize("kind", STORES)
    def test_places_are_in_the_memory_of_the_keys(self, kind):
        batch = batch_of(examples_of(random_rows([50] * 20, 30, seed=1, below=2**22)))
        prepared = make_store(kind).prepare(batch)
        assert np.shares_memory(prepared.indices, batch.keys)
        assert np.shares_memory(prepared.batch.values, batch.values)

    @pytest.mark.parametrize("kind", STORES)
    def test_rows_that_are_kept_have_memory_of_their_own(self, kind):
        batch = batch_of(examples_of(random_rows([50] * 20, 30, seed=1, below=2**22)))
        given = [array for array in batch if isinstance(array, np.ndarray)]
        prepared = make_store(kind).prepare(batch, fresh)
        assert not np.shares_memory(prepared.indices, batch.keys)
        assert not np.shares_memory(prepared.batch.values, batch.values)
        kept = prepared._replace(y=batch.labels).with_own_rows()
        assert kept.is_own
        for array in (kept.indices, *kept.rows(), kept.batch.keys, kept.batch.lines):
            assert not any(np.shares_memory(array, other) for other in given)

    @pytest.mark.parametrize("kind", STORES)
    def test_a_batch_without_rows(self, kind):
        assert rows_from(make_store(kind), []) == []

    def test_the_largest_number_of_bits(self):
        assert rows_from(make_store("hashed", bits=31), [[(2**31 - 1, 1.0), (2**31, 2.0)]]) == [
            [(2**31 - 1, 1.0), (0, 2.0)]
        ]

    def test_an_array_refuses_what_is_no_index_with_its_place(self):
        rows = [[(1, 1.0)], [], [(2**30 - 1, 1.0), (2**30, 1.0)]]
        with pytest.raises(InputError, match=rf"^somewhere:3: .*, not {2**30} "):
            rows_from(make_store("array"), rows)

    @pytest.mark.parametrize("kind", STORES)
    @pytest.mark.parametrize("value", [2e50, -2e50])
    def test_values_that_are_too_large_are_refused_with_their_place(self, kind, value):
        rows = [[(1, 1.0)], [], [(2, 1.0), (3, value)], [(2, 1.0)]]
        with pytest.raises(InputError, match=r"^somewhere:3: the value -?2e\+50 is too large"):
            rows_from(make_store(kind), rows)


# --- the same weights everywhere ------------------------------------------------------------

BLOCK_SIZES = {"array": (300,), "hashed": (7, 1, 40), "table": (1, 64, 13, 2)}


@functools.cache
def problem_and_settings(kind: str, variant: str) -> tuple[data.Problem, dict, dict]:
    """A problem, settings at which some weights are zero, and what is said to naive besides."""
    problem = data.problem(kind, n=200, d=40)
    chosen = setup(variant, "logistic", passes=3, fit_intercept=True)
    more = {"multiclass": "softmax"} if kind == "multiclass" else {}
    chosen, _ = mixed(problem, chosen, **more)
    return problem, chosen, more


IN_ALL_STORES = ("frda", "ftpfrl", "scale-free")  # by default


@pytest.mark.parametrize(
    ("kind", "variant"),
    [
        pytest.param(kind, v, marks=slow_where(v not in IN_ALL_STORES))
        for kind in ("binary", "multiclass")
        for v in VARIANTS
    ],
)
class TestSameWeights:
    def test_in_all_stores_and_as_in_a_matrix(self, kind, variant):
        problem, chosen, more = problem_and_settings(kind, variant)
        examples = examples_in(problem)
        learn = learned if kind == "binary" else learned_numbers
        models = {
            store: learn(store, chosen | more, examples, blocks=BLOCK_SIZES[store])
            for store in STORES
        }
        first = all_of(models["array"])
        assert all_of(models["hashed"]) == first
        assert all_of(models["table"]) == first
        assert len(first[0]) > 0

        expected = naive.fit(problem.dense, problem.y, **chosen, **more)
        assert_same_weights(dense(models["table"], expected.coef.shape), expected.coef)
        np.testing.assert_allclose(first[1], expected.intercept, rtol=1e-9, atol=1e-12)
        assert first[2] == expected.rounds
        assert first[3] == pytest.approx(expected.progressive_loss, rel=1e-9)

    def test_to_the_bit_as_in_a_matrix_with_the_same_order(self, kind, variant):
        """A matrix is brought into order and its repeated entries are added before it is learned;
        rows that are in that order already must give the same bits."""
        problem, chosen, more = problem_and_settings(kind, variant)
        rows = [sorted(row) for row in examples_in(problem).rows]
        examples = examples_of(rows, problem.y)
        learn = learned if kind == "binary" else learned_numbers
        model = learn("array", chosen | more, examples, blocks=(23,))
        fitted = classifier_in_order(**chosen, **more).fit(problem.csr, problem.y)
        assert dense(model, fitted.coef_.shape).tolist() == fitted.coef_.tolist()
        assert model.learner.intercept().tolist() == np.ravel(fitted.intercept_).tolist()


@pytest.mark.parametrize("variant", [*naive.FEATURE_AWARE, "fr-comid+cumulative",
                                     "fr-comid+cumulative with l2"])  # fmt: skip
@pytest.mark.parametrize("kind", slow_but(["binary", "multiclass"], "binary"))
def test_r_of_feature_aware_rules(kind, variant):
    variant, _, l2 = variant.partition(" with ")
    problem, chosen, more = problem_and_settings(kind, variant)
    chosen = chosen | ({"l2": 0.01} if l2 else {})
    expected = naive.fit(problem.dense, problem.y, **chosen, **more).r
    learn = learned if kind == "binary" else learned_numbers
    for store in STORES:
        kept = learn(store, chosen | more, examples_in(problem), blocks=BLOCK_SIZES[store]).kept()
        assert len(kept.r) == len(kept.weights) > 0
        places = kept.outputs, kept.keys.astype(np.int64)
        np.testing.assert_allclose(kept.r, expected[places], rtol=1e-9)


@pytest.mark.parametrize("kind", STORES)
def test_other_rules_have_no_r(kind):
    examples = examples_in(data.problem("binary", n=50, d=40))
    assert learned(kind, {"rule": "rda"}, examples).kept().r is None


@pytest.mark.parametrize("kind", STORES)
def test_scores_are_sums_over_the_features_that_are_known(kind):
    problem = data.problem("multiclass", n=100, d=40)
    model = learned_numbers(kind, {"rule": "frda", "l1": 1e-3}, examples_in(problem))
    rows = random_rows([10] * 30, 60, seed=3, below=80)  # features from 40 on never occurred
    (scores,) = model.scores(InMemory(examples_of(rows)))
    weights, intercept = weights_of(model), model.learner.intercept()
    expected = [
        [
            intercept[z] + sum(value * weights.get((key, z), 0.0) for key, value in merged(row))
            for z in range(4)
        ]
        for row in rows
    ]
    np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-14)


# --- erasing --------------------------------------------------------------------------------


def ever_new_features(n_rows: int = 12_000, n_new: int = 3, seed: int = 0) -> Examples:
    """Ten features tell the label; every row has new ones besides, and an old one comes back."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n_rows) < 0.5, 1.0, -1.0)
    lasting = rng.integers(0, 10, n_rows)
    first_new = 10 + n_new * np.arange(n_rows)
    back = 10 + (rng.random(n_rows) ** 2 * n_new * np.arange(n_rows)).astype(np.int64)
    keys = np.column_stack(
        [lasting, *(first_new + k for k in range(n_new)), np.where(back < first_new, back, lasting)]
    )
    values = rng.normal(0.0, 0.05, keys.shape)
    values[:, 0] = 2.0 * y
    return Examples(
        np.arange(n_rows + 1) * keys.shape[1], keys.ravel().astype(np.uint64), values.ravel(), y
    )


FORGETTING = {
    "ogd": {"loss": "hinge", "eta0": 0.5},  # a margin that is large enough gives no subgradient
    "fobos": {"l1": 0.1, "eta0": 0.3},
    "fobos with l2": {"l1": 0.1, "l2": 0.1, "eta0": 0.3},
    "truncated-gradient": {"l1": 0.1, "truncate_every": 5},
    "truncated-gradient with threshold": {"l1": 0.1, "truncate_every": 5, "threshold": 0.5},
    "rounding": {"threshold": 0.1, "truncate_every": 20},
}


class TestErasing:
    @pytest.mark.parametrize("name", FORGETTING)
    def test_changes_no_weight_and_keeps_the_table_small(self, name):
        examples = ever_new_features()
        chosen = {"rule": name.split(" with ")[0], **FORGETTING[name]}
        store = make_store("table")
        model = StreamModel(task_of(chosen)[0], store, ("-1", "1"))
        largest = 0
        for prepared in map(store.prepare, InMemory(examples, (997,)).batches()):
            store.learn(model.learner, prepared)
            largest = max(largest, store.n_slots)
        assert all_of(model) == all_of(learned("array", chosen, examples))
        n_features = len(np.unique(examples.keys))
        assert n_features > 36_000
        assert store.n_erased > 0.8 * n_features
        assert store.n_features <= largest * 3 / 4
        assert largest <= 1 << 13
        assert len(model.learner.state) == store.n_slots
        assert len(weights_of(model)) >= 5

    @pytest.mark.parametrize("rule", ["fobos", "truncated-gradient"])
    def test_with_several_classes_only_features_without_any_weight(self, rule):
        examples = ever_new_features(n_rows=6_000)
        classes = np.where(examples.y > 0, 2.0, np.arange(len(examples.y)) % 2)
        examples = examples._replace(y=classes)
        chosen = {"rule": rule, "l1": 0.1, "passes": 2}
        store = make_store("table")
        table = learned_numbers(store, chosen, examples, blocks=(501,))
        assert store.n_erased > 10_000
        assert all_of(table) == all_of(learned_numbers("array", chosen, examples))

    @pytest.mark.parametrize("rule", [rule for rule in PENALISED if rule not in FORGETFUL])
    def test_never_where_the_rule_knows_more(self, rule):
        examples = ever_new_features(n_rows=3_000)
        store = make_store("table")
        model = learned(store, {"rule": rule, "l1": 10.0}, examples)
        assert not [key for key, _ in weights_of(model) if key >= 10]
        assert store.n_erased == 0
        assert store.n_features == len(np.unique(examples.keys))

    def test_as_soon_as_the_table_is_three_quarters_full(self):
        """4,096 places: the 3,073rd feature lets those go that have no weight."""
        rows = [[(key, 1.0)] for key in range(3_073)]
        chosen = {"rule": "fobos", "l1": 100.0}
        store = make_store("table")
        learned(store, chosen, examples_of(rows[:-1]))
        assert (store.n_features, store.n_erased) == (3_072, 0)
        store = make_store("table")
        learned(store, chosen, examples_of(rows))
        assert (store.n_features, store.n_erased) == (1, 3_072)


# Rules as users set them up, with what else matters for what they remember.
SETTINGS = [
    *({"rule": rule} for rule in RULES if not RULES[rule].common_fields),
    *({"rule": rule, "l2": 0.3} for rule in PENALISED if "l2" in RULES[rule]._fields),
    *({"rule": rule, "cumulative": True, "l2": l2} for rule in ("fobos", "fr-comid")
      for l2 in (None, 0.3)),
    *({"rule": "fobos", "schedule": schedule} for schedule in ("constant", "inv_t")),
    *({"rule": rule, "basis": "feature", "q": 2}
      for rule in (*naive.FEATURE_AWARE, *naive.ADAGRAD)),
    {"rule": "truncated-gradient", "threshold": 0.3},
]  # fmt: skip


def rule_in(chosen: dict):
    strengths = {
        **{rule: {} for rule in naive.UNPENALISED},
        "ftrl": {"l1": 0.5},
        "rounding": {"threshold": 0.3, "truncate_every": 5},
        "truncated-gradient": {"l1": 0.2, "truncate_every": 4},
    }
    chosen = {**strengths.get(chosen["rule"], {"l1": 0.2}), **chosen}
    return make_rule(chosen.pop("rule"), **chosen)


def first_difference(chosen: dict, seed: int) -> tuple | None:
    """A round in which a weight is zero, and a later one in which it matters that the coordinate
    had occurred before; None if there is none."""
    rng = np.random.default_rng(seed)
    rule, schedule = rule_in(chosen)
    clock = clock_after(rule, schedule)
    fresh = (0.0,) * len(rule.state_fields)
    states = {0: fresh}  # by the round in which a coordinate was replaced by a fresh one; 0: never
    for t in range(1, 120):
        clock = next_round(rule, clock)
        weights = {since: rule.weight(clock, state) for since, state in states.items()}
        for since, weight in weights.items():
            if weight != weights[0]:
                return since, t
        if rng.random() < 0.4:  # it occurs
            x = float(rng.choice((-1.0, 1.0, 0.5)))
            g = float(rng.choice((-1.0, 0.0, 1.0, 0.3))) * x
            if g != 0.0 or rule.steps_without_gradient():
                states = {since: rule.step(clock, state, g, x) for since, state in states.items()}
        coming = next_round(rule, clock)
        if rule.weight(coming, states[0]) == 0.0 and states[0] != fresh:
            states[t] = fresh
    return None


def test_every_rule_is_asked_what_it_forgets():
    asked = {type(rule_in(chosen)[0]) for chosen in SETTINGS}
    by_itself = [rule for rule in RULES.values() if not rule.common_fields]
    assert asked == {*by_itself, *AWARE.values(), *itertools.chain(*CUMULATIVE.values())}


@pytest.mark.parametrize("chosen", SETTINGS, ids=str)
def test_a_rule_forgets_at_zero_if_and_only_if_it_says_so(chosen):
    """A zero-weight coordinate is replaced by one that never occurred: later weights are the same
    for the rules that forget, and there is a case in which they differ for the others."""
    rule, _ = rule_in(chosen)
    forgets = chosen["rule"] in FORGETFUL and not chosen.get("cumulative")
    assert rule.forgets_at_zero() == forgets
    differences = [first_difference(chosen, seed) for seed in range(20)]
    if forgets:
        assert differences == [None] * 20
    else:
        assert differences != [None] * 20


# --- capacity ---------------------------------------------------------------------------


class SlowTable:
    """A table of at most N features, by the text: when a row does not fit, features of weight zero
    that occurred in the fewest examples go first, then the smallest weights, until a quarter is
    free, or more if the row has more. Among equals, the one that stands first in the table goes.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.n_places = 1 << int(most / 0.75).bit_length()
        self.place_of: dict[int, int] = {}
        self.counts: Counter[int] = Counter()
        self.n_dropped = self.n_dropped_weights = 0

    def insert(self, key: int) -> None:
        place = (key * GOLDEN % 2**64 >> 32) % self.n_places
        while place in self.place_of.values():
            place = (place + 1) % self.n_places
        self.place_of[key] = place

    def add(self, row: list[int], weights: dict[int, float]) -> list[int]:
        """Take the features of a row; those that had to be dropped for it."""
        dropped: list[int] = []
        if len({*self.place_of, *row}) > self.most:
            n_stay = min(self.most - len(row), self.most * 3 // 4)
            by_use = sorted(
                self.place_of,
                key=lambda key: (
                    abs(weights[key]), self.counts[key] if weights[key] == 0.0 else 0,
                    self.place_of[key],
                ),
            )  # fmt: skip
            dropped = by_use[: max(0, len(by_use) - n_stay)]
            self.n_dropped += len(dropped)
            self.n_dropped_weights += sum(weights[key] != 0.0 for key in dropped)
            staying = sorted(set(by_use) - set(dropped), key=self.place_of.get)
            self.place_of = {}
            for key in staying:
                self.insert(key)
            for key in dropped:
                del self.counts[key]
        for key in row:
            if key not in self.place_of:
                self.insert(key)
            self.counts[key] += 1
        return dropped


def slowly_capped(rows: list[Features], y, d: int, most: int, rule: str, l1: float):
    """FRDA or FTRL, dense, with a slow table; weights by key, and the table."""
    table = SlowTable(most)
    penalty = naive.feature_penalty(d, l1, 0.0, np.inf, False)
    learner = naive.make_rule(
        rule, (1, d), penalty, q=np.inf, basis="gradient", cap=1e6, eta0=0.5, beta=None,
        truncate_every=1, cumulative=False,
    )  # fmt: skip
    loss = naive.make_loss("logistic")
    eta = np.inf
    for t, row in enumerate(rows, 1):
        for key in table.add([key for key, _ in row], learner.w[0]):
            for owner in (learner, getattr(learner, "intensity", learner)):
                for state in vars(owner).values():
                    if isinstance(state, np.ndarray) and state.shape == (1, d):
                        state[0, key] = 0.0
        x = np.zeros(d)
        for key, value in row:
            x[key] = value
        slope = loss.slope(float(learner.w[0] @ x), y[t - 1])
        before, eta = eta, naive.SCHEDULES["inv_sqrt"](0.5, t)
        learner.update(naive.Round(t, eta, before, np.nan, x, slope * x[np.newaxis]))
    return learner.w[0], table


def frequent_and_rare(n_rows: int = 400, d: int = 150, seed: int = 0) -> Examples:
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n_rows) < 0.5, 1.0, -1.0)
    truth = rng.normal(0.0, 1.0, d)
    rows = []
    for label in y:
        row_keys = np.unique((rng.random(rng.integers(0, 9)) ** 2.5 * d).astype(int))
        values = np.abs(rng.normal(0.7, 0.3, len(row_keys))) + 0.01
        signs = np.where(rng.random(len(row_keys)) < 0.8, np.sign(truth[row_keys]) * label, 1.0)
        row = list(zip(row_keys.tolist(), (values * signs).tolist(), strict=True))
        rows.append([row[k] for k in rng.permutation(len(row))])
    return examples_of(rows, y)


class TestMaxFeatures:
    @pytest.mark.parametrize("most", [10, 33, 64, 100])
    @pytest.mark.parametrize(("rule", "l1"), [("frda", 0.0213), ("frda", 0.001), ("ftrl", 0.3)])
    def test_drops_what_the_text_says(self, rule, l1, most):
        examples = frequent_and_rare()
        expected, slow = slowly_capped(examples.rows, examples.y, 150, most, rule, l1)
        store = make_store("table", capacity=most)
        chosen = {"rule": rule, "l1": l1, "eta0": 0.5, "fit_intercept": False}
        model = learned(store, chosen, examples, blocks=(17, 90))
        assert_same_weights(dense(model, (1, 150))[0], expected)
        assert store.n_features == len(slow.place_of)
        assert store.n_dropped == slow.n_dropped > 0
        assert store.n_dropped_weights == slow.n_dropped_weights
        kept = model.kept()
        assert dict(zip(kept.keys.tolist(), kept.counts.tolist(), strict=True)) == {
            key: slow.counts[key] for key in np.flatnonzero(expected).tolist()
        }
        assert store.report() == (
            f"{slow.n_dropped:,} features were dropped to stay below {most}, "
            f"{slow.n_dropped_weights:,} of them with a non-zero weight."
        )

    @pytest.mark.parametrize("rule", ["frda", "ftrl", "fobos", "adagrad-fobos"])
    @pytest.mark.parametrize("most", [9, 50, 97])
    def test_there_are_never_more(self, most, rule):
        store = make_store("table", capacity=most)
        model = StreamModel(task_of({"rule": rule, "l1": 0.01})[0], store, ("-1", "1"))
        n_slots = store.n_slots
        assert most / 0.75 < n_slots <= 2 * most / 0.75 or n_slots == 16
        for prepared in map(store.prepare, InMemory(frequent_and_rare(), (1,)).batches()):
            store.learn(model.learner, prepared)
            assert store.n_features <= most
            assert np.count_nonzero(store.index.counts) == store.n_features
            assert (store.n_slots, len(model.learner.state)) == (n_slots, n_slots)
        assert store.n_dropped + store.n_erased > 0

    @pytest.mark.parametrize(
        ("kind", "rule"),
        [
            pytest.param(kind, rule, marks=slow_where(kind == "multiclass" and rule != "frda"))
            for kind in ("binary", "multiclass")
            for rule in ("frda", "ftrl", "fobos", "rda")
        ],
    )
    def test_the_model_is_the_same_whatever_the_block_sizes(self, kind, rule):
        examples = frequent_and_rare(seed=5)
        learn = learned
        if kind == "multiclass":
            examples = examples._replace(y=np.arange(len(examples.y)) % 3 * 1.0)
            learn = learned_numbers
        results = []
        for blocks in ((1 << 30,), (1,), (2, 3, 5), (399, 1)):
            store = make_store("table", capacity=40)
            chosen = {"rule": rule, "l1": 0.005, "passes": 2}
            model = learn(store, chosen, examples, blocks=blocks)
            results.append(
                (all_of(model), store.n_dropped, store.n_dropped_weights, store.n_erased)
            )
        assert results == results[:1] * 4
        assert results[0][1] > 0

    def test_weights_of_zero_go_first_and_rare_ones_before_frequent_ones(self):
        """Eight features in a table for eight; the ninth makes room by two."""
        rows = [[(key, 1.0)] for key in range(8)]
        often = [[(key, 1.0)] for key in range(8) for _ in range(key % 3)]
        store = make_store("table", capacity=8)
        model = learned(
            store, {"rule": "ftrl", "l1": 100.0}, examples_of([*rows, *often, [(9, 1.0)]])
        )
        features = store.features(model.learner)
        counts = dict(zip(features.keys.tolist(), features.counts.tolist(), strict=True))
        assert len(counts) == 7
        assert {1, 2, 4, 5, 7, 9} <= set(counts)  # of 0, 3 and 6, which came once, two are gone
        assert counts[2] == 3
        assert (store.n_dropped, store.n_dropped_weights) == (2, 0)

    def test_then_the_smallest_weights(self):
        rows = [[(key, 1.0 + key)] for key in range(8)]  # ogd: the larger the value, the weight
        examples = examples_of([*rows, [(9, 1.0)]], np.ones(9))
        store = make_store("table", capacity=8)
        chosen = {"rule": "ogd", "schedule": "constant", "fit_intercept": False}
        model = learned(store, chosen, examples)
        assert {key for key, _ in weights_of(model)} == {2, 3, 4, 5, 6, 7, 9}
        assert (store.n_dropped, store.n_dropped_weights) == (2, 2)

    def test_the_weight_of_a_feature_is_the_largest_over_the_classes(self):
        """With a margin, two of three classes learn; a class without any weight does not matter."""
        store = make_store("table", capacity=4)
        rows = [[(key, float(key))] for key in (4, 1, 3, 2, 5)]
        chosen = {"rule": "ogd", "loss": "hinge", "fit_intercept": False}
        chosen |= {"multiclass": "crammer_singer", "schedule": "constant"}
        examples = examples_of(rows, [2.0, 0.0, 1.0, 2.0, 0.0])
        model = learned_numbers(store, chosen, examples)
        assert {key for key, _ in weights_of(model)} == {2, 3, 4, 5}

    def test_what_can_be_erased_is_not_counted_as_dropped(self):
        store = make_store("table", capacity=100)
        learned(store, FORGETTING["fobos"] | {"rule": "fobos", "l1": 10.0}, ever_new_features(1000))
        assert store.n_erased > 2_000
        assert (store.n_dropped, store.report()) == (0, "")

    @pytest.mark.parametrize("before", [0, 5])
    def test_a_row_with_more_features_is_an_error_with_its_place(self, before):
        rows = [[(key, 1.0)] for key in range(before)]
        rows += [[(key, 1.0) for key in range(n)] for n in (8, 8, 9)]
        store = make_store("table", capacity=8)
        sentence = rf"^somewhere:{before + 3}: the row has 9 features, more than capacity=8"
        with pytest.raises(InputError, match=sentence):
            learned(store, {"rule": "frda"}, examples_of(rows))

    def test_a_row_may_have_just_as_many(self):
        """Repeated ones and zeros do not count."""
        long_row = [*((key, 1.0) for key in range(20, 28)), (20, 1.0), (3, 0.0)]
        store = make_store("table", capacity=8)
        learned(store, {"rule": "frda"}, examples_of([[(1, 1.0), (2, 1.0)], long_row]))
        assert (store.n_features, store.n_dropped) == (8, 2)

    def test_one_feature_at_most(self):
        store = make_store("table", capacity=1)
        model = learned(store, {"rule": "ogd"}, examples_of([[(key, 1.0)] for key in range(50)]))
        assert [key for key, _ in weights_of(model)] == [49]
        assert store.n_dropped == 49

    def test_has_no_effect_where_there_are_fewer(self):
        problem = data.problem("binary", n=200, d=40)
        examples = examples_in(problem)
        store = make_store("table", capacity=40)
        model = learned(store, {"rule": "frda"}, examples)
        assert all_of(model) == all_of(learned("array", {"rule": "frda"}, examples))
        assert (store.n_dropped, store.report()) == (0, "")


# --- growth ---------------------------------------------------------------------------------


@pytest.mark.parametrize("stride", [1, 64, 2**20 + 7, 2**40 + 1], ids=hex)
def test_the_table_grows_with_its_features(stride):
    """Between 4/3 and 4 places a feature, from 4,096 places on; nothing is lost on the way."""
    n = 100_000
    keys = np.arange(n, dtype=np.uint64) * np.uint64(stride)
    examples = Examples(np.arange(0, n + 1, 4), keys, np.ones(n), np.resize([1.0, -1.0], n // 4))
    store = make_store("table")
    model = StreamModel(task_of({"rule": "ogd"})[0], store, ("-1", "1"))
    sizes = []
    for prepared in map(store.prepare, InMemory(examples, (1, 50, 333)).batches()):
        store.learn(model.learner, prepared)
        sizes.append(store.n_slots)
        assert store.n_features <= store.n_slots * 3 // 4
        assert store.n_slots <= max(4_096, 4 * store.n_features)
        assert len(model.learner.state) == store.n_slots
    assert sorted(set(sizes)) == [2**k for k in range(12, 19) if 2**k in sizes]
    assert len(set(sizes)) >= 4
    assert store.n_features == n
    small = examples._replace(keys=np.arange(n, dtype=np.uint64))
    weights = weights_of(learned("array", {"rule": "ogd"}, small))
    assert {(key * stride, 0): weight for (key, _), weight in weights.items()} == weights_of(model)


def test_a_row_that_is_longer_than_the_table():
    rows = [[(key, 1.0) for key in range(20_000)], [(key, 1.0) for key in range(5, 40_000)]]
    store = make_store("table")
    model = learned(store, {"rule": "ogd"}, examples_of(rows))
    assert store.n_features == 40_000
    assert all_of(model) == all_of(learned("array", {"rule": "ogd"}, examples_of(rows)))


# --- names and counts -----------------------------------------------------------------------


def name_of(key: int) -> str | None:
    """Names of all lengths, not only in ASCII; every fifth feature has none."""
    return None if key % 5 == 0 else f"é{key}" + "東" * (key % 7) + "x" * (key % 400 // 390 * 500)


class TestNames:
    def check(self, model: StreamModel, at_least: int) -> None:
        kept = model.kept()
        assert len(kept.weights) >= at_least
        keys = kept.keys.tolist()
        assert list(kept.names) == [name_of(key) or str(key) for key in keys]

    def test_survive_growth(self):
        rows = [[(key, 1.0), (key // 2, 1.0)] for key in range(1, 30_000)]
        model = learned("table", {"rule": "ogd"}, examples_of(rows), blocks=(999,), name_of=name_of)
        assert model.store.n_slots >= 2**16
        self.check(model, 20_000)

    @pytest.mark.parametrize("rule", ["fobos", "truncated-gradient"])
    def test_survive_erasing(self, rule):
        store = make_store("table")
        chosen = {"rule": rule, **FORGETTING[rule]}
        examples = ever_new_features()
        model = learned(store, chosen, examples, blocks=(700,), name_of=name_of)
        assert store.n_erased > 20_000
        assert store.n_bytes < 2**22
        self.check(model, 5)

    @pytest.mark.parametrize("most", [30, 90])
    def test_survive_dropping(self, most):
        store = make_store("table", capacity=most)
        chosen = {"rule": "frda", "l1": 1e-4, "passes": 3}
        examples = frequent_and_rare()
        model = learned(store, chosen, examples, blocks=(50,), name_of=name_of)
        assert store.n_dropped > 100
        self.check(model, 20)

    def test_of_one_large_block_in_which_features_come_and_go(self):
        """What is dropped and comes back in the same block gets its name again."""
        rows = [[(key, 1.0)] for _ in range(40) for key in range(1, 60)]
        store = make_store("table", capacity=20)
        model = learned(store, {"rule": "ogd"}, examples_of(rows), name_of=name_of)
        assert store.n_dropped > 1_000
        assert store.n_bytes < 2**16
        self.check(model, 15)

    def test_the_memory_of_names_that_are_gone_is_used_again(self):
        examples = ever_new_features()
        store = make_store("table", capacity=500)
        chosen = {"rule": "frda"}
        learned(store, chosen, examples, blocks=(500,), name_of=lambda key: f"{key:0200}")
        assert store.n_bytes < 2 * 200 * (500 + 5 * 500) + 2**16

    def test_are_not_kept_if_nobody_wants_them(self):
        store = make_store("table", names=False)
        model = learned(store, {"rule": "ogd"}, examples_of([[(7, 1.0)]]), name_of=name_of)
        assert model.kept().names is None

    @pytest.mark.parametrize("kind", ["array", "hashed"])
    def test_are_for_tables(self, kind):
        kept = learned(kind, {"rule": "ogd"}, examples_of([[(7, 1.0)]]), name_of=name_of).kept()
        assert kept.names is None
        assert kept.counts is None


@pytest.mark.parametrize("passes", [1, 3])
def test_counts_are_those_of_the_examples_in_which_a_feature_occurred(passes):
    examples = examples_in(data.problem("binary", n=200, d=40))
    model = learned("table", {"rule": "ogd", "passes": passes}, examples, blocks=(7, 100))
    counts = Counter(key for row in examples.rows for key, _ in merged(row))
    kept = model.kept()
    assert len(kept.keys) > 30
    assert kept.counts.tolist() == [passes * counts[key] for key in kept.keys.tolist()]


# --- hashed ---------------------------------------------------------------------------------


def shared_of(store: Store) -> tuple[int, int]:
    """The two numbers of the report: shared places, places in use."""
    found = re.match(r"([\d,]+) of ([\d,]+) weights are shared", store.report())
    return tuple(int(number.replace(",", "")) for number in found.groups()) if found else (0, 0)


class TestHashed:
    @pytest.mark.parametrize("whole_numbers", [False, True], ids=["hashes", "whole numbers"])
    @pytest.mark.parametrize("bits", [8, 14, 16])
    def test_shared_places_are_counted(self, bits, whole_numbers):
        rng = np.random.default_rng(bits)
        keys = rng.integers(0, 100_000 if whole_numbers else 2**64, 30_000, dtype=np.uint64)
        keys_at: dict[int, set[int]] = defaultdict(set)
        for key in keys.tolist():
            keys_at[key % 2**bits].add(key)
        store = make_store("hashed", bits=bits)
        examples = Examples(np.arange(0, 30_001, 10), keys, np.ones(30_000), np.ones(3_000))
        for batch in InMemory(examples, (100,)).batches():
            store.prepare(batch)
        n_shared = sum(len(several) > 1 for several in keys_at.values())
        found, n_used = shared_of(store)
        assert n_used == len(keys_at)
        assert 0.98 * n_shared <= found <= n_shared

    def test_one_in_127_shared_places_goes_unnoticed(self):
        rng = np.random.default_rng(0)
        low = np.arange(2**18, dtype=np.uint64)
        store = make_store("hashed", bits=18)
        for _ in range(2):
            keys = low + rng.integers(0, 2**46, len(low), dtype=np.uint64) * np.uint64(2**18)
            examples = Examples(np.array([0, len(keys)]), keys, np.ones(len(keys)), np.ones(1))
            store.prepare(batch_of(examples))
        missed = 1.0 - shared_of(store)[0] / 2**18
        assert missed == pytest.approx(1 / 127, rel=0.1)

    def test_nothing_is_shared_where_keys_are_few(self):
        store = make_store("hashed", bits=10)
        for seed in range(3):
            rows_from(store, random_rows([50] * 20, 700, seed, below=1024))
        assert store.report() == ""

    @pytest.mark.parametrize("rule", ["frda", "ogd", "ftrl"])
    @pytest.mark.parametrize("bits", [1, 4, 8])
    def test_weights_are_those_of_the_places(self, bits, rule):
        rng = np.random.default_rng(bits)
        rows = random_rows(rng.integers(0, 12, 200).tolist(), 300, seed=bits)
        y = np.where(rng.random(200) < 0.5, 1.0, -1.0)
        model = learned(make_store("hashed", bits=bits), {"rule": rule}, examples_of(rows, y))
        places = [merged(row, lambda key: key % 2**bits) for row in rows]
        shared = examples_of(places, y)
        parts = (shared.values, shared.keys.astype(np.int64), shared.indptr)
        matrix = sp.csr_matrix(parts, shape=(200, 2**bits))
        fitted = classifier_in_order(rule=rule).fit(matrix, y)
        assert_same_weights(dense(model, (1, 2**bits)), fitted.coef_)


@pytest.mark.parametrize("capacity", [None, 500, 5000])
@pytest.mark.parametrize("are_right", [True, False])
def test_slots_that_were_located_beforehand_change_nothing(capacity, are_right):
    """Right or wrong, also while the table is made anew, and for rows that are cut out."""
    rng = np.random.default_rng(0)
    rows = random_rows(rng.integers(0, 30, 3000).tolist(), 20_000, seed=1)
    examples = examples_of([[(0, 1.0), *row] for row in rows])  # the key of free places
    found, n_rebuilt = [], 0
    for is_located in (False, True):
        store = make_store("table", capacity=capacity, names=True)
        model = StreamModel(task_of({"rule": "scale-free"})[0], store, ("-1", "1"))
        batches = [
            batch_of(examples, begin, begin + 500, lambda key: f"f{key}")
            for begin in range(0, 3000, 500)
        ]
        for some in (batches[:1], batches[1:4], batches[4:]):
            prepared = [model.with_targets(store.prepare(batch)) for batch in some]
            if is_located:
                prepared = [store.located(one) for one in prepared]
                for one in prepared:
                    if not are_right:
                        one.located.slots[:] = rng.integers(-1, store.n_slots, len(one.indices))
            for one in prepared:
                table = store.index.entries
                first, rest = one.cut(123)
                model.learn(first)
                scores = model.scores_of(rest)
                model.learn(rest.only(rest.batch.lines % 7 != 0))
                n_rebuilt += store.index.entries is not table
        arrays = store.snapshot(model.learner)
        found.append(
            {"scores": scores.tobytes()} | {name: array.tobytes() for name, array in arrays.items()}
        )
    assert found[0] == found[1]
    assert n_rebuilt > 2


# --- what cannot be asked for ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"kind": "tree"}, "store='tree': one of array, hashed, table is expected"),
        ({"kind": "table", "bits": 3}, "bits=3 does not apply to the store table"),
        ({"kind": "array", "bits": 3}, "bits=3 does not apply to the store array"),
        ({"kind": "hashed", "capacity": 3}, "capacity=3 does not apply to the store hash"),
        ({"kind": "array", "capacity": 3}, "capacity=3 does not apply to the store array"),
        *(({"kind": "hashed", "bits": bits}, f"bits={bits!r}: a whole number between 1 and 31")
          for bits in (0, -1, 32, 99, 1.5, "ten", True)),
        *(({"capacity": n}, f"capacity={n!r}: a whole number of at least 1 is expected")
          for n in (0, -1, 1.5, "many", True)),
        ({"capacity": 2**31}, "capacity=2147483648: a whole number between 1 and 1610612736"),
        ({"names": "no"}, "names='no': True or False is expected"),
    ],
    ids=str,
)  # fmt: skip
def test_stores_that_cannot_be(asked, sentence):
    with pytest.raises(ConfigError, match=re.escape(sentence)):
        make_store(**asked)
