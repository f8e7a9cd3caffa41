"""Paths of single features through a stream, for the pages of docs/explanation.

`python -m experiments.paths` draws docs/explanation/img/paths-*.svg. The stream is made: of 2,000
examples, half have the label +1. `rare` occurs in 30 of them, nearly always with +1; `frequent` in
half of them, a little more often with +1; `small` is `frequent` itself in units a hundred times as
large, so that its values are 0.01. The states that are drawn are those of the compiled loop.
"""

from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from experiments.drawing import BLUE, GREY, ORANGE, STYLE, save
from rarefy import SparseOnlineClassifier
from rarefy.arrays import Floats
from rarefy.model.losses import Squared
from rarefy.rules.scale_free import intensity

FOLDER = Path(__file__).parents[1] / "docs" / "explanation" / "img"
N_ROUNDS = 2_000
FEATURES = {
    "rare": "in 30 of 2,000 rows, 28 of them +1",
    "frequent": "in 1,000 rows, 540 of them +1",
    "small": "the frequent one in units\n100 times as large",
}
COLOURS = {"rare": ORANGE, "frequent": BLUE}
RULES: dict[str, dict[str, Any]] = {
    "rda": {"l1": 0.01, "eta0": 0.5},
    "frda": {"l1": 0.003, "eta0": 0.5, "q": 2},
    "scale-free": {"l1": 3.0},
}


class Course(NamedTuple):
    """What became of a feature, round by round."""

    sums: Floats  # |G|, of all gradients so far
    thresholds: Floats  # what |G| has to be above
    weights: Floats


def stream(seed: int = 0) -> tuple[Floats, Floats]:
    """Rows with the columns of FEATURES, and labels."""
    random = np.random.default_rng(seed)
    y = np.where(np.arange(N_ROUNDS) % 2 == 0, 1.0, -1.0)
    X = np.zeros((N_ROUNDS, 3))
    for column, (positive, negative) in enumerate([(28, 2), (540, 460)]):
        for label, n in ((1.0, positive), (-1.0, negative)):
            rows = random.choice(np.flatnonzero(y == label), n, replace=False)
            X[rows, column] = 1.0
    X[:, 2] = 0.01 * X[:, 1]
    order = random.permutation(N_ROUNDS)
    return X[order], y[order]


def threshold(rule: Any, clock: Any, state: Any) -> float:
    """What |G| has to be above, by the equations of the rules."""
    t = clock.t
    if type(rule).__name__ == "Rda":
        return float(rule.l1 * t)
    if type(rule).__name__ == "Frda":
        _, ahead, r = state
        return float(rule.l1 * (t * r - ahead))
    _, r, scale, _ = state
    return float(rule.l1 * intensity(clock, rule.beta, r, scale))


def paths(name: str, **parameters: Any) -> dict[str, Course]:
    """The paths of all features, from a model that learns row by row."""
    X, y = stream()
    model = SparseOnlineClassifier(name, **parameters)
    found: list[list[tuple[float, float, float]]] = [[] for _ in FEATURES]
    for row in range(N_ROUNDS):
        model.partial_fit(X[row : row + 1], y[row : row + 1], classes=[-1.0, 1.0])
        learner, weights = model.learner_, model.coef_[0]
        n_fields = len(learner.rule.state_fields)
        for column, path in enumerate(found):
            state = tuple(learner.state[column, :n_fields])
            least = threshold(learner.rule, learner.clock, state)
            path.append((abs(state[0]), least, weights[column]))
    return {name: Course(*np.array(path).T) for name, path in zip(FEATURES, found, strict=True)}


def draw_truncation(by_rule: dict[str, dict[str, Course]], file: Path) -> None:
    """A column for each rule: sum and threshold of each feature, and below them the weights."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.0, 7.0), layout="constrained")
        FigureCanvasSVG(figure)
        grid = figure.subplots(3, len(by_rule), sharex=True, sharey="row", squeeze=False)
        for column, (rule, of_features) in enumerate(by_rule.items()):
            below = grid[2, column]
            for name, axes in zip(("rare", "frequent"), grid[:2, column], strict=True):
                path, rounds = of_features[name], np.arange(N_ROUNDS)
                axes.plot(path.sums, color=COLOURS[name], label="sum of gradients")
                axes.plot(path.thresholds, "--", color="black", linewidth=1.2, label="threshold")
                lives = path.sums > path.thresholds
                axes.fill_between(
                    rounds, path.thresholds, path.sums, where=lives, color=COLOURS[name], alpha=0.25
                )
                below.plot(path.weights, color=COLOURS[name], label=f"{name} feature")
            grid[0, column].set_title(f"{rule}, l1 = {RULES[rule]['l1']}")
            below.axhline(0.0, color="black", linewidth=0.8)
            below.set_xlabel("round")
        for row, label in enumerate(("rare feature", "frequent feature", "weights")):
            grid[row, 0].set_ylabel(label)
            grid[row, 0].legend(loc="upper left", fontsize=9)
        grid[2, 0].legend(loc="upper right", fontsize=9)
        save(figure, file)


def draw_units(by_rule: dict[str, dict[str, Course]], file: Path) -> None:
    """|G| as a share of the threshold, for one feature in two units."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.0, 3.2), layout="constrained")
        FigureCanvasSVG(figure)
        looks = {"color": BLUE, "linewidth": 4.0, "alpha": 0.4}, {"color": "black", "linewidth": 1}
        for axes, (rule, of_features) in zip(
            figure.subplots(1, len(by_rule), sharey=True), by_rule.items(), strict=True
        ):
            for name, look in zip(("frequent", "small"), looks, strict=True):
                path = of_features[name]
                share = path.sums / np.maximum(path.thresholds, 1e-12)
                axes.semilogy(np.maximum(share, 1e-3), **look)
            axes.axhline(1.0, color="black", linewidth=0.8, linestyle="--")
            axes.set_title(rule)
            axes.set_xlabel("round")
        figure.axes[0].set_ylabel("sum / threshold; alive above 1")
        figure.axes[0].legend(["values of 1", "values of 0.01"], fontsize=9)
        save(figure, file)


