"""The rule of a shard: every example counts several times."""

import functools
from typing import Any

from rarefy.model.clock import Clock
from rarefy.rules.derived import Wrapper, derived_class
from rarefy.rules.rule_protocol import State


def echo_of(some_rule: Any, times: int) -> Any:
    """The rule as if there were so many of each example at once."""
    return _class_for(type(some_rule))(some_rule, float(times))  # type: ignore[arg-type]


@functools.cache
def _class_for(cls: Any) -> Any:
    fields = [("rule", cls), ("times", float)]
    return derived_class(f"Echo{cls.__name__}", fields, _Echo, *cls.state_fields)


class _Echo(Wrapper):
    times: float

    def weight(self, clock: Clock, state: State) -> float:
        return self.rule.weight(clock, state)  # type: ignore[no-any-return]

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        return self.rule.repeated(clock, state, g, x, self.times)  # type: ignore[no-any-return]
