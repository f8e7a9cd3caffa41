"""What methods are worth, with knobs that were chosen by other rows than those that judge."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from experiments.updates.methods import Outcome

GOAL = 1 / 3
SIGNIFICANT = 0.05
Orders = list[dict[str, list[Outcome]]]  # outcomes by method, for each order
Compared = dict[str, Orders]  # by data set


class Chosen(NamedTuple):
    """What a method is worth on rows that its knob was not chosen by, each number by order."""

    at: int  # which knob
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
    accuracies, plain = column(orders, method, 0), column(orders, "between", 0)[:, :1]
    behind = accuracies - plain
    errors = behind.std(axis=0, ddof=1) / np.sqrt(len(orders))
    fitting = np.flatnonzero(behind.mean(axis=0) >= -errors)
    return _judged(orders, method, int(fitting[-1]) if len(fitting) else 0)


def at_a_third(orders: Orders, method: str) -> Chosen | None:
    """The knob nearest to learning on that loses a third of its lost answers at most.

    That is by the rows to choose by, too; None if there is no such knob.
    """
    lost, plain = column(orders, method, 1), column(orders, "between", 1)[:, 0]
    fitting = np.flatnonzero(lost.mean(axis=0) <= GOAL * plain.mean())
    return _judged(orders, method, int(fitting[0])) if len(fitting) else None


def column(orders: Orders, method: str, number: int) -> NDArray[Any]:
    """By order and knob."""
    return np.array([order[method] for order in orders])[:, :, number]


def _judged(orders: Orders, method: str, at: int) -> Chosen:
    """What the method is worth with one of its knobs, on the rows that judge."""
    accuracy, lost, n_weights, n_changed = (
        column(orders, method, number)[:, at] for number in range(2, 6)
    )
    plain = [column(orders, "between", number)[:, 0] for number in range(2, 5)]
    return Chosen(
        at,
        100.0 * (accuracy - plain[0]),
        100.0 * lost,
        100.0 * plain[1],
        float(n_weights.mean()),
        float(n_changed.mean()),
        float(plain[2].mean()),
    )


def n_orders(compared: Compared) -> str:
    """Of each data set, as a text."""
    most = max(map(len, compared.values()))
    fewer = [f", {len(of)} of {name}" for name, of in compared.items() if len(of) < most]
    return f"{most} each{''.join(fewer)}"


def as_accurate_table(compared: Compared, methods: Iterable[str]) -> Iterator[str]:
    """Lost answers where accuracy is that of learning on; then where the goal is met."""
    yield from header("method", *compared, "goal met")
    met = {}
    for method in methods:
        found = [as_accurate(orders, method) for orders in compared.values()]
        met[method] = sum(each.meets_the_goal for each in found)
        yield row(method, *map(_share_first, found), f"{met[method]} of {len(compared)}")
    yield _where(met, len(compared))


def at_a_third_table(compared: Compared, methods: Iterable[str]) -> Iterator[str]:
    """Accuracy where a third is lost at most; then where the goal is met."""
    yield from header("method", *compared, "weights", "changed", "goal met")
    met = {}
    for method in methods:
        thirds = [at_a_third(orders, method) for orders in compared.values()]
        there = [each for each in thirds if each is not None]
        if there:
            weights = np.median([each.n_weights / each.plain_weights for each in there])
            changed = np.median([each.n_changed / each.plain_weights for each in there])
            cells = ("–" if each is None else _behind_first(each) for each in thirds)
            met[method] = sum(each.meets_the_goal for each in there)
            last = f"{weights:.2f}", f"{changed:.2f}", f"{met[method]} of {len(compared)}"
            yield row(method, *cells, *last)
    yield _where(met, len(compared))


def header(*titles: str) -> Iterator[str]:
    yield row(*titles)
    yield f"|{'---|' * len(titles)}"


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _share_first(found: Chosen) -> str:
    text = f"{found.share:.2f} ({found.behind.mean():+.2f}{'†' if found.is_worse else ''})"
    return f"**{text}**" if found.meets_the_goal else text


def _behind_first(found: Chosen) -> str:
    mark = "†" if found.is_worse else ""
    text = f"{found.behind.mean():+.2f}{mark} ± {found.error:.2f} ({found.share:.2f})"
    return f"**{text}**" if found.meets_the_goal else text


def _where(met: dict[str, int], n_sets: int) -> str:
    most = max(met.values(), default=0)
    if most == 0:
        return "\nSo the goal is met on none of the data sets.\n"
    best = " and ".join(f"`{method}`" for method, n in met.items() if n == most)
    return f"\nSo the goal is met on {most} of {n_sets} data sets at most, by {best}.\n"
