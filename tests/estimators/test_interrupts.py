"""Whenever Ctrl-C, or another signal, comes, an estimator is left as before or after whole rows."""

from __future__ import annotations

import copy
import gc
import itertools
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
import pytest

import rarefy
from rarefy import SparseOnlineClassifierCV, SparseOnlineRegressor
from rarefy import arrays as rows
from tests.in_order import classifier_in_order, regressor_in_order
from tests.interrupting import run_interrupted
from tests.selecting import slow_but

pytestmark = pytest.mark.usefixtures("signals_are_not_ignored")

RANDOM = np.random.default_rng(0)
N_ROWS = 400
X = (RANDOM.random((N_ROWS, 12)) < 0.3).astype(float)
Y = (X[:, 0] + X[:, 1] + 0.5 * RANDOM.random(N_ROWS) > 0.8).astype(int)
THREE = Y + (X[:, 2] > 0.0)
HALF = N_ROWS // 2


def learned(model):
    """All that a call of partial_fit changes."""
    if not hasattr(model, "learner_"):
        return dict(vars(model))
    learner = model.learner_
    parts = (learner.state, learner.intercept_state, learner.progress)
    return (
        *(part.tobytes() for part in parts),
        *(learner.clock, learner.n_features, model.n_features_in_, learner.t),
    )


MODELS = {
    "scale-free": classifier_in_order(),
    "frda": classifier_in_order("frda", q=1),
    "ftrl": classifier_in_order("ftrl"),
    "by mistakes": classifier_in_order("rda", endowment=1.0, endowment_by="mistakes"),
    "regression": regressor_in_order(),
}


def begun(model, y=Y, n_rows=HALF):
    model = copy.deepcopy(model)
    more = {} if isinstance(model, SparseOnlineRegressor) else {"classes": np.unique(y)}
    return model.partial_fit(X[:n_rows], y[:n_rows], **more)


@pytest.mark.parametrize(("opcodes", "step"), [(False, 7), (True, 61)])
@pytest.mark.parametrize("kind", MODELS)
def test_partial_fit_is_done_or_not(kind, opcodes, step):
    before = begun(MODELS[kind])
    after = copy.deepcopy(before).partial_fit(X[HALF:], Y[HALF:])
    expected = (learned(before), learned(after))
    assert expected[0] != expected[1]
    n_interrupts = 0
    for moment in itertools.count(1, step):
        model = copy.deepcopy(before)
        if not run_interrupted(
            lambda model=model: model.partial_fit(X[HALF:], Y[HALF:]), moment, opcodes=opcodes
        ):
            break
        n_interrupts += 1
        assert learned(model) in expected
    assert n_interrupts > 30


def test_a_long_call_stops_before_its_end(monkeypatch):
    """Between two portions; what was learned of the call is then forgotten."""
    monkeypatch.setattr(rows, "PORTION", 100)
    before = begun(MODELS["frda"])
    after = copy.deepcopy(before).partial_fit(X[HALF:], Y[HALF:])
    states = []
    for moment in itertools.count(1, 29):
        model = copy.deepcopy(before)
        if not run_interrupted(lambda model=model: model.partial_fit(X[HALF:], Y[HALF:]), moment):
            break
        states.append(learned(model))
    assert set(states) == {learned(before), learned(after)}
    assert states.count(learned(before)) > 0.8 * len(states)


@pytest.mark.parametrize("portion", [100, 1 << 24])
@pytest.mark.parametrize(
    "more", slow_but([{"rule": "auto"}, {"l1": "auto"}, {"target_features": 4}], {"rule": "auto"})
)
def test_learners_that_find_their_parameters_keep_whole_rows(more, portion, monkeypatch):
    model = classifier_in_order(**more)
    whole = begun(model, n_rows=N_ROWS)
    monkeypatch.setattr(rows, "PORTION", portion)
    seen = set()
    for moment in itertools.count(1, 601):
        some = copy.deepcopy(model)
        call = lambda some=some: some.partial_fit(X, Y, classes=[0, 1])  # noqa: E731
        if not run_interrupted(call, moment):
            break
        t = some.t_ if hasattr(some, "learner_") else 0
        seen.add(t)
        if t == 0:
            assert vars(some) == vars(model)
            continue
        assert np.array_equal(some.coef_, begun(model, n_rows=t).coef_)
        if t < N_ROWS:
            some.partial_fit(X[t:], Y[t:])
        assert np.array_equal(some.coef_, whole.coef_)
    assert len(seen) > (3 if portion == 100 else 1)


