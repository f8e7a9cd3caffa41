"""What counts as a right answer, in compiled loops and in NumPy alike."""

from __future__ import annotations

import numpy as np
import pytest

from rarefy.jit import compiled
from rarefy.model.answers import (
    chance,
    is_right,
    is_right_class,
    is_right_for_endowment,
    predicted_classes,
    probabilities,
    right_answers,
)

SCORES = [-2.0, -0.0, 0.0, 1e-300, 3.0]


@compiled
def compiled_answers(scores, y, right, right_for_endowment):
    for row in range(len(y)):
        right[row] = is_right(scores[row], y[row])
        right_for_endowment[row] = is_right_for_endowment(scores[row], y[row])


@compiled
def compiled_answers_of_classes(scores, y, right):
    for row in range(len(y)):
        right[row] = is_right_class(scores[row], int(y[row]))


@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_of_two_classes(y):
    """A score of zero is the first class to users, and the second to endowments."""
    scores, labels = np.array(SCORES), np.full(len(SCORES), y)
    positive = np.array([False, False, False, True, True])
    assert predicted_classes(scores[:, np.newaxis]).tolist() == positive.tolist()
    right, for_endowment = np.empty((2, len(SCORES)), bool)
    compiled_answers(scores, labels, right, for_endowment)
    assert right.tolist() == (positive == (y > 0.0)).tolist()
    assert right.tolist() == right_answers(scores[:, np.newaxis], labels).tolist()
    positive[1:3] = True
    assert for_endowment.tolist() == (positive == (y > 0.0)).tolist()
    assert for_endowment.tolist() == is_right_for_endowment(scores, labels).tolist()


def test_of_several_classes_the_first_with_the_highest_score():
    rng = np.random.default_rng(0)
    scores = rng.integers(-2, 3, (300, 4)).astype(float)
    y = rng.integers(0, 4, 300).astype(float)
    right = np.empty(300, bool)
    compiled_answers_of_classes(scores, y, right)
    assert right.tolist() == right_answers(scores, y).tolist() == (scores.argmax(1) == y).tolist()


@pytest.mark.parametrize("scaling", [None, 0.7])
@pytest.mark.parametrize("loss", ["logistic", "modified_huber"])
def test_a_single_chance_has_the_bits_of_many(loss, scaling):
    scores = np.append(np.random.default_rng(0).normal(0.0, 3.0, 100), SCORES)
    many = probabilities(loss, None, scores[:, np.newaxis], scaling)[:, 0]
    assert [chance(loss, score, scaling) for score in scores.tolist()] == many.tolist()
