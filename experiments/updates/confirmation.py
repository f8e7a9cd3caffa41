"""The methods of `rarefy update`, and what could be had at best, for orders of their own."""

from experiments.updates.data import Texts
from experiments.updates.methods import PASSES, Laboratory, Outcome

METHODS = (
    *("between", "4 passes, between", "4 passes, replay, between"),
    "4 passes, replay, hysteresis",
)


def confirmed(texts: Texts, seed: int) -> dict[str, list[Outcome]]:
    """What becomes of the test by the methods of `rarefy update`, and at best."""
    lab = Laboratory(texts, seed)
    new, often = lab.side(lab.on(lab.second)), lab.side(lab.on(lab.second, PASSES))
    replayed = lab.side(lab.on(lab.every, PASSES))
    ways = (*(lab.between(side) for side in (new, often, replayed)), [*lab.hysteresis(replayed)])
    return {"old": [lab.outcome(lab.old)], **dict(zip(METHODS, ways, strict=True))}