def test_more_columns_are_there_or_not():
    before = classifier_in_order(n_features="grow").partial_fit(X[:, :5], Y, classes=[0, 1])
    after = copy.deepcopy(before).partial_fit(X, Y)
    for moment in itertools.count(1, 9):
        model = copy.deepcopy(before)
        if not run_interrupted(lambda model=model: model.partial_fit(X, Y), moment):
            break
        assert learned(model)[3:] in (learned(before)[3:], learned(after)[3:])
        expected = after if model.n_features_in_ == after.n_features_in_ else before
        assert np.array_equal(model.coef_, expected.coef_)
        assert np.array_equal(model.partial_fit(X, Y).coef_.shape, after.coef_.shape)


@pytest.mark.parametrize(
    "model",
    [
        classifier_in_order(passes=3, shuffle=True, random_state=0),
        pytest.param(classifier_in_order(refit=True, refit_l2=1.0), marks=pytest.mark.slow),
        classifier_in_order(rule="auto"),
        SparseOnlineClassifierCV(n_l1=2, cv=2, passes=1),
    ],
    ids=["passes", "refit", "auto", "cv"],
)
def test_fit_is_done_or_not(model):
    before = copy.deepcopy(model).fit(X[:HALF], THREE[:HALF])
    after = copy.deepcopy(before).fit(X, Y)
    moment, n_interrupts = 1, 0
    while True:
        some = copy.deepcopy(before)
        if not run_interrupted(lambda some=some: some.fit(X, Y), moment):
            break
        n_interrupts += 1
        expected = after if np.array_equal(some.classes_, after.classes_) else before
        assert np.array_equal(some.predict(X), expected.predict(X))
        assert np.array_equal(some.coef_, expected.coef_)
        moment = int(moment * 1.25) + 1
    assert n_interrupts > 15


def test_fit_stream_is_done_or_not(tmp_path):
    path = tmp_path / "rows.svm"
    lines = (
        f"{y} {' '.join(f'{j + 1}:1' for j in np.flatnonzero(x))}"
        for x, y in zip(X, Y, strict=True)
    )
    path.write_text("\n".join(lines))
    before = classifier_in_order(l1=3.0).fit_stream(rarefy.read(path))
    changed = copy.deepcopy(before).set_params(l1=0.1)
    after = copy.deepcopy(changed).fit_stream(rarefy.read(path))
    assert before.weights_ != after.weights_
    moment, n_interrupts = 1, 0
    while True:
        some = copy.deepcopy(changed)
        if not run_interrupted(lambda some=some: some.fit_stream(rarefy.read(path)), moment):
            break
        n_interrupts += 1
        assert some.weights_ in (before.weights_, after.weights_)
        assert some.stream_.learner is some.learner_
        moment = int(moment * 1.2) + 1
    assert n_interrupts > 15


PAIRS = (signal.SIGINT, signal.SIGUSR1)


STORM = """
import os, random, signal, sys, time
process, reading, n = map(int, sys.argv[1:])
for _ in range(n):
    time.sleep(0.001 + 0.003 * random.random())
    os.kill(process, random.choice([signal.SIGINT, signal.SIGUSR1]))
    os.read(reading, 1)
"""


