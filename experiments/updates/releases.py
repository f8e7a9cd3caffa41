"""One update: an old model, the one that has learned on, and what becomes of the answers."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import rarefy
from experiments.updates.data import Texts
from rarefy import SparseOnlineClassifier
from rarefy.analysis.release_records import DEFAULTS
from rarefy.model.answers import right_answers
from rarefy.splits import held_out
from rarefy.updating.path import ALPHAS, BothScores, best, points_of, within
from rarefy.updating.safe_update import DEFAULT_PASSES

OLD, NEW = 0.4, 0.4  # shares of the rows; the others are the test
ENDOWMENTS = (1.0, 3.0)
OLD_SMALL, NEW_SMALL, HELD_OUT = 0.3, 0.3, 0.5  # where budgets are promised
BUDGETS = (0.005, 0.01, 0.02)
FIRST_PROMISED = 3000  # orders; those before were trials

Rows = NDArray[np.int64]


class Fate(NamedTuple):
    """Of the test: the accuracy of the new model, and shares of answers lost and won."""

    accuracy: float
    lost: float
    won: float


class Promise(NamedTuple):
    """A budget, and what came of it on rows that nobody had seen."""

    budget: float
    alpha: float | None  # None: the old model stays
    lost: float
    gain: float  # of accuracy, by the new model
    plain_lost: float
    plain_gain: float


def model(**parameters: Any) -> SparseOnlineClassifier:
    return SparseOnlineClassifier(passes=1, shuffle=False, **parameters)


def learned(texts: Texts, rows: Rows, **parameters: Any) -> SparseOnlineClassifier:
    classes = np.arange(texts.y.max() + 1)
    return model(**parameters).partial_fit(texts.X[rows], texts.y[rows], classes=classes)


def learned_on(model: Any, texts: Texts, rows: Rows, passes: int, first_pass: int = 1) -> Any:
    """The model, once it has learned more rows, as `rarefy update` goes on with it."""
    for number in range(first_pass, first_pass + passes):
        model.learner_.begin_pass(number)
        model.partial_fit(texts.X[rows], texts.y[rows])
    return model


def parts(texts: Texts, seed: int, *shares: float) -> list[Rows]:
    """The rows in random order, cut into parts of these sizes and what is left."""
    order = np.random.default_rng(seed).permutation(len(texts.y))
    return np.split(order, np.cumsum([int(share * len(order)) for share in shares]))


def scores(classifier: SparseOnlineClassifier, texts: Texts, rows: Rows) -> Any:
    return classifier._scores(texts.X[rows])


def both_scores(texts: Texts, old: Any, new: Any, rows: Rows) -> BothScores:
    of_old, of_new = (scores(classifier, texts, rows) for classifier in (old, new))
    y = new._known_targets(texts.X[rows], texts.y[rows])
    return BothScores(right_answers(of_old, y), of_old, of_new, y, np.ones(len(rows)))


def fate(of_both: BothScores, alpha: float) -> Fate:
    right = right_answers(of_both.at(alpha), of_both.y)
    lost, won = of_both.old_right & ~right, ~of_both.old_right & right
    return Fate(*(float(each.mean()) for each in (right, lost, won)))


def update(texts: Texts, seed: int) -> dict[str, list[Fate]]:
    """What becomes of the test by each method; interpolation has a fate for every α."""
    first, second, test = parts(texts, seed, OLD, NEW)
    old = learned(texts, first)
    before = fate(both_scores(texts, old, old, test), 1.0)
    new = learned_on(learned(texts, first), texts, second, 1)
    of_both = both_scores(texts, old, new, test)
    every = np.random.default_rng([seed, 1]).permutation(np.concatenate([first, second]))
    retrained = fate(both_scores(texts, old, learned(texts, every), test), 0.0)
    found = {"old": [before], "retrained": [retrained]}
    for gamma in ENDOWMENTS:
        careful = learned(texts, first, endowment=gamma)
        after = learned_on(learned(texts, first, endowment=gamma), texts, second, 1)
        of_endowed = both_scores(texts, careful, after, test)
        found[f"endowment {gamma:g}"] = [fate(of_endowed, 0.0)]
    return {**found, "interpolation": [fate(of_both, alpha) for alpha in ALPHAS]}


def promises(texts: Texts, seed: int) -> dict[str, list[Promise]]:
    """Budgets, as `rarefy update` keeps them, by each way, and what is lost of many new rows."""
    first, second, test = parts(texts, FIRST_PROMISED + seed, OLD_SMALL, NEW_SMALL)
    held = held_out(0, len(second), HELD_OUT)
    new, judged = second[~held], second[held]
    old = learned(texts, first)
    ways = {
        "1 pass": (learned(texts, first), new, 1),
        "4 passes": (learned(texts, first), new, DEFAULT_PASSES),
        "replay": (learned(texts, first), np.concatenate([first, new]), DEFAULT_PASSES),
        "anchor": (rarefy.anchored(old, l1=DEFAULTS.anchor), new, DEFAULT_PASSES),
    }
    plain = learned_on(learned(texts, first), texts, new, 1)
    without = fate(both_scores(texts, old, plain, test), 0.0)
    return {
        way: _promised(texts, old, learned_on(start, texts, rows, passes), judged, test, without)
        for way, (start, rows, passes) in ways.items()
    }


def _promised(
    texts: Texts, old: Any, new: Any, judged: Rows, test: Rows, plain: Fate
) -> list[Promise]:
    """What comes of every budget on the way from the old model to a new one."""
    of_test = both_scores(texts, old, new, test)
    points = points_of(new._as_stream(), both_scores(texts, old, new, judged))
    before, found = fate(of_test, 1.0), []
    for budget in BUDGETS:
        chosen = best(within(points, budget), "accuracy")
        stays = chosen is None or chosen.accuracy <= points[0].accuracy
        alpha = 1.0 if chosen is None or stays else chosen.alpha
        after = fate(of_test, alpha)
        found.append(
            Promise(
                budget,
                None if stays else alpha,
                after.lost,
                after.accuracy - before.accuracy,
                plain.lost,
                plain.accuracy - before.accuracy,
            )
        )
    return found
