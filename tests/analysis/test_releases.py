"""Chains of releases: what is told of them is what the models do."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import rarefy
from rarefy.errors import ConfigError, InputError
from tests.cli.test_cli import run
from tests.updating.test_update_files import rows, write

EVERY, N = 400, 1500
X, Y = rows(N, 4)


def in_order(n: int) -> rarefy.SparseOnlineClassifier:
    model = rarefy.SparseOnlineClassifier(passes=1, shuffle=False, l1=0.5)
    return model.partial_fit(X[:n], Y[:n], classes=[0, 1])


def test_plain_releases_are_models_that_learn_on():
    (chain,) = rarefy.releases(X, Y, every=EVERY, methods=["plain"], l1=0.5)
    models = [in_order(n) for n in (400, 800, 1200)]
    parts = [slice(400, 800), slice(800, 1200), slice(1200, None)]
    assert [release.n_learned for release in chain.releases] == [400, 800, 1200]
    assert [release.n_rows for release in chain.releases] == [400, 400, 300]
    for release, model, part in zip(chain.releases, models, parts, strict=True):
        assert release.accuracy == pytest.approx((model.predict(X[part]) == Y[part]).mean())
        assert release.n_weights == model.n_nonzero_
    assert chain.releases[0].lost_rate is None
    for number in (1, 2):
        release = chain.releases[number]
        found = rarefy.flips(*models[number - 1 : number + 1], X[parts[number]], Y[parts[number]])
        assert release.lost_rate == pytest.approx(found.negative_rate)
        assert release.won_rate == pytest.approx(found.positive_rate)
        assert release.churn == pytest.approx(found.negative_rate + found.positive_rate)
        changed = models[number].coef_ != models[number - 1].coef_
        assert release.n_changed == np.count_nonzero(changed)
    over_all = rarefy.flips(models[0], models[2], X[1200:], Y[1200:])
    assert chain.lost_at_the_end == pytest.approx(over_all.negative_rate)
    assert chain.accuracy == pytest.approx(np.mean([r.accuracy for r in chain.releases]))


def test_updates_are_those_of_update():
    how = {"max_negative": 0.08, "holdout": 0.3}
    ways = {"update": {}, "anchor": {"anchor": 1.0}, "replay": {"replay": (X[:400], Y[:400])}}
    for method, way in ways.items():
        (chain,) = rarefy.releases(X, Y, every=EVERY, methods=[method], anchor=1.0, l1=0.5, **how)
        old = in_order(400)
        found = rarefy.update(old, X[400:800], Y[400:800], **way, **how)
        new = found.model or old
        assert chain.releases[1].is_new == (found.model is not None)
        accuracy = (new.predict(X[800:1200]) == Y[800:1200]).mean()
        assert chain.releases[1].accuracy == pytest.approx(accuracy)


def test_distilled_releases_learn_from_the_one_before():
    how = {"every": EVERY, "l1": 0.5}
    plain, distilled = rarefy.releases(X, Y, methods=["plain", "distillation"], **how)
    (labels,) = rarefy.releases(X, Y, methods=["distillation"], distillation=0.0, **how)
    assert labels.releases == plain.releases
    old = in_order(400)
    soft = 0.4 * old.predict_proba(X[400:800])[:, 1] + 0.6 * Y[400:800]
    rows = rarefy.soft_targets(X[400:800], soft)
    new = old.partial_fit(rows.X, rows.y, sample_weight=rows.sample_weight)
    accuracy = (new.predict(X[800:1200]) == Y[800:1200]).mean()
    assert distilled.releases[1].accuracy == pytest.approx(accuracy)
    assert distilled.releases[1].n_weights == new.n_nonzero_


def learned_from(old: rarefy.SparseOnlineClassifier, counts: np.ndarray):
    """The old model, once it has learned the next rows for both classes, the likelier one last."""
    for x, of_row in zip(X[400:800], counts, strict=True):
        for label in np.argsort(of_row, kind="stable").tolist():
            if of_row[label] > 0.0:
                old.partial_fit(x[None], [label], sample_weight=of_row[label : label + 1])
    return old


@pytest.mark.parametrize(
    ("method", "knobs"),
    [
        ("damped", {"distillation": 0.3, "trust": 0.8}),
        ("focal", {"focal": 0.5}),
        ("dissonance", {"dissonance": 2.0}),
    ],
)
def test_what_is_learned_of_a_row_depends_on_the_model_before(method, knobs):
    old = in_order(400)
    shares = old.predict_proba(X[400:800])
    was_right = old.predict(X[400:800]) == Y[400:800]
    counts = []
    for label, share, is_right in zip(Y[400:800], shares, was_right, strict=True):
        hard = np.array([1.0 - label, float(label)])
        if method == "dissonance":
            counts.append(hard * (3.0 if is_right else 1.0))
        elif method == "focal":
            counts.append(hard + 0.5 * (6.0 if is_right else 1.0) * share)
        else:
            counts.append(0.3 * share + 0.7 * hard if is_right else 0.8 * hard + 0.1)
    new = learned_from(old, np.array(counts))
    (chain,) = rarefy.releases(X, Y, every=EVERY, methods=[method], l1=0.5, **knobs)
    accuracy = (new.predict(X[800:1200]) == Y[800:1200]).mean()
    assert chain.releases[1].accuracy == pytest.approx(accuracy)
    assert chain.releases[1].n_weights == new.n_nonzero_
    assert chain.releases[2].n_models == 1


def test_methods_with_a_knob_of_zero_learn_on():
    how = {"every": EVERY, "l1": 0.5}
    for labels in (Y, np.where(X[:, 0] > 0.3, "c", np.where(Y == 1, "b", "a"))):
        (plain,) = rarefy.releases(X, labels, methods=["plain"], **how)
        for method, knobs in (
            ("dissonance", {"dissonance": 0.0}),
            ("focal", {"focal": 0.0}),
            ("damped", {"distillation": 0, "trust": 1.0}),
        ):
            (chain,) = rarefy.releases(X, labels, methods=[method], **knobs, **how)
            assert chain.releases == plain.releases


@pytest.mark.parametrize("n_classes", [2, 3])
def test_hysteresis_keeps_answers_that_a_new_one_does_not_lead_over(n_classes):
    y = Y if n_classes == 2 else np.where(X[:, 0] > 0.3, 2, Y)
    how = {"every": EVERY, "l1": 0.5}
    plain, chain = rarefy.releases(X, y, methods=["plain", "hysteresis"], hysteresis=0.4, **how)
    (none,) = rarefy.releases(X, y, methods=["hysteresis"], hysteresis=0.0, **how)
    (all_stay,) = rarefy.releases(X, y, methods=["hysteresis"], hysteresis=1e9, **how)
    answers = np.empty(0)
    for number, n in enumerate((400, 800, 1200)):
        model = rarefy.SparseOnlineClassifier(passes=1, shuffle=False, l1=0.5)
        model.partial_fit(X[:n], y[:n], classes=np.unique(y))
        scores = model.decision_function(X)
        before = answers.copy()
        if number == 0:
            answers = model.predict(X)
        for row, label in enumerate(model.predict(X).tolist() if number else []):
            of_row = [0.0, scores[row]] if n_classes == 2 else scores[row]
            if of_row[label] - of_row[int(answers[row])] >= 0.4:
                answers[row] = label
        part, release = slice(n, min(n + 400, N)), chain.releases[number]
        assert release.accuracy == pytest.approx((answers[part] == y[part]).mean())
        assert release.n_models == number + 1
        if number:
            was_right, is_right = (each[part] == y[part] for each in (before, answers))
            assert release.lost_rate == pytest.approx((was_right & ~is_right).mean())
            assert release.churn == pytest.approx((before[part] != answers[part]).mean())
    told = [release._replace(n_models=1, n_weights=0) for release in none.releases]
    assert told == [release._replace(n_weights=0) for release in plain.releases]
    assert [r.n_changed for r in chain.releases] == [r.n_changed for r in plain.releases]
    weights = np.cumsum([release.n_weights for release in plain.releases])
    assert [release.n_weights for release in chain.releases] == weights.tolist()
    assert 0.0 < chain.mean("churn") < plain.mean("churn")
    assert all_stay.mean("churn") == all_stay.lost_at_the_end == 0.0


def test_where_no_update_is_allowed_the_first_model_stays():
    (chain,) = rarefy.releases(X, Y, every=EVERY, methods=["update"], max_negative=1e-4)
    assert chain.n_new == 1
    assert [release.is_new for release in chain.releases] == [True, False, False]
    assert chain.mean("churn") == chain.lost_at_the_end == 0.0


def test_files_give_what_matrices_give(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("rows.svm", X, Y)
    methods = ["retrained", "endowment"]
    chains = rarefy.releases(X, Y, every=EVERY, methods=methods, endowment=1.0)
    asked = ["releases", "rows.svm", "--every", str(EVERY), "--endowment", "1"]
    asked += [part for method in methods for part in ("--method", method)]
    told = json.loads(run(*asked, "--json").stdout)["methods"]
    for chain, of_file in zip(chains, told, strict=True):
        assert of_file["method"] == chain.method
        assert of_file["accuracy"] == chain.accuracy
        assert of_file["releases"] == [release._asdict() for release in chain.releases]
    shown = run(*asked).stdout
    assert "trained from scratch on all rows so far" in shown
    assert f"{100.0 * chains[0].accuracy:.2f} %" in shown
    assert list(Path().iterdir()) == [Path("rows.svm")]


def test_bad_input(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for asked, error, message in (
        ({"every": 0}, ConfigError, "every"),
        ({"every": 800}, InputError, "too few for two releases"),
        ({"every": 400, "methods": ["hope"]}, ConfigError, "hope"),
        ({"every": 400, "methods": []}, ConfigError, "at least one"),
        ({"every": 400, "max_negative": 1.0}, ConfigError, "max_negative"),
        ({"every": 400, "holdout": 1.5}, ConfigError, "holdout"),
        ({"every": 400, "passes": 0}, ConfigError, "passes"),
        ({"every": 400, "distillation": 1.0}, ConfigError, "distillation=1.0"),
        (
            {"every": 400, "methods": ["distillation"], "loss": "hinge"},
            ConfigError,
            "loss='logistic'",
        ),
        ({"every": 400, "trust": 1.5}, ConfigError, "trust=1.5: a number from 0 to 1"),
        ({"every": 400, "focal": -1.0}, ConfigError, "focal=-1.0: a number from 0 on"),
        ({"every": 400, "dissonance": "3"}, ConfigError, "dissonance='3'"),
        ({"every": 400, "hysteresis": float("nan")}, ConfigError, "hysteresis=nan"),
        ({"every": 400, "hysteresis": float("inf")}, ConfigError, "hysteresis=inf"),
        ({"every": 400, "shuffle": True}, ConfigError, "in their order"),
        ({"every": 400, "sample_weight": (np.arange(N) < 1200) * 1.0}, InputError, "no weight"),
    ):
        with pytest.raises(error, match=message):
            rarefy.releases(X, Y, **{"methods": ["plain"], **asked})
    with pytest.raises(InputError, match="labels are needed"):
        rarefy.releases(X, every=400)
    with pytest.raises(InputError, match="and y 3 labels"):
        rarefy.releases(X, Y[:3], every=400)
    write("rows.svm", X[:50], Y[:50])
    assert "too few" in run("releases", "rows.svm", "--every", "40", code=1).stderr
    assert "Missing option '--every'" in run("releases", "rows.svm", code=2).stderr
