"""The section `Methods compared` of docs/results/updates.md."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from experiments.updates.methods import (
    ANCHOR,
    DISTILLED,
    ENDOWMENT,
    KNOBS,
    N_ORDERS,
    PASSES,
    WEAK_ANCHOR,
    Outcome,
)

HEADING, NEXT = "## Methods compared\n", "## Measured\n"
GOAL = 1 / 3
SIGNIFICANT = 0.05
Orders = list[dict[str, list[Outcome]]]  # outcomes by method, for each order
Compared = dict[str, Orders]  # by data set


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


def as_accurate(orders: Orders, method: str) -> Chosen:
    """The knob furthest towards the old model at which accuracy is that of learning on.

    It is so if the mean over the orders is not below by more than a standard error of the
    difference, on the rows to choose by; if nowhere, the knob is the one nearest to learning on.
    """
    accuracies, plain = _field(orders, method, 0), _field(orders, "between", 0)[:, :1]
    behind = accuracies - plain
    errors = behind.std(axis=0, ddof=1) / np.sqrt(len(orders))
    fitting = np.flatnonzero(behind.mean(axis=0) >= -errors)
    return _judged(orders, method, int(fitting[-1]) if len(fitting) else 0)


def at_a_third(orders: Orders, method: str) -> Chosen | None:
    """The knob nearest to learning on that loses a third of its lost answers at most.

    That is by the rows to choose by, too; None if there is no such knob.
    """
    lost, plain = _field(orders, method, 1), _field(orders, "between", 1)[:, 0]
    fitting = np.flatnonzero(lost.mean(axis=0) <= GOAL * plain.mean())
    return _judged(orders, method, int(fitting[0])) if len(fitting) else None


def _field(orders: Orders, method: str, field: int) -> NDArray[Any]:
    """By order and knob."""
    return np.array([order[method] for order in orders])[:, :, field]


def _judged(orders: Orders, method: str, at: int) -> Chosen:
    """What the method is worth with one of its knobs, on the rows that judge."""
    accuracy, lost, n_weights, n_changed = (
        _field(orders, method, field)[:, at] for field in range(2, 6)
    )
    plain = [_field(orders, "between", field)[:, 0] for field in range(2, 5)]
    return Chosen(
        KNOBS[method][at],
        100.0 * (accuracy - plain[0]),
        100.0 * lost,
        100.0 * plain[1],
        float(n_weights.mean()),
        float(n_changed.mean()),
        float(plain[2].mean()),
    )


def write(compared: Compared, more: list[str], file: Path) -> None:
    """Write the section, with what else belongs to it at its end."""
    before, _, rest = file.read_text().partition(NEXT)
    before, _, _ = before.partition(HEADING)
    text = "\n".join([*_lines(compared), *more])
    file.write_text(before + HEADING + "\n" + text + "\n" + NEXT + rest)


def _lines(compared: Compared) -> Iterator[str]:
    most_orders = max(map(len, compared.values()))
    fewer = [f", {len(of)} of {name}" for name, of in compared.items() if len(of) < most_orders]
    yield f"""`make updates` writes this section. Collections and models are those of
