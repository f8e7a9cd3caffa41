"""The error for weights that diverge: where, why, and what to do."""

from typing import Any, Protocol

from rarefy.errors import DivergenceError
from rarefy.model.clock import Clock
from rarefy.rules.averaging import learning_rule
from rarefy.rules.pegasos import Pegasos

# How errors end, by whether there is something to go back to.
UNCHANGED = "The model is unchanged by this call."
CHANGED = "The rows before it have changed the model, which is of no use any more."


class Diverged(Protocol):
    """A learner whose weights diverged."""

    rule: Any
    clock: Clock

    @property
    def t(self) -> int: ...


def divergence(learner: Diverged, row: int, *, is_changed: bool) -> DivergenceError:
    """The error for a row of a call, which may have learned the rows before it."""
    rule = learning_rule(learner.rule)
    where = f"The weights diverged at example {learner.t} (row {row} of this call)"
    eta0 = getattr(rule, "eta0", learner.clock.schedule.eta0)
    why = f"eta0={eta0:g} is too large for these features. Try eta0={eta0 / 10:g}, or scale"
    if isinstance(rule, Pegasos):
        why = f"l2={rule.l2:g} is too small, and steps of 1/(l2 t) too long, for these features. "
        why += f"Try l2={10 * rule.l2:g}, or scale"
    elif rule.by_margin:
        why = "values of these features are too small or too large. Scale"
    after = CHANGED if is_changed else UNCHANGED
    return DivergenceError(f"{where}: {why} the features. {after}")
