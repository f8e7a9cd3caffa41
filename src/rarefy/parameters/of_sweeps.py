"""Parameters of cross-validation over a grid."""

from typing import Annotated, Any, TypedDict

from rarefy.parameters.entry import MOST_FEATURES, MOST_PASSES, Parameter
from rarefy.parameters.kinds import OneOf, Other, Whole
from rarefy.parameters.of_fitting import FitIntercept, Refit, RefitL2, Shuffle

LARGEST_SEED = (1 << 32) - 1
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
            "How many values of l1 are tried if none is given: for the scale-free rules, from 0.3 "
            "to 32; for others, from a thousandth of the rule's own default to a hundred times "
            "that.",
            default=30,
            help="How many values of l1 to try if none is given.",
        ),
    ]


class OfChoice(TypedDict, total=False):
    """How cross-validation goes about it, and what is chosen."""

    fit_intercept: FitIntercept
    cv: Annotated[
        Any,
        Parameter(
            Other("int, or array of the number of every row's fold"),
            "Folds are drawn, in classification with the classes in equal shares.",
            default=10,
        ),
    ]
    passes: Annotated[
        int,
        Parameter(
            Whole(1, MOST_PASSES),
            "How often each model, and at last the chosen one, learns its rows.",
            default=DEFAULT_PASSES,
        ),
    ]
    choose: Annotated[
        str,
        Parameter(
            OneOf(("best", "one_standard_error")),
            "The point with the best mean score, or the one with the fewest weights among those "
            "within a standard error of it.",
            default="best",
        ),
    ]
    scoring: Annotated[
        Any,
        Parameter(
            Other("str or function"),
            "What points are judged and chosen by: accuracy, loss, f1, auc or average_precision, "
            "in regression r2, rmse or loss, or a function of labels and scores; see "
            "`rarefy.sweep`.",
            usual="accuracy, or R² in regression",
        ),
    ]
    within_features: Annotated[
        int | None,
        Parameter(
            Whole(0, MOST_FEATURES),
            "Choose among the points that keep so many features at most, in the mean over the "
            "folds.",
            usual="no limit",
            help="Choose a model that keeps no more features.",
        ),
    ]
    refit: Refit
    refit_l2: RefitL2
    refit_features: Annotated[
        Any,
        Parameter(
            Other("int or list of int"),
            "How many features the refit leaves. All values take about as long as one.",
            usual="no limit",
        ),
    ]
    shuffle: Shuffle
    random_state: Annotated[
        Any, Parameter(Other("int"), "Seed of the folds and of the shuffling.", default=0)
    ]
    n_jobs: Annotated[
        int | None,
        Parameter(
            Whole(1, MOST_THREADS),
            "How many threads the cross-validation uses.",
            usual="the number of cores",
        ),
    ]
    memory: Annotated[
        int,
        Parameter(
            Whole(1, LARGEST_MEMORY),
            "How many bytes its models may take; if all together take more, they are learned in "
            "parts.",
            default=DEFAULT_MEMORY,
        ),
    ]
