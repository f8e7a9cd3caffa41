"""The section `Both at once`: knobs at which both goals are met, chosen by one half of the rows."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.updates.confirmation import METHODS
from experiments.updates.methods import Outcome

SHIPPED = METHODS[2]
GOAL = 1 / 3
HALVES = ((0, 2), (2, 0))  # where the accuracy of the rows to choose by stands, and to judge by


class Judged(NamedTuple):
    """By order: what a method is worth, each row judged by a knob that it had no part in."""

    behind: NDArray[Any]  # of accuracy, compared with learning on, per cent
    lost: NDArray[Any]
    plain_lost: NDArray[Any]

    @property
    def share(self) -> float:
        return float(self.lost.mean() / self.plain_lost.mean())

    @property
    def error(self) -> float:
        return float(_error(self.behind))

    @property
    def meets_the_goal(self) -> bool:
        return bool(self.share <= GOAL and self.behind.mean() >= -self.error)


def judged(orders: list[dict[str, list[Outcome]]], method: str, against: str = "between") -> Judged:
    """Each half of the rows chooses the knob that the other half judges.

    The method is compared with the end of the way of another one, or of its own.
    """
    of_method, plain = (np.array([order[name] for order in orders]) for name in (method, against))
    found = []
    for choosing, judging in HALVES:
        behind = of_method[:, :, choosing] - plain[:, :1, choosing]
        spared = GOAL * plain[:, :1, choosing + 1] - of_method[:, :, choosing + 1]
        knob = _most_to_spare(behind, spared)
        at, learned_on = of_method[:, knob], plain[:, 0]
        accuracy, lost = judging, judging + 1
        found.append((at[:, accuracy] - learned_on[:, accuracy], at[:, lost], learned_on[:, lost]))
    return Judged(*(100.0 * np.mean(each, axis=0) for each in zip(*found, strict=True)))


def _most_to_spare(behind: NDArray[Any], spared: NDArray[Any]) -> int:
    """Where the goal that is nearer to being missed is farthest from it, in standard errors."""
    of_accuracy = behind.mean(axis=0) / _error(behind) + 1.0
    return int(np.argmax(np.minimum(of_accuracy, spared.mean(axis=0) / _error(spared))))


def _error(values: NDArray[Any]) -> Any:
    """Over the orders; where they are all the same, nearly nothing."""
    return np.maximum(values.std(axis=0, ddof=1) / np.sqrt(len(values)), 1e-12)


def lines(of_sets: dict[str, list[dict[str, list[Outcome]]]]) -> Iterator[str]:
    """The section of the page."""
    n_orders = len(next(iter(of_sets.values())))
    yield f"""### Both at once

The tables above go to two ends: the fewest lost answers at the accuracy of learning on, and the
best accuracy with a third of them. In between, both goals may have something to spare. Here the
knob is where that is the most on one half of the rows: where the goal that is nearer to being
missed, by standard errors over the orders, is farthest from it. The other half judges; then the
halves change their roles, and the figures are of both. As this was settled after the tables above
had been seen, the orders are {n_orders} new ones. Difference in accuracy to learning on ± its
standard error; in brackets, the lost answers compared with those of learning on, which are in the
last line, in per cent of the rows. **Bold** is as above.
"""
    yield f"| method | {' | '.join(of_sets)} | goal met |"
    yield f"|{'---|' * (len(of_sets) + 2)}"
    for method in METHODS:
        found = [judged(orders, method) for orders in of_sets.values()]
        n_met = sum(each.meets_the_goal for each in found)
        yield f"| {method} | {' | '.join(map(_cell, found))} | {n_met} of {len(of_sets)} |"
    own = (judged(orders, SHIPPED, SHIPPED) for orders in of_sets.values())
    yield f"| {SHIPPED}, compared with its own end | {' | '.join(map(_cell, own))} | |"
    lost = (judged(orders, METHODS[0]).plain_lost.mean() for orders in of_sets.values())
    yield f"| lost by learning on | {' | '.join(f'{each:.2f}' for each in lost)} | |"
    n_met = sum(judged(orders, SHIPPED).meets_the_goal for orders in of_sets.values())
    yield f"""
So `{SHIPPED}`, which is `rarefy update --replay`, meets the goal on {n_met} of {len(of_sets)} data
sets. What it is compared with learns the new rows once. Learning all rows four times, and taking
the model at the end, would be more accurate still; the line before the last compares with that.
That gain is what pays for the lost answers, so it cannot be had as well.
"""


def _cell(found: Judged) -> str:
    text = f"{found.behind.mean():+.2f} ± {found.error:.2f} ({found.share:.2f})"
    return f"**{text}**" if found.meets_the_goal else text
