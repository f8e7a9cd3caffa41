"""Parameters of cross-validation over a grid."""

from typing import Annotated, Any, TypedDict

from rarefy.parameters.entry import MOST_FEATURES, MOST_PASSES, Parameter
from rarefy.parameters.kinds import OneOf, Other, Whole
from rarefy.parameters.of_fitting import FitIntercept, Refit, RefitL2, Shuffle

DEFAULT_PASSES = 20
DEFAULT_MEMORY = 1 << 30
LARGEST_MEMORY = 1 << 62
MOST_THREADS = 1 << 10
MOST_L1 = 10_000


class OfDefaultGrid(TypedDict, total=False):
    """What is tried where no values are given."""

    n_l1: Annotated[
        int,
        Parameter(
            Whole(1, MOST_L1),
            "Number of values of l1 to try if none is given: from 0.3 to 32 for the scale-free "
            "rules; for others, from a thousandth to a hundred times the rule's default.",
            default=30,
            help="Number of values of l1 to try if none is given.",
        ),
    ]


class OfChoice(TypedDict, total=False):
    """How cross-validation goes about it, and what is chosen."""

    fit_intercept: FitIntercept
    cv: Annotated[
        Any,
        Parameter(
            Other("int, or array of the number of every row's fold"),
            "Number of folds, stratified by class in classification.",
            default=10,
        ),
    ]
    passes: Annotated[
        int,
        Parameter(
            Whole(1, MOST_PASSES),
            "Number of passes, for each model and for the chosen one.",
            default=DEFAULT_PASSES,
        ),
    ]
    choose: Annotated[
        str,
        Parameter(
            OneOf(("best", "one_standard_error")),
            "Choose the point with the best mean score, or the smallest model within one standard "
            "error of it.",
            default="best",
        ),
    ]
    scoring: Annotated[
        Any,
        Parameter(
            Other("str or function"),
            "Metric of the choice: accuracy, loss, f1, auc or average_precision; in regression "
            "r2, rmse or loss; or a function of labels and scores, see `rarefy.sweep`.",
            usual="accuracy, or R² in regression",
        ),
    ]
    within_features: Annotated[
        int | None,
        Parameter(
            Whole(0, MOST_FEATURES),
            "Consider only points that keep at most this number of features, on average over the "
            "folds.",
            usual="no limit",
            help="Choose a model with at most this number of features.",
        ),
    ]
    refit: Refit
    refit_l2: RefitL2
    refit_features: Annotated[
        Any,
        Parameter(
            Other("int or list of int"),
            "Number of features to keep in the refit. Several values cost about as much as one.",
            usual="no limit",
        ),
    ]
    shuffle: Shuffle
    random_state: Annotated[
        Any, Parameter(Other("int"), "Seed for folds and shuffling.", default=0)
    ]
    n_jobs: Annotated[
        int | None,
        Parameter(
            Whole(1, MOST_THREADS),
            "Number of threads.",
            usual="the number of cores",
        ),
    ]
    memory: Annotated[
        int,
        Parameter(
            Whole(1, LARGEST_MEMORY),
            "Memory for models, in bytes; if they need more together, they are trained in parts.",
            default=DEFAULT_MEMORY,
        ),
    ]
