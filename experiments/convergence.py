"""How fast SAG and SVRG come to the minimum of a strongly convex objective, beside Pegasos.

`python -m experiments.convergence` draws docs/reference/img/convergence.svg.
"""

from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from experiments.data import Labelled, svmlight
from experiments.drawing import BLUE, GREEN, GREY, ORANGE, STYLE, save
from rarefy import SparseOnlineClassifier
from rarefy.arrays import Floats, as_rows
from rarefy.engine.finite_data import PASSES_OF_AN_EPOCH, minimisation
from rarefy.estimators.matrices import as_csr
from rarefy.model.losses import Logistic
from rarefy.rules.variance_reduced import Sag, Svrg

L2 = 1e-3
MOST_PASSES = 60
PICTURE = Path(__file__).parents[1] / "docs" / "reference" / "img" / "convergence.svg"
Point = tuple[int, float]  # passes, and the objective then


def objective(data: Labelled, w: Floats) -> float:
    X, y = data
    return float(np.logaddexp(0.0, -y * (X @ w)).mean() + L2 / 2.0 * w @ w)


def of_finite_data(rule: Sag | Svrg, data: Labelled) -> Iterator[Point]:
    """The objective after every epoch; its full gradient counts as a pass."""
    X, y = data
    rows = as_rows(as_csr(X), y, np.ones(len(y)))
    problem = minimisation(rule, Logistic(), rows, X.shape[1], False)
    random = np.random.RandomState(0)
    passes, of_epoch = 0, PASSES_OF_AN_EPOCH[type(rule)]
    while passes < MOST_PASSES:
        problem.run(random, of_epoch)
        passes += of_epoch + 1
        yield passes, objective(data, problem.w[:-1])


def of_pegasos(data: Labelled, *, average: bool) -> Iterator[Point]:
    for passes in (1, 2, 4, 8, 16, 32, MOST_PASSES):
        model = SparseOnlineClassifier(
            "pegasos", l2=L2, passes=passes, fit_intercept=False, average=average
        ).fit(*data)
        yield passes, objective(data, model.coef_.ravel())


def draw(curves: dict[str, tuple[str, list[Point]]], best: float) -> None:
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.4, 3.4), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        for name, (colour, points) in curves.items():
            passes = [passes for passes, _ in points]
            missing = [max(value - best, 1e-16) for _, value in points]
            axes.semilogy(passes, missing, color=colour, marker=".", label=name)
        axes.set_xlabel("passes over the data, full gradients included")
        axes.set_ylabel("objective - minimum")
        axes.legend()
        save(figure, PICTURE)


def main() -> None:
    X, y = svmlight("a9a", "a9a.svm.xz")
    data = X.tocsr(), np.where(y > 0, 1.0, -1.0)
    exact = SparseOnlineClassifier("sag", l2=L2, fit_intercept=False).fit(*data)
    best = objective(data, exact.coef_.ravel())
    curves = {
        "sag": (BLUE, list(of_finite_data(Sag(l2=L2), data))),
        "svrg": (ORANGE, list(of_finite_data(Svrg(l2=L2), data))),
        "pegasos": (GREY, list(of_pegasos(data, average=False))),
        "pegasos, mean of weights": (GREEN, list(of_pegasos(data, average=True))),
    }
    for name, (_, points) in curves.items():
        print(name, *(f"{passes}: {value - best:.1e}" for passes, value in points))
    draw(curves, best)


if __name__ == "__main__":
    main()