[below](#measured), in other random orders: {most_orders} each{"".join(fewer)}. Half of the rows of
each collection, the same in every order, are only used to choose the knob of a method, when they
are in the test; the other half only judge. So no knob is chosen by rows that judge it. What to
compare was settled by trials on orders before these, and by rows to choose by only.

![Accuracy over lost answers along the knob of each method, by data set](img/updates-methods.svg)

The knob furthest towards the old model at which the mean accuracy is not below that of learning on
by more than a standard error of the difference, order by order. Lost answers, compared with those
of learning on; in brackets, the difference in accuracy, in points. † means less accurate than
learning on in a paired t-test over the orders (one-sided, p < {SIGNIFICANT}), **bold** that the
goal is met: a third of the lost answers at most, at an accuracy that is not lower by more than a
standard error of the difference. Orders share their rows, so errors and tests are about other
orders of the same texts.
"""
    names = list(compared)
    yield from _header("method", *names, "goal met")
    found = {
        method: [as_accurate(orders, method) for orders in compared.values()] for method in KNOBS
    }
    met = {method: sum(each.meets_the_goal for each in of) for method, of in found.items()}
    for method, of_method in found.items():
        yield _row(method, *map(_share_first, of_method), f"{met[method]} of {len(names)}")
    yield f"""
So the goal is met {_where(met, len(names))}.

What it costs to lose a third only: the knob nearest to learning on at which no more is lost.
Difference in accuracy to learning on ± its standard error; in brackets, what is lost of the rows
that judge, compared with learning on. † and **bold** are as above. The columns `weights` and
`changed` are medians over the data sets: the weights to be kept and those that differ from the old
model's, compared with the weights of learning on.
"""
    yield from _header("method", *names, "weights", "changed", "goal met")
    met = {}
    for method in KNOBS:
        thirds = [at_a_third(orders, method) for orders in compared.values()]
        there = [each for each in thirds if each is not None]
        if there:
            weights = np.median([each.n_weights / each.plain_weights for each in there])
            changed = np.median([each.n_changed / each.plain_weights for each in there])
            cells = ("–" if each is None else _behind_first(each) for each in thirds)
            met[method] = sum(each.meets_the_goal for each in there)
            last = f"{weights:.2f}", f"{changed:.2f}", f"{met[method]} of {len(names)}"
            yield _row(method, *cells, *last)
    yield f"""
So the goal is met {_where(met, len(names))}.

- `between`: what `rarefy update` chooses from; the knob is the share of the old weights. With 2, 4
  and 8 passes, the rows are learned that often (`--passes`). What all is compared with is learning
  the new rows once.
- `replay`: the old model's rows are learned once more, before the new ones in every pass
  (`--replay`). `{N_ORDERS} orders` is the mean of so many such models, each of other orders.
- `retrained`: all rows are learned anew, in random orders; `averaged` has the mean of the weights
  of all rounds in place of the last ones.
- `anchor`: the knob is l1; `anchor, between` has l1 = {ANCHOR:g}, and {WEAK_ANCHOR:g} with replay.
- `distillation`: learning on from λ p_old + (1 − λ) y, as weighted rows; the knob is λ, and
  {DISTILLED:g} in `distillation, between`.
- `endowment`: γ, in both models; with another knob it is {ENDOWMENT:g}. Importance-aware updates do
  not apply to the default rule: they are [below](#the-endowment-of-the-thesis).
- `hysteresis`: the old answer stays where the new one leads by less than the knob. Both models are
  needed to predict, so it is no method of `rarefy update`. It shows what a model can do at best: if
  its probabilities are right, no other rule takes fewer right answers back at the same accuracy
  (Neyman and Pearson), as it flips those first that the old model is least likely to have right.

Tried in the trials (12 orders, 8 of news), and left: to drop small differences of weights, by soft
or hard thresholds, or those of rare features; to count rows more that the old model has wrong, or
right; a shift of the intercept of models in between, which helped on sms alone; logistic regression
as the new model, which helped on sms and rcv1 alone.

### What is lost for no reason

Lost answers compared with those of learning on, where nothing has been learned that was not known
before: a model of the same rows as the old one, in another order, and one of as many other rows. In
brackets, the difference in accuracy to the old model; with none, as many answers are won as lost.
On the rows that judge.
"""
    yield from _header("model", *names)
    for model in ("another order", "other rows"):
        yield _row(model, *(_for_no_reason(orders, model) for orders in compared.values()))
    yield f"""
So nearly all that learning on loses would also be lost by a model that is no better than the old
one: it is noise of learning, and little of it is the price of what is new. That is why a mean of
the two models keeps most answers, and why a better new model ({PASSES} passes, replay), of which
more of the old one can be mixed in at the same accuracy, keeps still more.
"""


def _header(*titles: str) -> Iterator[str]:
    yield _row(*titles)
    yield f"|{'---|' * len(titles)}"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _for_no_reason(orders: Orders, model: str) -> str:
    lost, plain = _field(orders, model, 3).mean(), _field(orders, "between", 3)[:, 0].mean()
    gain = 100.0 * float((_field(orders, model, 2) - _field(orders, "old", 2)).mean())
    return f"{lost / plain:.2f} ({gain:+.2f})"


def _share_first(found: Chosen) -> str:
    text = f"{found.share:.2f} ({found.behind.mean():+.2f}{'†' if found.is_worse else ''})"
    return f"**{text}**" if found.meets_the_goal else text


def _behind_first(found: Chosen) -> str:
    mark = "†" if found.is_worse else ""
    text = f"{found.behind.mean():+.2f}{mark} ± {found.error:.2f} ({found.share:.2f})"
    return f"**{text}**" if found.meets_the_goal else text


def _where(met: dict[str, int], n_sets: int) -> str:
    most = max(met.values())
    best = " and ".join(f"`{method}`" for method, n in met.items() if n == most)
    return f"on {most} of {n_sets} data sets at most, by {best}"
