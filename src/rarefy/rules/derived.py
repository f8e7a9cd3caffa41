"""Classes of rules that are made of others: averaged, anchored, or with an l1 by feature.

There is one for each class of rules, as loops are compiled by class, and the size of the state with
them.
"""

from typing import Any, NamedTuple

from rarefy.rules.rule_protocol import rule as as_rule


class Wrapper:
    """What a rule that holds another one leaves to it."""

    rule: Any

    def log_decay(self, t: float, eta: float) -> float:
        return self.rule.log_decay(t, eta)  # type: ignore[no-any-return]

    def steps_without_gradient(self) -> bool:
        return self.rule.steps_without_gradient()  # type: ignore[no-any-return]

    def steps_together(self) -> bool:
        return self.rule.steps_together()  # type: ignore[no-any-return]


def derived_class(
    name: str, fields: list[tuple[str, Any]], methods: type, *state: str, **asks: Any
) -> Any:
    """A class of rules with these fields, the methods of a class, and what `rule` is told."""
    cls: Any = NamedTuple(name, fields)  # type: ignore[misc]
    cls.__module__ = methods.__module__
    return as_rule(*state, like=methods, **asks)(cls)


def asks_of(cls: Any) -> dict[str, Any]:
    """What a class of rules asks of loops beside the state."""
    return {
        "common": cls.common_fields,
        "row_sums": cls.row_sums,
        "step_sums": cls.step_sums,
        "by_margin": cls.by_margin,
    }