@pytest.mark.parametrize("n", [200, pytest.param(5000, marks=pytest.mark.slow)])
def test_many_signals(n):
    """Each comes when the handler of the last one has run."""
    reading, writing = os.pipe()
    counts = dict.fromkeys(PAIRS, 0)

    def handler(number, frame):
        counts[number] += 1
        os.write(writing, b".")
        raise KeyboardInterrupt

    before = {number: signal.signal(number, handler) for number in PAIRS}
    model = classifier_in_order(l1="auto").partial_fit(X, Y, classes=[0, 1])
    command = [sys.executable, "-c", STORM, str(os.getpid()), str(reading), str(n)]
    storm = subprocess.Popen(command, pass_fds=[reading])
    deadline = time.monotonic() + 30.0 + 0.1 * n
    try:
        while sum(counts.values()) < n:
            with suppress(KeyboardInterrupt):
                while sum(counts.values()) < n:
                    with suppress(KeyboardInterrupt):
                        model.partial_fit(X[:4], Y[:4])
                    assert [signal.getsignal(number) for number in PAIRS] == [handler] * 2
                    assert time.monotonic() < deadline, "a signal was lost"
        storm.wait()
    finally:
        storm.kill()
        storm.wait()
        for number, own in before.items():
            signal.signal(number, own)
        os.close(reading)
        os.close(writing)
    assert storm.returncode == 0
    assert sum(counts.values()) == n
    again = classifier_in_order(l1="auto").partial_fit(X, Y, classes=[0, 1])
    for _ in range((model.t_ - N_ROWS) // 4):
        again.partial_fit(X[:4], Y[:4])
    assert np.array_equal(model.coef_, again.coef_)


# --- readers and files ----------------------------------------------------------------------------


@pytest.fixture
def alarm():
    """Lets a call be interrupted after a while, if it takes that long."""

    def handler(number, frame):
        raise KeyboardInterrupt

    def interrupted(call, seconds: float) -> bool:
        try:
            try:
                signal.setitimer(signal.ITIMER_REAL, seconds)
                call()
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0.0)
        except KeyboardInterrupt:
            return True
        return False

    before = signal.signal(signal.SIGALRM, handler)
    yield interrupted
    signal.signal(signal.SIGALRM, before)


def seconds_of(call) -> float:
    call()
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


@pytest.mark.parametrize("n", [100, pytest.param(3000, marks=pytest.mark.slow)])
def test_a_reader_stays_as_it_is(tmp_path, alarm, n):
    """And what the handler raises is what comes out."""
    path = tmp_path / "rows.csv"
    rows = (f"{y},{x[0]},{'abc'[int(x[1] + x[2])]}" for x, y in zip(X, Y, strict=True))
    path.write_text("label,number,word\n" + "\n".join(rows))
    model = classifier_in_order().fit_stream(rarefy.read(path))
    reader = rarefy.read(path, ignore=["number"])
    before = reader.settings()
    seconds = seconds_of(lambda: model.predict(reader))
    n_interrupts = 0
    for _ in range(n):
        n_interrupts += alarm(lambda: model.predict(reader), 1e-5 + RANDOM.random() * seconds)
        assert reader.settings() == before
        assert not reader.names_wanted
    assert n_interrupts > n / 10


def n_open_files() -> int:
    """Of this process, without those of other tests that only wait to be collected."""
    gc.collect()
    return len(os.listdir("/dev/fd"))


@pytest.mark.parametrize("n", [100, pytest.param(3000, marks=pytest.mark.slow)])
def test_saving_leaves_nothing_behind(tmp_path, alarm, n):
    path = tmp_path / "model"
    model = begun(MODELS["ftrl"])
    seconds = seconds_of(lambda: model.save(path))
    whole, n_open = path.read_bytes(), n_open_files()
    n_interrupts = 0
    for _ in range(n):
        n_interrupts += alarm(lambda: model.save(path), 1e-5 + RANDOM.random() * seconds)
        assert os.listdir(tmp_path) == ["model"]
        assert path.read_bytes() == whole
    assert n_open_files() <= n_open
    assert n_interrupts > n / 10


def test_saving_is_done_or_not(tmp_path):
    path = tmp_path / "model"
    old, new = begun(MODELS["ftrl"]), begun(MODELS["ftrl"], n_rows=N_ROWS)
    new.save(path)
    after = path.read_bytes()
    old.save(path)
    before = path.read_bytes()
    n_open = n_open_files()
    for moment in itertools.count(1, 59):
        old.save(path)
        if not run_interrupted(lambda: new.save(path), moment, opcodes=True):
            break
        assert os.listdir(tmp_path) == ["model"]
        assert path.read_bytes() in (before, after)
    assert n_open_files() <= n_open
    assert moment > 300
