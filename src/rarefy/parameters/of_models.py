"""Parameters of models: rules, losses, classes, importance."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Generic, Literal, TypedDict, TypeVar

from rarefy.model.importance import ENDOWMENTS, UPDATES
from rarefy.model.multiclass import MULTICLASS
from rarefy.model.schedules import SCHEDULES
from rarefy.parameters.entry import Auto, Parameter
from rarefy.parameters.kinds import (
    Flag,
    GroupsOfFeatures,
    L1OfFeatures,
    Number,
    OneOf,
    Share,
    WeightsOfClasses,
)
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
            "What this norm is computed from: subgradients, subgradients times step size, or "
            "feature values.",
            usual='"gradient"; "update" for sgft and hf-fobos',
            help="What this norm is computed from.",
            absent="its penalty is the same for every feature",
        ),
    ]
    cap: Annotated[
        N | None,
        Parameter(
            Number(may_be_least=False, may_be_infinite=True),
            "Upper bound of this norm.",
            usual="1e6; 500 for sgft and hf-fobos with q up to 2",
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
            help="Constant added to the root of the sum of squared gradients that divides the "
            "step size.",
            absent="its step sizes are not divided by a sum of squared gradients",
        ),
    ]
    aggressiveness: Annotated[
        N | None,
        Parameter(
            Number(may_be_least=False),
            "C: the larger it is, the more a missed margin may change the weights.",
            usual="1; 0.5 for arow, whose r is 1/(2C)",
            help="C: the larger it is, the more a missed margin may change the weights.",
            absent="its steps do not weigh margins against changes of the weights",
        ),
    ]
    confidence: Annotated[
        N | None,
        Parameter(
            Number(may_be_least=False),
            "phi, the number of standard deviations by which margins should be positive.",
            usual="1",
            help="Number of standard deviations by which margins should be positive.",
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
            "Size of that set, or of the simplex of exponentiated gradient.",
            usual="1",
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


class OfLosses(TypedDict, Generic[N], total=False):
    """Parameters of losses of regression."""

    epsilon: Annotated[
        N,
        Parameter(
            Number(),
            "Error from which huber is linear; error that epsilon_insensitive ignores.",
            default=0.1,
            help="Parameter of huber and epsilon_insensitive.",
        ),
    ]
    quantile: Annotated[
        N,
        Parameter(
            Share(),
            "Quantile to predict, for the quantile loss.",
            default=0.5,
            help="Parameter of the quantile loss.",
        ),
    ]


class OfEndowment(TypedDict, total=False):
    """How much more examples count that the model has right."""

    endowment: Annotated[
        float,
        Parameter(
            Number(),
            "Additional weight of examples that the model predicts correctly when they arrive, so "
            "that later examples do not undo correct answers.",
            default=0.0,
            help="Additional weight of examples that the model predicts correctly.",
        ),
    ]
    endowment_by: Annotated[
        str,
        Parameter(
            OneOf(tuple(ENDOWMENTS)),
            "Whether correctly predicted examples have the weight 1 + endowment, or every mistake "
            "divides all further steps by 1 + endowment.",
            default="prediction",
            help="Give correct examples more weight, or divide all further steps at every mistake.",
        ),
    ]


class OfImportance(TypedDict, total=False):
    """What sample weights do."""

    importance: Annotated[
        str,
        Parameter(
            OneOf(tuple(UPDATES)),
            'How a sample weight acts: it multiplies the subgradient, or, with "aware", moves the '
            "prediction as many small steps would, never past the label. Available for rules with "
            "a common schedule, all losses except perceptron, and two classes or "
            '`multiclass="ovr"`.',
            default="plain",
            help="Weight 2 as one step of double length (plain), or like two steps (aware).",
        ),
    ]


class OfClasses(TypedDict, Generic[S], total=False):
    """What there is to say if there are three classes or more."""

    multiclass: Annotated[
        S,
        Parameter(
            OneOf(MULTICLASS),
            "Loss for three classes or more, each of which has its own weights. "
            '"auto" is softmax for logistic, crammer_singer for hinge, and one-vs-rest otherwise.',
            default="auto",
            help="Loss for three classes or more.",
        ),
    ]


class OfBalance(TypedDict, total=False):
    """How much classes count."""

    class_weight: Annotated[
        Mapping[Any, float] | Literal["balanced"] | None,
        Parameter(
            WeightsOfClasses(),
            "Factors on the sample weights: weights by label (1 for classes that are not named), "
            'or "balanced", which gives all classes the same total weight: W / (K W_k) for K '
            "classes, where W_k is the total weight of the rows of class k and W that of all rows. "
            "`fit` uses all rows, `partial_fit` and streams the rows so far.",
            usual="no class weights",
            help='"balanced", or weights by label: spam=5,ham=1.',
            in_grids=False,
        ),
    ]


class OfProbabilities(TypedDict, total=False):
    """How scores become probabilities; weights do not depend on it."""

    calibrate: Annotated[
        bool,
        Parameter(
            Flag(),
            "Whether probabilities are calibrated, by the labels and the scores that examples had "
            "before they were learned. After several passes, a refit or a search for parameters "
            "there are no such scores, and probabilities are those of the loss; but if `fit` has "
            "no time for enough passes, held-out rows calibrate.",
            default=True,
            help="Calibrate probabilities by the scores of earlier examples (one pass).",
            in_grids=False,
        ),
    ]


class OfSearch(TypedDict, total=False):
    """How parameters are found that are left to be found."""

    scoring: Annotated[
        str | None,
        Parameter(
            OneOf(("loss", "accuracy")),
            'Criterion for tuning parameters that are "auto": the loss or the accuracy of '
            "predictions for examples not yet learned.",
            usual="both combined",
            help="Criterion for tuning parameters that are auto. Default: both combined.",
            in_grids=False,
        ),
    ]


class OfDecision(TypedDict, total=False):
    """How scores become classes; learning does not depend on it."""

    decision_threshold: Annotated[
        float,
        Parameter(
            Number(-math.inf, may_be_least=False),
            "With two classes, the second is predicted if the score is above this. It may also be "
            "set after training.",
            default=0.0,
            in_grids=False,
        ),
    ]
