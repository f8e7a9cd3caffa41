"""The rule of a shard: every example counts several times."""

import functools
from typing import Any, NamedTuple

from rarefy.model.clock import Clock
from rarefy.rules.rule_protocol import State, rule


def echo_of(some_rule: Any, times: int) -> Any:
    """The rule as if there were so many of each example at once."""
    return _class_for(type(some_rule))(some_rule, float(times))  # type: ignore[arg-type]


@functools.cache
def _class_for(cls: Any) -> Any:
    """A class of its own for each class of rules, as loops are compiled by class."""

    @rule(*cls.state_fields)
    class Echo(NamedTuple):
        rule: Any
        times: float

        def weight(self, clock: Clock, state: State) -> float:
            return self.rule.weight(clock, state)  # type: ignore[no-any-return]

        def step(self, clock: Clock, state: State, g: float, x: float) -> State:
            return self.rule.repeated(clock, state, g, x, self.times)  # type: ignore[no-any-return]

        def log_decay(self, t: float, eta: float) -> float:
            return self.rule.log_decay(t, eta)  # type: ignore[no-any-return]

        def steps_without_gradient(self) -> bool:
            return self.rule.steps_without_gradient()  # type: ignore[no-any-return]

        def steps_together(self) -> bool:
            return self.rule.steps_together()  # type: ignore[no-any-return]

    return Echo
