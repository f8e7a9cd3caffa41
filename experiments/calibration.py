"""Log-loss and calibration error of one pass over the panel's data, as learned and calibrated.

The folds, and how probabilities are judged, are those of the panel, which has the figures of other
tools. With --rows, only so many rows of each fold are learned.
"""

from functools import partial
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from experiments.panel.data import R2, SOURCES, task
from experiments.panel.judging import Outcome, judged
from experiments.panel.methods import Answer, Method, estimated
from experiments.panel.page import estimate
from rarefy import SparseOnlineClassifier, SparseOnlineRegressor


def one_pass(calibrate: bool, n_rows: int | None) -> Method:
    classifier = partial(SparseOnlineClassifier, passes=1, calibrate=calibrate)

    def run(X: Any, y: NDArray[Any], X_held: Any, is_regression: bool) -> Answer:
        some = slice(n_rows)
        if n_rows is not None:
            some = np.random.default_rng(0).permutation(len(y))[:n_rows]
            some = np.concatenate([np.unique(y, return_index=True)[1], some])[:n_rows]  # each class
        return estimated(X[some], y[some], X_held, is_regression, classifier, SparseOnlineRegressor)

    return Method("rarefy, one pass", run)


def cell(outcome: Outcome) -> str:
    error = 100.0 * np.mean(outcome.calibration_errors)
    return f"{np.mean(outcome.log_losses):.3f} / {error:.1f}"


@click.command()
@click.option("--rows", type=click.IntRange(101), help="Learn only so many rows.")
def main(rows: int | None) -> None:
    print("|  | one pass | one pass, calibrated | difference in log-loss |\n|---|---|---|---|")
    for name, source in SOURCES.items():
        if source.measure == R2:
            continue
        data = task(source)
        plain, scaled = (
            judged(one_pass(calibrate, rows), data, source.measure) for calibrate in (False, True)
        )
        change = estimate(np.subtract(scaled.log_losses, plain.log_losses).tolist())
        difference = f"{change.mean:+.4f} ± {change.error:.4f}"
        print(f"| {name} | {cell(plain)} | {cell(scaled)} | {difference} |", flush=True)


if __name__ == "__main__":
    main()
