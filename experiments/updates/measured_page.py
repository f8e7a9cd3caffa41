"""The section `Measured` of docs/results/updates.md."""

from collections.abc import Iterator, Sequence

import numpy as np

from experiments.updates.pictures import Updates
from experiments.updates.releases import BUDGETS, Promise
from rarefy.updating.path import ALPHAS

OF_METHODS = (
    *("data", "old", "learned on", "lost", "retrained: lost", "endowment", "lost"),
    *("between: α", "accuracy", "lost", "share", "wider"),
)
OF_BUDGETS = ("above", "gain", "plain")
BUDGET_NAMES = tuple(f"{100 * budget:g} %" for budget in BUDGETS)
WAYS = {"4 passes": "As by default: 4 passes", "replay": "With replay"}
OTHER_WAYS = ("1 pass", "anchor")
Promises = dict[str, list[dict[str, list[Promise]]]]  # by data set, chain and way: by budget


def lines(updates: Updates, promises: Promises) -> Iterator[str]:
    """The section of the page."""
    n_orders = len(next(iter(updates.values())))
    yield f"""`make updates` writes this section. Texts, each collection in {n_orders} random
orders: the old model learns 40 % of the rows, the new one goes on with the next 40 %, and the rest
is the test. All figures are per cent of the test rows; ± is a standard error.

![Accuracy over lost answers, by data set](img/updates.svg)
"""
    yield _header(OF_METHODS)
    shares = []
    for name, orders in updates.items():
        line, share = _of_methods(orders)
        shares.append(share)
        yield f"| {name} | {line} |"
    n_kept = sum(share <= 1 / 3 for share in shares)
    yield f"""
`between` is the model nearest to the old one whose mean accuracy is not below that of learning on
by more than a standard error of the difference between the two, order by order; `share` is what it
loses, compared with learning on: a third or less on {n_kept} of {len(shares)} data sets.
`wider` is the share with the standard error of the accuracy itself in its place. The α were read
off the test rows themselves, so this is what the way offers, not what a budget finds without
looking. Retraining is on all rows in another order; `endowment` is γ = 3, in both models.

How budgets are kept: updates, each in another random order, with 30 % of the rows for the old
model, 30 % to learn on, of which half are held out, and 40 % new rows to count lost answers on.
`new` is how many of the updates had a better model within the budget; `above`, in how many of these
the new rows lost more than the budget. The new rows are a sample, too, so a rate just below the
budget is found above it now and then. `gain` is by how much the new model is more accurate than the
old one on the new rows, a mean over the updates with a new model; `plain`, that of learning the
rows once, without a budget, in the same updates.
"""
    for way, title in WAYS.items():
        yield f"### {title}\n"
        yield from _budgets_of(way, promises)
    yield "### All ways\n"
    yield _header(("way", "updates", *BUDGET_NAMES, "gain, all updates"))
    for way in (*WAYS, *OTHER_WAYS):
        of_way = [each for chains in promises.values() for chain in chains for each in chain[way]]
        yield f"| {way} | {_in_all(of_way)} |"
    yield """
Of how many updates the budget was found to be exceeded; where the old model stays, it is kept, and
the gain is nothing. `1 pass` learns the new rows once; `anchor` has the l1 of `rarefy releases`.
"""


def _budgets_of(way: str, promises: Promises) -> Iterator[str]:
    by_budget = (f"{100 * each:g} %: new" for each in BUDGETS)
    yield _header(("data", "updates", *(t for new in by_budget for t in (new, *OF_BUDGETS))))
    all_new, all_above = 0, 0
    for name, chains in promises.items():
        cells, n_new, n_above = _of_promises([chain[way] for chain in chains])
        all_new, all_above = all_new + n_new, all_above + n_above
        yield f"| {name} | {len(chains)} | {cells} |"
    share = all_above / max(all_new, 1)
    yield f"\nOf {all_new:,} promises, {all_above:,} ({share:.1%}) were found to be broken.\n"


def _in_all(of_way: list[Promise]) -> str:
    cells = [f"{len(of_way) // len(BUDGETS):,}"]
    for budget in BUDGETS:
        of_budget = [each for each in of_way if each.budget == budget]
        n_above = sum(each.alpha is not None and each.lost > budget for each in of_budget)
        cells.append(f"{n_above} ({n_above / len(of_budget):.1%})")
    gain = np.mean([each.gain if each.alpha is not None else 0.0 for each in of_way])
    return " | ".join([*cells, f"{100.0 * gain:+.2f}"])


def _header(titles: Sequence[str]) -> str:
    return f"| {' | '.join(titles)} |\n|{'---|' * len(titles)}"


def _of_methods(orders: list[dict[str, list]]) -> tuple[str, float]:
    way = 100.0 * np.array([order["interpolation"] for order in orders])
    accuracy, lost = way[:, :, 0], way[:, :, 1]
    behind = accuracy - accuracy[:, -1:]
    error = behind.std(axis=0, ddof=1) / np.sqrt(len(way))
    step = int(np.flatnonzero(behind.mean(axis=0) >= -error)[0])
    own_error = accuracy[:, -1].std(ddof=1) / np.sqrt(len(way))
    wider = int(np.flatnonzero(behind.mean(axis=0) >= -own_error)[0])
    retrained, endowed = (
        100.0 * np.mean([order[method][0] for order in orders], axis=0)
        for method in ("retrained", "endowment 3")
    )
    share = lost[:, step].mean() / lost[:, -1].mean()
    cells = (
        f"{accuracy[:, 0].mean():.2f}",
        _with_error(accuracy[:, -1]),
        _with_error(lost[:, -1]),
        f"{retrained[1]:.2f}",
        f"{endowed[0]:.2f}",
        f"{endowed[1]:.2f}",
        f"{ALPHAS[step]:.2f}",
        _with_error(accuracy[:, step]),
        _with_error(lost[:, step]),
        f"{share:.2f}",
        f"{lost[:, wider].mean() / lost[:, -1].mean():.2f}",
    )
    return " | ".join(cells), share


def _with_error(values: np.ndarray) -> str:
    return f"{values.mean():.2f} ± {values.std(ddof=1) / np.sqrt(len(values)):.2f}"


def _of_promises(chains: list[list[Promise]]) -> tuple[str, int, int]:
    cells, all_new, all_above = [], 0, 0
    for number, budget in enumerate(BUDGETS):
        new = [chain[number] for chain in chains if chain[number].alpha is not None]
        n_above = sum(promise.lost > budget for promise in new)
        all_new, all_above = all_new + len(new), all_above + n_above
        gains = ([each.gain for each in new], [each.plain_gain for each in new])
        shown = (f"{100.0 * np.mean(gain):+.2f}" if gain else "–" for gain in gains)
        cells += [str(len(new)), str(n_above), *shown]
    return " | ".join(cells), all_new, all_above
