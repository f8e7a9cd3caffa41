"""The endowment as in the thesis: gradient descent, with and without importance-aware updates."""

from collections.abc import Iterator

import numpy as np
from scipy import stats

from experiments.updates.data import Texts
from experiments.updates.methods import Laboratory, Outcome
from experiments.updates.releases import learned

GAMMAS = (0.0, 1.0, 3.0, 8.0)
UPDATES = {"plain": "plain updates", "aware": "importance-aware updates"}
SIGNIFICANT = 0.05


def endowed(texts: Texts, seed: int) -> dict[str, list[Outcome]]:
    """What becomes of the test for every γ, by both kinds of updates; γ is that of both models."""
    lab = Laboratory(texts, seed)
    found: dict[str, list[Outcome]] = {}
    for importance in UPDATES:
        for gamma in GAMMAS:
            how = {"rule": "ogd", "multiclass": "ovr", "endowment": gamma, "importance": importance}
            old = lab.side(learned(texts, lab.first, **how))
            outcome = lab.outcome(lab.side(lab.on(lab.second, **how)), old)
            found.setdefault(importance, []).append(outcome)
    return found


def lines(of_sets: dict[str, list[dict[str, list[Outcome]]]]) -> Iterator[str]:
    """The section of the page."""
    yield """### The endowment of the thesis

Gradient descent (`ogd`) with its default step, several classes as one against the rest, in the
orders of the first tables: lost answers, compared with those of γ = 0 and the same kind of updates;
in brackets, the difference in accuracy, in points, with † as above. On the rows that judge; no knob
is chosen. The lines of γ = 0 have the accuracy of learning on, and the lost answers, in per cent.
"""
    yield f"| updates | γ | {' | '.join(of_sets)} |"
    yield f"|{'---|' * (len(of_sets) + 2)}"
    for importance, title in UPDATES.items():
        for number, gamma in enumerate(GAMMAS):
            cells = (_cell(orders, importance, number) for orders in of_sets.values())
            yield f"| {title} | {gamma:g} | {' | '.join(cells)} |"
    yield ""


def _cell(orders: list[dict[str, list[Outcome]]], importance: str, number: int) -> str:
    rates = np.array([order[importance] for order in orders])[:, :, 2:4]
    accuracy, lost = rates[:, number, 0], rates[:, number, 1]
    if number == 0:
        return f"{100.0 * accuracy.mean():.2f} / {100.0 * lost.mean():.2f}"
    behind = accuracy - rates[:, 0, 0]
    is_worse = (
        behind.any() and stats.ttest_1samp(behind, 0.0, alternative="less").pvalue < SIGNIFICANT
    )
    share = lost.mean() / rates[:, 0, 1].mean() if rates[:, 0, 1].any() else np.nan
    return f"{share:.2f} ({100.0 * behind.mean():+.2f}{'†' if is_worse else ''})"
