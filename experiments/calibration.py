"""Log-loss and calibration error of one pass over the panel's data, as learned and calibrated.

The folds, and how probabilities are judged, are those of the panel, which has the figures of other
tools.
"""

from functools import partial

import numpy as np

from experiments.panel.data import R2, SOURCES, task
from experiments.panel.judging import Outcome, judged
from experiments.panel.methods import Method, estimated
from rarefy import SparseOnlineClassifier, SparseOnlineRegressor


def one_pass(calibrate: bool) -> Method:
    classifier = partial(SparseOnlineClassifier, passes=1, calibrate=calibrate)
    run = partial(estimated, classifier=classifier, regressor=SparseOnlineRegressor)
    return Method("rarefy, one pass", run)


def cell(outcome: Outcome) -> str:
    error = 100.0 * np.mean(outcome.calibration_errors)
    return f"{np.mean(outcome.log_losses):.3f} / {error:.1f}"


def main() -> None:
    print("|  | one pass | one pass, calibrated |\n|---|---|---|")
    for name, source in SOURCES.items():
        if source.measure == R2:
            continue
        rows = task(source)
        outcomes = [
            judged(one_pass(calibrate), rows, source.measure) for calibrate in (False, True)
        ]
        print(f"| {name} | {' | '.join(map(cell, outcomes))} |", flush=True)


if __name__ == "__main__":
    main()