def draw_norms(file: Path) -> None:
    """r of a feature that occurs in every tenth round, with gradients of 1, 0.9, 0.81, ..."""
    rounds = np.arange(1, 301)
    gradients = np.where(rounds % 10 == 0, 0.97 ** (rounds // 10), 0.0)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.4, 2.8), layout="constrained")
        FigureCanvasSVG(figure)
        left, right = figure.subplots(1, 2)
        for q, colour in ((1, ORANGE), (2, BLUE), (np.inf, GREY)):
            if q == np.inf:
                r = np.maximum.accumulate(gradients)
            else:
                r = np.cumsum(gradients**q) ** (1.0 / q)
            label = "q = ∞" if q == np.inf else f"q = {q}"
            left.plot(rounds, r, color=colour, label=label)
            right.plot(rounds, np.cumsum(r), color=colour, label=label)
        left.set_title("r, the intensity")
        right.set_title("R, the sum of intensities")
        left.legend()
        for axes in (left, right):
            axes.set_xlabel("round")
        save(figure, file)


def draw_laziness(file: Path) -> None:
    """The weight of a feature that occurs in some rounds, by fobos, and what is stored of it."""
    n_rounds, occurs, l1, eta0 = 60, (4, 9, 24, 50), 0.02, 0.5
    X = np.zeros((n_rounds, 1))
    X[list(occurs), 0] = 1.0
    model = SparseOnlineClassifier("fobos", l1=l1, eta0=eta0, fit_intercept=False)
    eager, lazy = [], []
    for row in range(n_rounds):
        model.partial_fit(X[row : row + 1], [1.0], classes=[-1.0, 1.0])
        eager.append(model.coef_[0, 0])
        lazy.append(model.learner_.state[0, 0])
    rounds = np.arange(1, n_rounds + 1)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.4, 2.8), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        axes.step(rounds, lazy, where="post", color=GREY, linestyle="--", label="what is stored")
        axes.plot(rounds, eager, color=BLUE, marker=".", label="the weight")
        for row in occurs:
            axes.axvline(row + 1, color=ORANGE, linewidth=0.8)
        axes.set_xlabel("round; the feature occurs where the lines are")
        axes.set_ylabel("weight")
        axes.legend()
        save(figure, file)


def draw_importance(file: Path) -> None:
    """Where an example of importance h moves its own prediction, from 0 towards the label 1."""
    importances, step = np.linspace(0.0, 12.0, 121), 0.1  # η times x·x
    loss = Squared()
    aware = [loss.drift(0.0, 1.0, h * step) for h in importances]
    plain = [-loss.slope(0.0, 1.0) * h * step for h in importances]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.4, 2.8), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        axes.axhline(1.0, color=GREY, linewidth=0.8, label="label")
        axes.plot(importances, plain, color=ORANGE, label="plain: slope times h")
        axes.plot(importances, aware, color=BLUE, label="importance-aware")
        axes.set_xlabel("importance h")
        axes.set_ylabel("prediction after the update")
        axes.legend()
        save(figure, file)


def main() -> None:
    by_rule = {rule: paths(rule, **parameters) for rule, parameters in RULES.items()}
    draw_truncation(by_rule, FOLDER / "paths-truncation.svg")
    draw_units(by_rule, FOLDER / "paths-units.svg")
    draw_norms(FOLDER / "paths-norms.svg")
    draw_laziness(FOLDER / "laziness.svg")
    draw_importance(FOLDER / "importance.svg")
    for rule, of_features in by_rule.items():
        for name, path in of_features.items():
            print(rule, name, f"|G| {path.sums[-1]:.3f}, threshold {path.thresholds[-1]:.3f}")


if __name__ == "__main__":
    main()
