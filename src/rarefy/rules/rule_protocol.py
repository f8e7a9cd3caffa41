"""The interface of rules.

A rule is a NamedTuple of parameters with two pure methods that act on one coordinate:

    weight(clock, state) -> w               the weight to predict with in round clock.t
    step(clock, state, g, x) -> new state   the state after that round, in which the coordinate
                                            had value x and subgradient g

The state is a tuple of floats, all zero before the coordinate first occurs. It is written only in
rounds in which the coordinate occurs, so `weight` works out what the penalty did in between.

Nine more methods have defaults that suit most rules:

    log_decay(t, eta) -> float              by how much the l2 penalty lowers log|w| in round t
    steps_without_gradient() -> bool        whether `step` matters when g = 0 but x is not
    forgets_at_zero() -> bool               whether a coordinate of weight zero is like one that
                                            never occurred, whatever its state
    steps_together() -> bool                whether `step` has roots or divisions, so that it pays
                                            to let coordinates step by vector instructions
    is_shift_free() -> bool                 whether rows are learned relative to where features and
                                            targets lie (engine/reference.py)
    rests() -> bool                         whether a weight stays as it is while its coordinate
                                            does not occur
    closed_sum(clock, state, after, until) -> float
                                            the sum of the weights of the rounds after+1 ... until,
                                            in which the coordinate did not occur, for the mean of
                                            all past weights; without l2, unless the rule always
                                            has one (its default is not None)
    past_sum(shares, clock, state, after, until) -> float
                                            the same by its integral (rules/past_sums.py), with l2
                                            and where rounds count differently
    on_intercept() -> rule                  what acts on the intercept (default: the same rule with
                                            the fields in PENALTY_FIELDS at zero)

A rule that needs more than its own coordinate declares sums, or floats that all coordinates have in
common (`clock.common`, all zero at first), and has methods for them:

    row_terms(clock, state, x) -> terms     what each entry of a row adds to the `row_sums`
    meet(clock, example) -> common, slope   between prediction and steps, with these sums: the new
                                            `common`, and the slope to step with
    step_terms(clock, old, new, x) -> terms what each step, from one state to another, adds to the
                                            `step_sums`
    conclude(clock, sums) -> common         after the steps, with these sums: the new `common`
    is_worn(clock) -> bool                  whether these sums have lost so much precision that the
                                            states of all coordinates are to be summed up (again,
                                            as long as this is so)
    cleared(clock) -> common                `common` without the sums, before that
    renewed(clock, state) -> state          what every state becomes as it is summed up

The intercept takes part as an entry with x = 1, unless it has a rule without terms.

Models are merged (engine/merged_sums.py) whose rule says of what sums over examples its state is
made; the clock is that of the coming round:

    to_sums(clock, state) -> sums           numbers that add up when models are merged
    from_sums(clock, sums) -> state         the state that they make; it need not be exact

A rule learns in shards (engine/sharding.py) that also has

    repeated(clock, state, g, x, times) -> state
                                            as `step`, if there were so many such examples at once
    to_means(clock, state) -> numbers       those whose mean over the shards makes the state of all
                                            of them (default: the sums)
    from_means(clock, means) -> state       the state that they make
"""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from rarefy.errors import ConfigError
from rarefy.jit import compile_methods
from rarefy.model.clock import Clock
from rarefy.model.example import Example
from rarefy.rules.past_sums import PolynomialShares
from rarefy.rules.past_sums import past_sum as sum_by_integral

State = tuple[float, ...]
R = TypeVar("R", bound=type)

# What an intercept, which is never penalised, has at zero.
PENALTY_FIELDS = ("l1", "l2", "threshold")

# The rules of users, by module and name: model files name them.
own_rules: dict[str, Any] = {}


class Rule(Protocol):
    def weight(self, clock: Clock, state: State) -> float: ...
    def step(self, clock: Clock, state: State, g: float, x: float) -> State: ...


