"""From the parameters of users to rules, losses and schedules, with checks."""

import math
from typing import Any

from rarefy.checks import choose
from rarefy.errors import ConfigError
from rarefy.model.class_weights import ClassWeight
from rarefy.model.importance import (
    ENDOWMENTS,
    UPDATES,
    AwareUpdate,
    EndowmentByMistakes,
    NoEndowment,
    Weighting,
)
from rarefy.model.losses import LOSSES, REGRESSION_LOSSES, properties_of
from rarefy.model.numbers_by_name import GivenGroups, GivenL1
from rarefy.model.schedules import SCHEDULES, Constant
from rarefy.parameters.combinations import (
    check_average,
    check_aware,
    check_cumulative,
    check_grouped,
    check_has_classes,
    check_margins,
    check_may_be_averaged,
    check_own_l1,
    check_schedule,
    check_steps_have_l2,
    check_steps_may_shrink,
)
from rarefy.parameters.kinds import Number
from rarefy.parameters.meaning import (
    UPDATE_BASED,
    absent,
    form_for,
    has_own_steps,
    parameters_of,
    resolve,
)
from rarefy.parameters.table import RULE, TABLE, checked_number
from rarefy.rules import CUMULATIVE, GROUPED, OF_NUMBERS, PROJECTED, WITH_OWN_L1
from rarefy.rules.averaging import averaged, is_averaged, learning_rule
from rarefy.rules.penalty_norm import Basis, Intensity, norm_for
from rarefy.rules.rule_protocol import no_penalty
from rarefy.rules.truncation import TruncatedGradient

CONSTANT_STEP_SHARE = 0.05  # a step that never shrinks starts at this share of it
DEFAULT_CAP = 1e6  # the thesis's V


def make_loss(loss: str, **parameters: Any) -> Any:
    """The loss that a user asks for; epsilon and quantile are checked even if it has neither."""
    given = {name: checked_number(name, value) for name, value in parameters.items()}
    cls = choose("loss", loss, LOSSES)
    return cls(**{name: given[name] for name in cls._fields if name in given})


def make_rule(
    rule: Any,
    *,
    cumulative: bool = False,
    schedule: str | None = None,
    eta0: float | None = None,
    loss: str = "",
    average: bool = False,
    average_power: float | None = None,
    **parameters: Any,
) -> tuple[Any, Any]:
    """The rule and the schedule that a user asks for; None stands for the rule's own default.

    The default of eta0 depends on the loss, given by name.
    """
    power = check_average(average, average_power)
    given = {name: value for name, value in parameters.items() if value is not None}
    name, cls = resolve(rule)
    if cumulative:
        check_cumulative(rule, name, cls)
        l2 = checked_number("l2", given.pop("l2", 0.0))
        without, elastic = CUMULATIVE[cls]
        cls = elastic if l2 > 0.0 else without
        given.update({"l2": l2} if l2 > 0.0 else {})
    own_steps = has_own_steps(cls)
    if own_steps and schedule is not None:
        raise absent("schedule", schedule, name)
    if own_steps and eta0 is not None:
        given["eta0"] = eta0
    if isinstance(rule, tuple):
        if given:
            values = ", ".join(f"{parameter}={value!r}" for parameter, value in given.items())
            raise ConfigError(
                f"{values}: the rule {name} is given as an object; set its parameters there."
            )
        instance = check_object(rule)
    else:
        form = form_for(cls, given)
        if cls in PROJECTED:
            given.pop("projection", None)  # it is the form
        instance = _build(name, form, given)
    check_margins(name, cls, loss)
    if cls in OF_NUMBERS and loss in REGRESSION_LOSSES:
        instance = OF_NUMBERS[cls](*instance)
    default_eta0 = properties_of(loss).default_eta0
    check_steps_have_l2(name, instance)
    if average:
        check_may_be_averaged(name, instance)
        instance = averaged(instance, power)
    return instance, _schedule(cls, schedule, eta0, default_eta0)


