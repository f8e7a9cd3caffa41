"""The weight of an example: its importance, the endowment, and the resulting step.

An endowment γ makes examples that the model has right weigh more than those that it has wrong, so
that later ones do not take back what was right (T chapter 5). Importance-aware updates (T2.4.3)
go where as many small steps would lead, and not as many times as far.

Each kind is a type of its own, so that loops are compiled for it alone.
"""

from typing import Any, NamedTuple

from rarefy.jit import compile_methods
from rarefy.model.clock import Clock, round_with_step

SHORTEST_STEP = 1e-150  # of the schedule's: its inverse is a number too


@compile_methods
class PlainUpdate(NamedTuple):
    """The slope times the importance: weight 2 is one step of double length."""

    def slope(self, loss: Any, p: float, y: float, importance: float, reach: float) -> float:
        return importance * loss.slope(p, y)  # type: ignore[no-any-return]


@compile_methods
class AwareUpdate(NamedTuple):
    """The slope s by which a plain step, p - η s x·x, leads to where p drifts in the time h η x·x.

    `reach` is η x·x; where that is zero, there is nothing that a slope would change.
    """

    def slope(self, loss: Any, p: float, y: float, importance: float, reach: float) -> float:
        drift = loss.drift(p, y, importance * reach)
        return -drift / reach if reach > 0.0 else 0.0


@compile_methods
class NoEndowment(NamedTuple):
    """Right or wrong, examples weigh the same."""

    def importance(self, importance: float, right: bool) -> float:
        return importance

    def clock(self, rule: Any, before: Clock, clock: Clock, right: bool) -> Clock:
        return clock


@compile_methods
class EndowmentByPrediction(NamedTuple):
    """An example that the model has right weighs 1 + γ times as much (T5.6)."""

    gamma: float

    def importance(self, importance: float, right: bool) -> float:
        return (1.0 + self.gamma) * importance if right else importance

    def clock(self, rule: Any, before: Clock, clock: Clock, right: bool) -> Clock:
        return clock


@compile_methods
class EndowmentByMistakes(NamedTuple):
    """The step is the schedule's over (1 + γ)^N after N mistakes, that of the round too (TA.1)."""

    gamma: float

    def importance(self, importance: float, right: bool) -> float:
        return importance

    def clock(self, rule: Any, before: Clock, clock: Clock, right: bool) -> Clock:
        mistakes = before.mistakes + (0.0 if right else 1.0)
        shortened = max((1.0 + self.gamma) ** -mistakes, SHORTEST_STEP)
        return round_with_step(rule, before, shortened * clock.schedule.eta(clock.t), mistakes)


class Weighting(NamedTuple):
    """What the loop makes of an example's importance."""

    update: Any = PlainUpdate()
    endowment: Any = NoEndowment()


PLAIN = Weighting()
UPDATES: dict[str, Any] = {"plain": PlainUpdate, "aware": AwareUpdate}
ENDOWMENTS: dict[str, Any] = {
    "prediction": EndowmentByPrediction,
    "mistakes": EndowmentByMistakes,
}
