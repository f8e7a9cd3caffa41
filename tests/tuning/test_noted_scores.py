"""Measures of scores that models gave before they learned, against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score

from rarefy.model.scoring import make_scoring
from rarefy.tuning import noted_scores
from rarefy.tuning.noted_scores import NotedScores

N_MODELS = 3
CLASSES = np.array([0, 1])
OF_SKLEARN = {
    "auc": roc_auc_score,
    "average_precision": average_precision_score,
    "f1": lambda y, scores: f1_score(y, scores > 0.0),
}


def rows(n: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    scores = rng.normal(size=(n, 1, N_MODELS)) + y[:, np.newaxis, np.newaxis]
    return scores, y, np.ones(n)


def noted(scoring="auc", classes=CLASSES) -> NotedScores:
    judge = make_scoring(scoring, is_regression=False).judge(classes)
    assert judge is not None
    return NotedScores(judge, 1, N_MODELS)


def all_alive() -> np.ndarray:
    return np.ones(N_MODELS, bool)


@pytest.mark.parametrize("name", list(OF_SKLEARN))
def test_measures_are_those_of_all_rows(name):
    kept = noted(name)
    scores, y, importance = rows(90)
    for part in (slice(0, 20), slice(20, 90)):
        kept.add(scores[part], y[part], importance[part])
    judged = kept.judged(all_alive())
    expected = [OF_SKLEARN[name](y > 0.0, scores[:, 0, model]) for model in range(N_MODELS)]
    np.testing.assert_allclose(judged.values, expected)
    assert judged.weight == 90.0


def test_rows_are_forgotten_when_they_have_been_judged():
    kept = noted()
    kept.add(*rows(50))
    kept.judged(all_alive())
    later = rows(40, seed=1)
    kept.add(*later)
    judged = kept.judged(all_alive())
    expected = [roc_auc_score(later[1], later[0][:, 0, model]) for model in range(N_MODELS)]
    np.testing.assert_allclose(judged.values, expected)


def test_rows_that_tell_nothing_wait_for_more():
    scores, y, importance = rows(60)
    kept = noted()
    same = np.zeros((30, 1, N_MODELS))
    kept.add(same, y[:30], importance[:30])
    assert kept.judged(all_alive()) is None  # all models say the same
    of_one_class = y > 0.0
    kept = noted()
    kept.add(scores[of_one_class], y[of_one_class], importance[of_one_class])
    assert kept.judged(all_alive()) is None
    assert noted().judged(all_alive()) is None
    kept.add(scores[~of_one_class], y[~of_one_class], importance[~of_one_class])
    judged = kept.judged(all_alive())
    assert judged.weight == 60.0
    assert judged.values[0] == pytest.approx(roc_auc_score(y, scores[:, 0, 0]))


def test_models_that_diverged_are_not_asked():
    scores, y, importance = rows(60)
    scores[:, :, 1] = np.nan
    kept = noted()
    kept.add(scores, y, importance)
    judged = kept.judged(np.array([True, False, True]))
    assert judged.values[0] == pytest.approx(roc_auc_score(y, scores[:, 0, 0]))
    assert judged.values[1] == 0.0


def test_only_the_last_rows_are_kept_whatever_the_portions(monkeypatch):
    monkeypatch.setattr(noted_scores, "MOST_SCORES", 25 * N_MODELS)
    scores, y, importance = rows(100)
    expected = [roc_auc_score(y[-25:], scores[-25:, 0, model]) for model in range(N_MODELS)]
    for size in (1, 7, 100):
        kept = noted()
        for begin in range(0, 100, size):
            part = slice(begin, begin + size)
            kept.add(scores[part], y[part], importance[part])
        judged = kept.judged(all_alive())
        np.testing.assert_allclose(judged.values, expected)
        assert judged.weight == 25.0


def test_functions_are_given_labels_and_weights():
    given = []

    def function(labels, scores, sample_weight=None):
        given.append((labels, scores, sample_weight))
        return float(scores.sum())

    scores, y, _ = rows(20)
    importance = np.where(np.arange(20) < 4, 0.0, 2.0)
    kept = noted(function, np.array(["ham", "spam"]))
    kept.add(scores, y, importance)
    kept.judged(all_alive())
    labels, seen, weights = given[0]
    np.testing.assert_array_equal(labels, np.where(y[4:] > 0.0, "spam", "ham"))
    np.testing.assert_array_equal(seen, scores[4:, 0, 0])
    np.testing.assert_array_equal(weights, np.full(16, 2.0))


def test_a_snapshot_goes_on_as_the_original():
    first, then = rows(30), rows(30, seed=1)
    original, again = noted(), noted()
    original.add(*first)
    again.restore({name: part.ravel() for name, part in original.snapshot().items()})
    for kept in (original, again):
        kept.add(*then)
    np.testing.assert_array_equal(
        original.judged(all_alive()).values, again.judged(all_alive()).values
    )


def test_damaged_snapshots_are_refused():
    original = noted()
    original.add(*rows(10))
    arrays = original.snapshot()
    for name in ("noted_y", "noted_importance"):
        for wrong in (arrays[name][1:], np.full(10, np.nan)):
            with pytest.raises(ValueError, match=r"no rows|reshape"):
                noted().restore({**arrays, name: wrong})


def test_a_copy_scored_what_its_origin_did():
    kept = noted()
    kept.add(*rows(40))
    kept.copy(0, 2)
    judged = kept.judged(all_alive())
    assert judged.values[2] == judged.values[0] != judged.values[1]
