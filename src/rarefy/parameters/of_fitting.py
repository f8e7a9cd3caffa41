"""Parameters of `fit`."""

from typing import Annotated, Any, Literal, TypedDict

from rarefy.parameters.entry import AUTO, MOST_FEATURES, MOST_PASSES, Auto, Parameter
from rarefy.parameters.kinds import Flag, Number, OneOf, Other, Verbosity, Whole

FitIntercept = Annotated[
    bool,
    Parameter(
        Flag(), "Whether to fit an intercept. It is not penalised.", default=True, in_grids=False
    ),
]
Refit = Annotated[
    bool,
    Parameter(
        Flag(),
        "Whether to train the non-zero weights once more at the end, without l1, to the minimum "
        "of the loss. `partial_fit` is not available then.",
        default=False,
        help="At the end, train the non-zero weights again without l1, to the minimum of the loss.",
        in_grids=False,
    ),
]
RefitL2 = Annotated[
    float | None,
    Parameter(
        Number(may_be_least=False),
        "Strength of the L2 penalty of the refit.",
        usual="chosen on a held-out quarter of the examples",
        help="L2 penalty of the refit. Default: chosen on a quarter of the rows.",
        in_grids=False,
    ),
]
Shuffle = Annotated[
    bool,
    Parameter(
        Flag(),
        "Whether `fit` shuffles the rows in each pass.",
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
            "Number of passes of `fit` over the data. With "
            '"auto", it is chosen by the loss on a held-out tenth of the rows, and then all rows '
            "are learned; streams are learned in one pass.",
            default=AUTO,
            help="Number of passes over the data.",
            may_be_auto=True,
            in_grids=False,
        ),
    ]
    shuffle: Shuffle
    random_state: Annotated[
        Any,
        Parameter(
            Other("int, RandomState instance or None"),
            "Seed for shuffling, and for the rows held out to choose the number of passes.",
            default=0,
        ),
    ]
    warm_start: Annotated[
        bool,
        Parameter(
            Flag(),
            "Whether `fit` continues from the previous `fit` instead of starting again.",
            default=False,
            in_grids=False,
        ),
    ]
    verbose: Annotated[
        bool | int,
        Parameter(
            Verbosity(),
            "Whether `fit` prints the loss of passes 1, 2, 3, 4, 6, 8, 12, ... and the last, and "
            "`partial_fit` shows a bar for iterators.",
            default=False,
            in_grids=False,
        ),
    ]
    shards: Annotated[
        int,
        Parameter(
            Whole(1, 1 << 12),
            "Number of shards that learn side by side and are merged in rounds "
            "(docs/how-to/shards.md). It changes the model a little; the number of threads does "
            "not. `partial_fit` is not available with more than one.",
            default=1,
            help="Learn in K shards side by side, on as many cores as there are. It changes the "
            "model a little.",
            in_grids=False,
        ),
    ]
    target_features: Annotated[
        int | None,
        Parameter(
            Whole(1, MOST_FEATURES),
            "Largest number of features with a weight. `fit`, and `fit_stream` on data that can "
            "be read again, select them by refitting; otherwise, and in `partial_fit`, l1 is "
            "tuned to reach this number.",
            usual="no limit",
            help="Keep at most N features, selected by refitting if DATA can be read again.",
            in_grids=False,
        ),
    ]
    refit: Refit
    refit_l2: RefitL2
    refit_features: Annotated[
        int | None,
        Parameter(
            Whole(1, MOST_FEATURES),
            "Number of features to keep in the refit. The weakest half is dropped repeatedly.",
            usual="no limit",
            help="Keep only the N strongest features.",
        ),
    ]
    n_features: Annotated[
        Literal["grow"] | None,
        Parameter(
            OneOf(("grow",)),
            'With "grow", later calls of `partial_fit` may have more columns.',
            in_grids=False,
        ),
    ]
