"""Parameters that say how `fit` goes about it."""

from typing import Annotated, Any, Literal, TypedDict

from rarefy.parameters.entry import AUTO, MOST_FEATURES, MOST_PASSES, Auto, Parameter
from rarefy.parameters.kinds import Flag, Number, OneOf, Other, Whole

FitIntercept = Annotated[
    bool,
    Parameter(
        Flag(), "Whether there is an intercept; it is not penalised.", default=True, in_grids=False
    ),
]
Refit = Annotated[
    bool,
    Parameter(
        Flag(),
        "Whether learning ends with learning the weights that are not zero once more, to the "
        "minimum of the loss, without l1. There is no `partial_fit` then.",
        default=False,
        help="At the end, learn the weights that were kept again, without l1, to the minimum.",
        in_grids=False,
    ),
]
RefitL2 = Annotated[
    float | None,
    Parameter(
        Number(may_be_least=False),
        "Strength of the l2 penalty of the refit.",
        usual="chosen by holding out a quarter of the examples",
        help="Its penalty. Default: what does best on a quarter of the rows.",
        in_grids=False,
    ),
]
Shuffle = Annotated[
    bool,
    Parameter(
        Flag(),
        "Whether `fit` takes the rows of each pass in random order.",
        default=True,
        in_grids=False,
    ),
]


class OfLearning(TypedDict, total=False):
    """How `fit` goes about it."""

    fit_intercept: FitIntercept
    passes: Annotated[
        int | Auto,
        Parameter(
            Whole(1, MOST_PASSES),
            "How often `fit` goes over the data; the clock goes on from pass to pass. With "
            '"auto", as long as another pass lowers the loss on a tenth of the rows, which are '
            "held out for that and learned afterwards like all others; streams are learned in one "
            "pass.",
            default=AUTO,
            help="How often to go over the data.",
            may_be_auto=True,
            in_grids=False,
        ),
    ]
    shuffle: Shuffle
    random_state: Annotated[
        Any,
        Parameter(
            Other("int, RandomState instance or None"),
            "Seed of the shuffling, and of what is held out to choose the number of passes.",
            default=0,
        ),
    ]
    warm_start: Annotated[
        bool,
        Parameter(
            Flag(),
            "Whether `fit` goes on from what was learned before, instead of from scratch.",
            default=False,
            in_grids=False,
        ),
    ]
    verbose: Annotated[
        bool,
        Parameter(
            Flag(), "Whether `fit` prints a line for each pass.", default=False, in_grids=False
        ),
    ]
    target_features: Annotated[
        int | None,
        Parameter(
            Whole(1, MOST_FEATURES),
            "How many features may have a weight. `fit`, and `fit_stream` of data that can be "
            "read again, choose them by a refit; else, and with `partial_fit`, the l1 for that is "
            "found while learning.",
            usual="no limit",
            help="Keep no more features than these, chosen by a refit if DATA can be read again.",
            in_grids=False,
        ),
    ]
    refit: Refit
    refit_l2: RefitL2
    refit_features: Annotated[
        int | None,
        Parameter(
            Whole(1, MOST_FEATURES),
            "How many features the refit leaves; the weakest go, half of them at a time.",
            usual="no limit",
            help="Leave so many features, the strongest.",
        ),
    ]
    n_features: Annotated[
        Literal["grow"] | None,
        Parameter(
            OneOf(("grow",)),
            'With "grow", later calls of `partial_fit` may bring more columns.',
            in_grids=False,
        ),
    ]