def rule(
    *state_fields: str,
    common: tuple[str, ...] = (),
    row_sums: tuple[str, ...] = (),
    step_sums: tuple[str, ...] = (),
    by_margin: bool = False,
    like: type | None = None,
) -> Callable[[R], R]:
    """Class decorator that makes a rule of a NamedTuple with the methods `weight` and `step`.

    Parameters
    ----------
    *state_fields : str
        The names of the floats that the rule keeps for each coordinate, in order.
    common : tuple of str
        The names of the floats that it keeps for all coordinates together, in `clock.common`.
    row_sums, step_sums : tuple of str
        The names of what is summed over the entries of a row (`row_terms`), and over their steps
        (`step_terms`).
    by_margin : bool
        Whether slopes are those that `meet` makes of margins, whatever the loss: such a rule is
        for classes (or has a form for regression), and has no step size.
    like : type
        A class whose methods the rule has, too, in common with other rules, unless it has its own.

    Returns
    -------
    decorator
        It returns the class, whose methods can now also be called from compiled loops.

    Raises
    ------
    ConfigError
        If the class is not a NamedTuple or lacks a method that it needs.

    See Also
    --------
    helper : For functions that a rule calls.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> @rule("w")
    ... class Descent(NamedTuple):
    ...     def weight(self, clock, state):
    ...         return state[0]
    ...
    ...     def step(self, clock, state, g, x):
    ...         return (state[0] - clock.eta * g,)
    >>> Descent.state_fields
    ('w',)
    """

    def decorate(cls: R) -> R:
        for kind in like.__mro__[:-1] if like else ():
            for name, method in vars(kind).items():
                if callable(method) and name not in vars(cls):
                    setattr(cls, name, method)
        missing = [name for name in ("weight", "step") if not hasattr(cls, name)]
        if missing or not hasattr(cls, "_fields"):
            raise ConfigError(
                f"{cls.__name__} is not a rule: a rule is a NamedTuple with the methods "
                f"weight(self, clock, state) and step(self, clock, state, g, x)"
            )
        needed = {
            "row_terms": row_sums,
            "step_terms": step_sums,
            "conclude": step_sums,
            "meet": row_sums or by_margin,
        }
        for name, why in needed.items():
            if why and not hasattr(cls, name):
                raise ConfigError(f"{cls.__name__} needs the method {name}, see rarefy.rule")
        cls.state_fields = state_fields  # type: ignore[attr-defined]
        cls.common_fields = common  # type: ignore[attr-defined]
        cls.row_sums, cls.step_sums = row_sums, step_sums  # type: ignore[attr-defined]
        cls.by_margin = by_margin  # type: ignore[attr-defined]
        if not hasattr(cls, "meets"):  # it may be another rule that does
            cls.meets = _yes if hasattr(cls, "meet") else _no  # type: ignore[attr-defined]
            cls.concludes = _yes if hasattr(cls, "conclude") else _no  # type: ignore[attr-defined]
        cls.renews = _yes if hasattr(cls, "renewed") else _no  # type: ignore[attr-defined]
        for default in DEFAULTS:
            if not hasattr(cls, default.__name__):
                setattr(cls, default.__name__, default)
        if not cls.__module__.startswith("rarefy."):
            own_rules[f"{cls.__module__}.{cls.__qualname__}"] = cls
        return compile_methods(cls)

    return decorate


def log_decay(self: Any, t: float, eta: float) -> float:
    return 0.0


def steps_without_gradient(self: Any) -> bool:
    return False


def forgets_at_zero(self: Any) -> bool:
    return False


def steps_together(self: Any) -> bool:
    return False


def is_shift_free(self: Any) -> bool:
    return False


def rests(self: Any) -> bool:
    return False


def closed_sum(self: Any, clock: Clock, state: State, after: float, until: float) -> float:
    """Of a weight that rests."""
    return (until - after) * self.weight(clock, state)  # type: ignore[no-any-return]


def past_sum(
    self: Any,
    shares: PolynomialShares,
    clock: Clock,
    state: State,
    after: float,
    until: float,
) -> float:
    return sum_by_integral(self, shares, clock, state, after, until)


def has_closed_sum(some_rule: Any) -> bool:
    """Whether `closed_sum` is right for a rule."""
    is_own = type(some_rule).closed_sum is not closed_sum
    always_has_l2 = some_rule._field_defaults.get("l2") is not None
    return some_rule.rests() or (
        is_own and (always_has_l2 or getattr(some_rule, "l2", None) is None)
    )


def row_terms(self: Any, clock: Clock, state: State, x: float) -> tuple[()]:
    return ()


def meet(self: Any, clock: Clock, example: Example) -> tuple[State, float]:
    return clock.common, example.slope


def step_terms(self: Any, clock: Clock, old: State, new: State, x: float) -> tuple[()]:
    return ()


def conclude(self: Any, clock: Clock, sums: tuple[float, ...]) -> State:
    return clock.common


def is_worn(self: Any, clock: Clock) -> bool:
    return False


def cleared(self: Any, clock: Clock) -> State:
    return clock.common


def renewed(self: Any, clock: Clock, state: State) -> State:
    return state


def to_means(self: Any, clock: Clock, state: State) -> State:
    return self.to_sums(clock, state)  # type: ignore[no-any-return]


def from_means(self: Any, clock: Clock, means: State) -> State:
    return self.from_sums(clock, means)  # type: ignore[no-any-return]


def _yes(self: Any) -> bool:
    return True


def _no(self: Any) -> bool:
    return False


DEFAULTS = (
    log_decay,
    steps_without_gradient,
    forgets_at_zero,
    steps_together,
    is_shift_free,
    rests,
    closed_sum,
    past_sum,
    row_terms,
    meet,
    step_terms,
    conclude,
    is_worn,
    cleared,
    renewed,
    to_means,
    from_means,
)


def hooks(some_rule: Any) -> tuple[Any, Any]:
    """The rule for each of what loops do only for some rules, or None: to meet, to conclude."""
    return (
        some_rule if some_rule.meets() else None,
        some_rule if some_rule.concludes() else None,
    )


def unpenalised(some_rule: Any) -> Any:
    """The rule as it acts on the intercept; one with a simpler form there says so."""
    if hasattr(some_rule, "on_intercept"):
        return some_rule.on_intercept()
    return some_rule._replace(
        **{
            name: no_penalty(some_rule, name)
            for name in PENALTY_FIELDS
            if name in some_rule._fields
        }
    )


def no_penalty(some_rule: Any, name: str) -> float | None:
    """What stands for the absence of a penalty: None where that is its default, else zero."""
    return None if some_rule._field_defaults.get(name, 0.0) is None else 0.0
