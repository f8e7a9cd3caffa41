"""The rule of a shard: coordinates count what they learn several times."""

import functools
from typing import Any, NamedTuple

from rarefy.model.clock import Clock
from rarefy.rules.rule_protocol import State, rule


def echo_of(some_rule: Any) -> Any:
    """The rule with a number in the state of each coordinate: how often an example counts there.

    It is the last field of a state.
    """
    return _class_for(type(some_rule))(some_rule)  # type: ignore[arg-type]


@functools.cache
def _class_for(cls: Any) -> Any:
    """A class of its own for each class of rules, as loops are compiled by class."""

    @rule(*cls.state_fields, "times")
    class Echo(NamedTuple):
        rule: Any

        def weight(self, clock: Clock, state: State) -> float:
            return self.rule.weight(clock, state[:-1])  # type: ignore[no-any-return]

        def step(self, clock: Clock, state: State, g: float, x: float) -> State:
            times = state[-1]
            return (*self.rule.repeated(clock, state[:-1], g, x, times), times)

        def log_decay(self, t: float, eta: float) -> float:
            return self.rule.log_decay(t, eta)  # type: ignore[no-any-return]

        def steps_without_gradient(self) -> bool:
            return self.rule.steps_without_gradient()  # type: ignore[no-any-return]

        def steps_together(self) -> bool:
            return self.rule.steps_together()  # type: ignore[no-any-return]

    return Echo
