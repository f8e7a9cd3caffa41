"""Checks of parameters that do not go together."""

from collections.abc import Mapping
from typing import Any

from rarefy.checks import choose
from rarefy.errors import ConfigError
from rarefy.model.losses import LOSSES, REGRESSION_LOSSES, properties_of
from rarefy.model.numbers_by_name import GivenL1
from rarefy.parameters.meaning import has_own_steps, rules_with_common_steps
from rarefy.parameters.table import check_values, checked_number, is_auto
from rarefy.rules import (
    CUMULATIVE,
    FINITE_DATA,
    GROUPED,
    OF_NUMBERS,
    PROJECTED,
    RULES,
    WITH_OWN_L1,
    name_of,
)
from rarefy.rules.averaging import is_averaged, may_be_averaged
from rarefy.rules.leader import Ftpfrl, Ftprl
from rarefy.rules.pegasos import Pegasos
from rarefy.rules.truncation import TruncatedGradient

MOST_POWER = 10  # of rounds in a mean
INSENSITIVE = "epsilon_insensitive"  # the loss of numbers that has a margin
STEPS_BY_ROUND = (TruncatedGradient, Ftprl, Ftpfrl)  # they ask what the steps of past rounds were


def check_average(average: bool, average_power: float | None) -> float:
    """The power of t by which rounds count in a mean; refused where there is no mean."""
    if average_power is None:
        return 0.0
    power = checked_number("average_power", average_power)
    if not average:
        raise ConfigError(f"average_power={average_power!r} needs average=True.")
    if power > MOST_POWER:
        raise ConfigError(
            f"average_power={average_power!r}: at most {MOST_POWER} is expected; with that, half "
            f"of the mean is of the last sixteenth of the rounds."
        )
    return power


def check_may_be_averaged(name: str, rule: Any) -> None:
    """Refuse a mean of weights without rounds, or that change with those of other coordinates."""
    if type(rule) in FINITE_DATA.values():
        raise ConfigError(f"average=True does not apply to the rule {name}: it has no rounds.")
    if not may_be_averaged(rule):
        raise ConfigError(
            f"average=True cannot be used with the rule {name}: its weights change while a feature "
            f"does not occur, in a way that depends on the other features."
        )


def check_mean_of_known(parameters: Mapping[str, Any], is_open: bool) -> None:
    """Refuse a mean of the weights of models whose parameters change as they are found."""
    if is_open and (parameters.get("average") or parameters.get("average_power") is not None):
        raise ConfigError(
            'average=True needs fixed parameters: leave out "auto" and target_features, or '
            "choose parameters by a sweep."
        )


def check_cumulative(rule: Any, name: str, cls: Any) -> None:
    """Refuse a cumulative penalty of a rule that cannot have one."""
    if cls not in CUMULATIVE:
        raise ConfigError(
            f"cumulative=True does not apply to the rule {name}: only fobos and fr-comid have "
            f"a cumulative penalty."
        )
    if isinstance(rule, tuple):
        raise ConfigError(
            f"cumulative=True: the rule {name} is given as an object; give it by name or as a "
            f"class."
        )


def check_schedule(schedule: str | None, cls: Any) -> None:
    """Refuse a schedule by which a rule would not be what it is."""
    if cls is TruncatedGradient and schedule not in (None, "constant"):
        raise ConfigError(
            f"schedule={schedule!r} does not apply to the rule truncated-gradient: it needs a "
            f"constant step size."
        )


def check_margins(name: str, cls: Any, loss: str) -> None:
    """Refuse a rule that acts on margins for a loss, given by name, that has none."""
    if not cls.by_margin or loss not in REGRESSION_LOSSES:
        return
    if cls not in OF_NUMBERS:
        raise ConfigError(
            f"rule={name!r} does not apply to loss={loss!r}: it is for classification, and needs a "
            f"margin."
        )
    if loss != INSENSITIVE:
        raise ConfigError(
            f"rule={name!r} does not apply to loss={loss!r}: in regression, it needs "
            f"loss={INSENSITIVE!r}."
        )


def scheme_of(rule: Any, multiclass: str) -> str:
    """The scheme for several classes, which is of two scores for a rule that acts on margins."""
    if rule.by_margin and multiclass == "softmax":
        raise ConfigError(
            f"multiclass='softmax' does not apply to the rule {name_of(rule)}, which acts on "
            f"margins. Use 'crammer_singer' or 'ovr'."
        )
    return "crammer_singer" if rule.by_margin and multiclass == "auto" else multiclass


