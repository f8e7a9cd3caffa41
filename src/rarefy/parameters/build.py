"""From the parameters that users give to what they describe; nonsense is refused here."""

import math
import numbers
from typing import Any

from rarefy.checks import check_flag, check_whole, choose
from rarefy.errors import ConfigError
from rarefy.model.importance import (
    ENDOWMENTS,
    UPDATES,
    AwareUpdate,
    EndowmentByMistakes,
    NoEndowment,
    Weighting,
)
from rarefy.model.losses import LOSSES, REGRESSION_LOSSES
from rarefy.model.schedules import SCHEDULES, Constant
from rarefy.rules import ALIASES, CUMULATIVE, RULES
from rarefy.rules.base import no_penalty
from rarefy.rules.leader import Ftpfrl, Ftprl
from rarefy.rules.penalty_norm import Basis, Intensity, norm_for
from rarefy.rules.truncation import TruncatedGradient

RULE_PARAMETERS = (
    *("rule", "loss", "l1", "l2", "q", "basis", "cap", "eta0", "beta", "schedule"),
    *("truncate_every", "threshold", "cumulative"),
)
DEFAULT_RULE, DEFAULT_REGRESSION_RULE = "scale-free", "adagrad-fobos"
DEFAULT_STEP = 1.0  # the papers' c
# Losses whose slope grows with the error need shorter steps.
STEEP_LOSS_STEPS = {"squared": 0.05, "squared_hinge": 0.1, "modified_huber": 0.1}
CONSTANT_STEP_SHARE = 0.05  # a step that never shrinks starts at this share of it
DEFAULT_CAP = 1e6  # the thesis's V
UPDATE_BASED = ("sgft", "hf-fobos")
INTENSITY_PARAMETERS = ("q", "basis", "cap")

MOST_PASSES = 1 << 31
MOST_FEATURES = 1 << 62  # of a model
LARGEST_SEED = (1 << 32) - 1

# name -> (least value, whether it may be equal to it, whether infinity is allowed)
RANGES = {
    "l1": (0.0, True, False),
    "l2": (0.0, True, False),
    "q": (1.0, True, True),
    "cap": (0.0, False, True),
    "eta0": (0.0, False, False),
    "beta": (0.0, True, False),
    "truncate_every": (1.0, True, False),
    "threshold": (0.0, False, True),
    "epsilon": (0.0, True, False),
    "endowment": (0.0, True, False),
    "refit_l2": (0.0, False, False),
}
NOT_REFITTED = ("perceptron", "epsilon_insensitive", "quantile")
STEPS_BY_ROUND = (TruncatedGradient, Ftprl, Ftpfrl)  # they ask what the steps of past rounds were
WHY_ABSENT = {
    "l1": "it has no L1 penalty",
    "l2": "it has no L2 penalty",
    "q": "its penalty is the same for every feature, so there is no norm to choose",
    "basis": "its penalty is the same for every feature, so there is no norm to choose",
    "cap": "its penalty is the same for every feature, so there is no norm to cap",
    "beta": "its steps follow a common schedule and not each feature's own gradients",
    "schedule": "each feature's step follows from its own gradients",
    "truncate_every": "it does not truncate from time to time",
    "threshold": "it does not treat weights by their size",
}


def default_rule(loss: str) -> str:
    """The rule where none is given."""
    return DEFAULT_REGRESSION_RULE if loss in REGRESSION_LOSSES else DEFAULT_RULE


