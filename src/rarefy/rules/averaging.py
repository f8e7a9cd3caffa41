"""Averaging: predictions by the mean of all past weights.

Online-to-batch conversion (T3.5): w̄ = (w_1 + ... + w_T) / T, w_t being the weight by which round t
was predicted, so w_1 = 0. Learning goes on with w_t as if there was no mean. For convex losses and
rows in random order, the expected loss of w̄ is at most the mean of the losses before learning. A
mean is zero only if the weight always was.

With shares that grow like a power of t, the first rounds, far from the end, count less.

A rule that is averaged is a rule: its state is that of the rule, and the sum of the past weights of
a coordinate until the last round in which it occurred.
"""

import functools
from typing import Any

from rarefy.jit import helper
from rarefy.model.clock import Clock
from rarefy.model.example import Example
from rarefy.rules.anchoring import is_anchored
from rarefy.rules.derived import Wrapper, asks_of, derived_class
from rarefy.rules.past_sums import PolynomialShares
from rarefy.rules.rule_protocol import State, has_closed_sum, unpenalised

AVERAGED = "Averaged"
SUM, UNTIL = "sum", "until"  # what an averaged rule keeps beside the rule's state


def averaged(rule: Any, power: float = 0.0) -> Any:
    """The rule, with the mean of its weights for predictions."""
    cls: Any = type(rule)
    is_closed = power == 0.0 and has_closed_sum(rule)
    return _averaged_class(cls)(rule, None if is_closed else PolynomialShares(power))


def may_be_averaged(rule: Any) -> bool:
    """Whether past weights follow from a coordinate's own state and the round, as a mean needs."""
    return bool(rule.rests() or not rule.common_fields)


def is_averaged(rule: Any) -> bool:
    return hasattr(rule, "mean")


def learning_rule(rule: Any) -> Any:
    """The rule by which weights are learned, whatever they are averaged by, or pulled towards."""
    return rule.rule if is_averaged(rule) or is_anchored(rule) else rule


def predicting(rule: Any) -> Any:
    """The rule whose weights predict, for the state of a rule that learns."""
    cls: Any = type(rule)
    return _mean_class(cls)(rule) if is_averaged(rule) else rule


def power_of(rule: Any) -> float:
    """By what power of t the shares of an averaged rule grow."""
    return 0.0 if rule.shares is None else float(rule.shares.power)


@helper
def since(
    rule: Any,
    shares: PolynomialShares | None,
    clock: Clock,
    state: State,
    after: float,
    until: float,
) -> float:
    """The sum of the weights of the rounds after+1 ... until."""
    if shares is None:
        return rule.closed_sum(clock, state, after, until)  # type: ignore[no-any-return]
    return rule.past_sum(shares, clock, state, after, until)  # type: ignore[no-any-return]


@helper
def all_shares(shares: PolynomialShares | None, t: float) -> float:
    """What the rounds 1 ... t count."""
    return t if shares is None else shares.total(t)


class _Averaged(Wrapper):
    """The methods of a rule that is averaged."""

    shares: PolynomialShares | None  # None: all count the same, and sums are closed

    def weight(self, clock: Clock, state: State) -> float:
        return self.rule.weight(clock, state[:-2])  # type: ignore[no-any-return]

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        new: State = self.rule.step(clock, state[:-2], g, x)
        return new + (self.summed(clock, state, clock.t), clock.t)  # noqa: RUF005

    def summed(self, clock: Clock, state: State, until: float) -> float:
        """The sum of the weights of all rounds until that one."""
        return state[-2] + since(self.rule, self.shares, clock, state[:-2], state[-1], until)

    def mean(self, clock: Clock, state: State) -> float:
        """The mean before the round that is coming."""
        played = clock.t - 1.0
        return self.summed(clock, state, played) / max(all_shares(self.shares, played), 1.0)

    def settled(self, clock: Clock, state: State) -> State:
        """The state with the sum until the last round, before what weights depend on changes."""
        played = clock.t - 1.0
        return state[:-2] + (self.summed(clock, state, played), played)  # noqa: RUF005

    def steps_together(self) -> bool:
        return self.rule.steps_together() and self.rule.rests()  # type: ignore[no-any-return]

    def is_shift_free(self) -> bool:
        return self.rule.is_shift_free()  # type: ignore[no-any-return]

    def row_terms(self, clock: Clock, state: State, x: float) -> State:
        return self.rule.row_terms(clock, state[:-2], x)  # type: ignore[no-any-return]

    def meet(self, clock: Clock, example: Example) -> tuple[State, float]:
        return self.rule.meet(clock, example)  # type: ignore[no-any-return]

    def step_terms(self, clock: Clock, old: State, new: State, x: float) -> State:
        return self.rule.step_terms(clock, old[:-2], new[:-2], x)  # type: ignore[no-any-return]

    def conclude(self, clock: Clock, sums: State) -> State:
        return self.rule.conclude(clock, sums)  # type: ignore[no-any-return]

    def meets(self) -> bool:
        return self.rule.meets()  # type: ignore[no-any-return]

    def concludes(self) -> bool:
        return self.rule.concludes()  # type: ignore[no-any-return]

    def on_intercept(self) -> Any:
        return averaged(unpenalised(self.rule), power_of(self))

    def __reduce__(self) -> Any:
        return averaged, (self.rule, power_of(self))


class _Mean:
    """The methods of the rule that predicts with means."""

    rule: Any

    def weight(self, clock: Clock, state: State) -> float:
        return self.rule.mean(clock, state)  # type: ignore[no-any-return]

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        return self.rule.step(clock, state, g, x)  # type: ignore[no-any-return]

    def log_decay(self, t: float, eta: float) -> float:
        return self.rule.log_decay(t, eta)  # type: ignore[no-any-return]


@functools.cache
def _averaged_class(cls: Any) -> Any:
    name, fields = f"{AVERAGED}{cls.__name__}", [("rule", cls), ("shares", Any)]
    return derived_class(name, fields, _Averaged, *cls.state_fields, SUM, UNTIL, **asks_of(cls))


@functools.cache
def _mean_class(cls: Any) -> Any:
    name, fields = f"MeanOf{cls.__name__}", [("rule", cls)]
    return derived_class(name, fields, _Mean, *cls.state_fields, common=cls.common_fields)
