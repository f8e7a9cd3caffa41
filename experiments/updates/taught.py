"""Published methods by which a model learns from what the old one says of each row, too."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import numpy as np

from experiments.updates.data import Texts
from experiments.updates.methods import LEAST_PROBABILITY, SHARES, Laboratory, Outcome, Side
from experiments.updates.releases import learned
from rarefy.analysis import lessons
from rarefy.analysis.release_records import DEFAULTS

LESSONS: dict[str, Any] = {
    "dissonance": lessons.dissonant,
    "damped labels": lambda *given: lessons.damped(*given, DEFAULTS.trust),
    "focal distillation": lessons.focal,
}
OWN_KNOBS = {  # towards the old model
    "dissonance": (0.0, 0.5, 1.0, 2.0, 4.0, 8.0),
    "damped labels": (0.1, 0.2, 0.4, 0.6, 0.8),
    "focal distillation": (0.0, 0.05, 0.1, 0.2, 0.5, 1.0),
}
WITH_BETWEEN = {"dissonance": 1.0, "damped labels": 0.4, "focal distillation": 0.1}
KNOBS: dict[str, tuple[float, ...]] = {
    **OWN_KNOBS,
    **{f"{method}, between": SHARES for method in OWN_KNOBS},
}


def taught(texts: Texts, seed: int) -> dict[str, list[Outcome]]:
    """What becomes of the test by each method for every value of its knob, and by learning on."""
    lab = Laboratory(texts, seed)
    old = learned(texts, lab.first)
    found = {"old": [lab.outcome(lab.old)], "between": lab.between(lab.side(lab.on(lab.second)))}
    for method, knobs in OWN_KNOBS.items():
        sides = dict(zip(knobs, _sides(lab, old, LESSONS[method], knobs), strict=True))
        found[method] = [lab.outcome(side) for side in sides.values()]
        found[f"{method}, between"] = lab.between(sides[WITH_BETWEEN[method]])
    return found


def _sides(lab: Laboratory, old: Any, lesson: Any, knobs: tuple[float, ...]) -> Iterator[Side]:
    X, y = lab.texts.X[lab.second], lab.texts.y[lab.second]
    for knob in knobs:
        counts, weight = lesson(old, X, y, knob)
        counts = np.where(counts < LEAST_PROBABILITY, 0.0, counts)
        of_rows = lessons.Lesson(counts / counts.sum(axis=1, keepdims=True), weight)
        rows = of_rows.rows(X, old.classes_)
        model = deepcopy(old)
        yield lab.side(model.partial_fit(rows.X, rows.y, sample_weight=rows.sample_weight))
