"""Parameters that say what is learned: of rules, losses, classes, and how much examples count."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Generic, Literal, TypedDict, TypeVar

from rarefy.model.importance import ENDOWMENTS, UPDATES
from rarefy.model.multiclass import MULTICLASS
from rarefy.model.schedules import SCHEDULES
from rarefy.parameters.entry import Auto, Parameter
from rarefy.parameters.kinds import Flag, Number, OneOf, Share, WeightsOfClasses
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
            "Strength of the l1 penalty: the more, the fewer weights.",
            usual=(
                "1 for ftrl and the scale-free rules, for which it is in standard deviations; 1e-4 "
                "for AdaGrad; 3e-4 for the others, where it acts in every round"
            ),
            help="More of it, fewer weights.",
            absent="it has no L1 penalty",
            may_be_auto=True,
        ),
    ]
    l2: Annotated[
        N | None,
        Parameter(
            Number(),
            "Strength of the l2 penalty.",
            usual="0",
            help="Strength of the l2 penalty.",
            absent="it has no L2 penalty",
        ),
    ]
    q: Annotated[
        N | Auto | None,
        Parameter(
            Number(1.0, may_be_infinite=True),
            "Norm of a feature's past subgradients by which its l1 is scaled.",
            usual="inf",
            help="Norm of the feature-aware penalty: 1, 2, inf, ...",
            absent="its penalty is the same for every feature, so there is no norm to choose",
            may_be_auto=True,
        ),
    ]
    basis: Annotated[
        S | None,
        Parameter(
            OneOf(tuple(basis.name.lower() for basis in Basis)),
            "What that norm is taken of: subgradients, subgradients times step, or feature values.",
            usual='"gradient"; "update" for sgft and hf-fobos',
            help="What that norm is taken of.",
            absent="its penalty is the same for every feature, so there is no norm to choose",
        ),
    ]
    cap: Annotated[
        N | None,
        Parameter(
            Number(may_be_least=False, may_be_infinite=True),
            "Upper bound of that norm.",
            usual="1e6; 500 for sgft and hf-fobos with q up to 2",
            help="Upper bound of that norm.",
            absent="its penalty is the same for every feature, so there is no norm to cap",
        ),
    ]
    eta0: Annotated[
        N | Auto | None,
        Parameter(
            Number(may_be_least=False),
            "Size of the first step.",
            usual=(
                "0.2 for the scale-free rules; 0.1 for ftrl and AdaGrad; 1 for the others (0.1 for "
                "squared_hinge and modified_huber, 0.05 for squared, and a twentieth of that for a "
                "constant schedule)"
            ),
            help="The first step.",
            may_be_auto=True,
        ),
    ]
    beta: Annotated[
        N | None,
        Parameter(
            Number(),
            "Added to the root of the summed squares by which steps are divided.",
            usual="1 for ftrl, 0 for AdaGrad",
            help="Added to the root of the summed squares by which steps are divided.",
            absent="its steps follow a common schedule and not each feature's own gradients",
        ),
    ]
    schedule: Annotated[
        S | None,
        Parameter(
            OneOf(tuple(SCHEDULES)),
            "How steps shrink with the round.",
            usual='"inv_sqrt"',
            help="How steps shrink with the round.",
            absent="each feature's step follows from its own gradients",
        ),
    ]
    truncate_every: Annotated[
        N | None,
        Parameter(
            Number(1.0, whole_of="rounds"),
            "After how many rounds small weights are lowered, or set to zero.",
            usual="10",
            help="After how many rounds small weights are lowered.",
            absent="it does not truncate from time to time",
        ),
    ]
    threshold: Annotated[
        N | None,
        Parameter(
            Number(may_be_least=False, may_be_infinite=True),
            "Up to which size weights are small.",
            usual="inf; 1e-3 for rounding",
            help="Up to which size weights are small.",
            absent="it does not treat weights by their size",
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


class OfLosses(TypedDict, Generic[N], total=False):
    """Parameters of losses of regression."""

    epsilon: Annotated[
        N,
        Parameter(
            Number(),
            "Where huber turns into a straight line; the error that epsilon_insensitive forgives.",
            default=0.1,
            help="Of huber and epsilon_insensitive.",
        ),
    ]
    quantile: Annotated[
        N,
        Parameter(
            Share(),
            "The quantile that the quantile loss aims at.",
            default=0.5,
            help="Of the quantile loss.",
        ),
    ]


class OfEndowment(TypedDict, total=False):
    """How much more examples count that the model has right."""

    endowment: Annotated[
        float,
        Parameter(
            Number(),
            "By how much more an example counts if the model has it right when it comes, so that "
            "later ones do not take back what was right.",
            default=0.0,
            help="By how much more examples count that the model has right.",
        ),
    ]
    endowment_by: Annotated[
        str,
        Parameter(
            OneOf(tuple(ENDOWMENTS)),
            "Whether right examples count 1 + endowment times, or every mistake divides all "
            "further steps by 1 + endowment.",
            default="prediction",
            help="Right examples count more, or every mistake divides all further steps.",
        ),
    ]


class OfImportance(TypedDict, total=False):
    """What sample weights do."""

    importance: Annotated[
        str,
        Parameter(
            OneOf(tuple(UPDATES)),
            'What a sample weight does: multiply the subgradient, or, with "aware", lead to where '
            "as many small steps would, which never goes past the label. For rules with a common "
            'schedule, all losses but perceptron, and one score or `multiclass="ovr"`.',
            default="plain",
            help="A weight of 2 as one step twice as long, or as where two steps would lead.",
        ),
    ]


class OfClasses(TypedDict, Generic[S], total=False):
    """What there is to say if there are three classes or more."""

    multiclass: Annotated[
        S,
        Parameter(
            OneOf(MULTICLASS),
            'With three classes or more, every class has weights of its own. "auto" is softmax for '
            "logistic, crammer_singer for hinge, and one-vs-rest otherwise.",
            default="auto",
            help="What becomes of the loss with three classes or more.",
        ),
    ]


class OfBalance(TypedDict, total=False):
    """How much classes count."""

    class_weight: Annotated[
        Mapping[Any, float] | Literal["balanced"] | None,
        Parameter(
            WeightsOfClasses(),
            "What the importance of a row is multiplied by for its class: weights by label (1 for "
            'those that are not named), or "balanced", by which all classes weigh the same: W / (K '
            "W_k), of K classes, where W_k is what the rows of a class weigh and W what all weigh. "
            "`fit` counts all rows, `partial_fit` and streams those so far, the row included.",
            usual="all classes count alike",
            help='"balanced", or weights by label: spam=5,ham=1.',
            in_grids=False,
        ),
    ]


class OfSearch(TypedDict, total=False):
    """How parameters are found that are left to be found."""

    scoring: Annotated[
        str | None,
        Parameter(
            OneOf(("loss", "accuracy")),
            'What parameters that are "auto" are found by: the loss of predictions for examples '
            "that are new, or how many of them are wrong.",
            usual="both together",
            help="What parameters that are auto are found by. Default: both together.",
            in_grids=False,
        ),
    ]


class OfDecision(TypedDict, total=False):
    """How scores become classes; learning does not depend on it."""

    decision_threshold: Annotated[
        float,
        Parameter(
            Number(-math.inf, may_be_least=False),
            "Of two classes, the second is predicted where the score is above it. It may be set "
            "after learning, too.",
            default=0.0,
            in_grids=False,
        ),
    ]
