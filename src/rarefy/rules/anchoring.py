"""Rules whose weights are learned as a difference to given ones: penalties pull towards these.

With w = w_old + v, the rule is that of v, unchanged, while examples are predicted with w. So its
penalties are λ₁ ‖w - w_old‖₁ and λ₂/2 ‖w - w_old‖², and what is sparse is the difference. Lazy
forms stay what they are, as w_old rests.

w_old is the last number of a coordinate's state. It is zero for coordinates that the old model has
no weight for.
"""

import functools
from typing import Any

from rarefy.model.clock import Clock
from rarefy.rules.derived import Wrapper, derived_class
from rarefy.rules.rule_protocol import State, unpenalised

ANCHOR = "anchor"  # what the state calls w_old
ANCHORED = "Anchored"


def anchored(some_rule: Any) -> Any:
    """The rule, with a weight for each coordinate that it is pulled towards."""
    return _class_for(type(some_rule))(some_rule)  # type: ignore[arg-type]


def is_anchored(some_rule: Any) -> bool:
    return getattr(some_rule, "state_fields", ())[-1:] == (ANCHOR,)


def can_be_anchored(some_rule: Any) -> bool:
    """Whether a rule, or those of a class, look at nothing but their own coordinate."""
    of_rows = some_rule.common_fields or some_rule.row_sums or some_rule.step_sums
    return not (of_rows or some_rule.by_margin)


@functools.cache
def _class_for(cls: Any) -> Any:
    name, fields = f"{ANCHORED}{cls.__name__}", [("rule", cls)]
    return derived_class(name, fields, _Anchored, *cls.state_fields, ANCHOR)


class _Anchored(Wrapper):
    """The methods of a rule that is anchored.

    Rows are learned as they are: what features and targets lie around was learned by the old model.
    """

    def weight(self, clock: Clock, state: State) -> float:
        return state[-1] + self.rule.weight(clock, state[:-1])  # type: ignore[no-any-return]

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        return self.rule.step(clock, state[:-1], g, x) + (state[-1],)  # type: ignore[no-any-return]  # noqa: RUF005

    def rests(self) -> bool:
        return self.rule.rests()  # type: ignore[no-any-return]

    def on_intercept(self) -> Any:
        return anchored(unpenalised(self.rule))

    def __reduce__(self) -> Any:
        return anchored, (self.rule,)
