"""Parameters of rules."""

from collections.abc import Mapping
from typing import Annotated, Any, Generic, Literal, TypedDict, TypeVar

from rarefy.model.schedules import SCHEDULES
from rarefy.parameters.entry import Auto, Parameter
from rarefy.parameters.kinds import Flag, GroupsOfFeatures, L1OfFeatures, Number, OneOf
from rarefy.rules import PROJECTED
from rarefy.rules.ogd import Ogd
from rarefy.rules.penalty_norm import Basis

# What the values of a parameter of a rule are: one of them, or several for cross-validation.
N = TypeVar("N")
S = TypeVar("S")
B = TypeVar("B")


class OfRules(TypedDict, Generic[N, S, B], total=False):
    """Parameters of rules; each rule has some of them, and its own defaults."""

    l1: Annotated[
        N | Auto | None,
        Parameter(
            Number(),
            "Strength of the L1 penalty. Larger values keep fewer weights.",
            usual=(
                "1 for ftrl and the scale-free rules, where it is in standard deviations (0 if "
                "`fit` finds that better for a table); 1e-4 for AdaGrad; 0 for pegasos, sag, svrg, "
                "cw, scw1, scw2 and arow; 3e-4 for the others, applied in every round"
            ),
            help="Strength of the L1 penalty; larger values keep fewer weights.",
            absent="it has no L1 penalty",
            may_be_auto=True,
        ),
    ]
    l2: Annotated[
        N | None,
        Parameter(
            Number(),
            "Strength of the L2 penalty.",
            usual="0; 1e-4 for pegasos, sag and svrg",
            absent="it has no L2 penalty",
        ),
    ]
    q: Annotated[
        N | Auto | None,
        Parameter(
            Number(1.0, may_be_infinite=True),
            "Norm of a feature's past subgradients that scales its l1.",
            usual="inf; for the AdaGrad rules, the same penalty for every feature",
            help="Norm of the feature-aware penalty: 1, 2, inf or another number.",
            absent="its penalty is the same for every feature",
            may_be_auto=True,
        ),
    ]
    basis: Annotated[
        S | None,
        Parameter(
            OneOf(tuple(basis.name.lower() for basis in Basis)),
            "What the norm of `q` is computed from: subgradients, subgradients times step size, "
            "or feature values.",
            usual='"gradient"; "update" for sgft and hf-fobos',
            help="What the norm of --q is computed from.",
            absent="its penalty is the same for every feature",
        ),
    ]
    cap: Annotated[
        N | None,
        Parameter(
            Number(may_be_least=False, may_be_infinite=True),
            "Upper bound of the norm of `q`.",
            usual="1e6; 500 for sgft and hf-fobos with q up to 2",
            help="Upper bound of the norm of --q.",
            absent="its penalty is the same for every feature",
        ),
    ]
    eta0: Annotated[
        N | Auto | None,
        Parameter(
            Number(may_be_least=False),
            "Initial step size.",
            usual=(
                "0.2 for the scale-free rules (for several classes, `fit` may choose 0.4 or 0.8); "
                "0.1 for ftrl and AdaGrad; 1 for the others (0.1 for "
                "squared_hinge and modified_huber, 0.05 for squared, and a twentieth of that for a "
                "constant schedule); 0.5 for normalized-adagrad. For coin, the wealth that every "
                "weight starts with: 0.1. For pegasos, of the intercept alone: 1. For sag and "
                "svrg, in units of the inverse of the largest curvature: 1 and 0.25"
            ),
            absent="its step sizes follow from margins",
            may_be_auto=True,
        ),
    ]
    beta: Annotated[
        N | None,
        Parameter(
            Number(),
            "Constant added to the root of the sum of squared gradients that divides the step "
            "size; in second-order-perceptron, to the sum of squared values.",
            usual="1; 0 for AdaGrad",
            help="Constant in the step size eta0 / (beta + root of the sum of squared gradients).",
            absent="its step sizes are not divided by a sum of squared gradients",
        ),
    ]
    aggressiveness: Annotated[
        N | None,
        Parameter(
            Number(may_be_least=False),
            "C: the larger it is, the more a missed margin may change the weights.",
            usual="1; 0.5 for arow, whose r is 1/(2C)",
            help="C of pa1, pa2, scw1, scw2 and arow: larger values follow single examples more "
            "closely.",
            absent="its steps do not weigh margins against changes of the weights",
        ),
    ]
    confidence: Annotated[
        N | None,
        Parameter(
            Number(may_be_least=False),
            "phi, the number of standard deviations by which margins should be positive.",
            usual="1",
            help="Number of standard deviations by which margins should be positive (cw, scw1, "
            "scw2).",
            absent="its margins have no standard deviations",
        ),
    ]
    schedule: Annotated[
        S | None,
        Parameter(
            OneOf(tuple(SCHEDULES)),
            "How the step size falls with the number of examples.",
            usual='"inv_sqrt"',
            absent="its step sizes depend on each feature's own gradients, or on margins",
        ),
    ]
    truncate_every: Annotated[
        N | None,
        Parameter(
            Number(1.0, whole_of="rounds"),
            "Number of examples between truncations of small weights.",
            usual="10",
            absent="it does not truncate at intervals",
        ),
    ]
    threshold: Annotated[
        N | None,
        Parameter(
            Number(may_be_least=False, may_be_infinite=True),
            "Largest weight that is truncated; not the decision threshold.",
            usual="inf; 1e-3 for rounding",
            absent="it does not treat weights by their size (the score above which a class is "
            "predicted is decision_threshold, or `rarefy threshold`)",
        ),
    ]
    p: Annotated[
        N | None,
        Parameter(
            Number(1.0, may_be_least=False),
            "Norm of the p-norm algorithm: 2 is gradient descent, and twice the logarithm of the "
            "number of features comes near to exponentiated gradient.",
            usual="10",
            help="Norm of the rule p-norm: 2 or more.",
            absent="it is not a p-norm algorithm",
        ),
    ]
    projection: Annotated[
        S | None,
        Parameter(
            OneOf(tuple(PROJECTED[Ogd])),
            "Set in which the weights stay: those of length `radius` together, of absolute values "
            "that sum up to it, up to `radius` each, or positive ones of that sum. An L1 ball and "
            "a simplex cost as much as there are features.",
            usual="no limits",
            help="Keep weights within a ball, a box or a simplex (ogd, da).",
            absent="it has no projection",
        ),
    ]
    radius: Annotated[
        N | None,
        Parameter(
            Number(may_be_least=False),
            "Radius of the set of `projection`, or of the simplex of exponentiated gradient.",
            usual="1",
            help="Radius of the set of --projection, or of the simplex of eg and eg-signed.",
            absent="it has no projection, and no simplex",
        ),
    ]
    cumulative: Annotated[
        B,
        Parameter(
            Flag(),
            "Use the cumulative penalty.",
            default=False,
            help="Cumulative penalty (fobos, fr-comid).",
        ),
    ]
    average: Annotated[
        B,
        Parameter(
            Flag(),
            "Predict with the mean of the weights of all rounds, instead of the last weights. A "
            "mean is zero only if the weight always was, so that it keeps more features.",
            default=False,
            help="Predict with the mean of the weights of all rounds.",
        ),
    ]
    average_power: Annotated[
        N | None,
        Parameter(
            Number(whole_of="powers"),
            "With `average`, round t counts about t**average_power in the mean: with 3, say, the "
            "first rounds hardly count.",
            usual="0, all rounds count the same",
            help="With --average: round t counts about t**N in the mean. Default: 0.",
            absent="only a mean of weights has it: set average=True",
        ),
    ]


class OfFeatures(TypedDict, total=False):
    """What features have of their own."""

    l1_of: Annotated[
        Mapping[Any, float] | None,
        Parameter(
            L1OfFeatures(),
            "l1 of the features of some namespaces or columns, by name; the others have `l1`. "
            "Globs are allowed, and the first that fits counts. Columns of a matrix without names "
            "are called by their numbers.",
            usual="the same l1 for all features",
            help="l1 of namespaces or columns: title=0.1,user*=2; globs allowed.",
            in_grids=False,
        ),
    ]
    groups: Annotated[
        Mapping[Any, Any] | Literal["namespaces"] | None,
        Parameter(
            GroupsOfFeatures(),
            "Groups of features that l1 keeps or drops together (rda, frda): the columns of each, "
            "by its name; a column in none is a group by itself. For files, "
            '"namespaces": the features of a namespace or column are a group.',
            usual="every weight by itself",
            help="Keep or drop the features of a namespace or column together (rda, frda).",
            in_grids=False,
        ),
    ]
