# ruff: noqa: E501
"""Log-loss and calibration error of one pass over the panel's data, as learned and calibrated.

`python -m experiments.calibration` writes docs/results/calibration.md. The folds, and how
probabilities are judged, are those of the panel, which has the figures of other tools.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.tables import markdown_table
from experiments.panel.data import R2, SOURCES, Task, task
from experiments.panel.judging import Outcome, judged
from experiments.panel.methods import Answer, Method, estimated
from experiments.panel.page import Estimate, estimate, probability_cell
from experiments.records import RESULTS, Records, head_of_page
from rarefy import SparseOnlineClassifier, SparseOnlineRegressor

FEW_ROWS = 300
CLASSIFIED = [name for name, source in SOURCES.items() if source.measure != R2]
Key = tuple[str, int | None]  # data set, and how many rows of each fold are learned, or all


class Pair(NamedTuple):
    plain: Outcome
    calibrated: Outcome

    @property
    def change(self) -> Estimate:
        return estimate(np.subtract(self.calibrated.log_losses, self.plain.log_losses).tolist())


def read(key: Any, value: Any) -> tuple[Key, Pair]:
    return tuple(key), Pair(*(Outcome(*one) for one in value))


def one_pass(calibrate: bool, n_rows: int | None) -> Method:
    classifier = partial(SparseOnlineClassifier, passes=1, calibrate=calibrate)

    def run(X: Any, y: NDArray[Any], X_held: Any, is_regression: bool) -> Answer:
        some = slice(n_rows)
        if n_rows is not None:
            some = np.random.default_rng(0).permutation(len(y))[:n_rows]
            some = np.concatenate([np.unique(y, return_index=True)[1], some])[:n_rows]  # each class
        return estimated(X[some], y[some], X_held, is_regression, classifier, SparseOnlineRegressor)

    return Method("rarefy, one pass", run)


def found_in(data: Task, measure: str, n_rows: int | None) -> Pair:
    return Pair(*(judged(one_pass(on, n_rows), data, measure) for on in (False, True)))


def change_cell(pair: Pair) -> str:
    mean, error = pair.change
    return f"{mean:+.4f} ± {error:.4f}".replace("-", "−")


def summary(pairs: list[Pair]) -> str:
    """On how many data sets the log-loss falls."""
    changes = [pair.change for pair in pairs]
    lower = sum(change.mean < 0.0 for change in changes)
    higher = [change for change in changes if change.mean > 0.0]
    most = max((change.mean / change.error for change in higher), default=0.0)
    same = len(changes) - lower - len(higher)
    counts = (
        f"lower on {lower} of {len(changes)} data sets, the same on {same}, higher on {len(higher)}"
    )
    return counts + (f" (by {most:.1f} standard errors at most)" if higher else "")


def mean_error(outcomes: list[Outcome]) -> float:
    return float(np.mean([np.mean(outcome.calibration_errors) for outcome in outcomes]))


def page(records: Mapping[Key, Pair]) -> str:
    pairs = [records[name, None] for name in CLASSIFIED]
    losses = np.array([[np.mean(one.log_losses) for one in pair] for pair in pairs])
    before, after = (mean_error([pair[n] for pair in pairs]) for n in (0, 1))
    rows = []
    for name in CLASSIFIED:
        pair = records[name, None]
        cells = [probability_cell(outcome) for outcome in pair]
        rows.append([name, *cells, change_cell(pair), change_cell(records[name, FEW_ROWS])])
    columns = ["", "one pass", "one pass, calibrated", "change of log-loss"]
    return f"""{head_of_page("calibration")}# Calibration: are probabilities better for it?

What [calibration along the stream](../explanation/probabilities.md) does to probabilities after one pass, on the
data sets and folds of the [panel](panel.md), which has the figures of other tools.

- Log-loss with calibration: {summary(pairs)}.
  It falls by {100.0 * np.mean(1.0 - losses[:, 1] / losses[:, 0]):.0f} % in the mean over data sets.
- Calibration error: from {100.0 * before:.1f} to {100.0 * after:.1f} % in the mean over data sets.
- Log-loss with only {FEW_ROWS} rows to learn: {summary([records[name, FEW_ROWS] for name in CLASSIFIED])}.

Log-loss / calibration error in %, on held-out rows, mean of five folds; changes of the log-loss ± their standard
error over the folds:

{markdown_table([*columns, f"… with {FEW_ROWS} rows"], rows)}

How the constants of calibration were chosen, and what else was tried, is told in
[decision 31](../decisions/0031-calibrated-along-the-stream.md).
"""


def main() -> None:
    records = Records.of_page("calibration", read)
    for name in CLASSIFIED:
        missing = [n for n in (None, FEW_ROWS) if (name, n) not in records]
        data = task(SOURCES[name]) if missing else None
        for n_rows in missing:
            records.keep({(name, n_rows): found_in(data, SOURCES[name].measure, n_rows)})
            print(name, n_rows, records[name, n_rows].change, flush=True)
    (RESULTS / "calibration.md").write_text(page(records))


if __name__ == "__main__":
    main()
