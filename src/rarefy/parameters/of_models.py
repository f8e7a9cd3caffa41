"""Parameters of models beside those of rules: losses, classes, what examples count."""

import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Generic, Literal, TypedDict, TypeVar

from rarefy.model.importance import ENDOWMENTS, UPDATES
from rarefy.model.multiclass import MULTICLASS
from rarefy.model.scoring import OF_CLASSES
from rarefy.parameters.entry import Parameter
from rarefy.parameters.kinds import Flag, MeasureOrFunction, Number, OneOf, Share, WeightsOfClasses

# What the values of a parameter are: one of them, or several for cross-validation.
N = TypeVar("N")
S = TypeVar("S")


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
            help="prediction: give correct examples more weight; mistakes: shorten all steps from "
            "each mistake on.",
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
            help="How a sample weight of 2 counts: as one step of double length (plain), or as two "
            "steps (aware).",
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
            help="Calibrate probabilities with the scores that rows had before they were learned "
            "(one pass).",
            in_grids=False,
        ),
    ]


class OfSearch(TypedDict, total=False):
    """How parameters are found that are left to be found."""

    scoring: Annotated[
        str | Callable[..., Any] | None,
        Parameter(
            MeasureOrFunction(tuple(OF_CLASSES)),
            'Criterion for tuning parameters that are "auto", measured on predictions for '
            "examples not yet learned; a function takes labels and scores, and more of it is "
            'better. In regression, "loss" or a function.',
            usual="loss and accuracy combined",
            help="Criterion for tuning parameters that are auto. Default: loss and accuracy "
            "combined.",
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
