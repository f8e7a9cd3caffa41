# ruff: noqa: E501
"""Truncated gradient with the freedom that its paper had: a step, a decay and passes per gravity.

`python -m experiments.freedom` writes docs/gravity.md. Each gravity (and each threshold of rounding)
gets the step, its decay from pass to pass, and the number of passes that predict a held-out fifth
of the training rows best; then all training rows are learned. How many features may be kept is a
budget, and of the strengths within it the one that the held-out rows prefer is taken.
"""

import warnings
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from experiments.comparison import HIGHER, Comparison, Floats, Tally
from experiments.reproduction.gravity import batch_model
from experiments.reproduction.uci import TABLES, load
from rarefy import DivergenceError
from rarefy.arrays import as_rows
from rarefy.engine.learner import Learner
from rarefy.model.losses import LOSSES
from rarefy.model.schedules import Constant
from rarefy.rules.truncation import Rounding, TruncatedGradient

PAGE = Path(__file__).parents[1] / "docs" / "gravity.md"
PERIOD = 10  # K
FOLDS = 5
MOST_ROWS = 2000
ETAS, DECAYS, PASSES = (0.003, 0.01, 0.05), (1.0, 0.7), (1, 3, 10)
STRENGTHS = np.logspace(-3.5, 0.0, 8)
SHARES = (0.5, 0.25, 0.1)
BATCH, TRUNCATED, ROUNDED = "batch L1", "truncated gradient", "rounding"


class Part(NamedTuple):
    X: Any
    y: Floats


class Model(NamedTuple):
    w: Floats
    intercept: float

    def score(self, part: Part, is_regression: bool) -> float:
        """Accuracy, or R²."""
        scores = part.X @ self.w + self.intercept
        if is_regression:
            spread = ((part.y - part.y.mean()) ** 2).sum()
            return float(1.0 - ((part.y - scores) ** 2).sum() / spread)
        return float(((scores > 0.0) == (part.y > 0.0)).mean())


def rule_for(way: str, strength: float) -> Any:
    if way == TRUNCATED:
        return TruncatedGradient(l1=strength, truncate_every=float(PERIOD))
    return Rounding(truncate_every=float(PERIOD), threshold=strength)


def learned(rule: Any, loss: Any, part: Part, eta: float, decay: float) -> dict[int, Model]:
    """The model after so many passes; the rows, of which there are a multiple of K, in order."""
    n_features = part.X.shape[1]
    rows = as_rows(part.X, part.y, np.ones(len(part.y)))
    learner = Learner(rule, Constant(eta), loss, n_features=n_features)
    models = {}
    for number in range(1, max(PASSES) + 1):
        try:
            learner.learn(rows, restorable=False)
        except DivergenceError:
            break
        w = learner.weights().toarray()[0]
        learner.state[:n_features, 0] = w  # truncated with the step that was, before that changes
        learner.state[:n_features, 1] = learner.clock.t
        learner.set_rule(rule, Constant(eta * decay**number))
        if number in PASSES:
            models[number] = Model(w, float(learner.intercept()[0]))
    return models


def with_freedom(
    way: str, strength: float, train: Part, is_regression: bool
) -> tuple[Model, float]:
    """The model that has chosen its step, decay and passes, and what held-out rows say of it."""
    rule, loss = rule_for(way, strength), LOSSES["squared" if is_regression else "logistic"]()
    n = len(train.y) * 4 // 5 // PERIOD * PERIOD
    first, held_out = Part(train.X[:n], train.y[:n]), Part(train.X[n:], train.y[n:])
    best, chosen = -np.inf, (ETAS[0], DECAYS[0], PASSES[0])
    for eta, decay in product(ETAS, DECAYS):
        for passes, model in learned(rule, loss, first, eta, decay).items():
            score = model.score(held_out, is_regression)
            if score > best:
                best, chosen = score, (eta, decay, passes)
    eta, decay, passes = chosen
    models = learned(rule, loss, train, eta, decay)
    nothing = Model(np.zeros(train.X.shape[1]), 0.0)
    return models.get(passes, nothing), best


