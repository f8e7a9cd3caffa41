"""The perceptron (Rosenblatt 1958; T2.5.2), and the second-order perceptron.

Only a mistake changes the weights; a score of zero is one. With average=True, the perceptron is the
averaged one of Freund and Schapire (1999). Their voted perceptron, of which the weights after every
mistake are part, is no rule: engine/voting.py.
"""

from typing import NamedTuple

from rarefy.jit import helper
from rarefy.model.clock import Clock
from rarefy.model.example import Example
from rarefy.rules.passive_aggressive import AdditiveWeight
from rarefy.rules.proximal import ratio
from rarefy.rules.rule_protocol import State, rule


@helper
def slope_of_mistake(example: Example) -> float:
    return -example.y * example.weight if example.y * example.score <= 0.0 else 0.0


@rule("w", by_margin=True, like=AdditiveWeight)
class PerceptronRule(NamedTuple):
    """w ← w + y x if y⟨w, x⟩ ≤ 0; an example of weight h counts as h mistakes."""

    def meet(self, clock: Clock, example: Example) -> tuple[State, float]:
        return clock.common, slope_of_mistake(example)


@rule("v", "squares", by_margin=True)
class SecondOrderPerceptron(NamedTuple):
    """w = v / (β + s), v = Σ y x and s = Σ x² over the mistakes (Cesa-Bianchi et al. 2005).

    The paper's matrix β I + Σ x xᵀ, with its diagonal alone. The paper adds the row that is being
    predicted to the matrix, too; here weights are the same for all rows.
    """

    beta: float = 1.0

    def meet(self, clock: Clock, example: Example) -> tuple[State, float]:
        return clock.common, slope_of_mistake(example)

    def weight(self, clock: Clock, state: State) -> float:
        v, squares = state
        return ratio(v, self.beta + squares)

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        v, squares = state
        return v - g, squares + abs(g * x)

    def steps_together(self) -> bool:
        return True

    def rests(self) -> bool:
        return True