def check_aware(rule: Any, loss: str) -> None:
    """Refuse importance-aware updates of a rule, or of a loss by name, that cannot have them."""
    if not _moves_along_rows(rule):
        having = [name for name in RULES if _moves_along_rows(RULES[name])]
        raise ConfigError(
            f"importance='aware' does not apply to the rule {name_of(rule)}: its step sizes "
            f"depend on each feature's own gradients, on margins, or on other weights. "
            f"Rules that support it: {', '.join(having)}."
        )
    if not hasattr(choose("loss", loss, LOSSES), "drift"):
        having = [name for name, kind in LOSSES.items() if hasattr(kind, "drift")]
        raise ConfigError(
            f"importance='aware' does not apply to loss={loss!r}: its minimum is at the initial "
            f"weights, which would never change. Losses that support it: {', '.join(having)}."
        )


def _moves_along_rows(rule: Any) -> bool:
    """Whether the steps of a rule, or those of a class, are multiples of the row."""
    projected = [cls for forms in PROJECTED.values() for cls in forms.values()]
    is_projected = type(rule) in projected or rule in projected
    return not (has_own_steps(rule) or rule.common_fields or is_projected)


def check_has_classes(name: str, value: Any, loss: str, why: str) -> None:
    """Refuse a parameter that is about classes for a loss, given by name, that has none."""
    if loss in REGRESSION_LOSSES:
        raise ConfigError(f"{name}={value!r} does not apply to loss={loss!r}{why}.")


def check_nothing_sought(scoring: Any) -> None:
    """Refuse to say how parameters are found where none is to be found."""
    if scoring is not None:
        raise ConfigError(
            f'scoring={scoring!r} is for tuning, and no parameter is "auto": leave it out.'
        )


def check_steps_may_shrink(rule: Any) -> None:
    """Refuse an endowment by mistakes for rules whose steps cannot follow them."""
    if has_own_steps(rule) or isinstance(rule, STEPS_BY_ROUND):
        having = [name for name in rules_with_common_steps() if RULES[name] not in STEPS_BY_ROUND]
        raise ConfigError(
            f"endowment_by='mistakes' does not apply to the rule {name_of(rule)}, whose "
            f"steps cannot depend on mistakes. Use endowment_by='prediction', or one of the rules "
            f"{', '.join(having)}."
        )


def check_steps_have_l2(name: str, rule: Any) -> None:
    """Refuse Pegasos without an L2 penalty, which its steps are divided by."""
    if isinstance(rule, Pegasos) and rule.l2 == 0.0:
        raise ConfigError(f"l2=0 does not apply to the rule {name}: its steps are 1 / (l2 t).")


def is_refitted(refit: Any, target_features: int | None, loss: str) -> bool:
    """Whether there is a refit where the rows can be had once more: a target is met by one."""
    return bool(refit) or (target_features is not None and properties_of(loss).can_be_refitted)


def check_target(target_features: int | None, l1: Any) -> None:
    """Refuse a number of features beside a penalty, which leaves a number of its own."""
    if target_features is None:
        return
    check_values({"target_features": target_features})
    if l1 is not None and not is_auto(l1):
        raise ConfigError(
            f"target_features={target_features} and l1={l1!r}: give only one of them."
        )


def check_own_l1(l1_of: GivenL1, rule: Any) -> None:
    """Refuse an l1 for each feature of a rule that has no l1, or is not one of ours."""
    if is_averaged(rule):
        raise ConfigError(f"l1_of={dict(l1_of)!r} cannot be combined with average=True.")
    if type(rule) not in WITH_OWN_L1:
        having = [name for name, kind in RULES.items() if kind in WITH_OWN_L1]
        raise ConfigError(
            f"l1_of={dict(l1_of)!r} does not apply to the rule {name_of(rule)}. Rules with "
            f"l1_of: {', '.join(having)}."
        )


def check_grouped(groups: Any, rule: Any) -> None:
    """Refuse groups for a rule whose penalty on groups has no lazy form, or an l1 beside them."""
    if type(rule) not in GROUPED:
        having = [name for name, kind in RULES.items() if kind in GROUPED]
        raise ConfigError(
            f"groups={groups!r} does not apply to the rule {name_of(rule)}, whose weights do "
            f"not follow from sums of subgradients alone. Rules with groups: {', '.join(having)}, "
            f"without l1_of and average."
        )


def check_refit(refit: Any, refit_l2: Any, refit_features: Any, loss: str) -> None:
    """Refuse a refit that makes no sense; the loss is given by name."""
    check_values({"refit": refit, "refit_l2": refit_l2, "refit_features": refit_features})
    if refit_features is not None and not refit:
        raise ConfigError(f"refit_features={refit_features} needs refit=True.")
    if refit and not properties_of(loss).can_be_refitted:
        raise ConfigError(
            f"refit=True does not apply to loss={loss!r}: this loss is not smooth. Use another "
            f"loss, or refit=False."
        )
