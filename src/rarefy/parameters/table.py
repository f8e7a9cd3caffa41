"""The table of parameters: what each may be, its default, and what it does.

Checks, the signatures and docstrings of the estimators, options of commands and their help, grids
of sweeps, and the parameters in model files follow from it. A parameter of a rule stands here, and
as a field of the rule.

The entries are annotations of TypedDicts, by which type checkers and editors know the arguments of
the estimators.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypedDict, TypeVar

from rarefy.model.importance import ENDOWMENTS, UPDATES
from rarefy.model.multiclass import MULTICLASS
from rarefy.model.schedules import SCHEDULES
from rarefy.parameters.kinds import Flag, Kind, Number, OneOf, Other, Share, WeightsOfClasses, Whole
from rarefy.rules.penalty_norm import Basis

AUTO = "auto"  # for what is to be found while learning
DEFAULT_RULE = "scale-free"
MOST_PASSES = 1 << 31
MOST_FEATURES = 1 << 62  # of a model
LARGEST_SEED = (1 << 32) - 1
DEFAULT_SWEEP_PASSES = 20
DEFAULT_MEMORY = 1 << 30
LARGEST_MEMORY = 1 << 62
MOST_THREADS = 1 << 10
MOST_L1 = 10_000


class Parameter(NamedTuple):
    """An entry of the table.

    A default of None stands for what `usual` describes. `help` is for commands, `doc` for
    docstrings. `absent` says why some rules do not have it.
    """

    kind: Kind
    doc: str
    default: Any = None
    usual: str = ""
    help: str = ""
    absent: str = ""
    may_be_auto: bool = False
    in_grids: bool = True

    def check(self, name: str, value: Any) -> Any:
        """The value as what it is to be, if it is accepted."""
        is_default = value is None and self.default is None
        if is_default or (self.may_be_auto and isinstance(value, str) and value == AUTO):
            return value
        return self.kind.check(name, value)


# What the values of a parameter of a rule are: one of them, or several for cross-validation.
N = TypeVar("N")
S = TypeVar("S")
B = TypeVar("B")
Auto = Literal["auto"]


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


class ClassifierParameters(
    OfRules[float, str, bool],
    OfEndowment,
    OfImportance,
    OfClasses[str],
    OfBalance,
    OfLearning,
    OfSearch,
    OfDecision,
    total=False,
):
    """What SparseOnlineClassifier takes beside rule and loss."""


class RegressorParameters(
    OfLosses[float], OfRules[float, str, bool], OfImportance, OfLearning, total=False
):
    """What SparseOnlineRegressor takes beside rule and loss."""


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
            default=DEFAULT_SWEEP_PASSES,
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


class ClassifierCVParameters(
    OfDefaultGrid, OfRules[Any, Any, Any], OfClasses[Any], OfBalance, OfChoice, total=False
):
    """What SparseOnlineClassifierCV takes beside rule and loss."""


class RegressorCVParameters(
    OfLosses[Any], OfDefaultGrid, OfRules[Any, Any, Any], OfChoice, total=False
):
    """What SparseOnlineRegressorCV takes beside rule and loss."""


Table = dict[str, Parameter]


def _entries(typed: Any) -> Table:
    return {name: hint.__metadata__[0] for name, hint in typed.__annotations__.items()}


def swept(entries: Table) -> Table:
    """Entries for one value, as those for one or several: None stands for the default."""
    return {name: entry._replace(default=None) for name, entry in entries.items()}


RULE = _entries(OfRules)
LOSS = _entries(OfLosses)
CLASSIFIER, REGRESSOR = _entries(ClassifierParameters), _entries(RegressorParameters)
SWEPT = swept({**RULE, **LOSS, **_entries(OfClasses)})
CLASSIFIER_CV, REGRESSOR_CV = (
    {name: SWEPT.get(name, entry) for name, entry in _entries(typed).items()}
    for typed in (ClassifierCVParameters, RegressorCVParameters)
)
TABLE = {**CLASSIFIER, **REGRESSOR}
CHOICE = {**_entries(OfDefaultGrid), **_entries(OfChoice)}

MAY_BE_AUTO = ("rule", *(name for name, entry in RULE.items() if entry.may_be_auto))
RULE_PARAMETERS = ("rule", "loss", *RULE)  # arguments of make_rule
DECISION_PARAMETERS = tuple(_entries(OfDecision))  # that may change after learning
WEIGHTING_PARAMETERS = (*_entries(OfImportance), *_entries(OfEndowment))  # of make_weighting


def grid_parameters(*, regression: bool) -> list[str]:
    """The parameters of which a sweep may try several values."""
    entries = REGRESSOR if regression else CLASSIFIER
    return ["rule", "loss", *(name for name, entry in entries.items() if entry.in_grids)]


def check_values(values: Mapping[str, Any]) -> None:
    """Refuse values that are not accepted, whatever the others are.

    Numbers and names of a rule are left to the rule, which may not have them.
    """
    for name, value in values.items():
        if name not in RULE or isinstance(RULE[name].kind, Flag):
            TABLE[name].check(name, value)


def check_number(name: str, value: Any) -> float:
    """The value as a float, if it is a number in the range of that parameter."""
    number: float = TABLE[name].check(name, value)
    return number