def make_weighting(
    rule: Any,
    loss: str,
    *,
    importance: str = "plain",
    endowment: float = 0.0,
    endowment_by: str = "prediction",
) -> Weighting:
    """How much examples weigh, as a user wants it, for a rule that was made and a loss by name."""
    is_mean, rule = is_averaged(rule), learning_rule(rule)
    update = choose("importance", importance, UPDATES)()
    if isinstance(update, AwareUpdate):
        check_aware(rule, loss)
    gamma = checked_number("endowment", endowment)
    kind = choose("endowment_by", endowment_by, ENDOWMENTS)
    if gamma == 0.0:
        return Weighting(update, NoEndowment())
    check_has_classes("endowment", endowment, loss, ": an endowment is for classification")
    if kind is EndowmentByMistakes:
        check_steps_may_shrink(rule)
        if is_mean:
            raise ConfigError(
                "endowment_by='mistakes' cannot be used with average=True, which sums weights up "
                "by the steps of the schedule. Use endowment_by='prediction'."
            )
    return Weighting(update, kind(gamma))


def make_class_weight(class_weight: Any, loss: str) -> ClassWeight:
    """How much rows count by their class, as tasks and files have it; the loss is given by name."""
    checked: ClassWeight = TABLE["class_weight"].check("class_weight", class_weight)
    if checked is not None:
        why = ", which predicts numbers, not classes"
        check_has_classes("class_weight", class_weight, loss, why)
    return checked


def make_own_l1(rule: Any, l1_of: Any) -> tuple[Any, GivenL1]:
    """A rule that was made, with an l1 for each feature if that is asked for, and which."""
    if l1_of is None:
        return rule, ()
    given: GivenL1 = TABLE["l1_of"].check("l1_of", l1_of)
    check_own_l1(given, rule)
    return WITH_OWN_L1[type(rule)](*rule), given


def make_groups(rule: Any, groups: Any) -> tuple[Any, GivenGroups]:
    """A rule that was made, with a penalty on groups if that is asked for, and which."""
    if groups is None:
        return rule, ()
    given: GivenGroups = TABLE["groups"].check("groups", groups)
    check_grouped(groups, rule)
    return GROUPED[type(rule)](*rule), given


def check_object(rule: Any) -> Any:
    """A rule that was given as an object, if what it has of the usual parameters makes sense."""
    for name, value in rule._asdict().items():
        kind = RULE[name].kind if name in RULE else None
        if isinstance(kind, Number) and value is not None:
            kind._replace(whole_of="").check(name, value)  # an object may count by halves
    if "l2" in rule._fields and rule.l2 == 0.0:
        return rule._replace(l2=no_penalty(rule, "l2"))
    return rule


def _build(name: str, cls: Any, given: dict[str, Any]) -> Any:
    """An object of the class, all parameters checked."""
    for parameter, value in given.items():
        if parameter not in parameters_of(cls):
            raise absent(parameter, value, name)
    checked: dict[str, Any] = {
        parameter: checked_number(parameter, value)
        for parameter, value in given.items()
        if isinstance(RULE[parameter].kind, Number)
    }
    if checked.get("l2") == 0.0:
        checked["l2"] = no_penalty(cls, "l2")
    if "intensity" in cls._fields:
        q, cap = checked.pop("q", math.inf), checked.pop("cap", None)
        checked["intensity"] = _intensity(name, q, given.get("basis"), cap)
    missing = [field for field in cls._fields if field not in {**cls._field_defaults, **checked}]
    if missing:
        raise ConfigError(
            f"rule={name}: {', '.join(missing)} has no default; give the rule as an object, "
            f"{name}({missing[0]}=...)."
        )
    return cls(**checked)


def _intensity(name: str, q: float, basis: str | None, cap: float | None) -> Intensity:
    bases = {member.name.lower(): member for member in Basis}
    if name not in UPDATE_BASED:
        kind = choose("basis", "gradient" if basis is None else basis, bases)
        return Intensity(norm_for(q), kind, DEFAULT_CAP if cap is None else cap)
    if basis not in (None, "update"):
        raise ConfigError(
            f"basis={basis!r}: {name} is fr-comid with the basis 'update'; for another basis use "
            f"rule='fr-comid'."
        )
    own_cap = 500.0 if q <= 2.0 else DEFAULT_CAP
    return Intensity(norm_for(q), Basis.UPDATE, own_cap if cap is None else cap)


def _schedule(cls: type, schedule: str | None, eta0: float | None, default_eta0: float) -> Any:
    check_schedule(schedule, cls)
    usual = "constant" if cls is TruncatedGradient else "inv_sqrt"
    kind = choose("schedule", usual if schedule is None else schedule, SCHEDULES)
    if eta0 is None:
        eta0 = default_eta0 * (CONSTANT_STEP_SHARE if kind is Constant else 1.0)
    return kind(checked_number("eta0", eta0))