def check_number(name: str, value: Any) -> float:
    """The value as a float, if it is a number in the range of that parameter."""
    least, may_be_equal, may_be_infinite = RANGES[name]
    accepted = f"a number {'>=' if may_be_equal else '>'} {least:g}"
    accepted += " or infinity" if may_be_infinite else ""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ConfigError(f"{name}={value!r}: {accepted} is expected.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    in_range = number >= least if may_be_equal else number > least
    if not in_range or (math.isinf(number) and not may_be_infinite):
        raise ConfigError(f"{name}={value!r}: {accepted} is expected.")
    return number


def make_loss(loss: str, **parameters: Any) -> Any:
    """The loss that a user asks for; epsilon and quantile are checked even if it has neither."""
    given = {}
    if "epsilon" in parameters:
        given["epsilon"] = check_number("epsilon", parameters["epsilon"])
    if "quantile" in parameters:
        quantile = parameters["quantile"]
        if not isinstance(quantile, numbers.Real) or not 0.0 < quantile < 1.0:  # type: ignore[operator]
            raise ConfigError(f"quantile={quantile!r}: a number between 0 and 1 is expected.")
        given["quantile"] = float(quantile)
    cls = choose("loss", loss, LOSSES)
    return cls(**{name: given[name] for name in cls._fields if name in given})


def make_rule(
    rule: Any,
    *,
    cumulative: bool = False,
    schedule: str | None = None,
    eta0: float | None = None,
    loss: str = "",
    **parameters: Any,
) -> tuple[Any, Any]:
    """The rule and the schedule that a user asks for; None stands for the rule's own default.

    The default of eta0 depends on the loss, given by name.
    """
    given = {name: value for name, value in parameters.items() if value is not None}
    name, cls = resolve(rule)
    if cumulative:
        if cls not in CUMULATIVE:
            raise ConfigError(
                f"cumulative=True has no meaning for the rule {name}: only fobos and fr-comid have "
                f"a cumulative penalty."
            )
        if isinstance(rule, tuple):
            raise ConfigError(
                f"cumulative=True: the rule {name} is given as an object, which has its penalty "
                f"already; give it by name or as a class."
            )
        l2 = check_number("l2", given.pop("l2", 0.0))
        without, elastic = CUMULATIVE[cls]
        cls = elastic if l2 > 0.0 else without
        given.update({"l2": l2} if l2 > 0.0 else {})
    own_steps = has_own_steps(cls)
    if own_steps and schedule is not None:
        raise _absent("schedule", schedule, name)
    if own_steps and eta0 is not None:
        given["eta0"] = eta0
    if isinstance(rule, tuple):
        if given:
            values = ", ".join(f"{parameter}={value!r}" for parameter, value in given.items())
            raise ConfigError(
                f"{values}: the rule {name} is given as an object and has its parameters already; "
                f"set them there."
            )
        instance = check_object(rule)
    else:
        instance = _build(name, cls, given)
    default_eta0 = STEEP_LOSS_STEPS.get(loss, DEFAULT_STEP)
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
    update = choose("importance", importance, UPDATES)()
    if isinstance(update, AwareUpdate):
        _check_aware(rule, loss)
    gamma = check_number("endowment", endowment)
    kind = choose("endowment_by", endowment_by, ENDOWMENTS)
    if gamma == 0.0:
        return Weighting(update, NoEndowment())
    if loss in REGRESSION_LOSSES:
        raise ConfigError(
            f"endowment={endowment!r} has no meaning for loss={loss!r}, which predicts numbers: "
            f"an endowment is for examples whose class was predicted right."
        )
    if kind is EndowmentByMistakes:
        _check_steps_may_shrink(rule)
    return Weighting(update, kind(gamma))


def _check_aware(rule: Any, loss: str) -> None:
    if has_own_steps(rule):
        raise ConfigError(
            f"importance='aware' has no meaning for the rule {type(rule).__name__}: each feature's "
            f"step follows from its own gradients, and how far one leads is not known beforehand. "
            f"Rules with it: {', '.join(_rules_with_common_steps())}."
        )
    if not hasattr(choose("loss", loss, LOSSES), "drift"):
        having = [name for name, kind in LOSSES.items() if hasattr(kind, "drift")]
        raise ConfigError(
            f"importance='aware' has no meaning for loss={loss!r}, whose minimum is where learning "
            f"begins: no weight would ever change. Losses with it: {', '.join(having)}."
        )


def _check_steps_may_shrink(rule: Any) -> None:
    if has_own_steps(rule) or isinstance(rule, STEPS_BY_ROUND):
        having = [name for name in _rules_with_common_steps() if RULES[name] not in STEPS_BY_ROUND]
        raise ConfigError(
            f"endowment_by='mistakes' has no meaning for the rule {type(rule).__name__}, whose "
            f"steps cannot depend on mistakes. Use endowment_by='prediction', or one of the rules "
            f"{', '.join(having)}."
        )


def has_own_steps(rule: Any) -> bool:
    """Whether a rule, or those of a class, have steps that follow no common schedule."""
    return "eta0" in rule._fields


def _rules_with_common_steps() -> list[str]:
    return [name for name, kind in RULES.items() if not has_own_steps(kind)]


def check_object(rule: Any) -> Any:
    """A rule that was given as an object, if what it has of the usual parameters makes sense."""
    for parameter, value in rule._asdict().items():
        if parameter in RANGES and value is not None:
            check_number(parameter, value)
    if "l2" in rule._fields and rule.l2 == 0.0:
        return rule._replace(l2=no_penalty(rule, "l2"))
    return rule


def resolve(rule: Any) -> tuple[str, Any]:
    """The name and class of a rule given by name, as a class, or as an object."""
    if isinstance(rule, str):
        canonical = ALIASES.get(rule, rule)
        if canonical not in RULES:
            names = ", ".join([*RULES, *ALIASES])
            raise ConfigError(f"rule={rule!r}: one of {names}, or a rule of your own, is expected.")
        return rule, RULES[canonical]
    cls = rule if isinstance(rule, type) else type(rule)
    if "state_fields" not in vars(cls):
        raise ConfigError(
            f"rule={rule!r}: a name, or a NamedTuple decorated with rarefy.rule, is expected."
        )
    return cls.__name__, cls


def parameters_of(cls: Any) -> tuple[str, ...]:
    """The parameters by which users set up a rule of that class."""
    return tuple(
        name
        for field in cls._fields
        for name in (INTENSITY_PARAMETERS if field == "intensity" else (field,))
    )


def has_meaning(parameter: str, cls: Any) -> bool:
    """Whether rules of that class, given by name or as a class, can have a parameter."""
    if parameter == "cumulative":
        return cls in CUMULATIVE
    if parameter == "schedule":
        return "eta0" not in cls._fields and cls is not TruncatedGradient
    return parameter == "eta0" or parameter in parameters_of(cls)


def _absent(parameter: str, value: Any, name: str) -> ConfigError:
    if parameter == "schedule":
        having = _rules_with_common_steps()
    else:
        having = [other for other, kind in RULES.items() if parameter in parameters_of(kind)]
    return ConfigError(
        f"{parameter}={value!r} has no meaning for the rule {name}: {WHY_ABSENT[parameter]}. "
        f"Rules with {parameter}: {', '.join(having)}."
    )


def _build(name: str, cls: Any, given: dict[str, Any]) -> Any:
    """An object of the class, all parameters checked."""
    for parameter, value in given.items():
        if parameter not in parameters_of(cls):
            raise _absent(parameter, value, name)
    checked: dict[str, Any] = {
        parameter: check_number(parameter, value)
        for parameter, value in given.items()
        if parameter in RANGES
    }
    if checked.get("truncate_every", 1.0) % 1.0:
        raise ConfigError(
            f"truncate_every={given['truncate_every']!r}: a whole number of rounds is expected."
        )
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
    if cls is TruncatedGradient:
        if schedule not in (None, "constant"):
            raise ConfigError(
                f"schedule={schedule!r} has no meaning for the rule truncated-gradient: every K "
                f"rounds it lowers weights by K times one step, so the step has to be constant."
            )
        schedule = "constant"
    kind = choose("schedule", "inv_sqrt" if schedule is None else schedule, SCHEDULES)
    if eta0 is None:
        eta0 = default_eta0 * (CONSTANT_STEP_SHARE if kind is Constant else 1.0)
    return kind(check_number("eta0", eta0))


def check_refit(refit: Any, refit_l2: Any, refit_features: Any, loss: str) -> None:
    """Refuse what makes no sense; the loss is given by name."""
    check_flag("refit", refit)
    if refit_l2 is not None:
        check_number("refit_l2", refit_l2)
    if refit_features is not None:
        check_whole("refit_features", refit_features, 1, MOST_FEATURES)
        if not refit:
            raise ConfigError(f"refit_features={refit_features} has no meaning without refit=True.")
    if refit and loss in NOT_REFITTED:
        raise ConfigError(
            f"refit=True has no meaning for loss={loss!r}: it has kinks, and no smooth loss with "
            f"about the same minimum is known. Use another loss, or refit=False."
        )
