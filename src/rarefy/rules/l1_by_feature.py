"""Rules with an l1 of its own for each coordinate.

It is the last number of the coordinate's state, and written there before the coordinate is first
learned. Apart from that, the rule is the one that has a single l1.
"""

from typing import Any, get_type_hints

from rarefy.jit import helper
from rarefy.model.clock import Clock
from rarefy.model.example import Example
from rarefy.rules.derived import asks_of, derived_class
from rarefy.rules.rule_protocol import State, unpenalised

OWN_L1 = "l1"  # what the state calls it


def with_l1_by_feature(cls: Any) -> Any:
    """The class of rules like those of another class, but with an l1 for each coordinate."""
    if cls._fields[0] == "l1":

        @helper
        def of(parameters: Any, l1: float) -> Any:
            return cls(l1, *parameters[1:])

    else:

        @helper
        def of(parameters: Any, l1: float) -> Any:
            return cls(parameters[0], l1, *parameters[2:])

    class Methods:
        def weight(self: Any, clock: Clock, state: State) -> float:
            return of(self, state[-1]).weight(clock, state[:-1])  # type: ignore[no-any-return]

        def step(self: Any, clock: Clock, state: State, g: float, x: float) -> State:
            return of(self, state[-1]).step(clock, state[:-1], g, x) + (state[-1],)  # type: ignore[no-any-return]  # noqa: RUF005

        def log_decay(self: Any, t: float, eta: float) -> float:
            return of(self, self.l1).log_decay(t, eta)  # type: ignore[no-any-return]

        def steps_without_gradient(self: Any) -> bool:
            return of(self, self.l1).steps_without_gradient()  # type: ignore[no-any-return]

        def forgets_at_zero(self: Any) -> bool:
            return of(self, self.l1).forgets_at_zero()  # type: ignore[no-any-return]

        def steps_together(self: Any) -> bool:
            return of(self, self.l1).steps_together()  # type: ignore[no-any-return]

        def is_shift_free(self: Any) -> bool:
            return of(self, self.l1).is_shift_free()  # type: ignore[no-any-return]

        def row_terms(self: Any, clock: Clock, state: State, x: float) -> State:
            return of(self, state[-1]).row_terms(clock, state[:-1], x)  # type: ignore[no-any-return]

        def meet(self: Any, clock: Clock, example: Example) -> tuple[State, float]:
            return of(self, self.l1).meet(clock, example)  # type: ignore[no-any-return]

        def step_terms(self: Any, clock: Clock, old: State, new: State, x: float) -> State:
            return of(self, old[-1]).step_terms(clock, old[:-1], new[:-1], x)  # type: ignore[no-any-return]

        def conclude(self: Any, clock: Clock, sums: State) -> State:
            return of(self, self.l1).conclude(clock, sums)  # type: ignore[no-any-return]

        def meets(self: Any) -> bool:
            return of(self, self.l1).meets()  # type: ignore[no-any-return]

        def concludes(self: Any) -> bool:
            return of(self, self.l1).concludes()  # type: ignore[no-any-return]

        def on_intercept(self: Any) -> Any:
            return unpenalised(cls(*self))

    fields = [*get_type_hints(cls).items()]
    state = (*cls.state_fields, OWN_L1)
    own = derived_class(f"{cls.__name__}WithOwnL1", fields, Methods, *state, **asks_of(cls))
    own._field_defaults = cls._field_defaults
    return own
