"""The update rules by name; one family a file, each rule a NamedTuple with two pure methods."""

from typing import Any

from rarefy.rules.adagrad import AdagradFobos, AdagradFtprl, AdagradRda
from rarefy.rules.anchoring import is_anchored
from rarefy.rules.averaging import is_averaged
from rarefy.rules.aware_adagrad import AwareAdagradFobos, AwareAdagradFtprl, AwareAdagradRda
from rarefy.rules.coin import Coin
from rarefy.rules.confidence_weighted import Arow, Cw, Scw1, Scw2
from rarefy.rules.cumulative import (
    CumulativeFobos,
    CumulativeFrComid,
    ElasticCumulativeFobos,
    ElasticCumulativeFrComid,
)
from rarefy.rules.dual_averaging import Da, Frda, Rda
from rarefy.rules.fobos import Fobos, FrComid
from rarefy.rules.ftrl import Ftrl
from rarefy.rules.group_l1 import GROUPED
from rarefy.rules.l1_by_feature import with_l1_by_feature
from rarefy.rules.leader import Ftpfrl, Ftprl
from rarefy.rules.mirror_descent import Eg, EgSigned, PNorm
from rarefy.rules.normalized import Normalized, NormalizedAdagrad
from rarefy.rules.ogd import Ogd
from rarefy.rules.passive_aggressive import Pa, Pa1, Pa1OfNumbers, Pa2, Pa2OfNumbers, PaOfNumbers
from rarefy.rules.pegasos import Pegasos
from rarefy.rules.perceptron import PerceptronRule, SecondOrderPerceptron
from rarefy.rules.projected import DaInBall, DaInBox, OgdInBall, OgdInBox
from rarefy.rules.rule_protocol import Rule, State, hooks, rule, unpenalised
from rarefy.rules.scale_free import ScaleFree
from rarefy.rules.scale_free_ftrl import ScaleFreeFtrl
from rarefy.rules.thresholds import DaInL1Ball, DaInSimplex, OgdInL1Ball, OgdInSimplex
from rarefy.rules.truncation import Rounding, TruncatedGradient
from rarefy.rules.variance_reduced import Sag, Svrg

RULES: dict[str, Any] = {
    "ogd": Ogd,
    "fobos": Fobos,
    "fr-comid": FrComid,
    "da": Da,
    "rda": Rda,
    "frda": Frda,
    "ftprl": Ftprl,
    "ftpfrl": Ftpfrl,
    "truncated-gradient": TruncatedGradient,
    "rounding": Rounding,
    "adagrad-fobos": AdagradFobos,
    "adagrad-rda": AdagradRda,
    "adagrad-ftprl": AdagradFtprl,
    "normalized": Normalized,
    "normalized-adagrad": NormalizedAdagrad,
    "eg": Eg,
    "eg-signed": EgSigned,
    "p-norm": PNorm,
    "ftrl": Ftrl,
    "coin": Coin,
    "perceptron": PerceptronRule,
    "second-order-perceptron": SecondOrderPerceptron,
    "pa": Pa,
    "pa1": Pa1,
    "pa2": Pa2,
    "cw": Cw,
    "scw1": Scw1,
    "scw2": Scw2,
    "arow": Arow,
    "pegasos": Pegasos,
    "scale-free": ScaleFree,
    "scale-free-ftrl": ScaleFreeFtrl,
}
FINITE_DATA: dict[str, Any] = {"sag": Sag, "svrg": Svrg}  # which need all rows, many times
ALIASES = {"sgft": "fr-comid", "hf-fobos": "fr-comid", "stda": "frda"}
SCALE_FREE = (ScaleFree, ScaleFreeFtrl)  # whose l1 and eta0 have no units
# with a feature-aware penalty, where that is not a rule of its own
AWARE: dict[type, Any] = {
    AdagradFobos: AwareAdagradFobos,
    AdagradRda: AwareAdagradRda,
    AdagradFtprl: AwareAdagradFtprl,
}
# within a set
PROJECTED: dict[type, dict[str, Any]] = {
    Ogd: {
        "l2-ball": OgdInBall,
        "l1-ball": OgdInL1Ball,
        "box": OgdInBox,
        "simplex": OgdInSimplex,
    },
    Da: {"l2-ball": DaInBall, "l1-ball": DaInL1Ball, "box": DaInBox, "simplex": DaInSimplex},
}
# for regression, where a rule that acts on margins has a form for it
OF_NUMBERS: dict[type, Any] = {Pa: PaOfNumbers, Pa1: Pa1OfNumbers, Pa2: Pa2OfNumbers}
# with the cumulative penalty, and with l2 beside it
CUMULATIVE: dict[type, tuple[Any, Any]] = {
    Fobos: (CumulativeFobos, ElasticCumulativeFobos),
    FrComid: (CumulativeFrComid, ElasticCumulativeFrComid),
}
# with an l1 for each coordinate
WITH_OWN_L1: dict[type, Any] = {
    cls: with_l1_by_feature(cls)
    for cls in (
        *RULES.values(),
        *AWARE.values(),
        *(cls for both in CUMULATIVE.values() for cls in both),
    )
    if "l1" in cls._fields and not cls.common_fields
}
MERGEABLE = [name for name, kind in RULES.items() if hasattr(kind, "to_sums")]


# what users call the forms of a rule that they do not choose by a name of their own
_FORMS: dict[type, tuple[type, str]] = {
    **{form: (kind, "") for kind, form in OF_NUMBERS.items()},
    **{form: (kind, ", q") for kind, form in AWARE.items()},
    **{form: (kind, ", cumulative") for kind, both in CUMULATIVE.items() for form in both},
    **{
        form: (kind, f", projection={name!r}")
        for kind, forms in PROJECTED.items()
        for name, form in forms.items()
    },
    **{form: (kind, ", l1_of") for kind, form in WITH_OWN_L1.items()},
    **{form: (kind, ", groups") for kind, form in GROUPED.items()},
}
ALL_CLASSES = (*RULES.values(), *FINITE_DATA.values(), *_FORMS)
_NAMES = {kind: name for name, kind in (RULES | FINITE_DATA).items()}


def name_of(rule: Any) -> str:
    """What users call a rule, with how they asked for it; its class, if it is their own."""
    if is_anchored(rule):
        return f"{name_of(rule.rule)}, anchored"
    if is_averaged(rule):
        return f"{name_of(rule.rule)}, averaged"
    kind, form = type(rule), ""
    while kind in _FORMS:
        kind, how = _FORMS[kind]
        form = how + form
    return _NAMES.get(kind, kind.__name__) + form


__all__ = [
    "ALIASES",
    "ALL_CLASSES",
    "AWARE",
    "CUMULATIVE",
    "FINITE_DATA",
    "GROUPED",
    "MERGEABLE",
    "OF_NUMBERS",
    "PROJECTED",
    "RULES",
    "SCALE_FREE",
    "WITH_OWN_L1",
    "Rule",
    "State",
    "hooks",
    "name_of",
    "rule",
    "unpenalised",
]
