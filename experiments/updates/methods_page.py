"""The section `Methods compared` of docs/updates.md."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from experiments.updates.methods import ANCHOR, ENDOWMENT, KNOBS, SHARE, Outcome

HEADING, NEXT = "## Methods compared\n", "## Measured\n"
GOAL = 1 / 3
SIGNIFICANT = 0.05
Compared = dict[str, list[dict[str, list[Outcome]]]]  # by data set and order: outcomes by method


class Chosen(NamedTuple):
    """What a method is worth on rows that its knob was not chosen by, each number by order."""

    knob: float
    behind: NDArray[Any]  # of accuracy, compared with learning on, per cent
    lost: NDArray[Any]
    plain_lost: NDArray[Any]
    n_weights: float
    n_changed: float
    plain_weights: float

    @property
    def share(self) -> float:
        """Of the answers that are lost by learning on."""
        return float(self.lost.mean() / self.plain_lost.mean())

    @property
    def error(self) -> float:
        return standard_error(self.behind)

    @property
    def is_worse(self) -> bool:
        """By a paired t-test over the orders."""
        if not self.behind.any():
            return False
        test = stats.ttest_1samp(self.behind, 0.0, alternative="less")
        return bool(test.pvalue < SIGNIFICANT)

    @property
    def meets_the_goal(self) -> bool:
        return bool(self.share <= GOAL and self.behind.mean() >= -self.error)


def standard_error(values: NDArray[Any]) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def chosen(orders: list[dict[str, list[Outcome]]], method: str) -> Chosen:
    """The knob furthest towards the old model at which accuracy is that of learning on.

    It is so if the mean over the orders is not below by more than a standard error of the
    difference, on the rows to choose by; if nowhere, the knob is the one nearest to learning on.
    """
    found = np.array([order[method] for order in orders])  # order, knob, field
    plain = np.array([order["between"][0] for order in orders])
    behind = 100.0 * (found[:, :, 0] - plain[:, None, 0])
    errors = behind.std(axis=0, ddof=1) / np.sqrt(len(orders))
    as_good = np.flatnonzero(behind.mean(axis=0) >= -errors)
    at = int(as_good[-1]) if len(as_good) else 0
    of_judges = 100.0 * found[:, at, 2:4]
    return Chosen(
        KNOBS[method][at],
        of_judges[:, 0] - 100.0 * plain[:, 2],
        of_judges[:, 1],
        100.0 * plain[:, 3],
        float(found[:, at, 4].mean()),
        float(found[:, at, 5].mean()),
        float(plain[:, 4].mean()),
    )


def write(compared: Compared, file: Path) -> None:
    before, _, rest = file.read_text().partition(NEXT)
    before, _, _ = before.partition(HEADING)
    file.write_text(before + HEADING + "\n" + "\n".join(_lines(compared)) + "\n\n" + NEXT + rest)


def _lines(compared: Compared) -> Iterator[str]:
    counts = ", ".join(f"{name} {len(orders)}" for name, orders in compared.items())
    yield f"""`make updates` writes this section. Collections and models are those of
[below](#measured), in other random orders ({counts}). Half of the rows of each collection, the same
in every order, may only be used to choose the knob of a method, when they are in the test; the
other half only judge. The knob is the one furthest towards the old model at which the mean accuracy
is not below that of learning on, once, by more than a standard error of the difference, order by
order.

![Accuracy over lost answers along the knob of each method, by data set](img/updates-methods.svg)

Lost answers, compared with those of learning on; in brackets, the difference in accuracy (points),
both on the rows that judge. † means less accurate than learning on in a paired t-test over the
orders (one-sided, p < {SIGNIFICANT}), **bold** that the goal is met: at most a third of the lost
answers, at an accuracy that is not lower by more than a standard error of the difference.
"""
    names = list(compared)
    yield _row("method", *names, "goal met")
    yield f"|{'---|' * (len(names) + 2)}"
    all_chosen = {
        method: [chosen(orders, method) for orders in compared.values()] for method in KNOBS
    }
    for method, found in all_chosen.items():
        n_met = sum(each.meets_the_goal for each in found)
        yield _row(method, *map(_cell, found), f"{n_met} of {len(found)}")
    yield """
Knobs that were chosen; and, as medians over the data sets, the weights that have to be kept,
compared with those of learning on, and the share of these that differ from the old model's:
"""
    yield _row("method", *names, "weights", "changed")
    yield f"|{'---|' * (len(names) + 3)}"
    for method, found in all_chosen.items():
        weights = np.median([each.n_weights / each.plain_weights for each in found])
        changed = np.median([each.n_changed / each.plain_weights for each in found])
        knobs = (f"{each.knob:g}" for each in found)
        yield _row(method, *knobs, f"{weights:.2f}", f"{changed:.2f}")
    yield f"""
- `between`: what `rarefy update` chooses from; the knob is the share of the old weights. With 2 and
  4 passes, the new rows are learned that often (`--passes`).
- `anchor`: the knob is l1; `anchor, between` has l1 = {ANCHOR:g}.
- `distillation`: learning on from λ p_old + (1 − λ) y, as weighted rows; the knob is λ.
- `endowment`: γ, in both models; `endowment, between` has γ = {ENDOWMENT:g}. Importance-aware
  updates do not apply to the default rule:
  [endowment-experiments.md](endowment-experiments.md) has them.
- `hysteresis`: the old answer stays where the score, or the distance of the two highest scores, is
  below the knob; `between, hysteresis` is of models with {SHARE:g} of the old weights. Both models
  are needed to predict, so it is no method of `rarefy update`.
"""
    met = {
        method: sum(each.meets_the_goal for each in found) for method, found in all_chosen.items()
    }
    most = max(met.values())
    best = " and ".join(f"`{method}`" for method, n in met.items() if n == most)
    yield f"""The goal is met on {most} of {len(names)} data sets at most, by {best}."""


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(found: Chosen) -> str:
    text = f"{found.share:.2f} ({found.behind.mean():+.2f}{'†' if found.is_worse else ''})"
    return f"**{text}**" if found.meets_the_goal else text