def of_batch(
    dataset: str, strength: float, train: Part, is_regression: bool
) -> tuple[Model, float]:
    n = len(train.y) * 4 // 5
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for end in (n, len(train.y)):
            model = batch_model(dataset, strength, end).fit(train.X[:end], train.y[:end])
            found.append(Model(np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])))
    held_out = Part(train.X[n:], train.y[n:])
    return found[1], found[0].score(held_out, is_regression)


def best_within(dataset: str) -> dict[tuple[str, float], Floats]:
    """The scores of every fold, by way and share of the features that may be kept."""
    X, y = load(dataset)
    order = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
    X, y = X[order], np.asarray(y[order], dtype=np.float64)
    is_regression = TABLES[dataset].is_regression
    y = y if is_regression else np.where(y > y.min(), 1.0, -1.0)
    folds = np.arange(len(y)) % FOLDS
    scores: dict[tuple[str, float], list[float]] = {}
    for fold in range(FOLDS):
        learn = np.flatnonzero(folds != fold)
        learn = learn[: len(learn) // PERIOD * PERIOD]
        train, test = Part(X[learn], y[learn]), Part(X[folds == fold], y[folds == fold])
        for way in (TRUNCATED, ROUNDED, BATCH):
            found = []
            for strength in STRENGTHS:
                if way == BATCH:
                    model, held_out = of_batch(dataset, strength, train, is_regression)
                else:
                    model, held_out = with_freedom(way, strength, train, is_regression)
                kept = np.count_nonzero(model.w) / X.shape[1]
                found.append((kept, held_out, max(model.score(test, is_regression), 0.0)))
            for share in SHARES:
                allowed = [one for one in found if one[0] <= share] or [min(found)]
                scores.setdefault((way, share), []).append(max(allowed, key=lambda o: o[1])[2])
    return {key: np.array(values) for key, values in scores.items()}


def page(found: dict[str, dict[tuple[str, float], Floats]]) -> str:
    lines = []
    for other, claim in ((ROUNDED, "is more accurate than rounding"), (BATCH, "beside batch L1")):
        for share in SHARES:
            comparisons = [
                Comparison(dataset, scores[other, share], scores[TRUNCATED, share], FOLDS)
                for dataset, scores in found.items()
            ]
            tally = Tally(HIGHER, comparisons)
            points = 100.0 * np.mean([c.difference for c in comparisons])
            cells = " | ".join(f"{100.0 * c.difference:+.1f}" for c in comparisons)
            lines.append(
                f"| {claim} | {100.0 * share:.0f} % | {tally.counts} | {points:+.1f} | {cells} |"
            )
    names = " | ".join(found)
    dashes = "---|" * (4 + len(found))
    table = "\n".join(lines)
    return f"""<!-- Written by `python -m experiments.freedom`; to change it, change experiments/freedom.py. -->
# Truncated gradient with a step for each gravity

[reproduction.md](reproduction.md) gives truncated gradient one constant step, chosen without truncation. Its paper chose
the step, its decay and the number of passes anew for each gravity. Here it may: for each of {len(STRENGTHS)} gravities from
{STRENGTHS[0]:.1g} to {STRENGTHS[-1]:g}, steps {", ".join(map(str, ETAS))}, decays from pass to pass of {" and ".join(map(str, DECAYS))}, and
{", ".join(map(str, PASSES))} passes are tried on a held-out fifth of the training rows; rounding has the same freedom, and batch
L1 (LIBLINEAR, lasso) the same strengths. K = {PERIOD}, {FOLDS} folds, one shuffle, at most {MOST_ROWS:,} rows of each set. Among the
strengths that keep no more than the share of features, held-out rows choose. For / cannot be told / against, and
differences in points of accuracy or R²:

| truncated gradient … | features at most | verdicts | mean | {names} |
|{dashes}
{table}

The step makes no difference to how many features stay: between two truncations a weight moves by about η √K, and a
truncation takes η K γ, so that only a gravity of about 1/√K removes a weight that says nothing.
"""


def main() -> None:
    found = {}
    for dataset in TABLES:
        found[dataset] = best_within(dataset)
        print(
            dataset,
            {f"{k[0]} {k[1]}": round(float(v.mean()), 3) for k, v in found[dataset].items()},
            flush=True,
        )
    PAGE.write_text(page(found))


if __name__ == "__main__":
    main()
