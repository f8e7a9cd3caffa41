"""Rules in a stationary form, whose best parameters hardly depend on the number of rows.

Feature-aware penalties grow with it while what has to stand up to them does not, and steps that
fall by its root fall too fast for most data. So while their l1 is to be found, penalties follow a
mean of the feature's past instead of a sum, and while their eta0 is, steps fall more slowly.
"""

import math
from typing import Any, NamedTuple

from rarefy.jit import compile_methods
from rarefy.model.schedules import InvSqrt
from rarefy.rules.penalty_norm import CommonNorm, MeanIntensity, q_of

SLOWER = 3 / 8  # the power of t by which the steps below fall more slowly than by the root


@compile_methods
class SlowlyFalling(NamedTuple):
    """η_t = c / t^(1/8)."""

    eta0: float

    def eta(self, t: float) -> float:
        return self.eta0 / math.sqrt(math.sqrt(math.sqrt(t)))

    def total(self, t: float) -> float:
        total = 0.0
        for tau in range(1, int(t) + 1):
            total += self.eta(tau)
        return total


def stationary(rule: Any, schedule: Any, free: tuple[str, ...]) -> tuple[Any, Any]:
    """Rule and schedule in stationary form, as far as their numbers are to be found."""
    if "l1" in free and "intensity" in rule._fields:
        rule = rule._replace(intensity=MeanIntensity(rule.intensity))
    if "eta0" in free and "eta0" not in rule._fields and isinstance(schedule, InvSqrt):
        schedule = SlowlyFalling(schedule.eta0)
    return rule, schedule


def ordinary(rule: Any, schedule: Any, t: float) -> tuple[Any, Any]:
    """The ordinary rule and schedule that do the same as these after t examples."""
    if isinstance(getattr(rule, "intensity", None), MeanIntensity):
        l1 = rule.l1 * rule.intensity.share(t)
        rule = rule._replace(l1=l1, intensity=rule.intensity.total)
    if isinstance(schedule, SlowlyFalling):
        schedule = InvSqrt(schedule.eta0 * max(t, 1.0) ** SLOWER)
    return rule, schedule


def with_common_norm(rule: Any) -> Any:
    """A rule with q = 1 or ∞ as it can stand beside others."""
    intensity = rule.intensity
    total = intensity.total if isinstance(intensity, MeanIntensity) else intensity
    common = total._replace(norm=CommonNorm(q_of(total.norm)))
    return rule._replace(
        intensity=MeanIntensity(common) if isinstance(intensity, MeanIntensity) else common
    )
