"""All that is compared, by name."""

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import NamedTuple

from experiments.peers import ours, theirs, vw
from experiments.peers.data import Task
from experiments.peers.outcome import Outcome
from experiments.peers.plan import OURS, OURS_WIDE, Plan


class Method(NamedTuple):
    title: str
    grid: str  # in words
    run: Callable[[Task, Plan], Outcome]
    is_ours: bool = False
    needs_all_rows: bool = False  # at once, or again at the end
    package: str = "rarefy"  # that it needs


RULES = (
    "7 points from one model of scale-free with eta0 = 0.5 and l1 = 8, refitted and left as it is "
    "or cut to 300, 100, ... features; 2 of scale-free refitted; 4 of ftrl with eta0 = 1, and 5 of "
    "scale-free with eta0 = 0.1, without refit"
)
UNREFITTED_RULES = (
    "4/9 of the points of ftrl with eta0 = 1, 2/9 of scale-free with eta0 = 0.5, and 3/9 of it "
    "with eta0 = 0.1"
)
ALL_L1 = "one value of l1 a point"
PENALTIES = "one penalty a point"

METHODS = {
    OURS: Method(
        "rarefy",
        RULES,
        ours.mixed,
        True,
        True,
    ),
    OURS_WIDE: Method(
        "rarefy, wide sweep",
        "17 times as many: ftrl, scale-free, adagrad-rda and frda with several steps; small models "
        "of three of them once more with the refit, and what it leaves if they are cut",
        ours.wide,
        True,
        True,
    ),
    "rarefy-unrefitted": Method("rarefy, no refit", UNREFITTED_RULES, ours.unrefitted, True),
    "scale-free": Method(
        "scale-free", ALL_L1, partial(ours.one_rule, rule=ours.SCALE_FREE, refit=False), True
    ),
    "scale-free-refit": Method(
        "scale-free, refit",
        ALL_L1,
        partial(ours.one_rule, rule=ours.SCALE_FREE, refit=True),
        True,
        True,
    ),
    "frda": Method("frda", ALL_L1, partial(ours.one_rule, rule=ours.FRDA, refit=False), True),
    "frda-refit": Method(
        "frda, refit", ALL_L1, partial(ours.one_rule, rule=ours.FRDA, refit=True), True, True
    ),
    "ftrl": Method("ftrl", ALL_L1, partial(ours.one_rule, rule=ours.FTRL, refit=False), True),
    "liblinear-6": Method(
        "LIBLINEAR -s 6", PENALTIES, theirs.liblinear_logistic, needs_all_rows=True
    ),
    "liblinear-5": Method(
        "LIBLINEAR -s 5", PENALTIES, theirs.liblinear_squared_hinge, needs_all_rows=True
    ),
    "sgd-l1": Method(
        "scikit-learn SGD, l1",
        "half of the points with its own steps, half with 1/√t",
        theirs.sgd_l1,
    ),
    "sgd-elastic": Method(
        "scikit-learn SGD, elastic net",
        "half of the points with l1_ratio = 0.9, half with 0.5",
        theirs.sgd_elastic,
    ),
    "vw-l1": Method(
        "VW --l1",
        "half of the points with its own steps, half with --sgd",
        vw.l1,
        package="vowpalwabbit",
    ),
    "vw-ftrl": Method(
        "VW --ftrl",
        "half of the points with --ftrl_alpha 0.1, half with 1",
        vw.ftrl,
        package="vowpalwabbit",
    ),
    "river": Method(
        "River, l1",
        "half of the points with steps of 0.1, half with 1; one pass, small sets only",
        theirs.river,
        package="river",
    ),
}


def runnable(plan: Plan) -> list[tuple[str, str]]:
    """Every data set and method that is to be run and can be."""
    return [
        (dataset, name)
        for dataset in plan.datasets
        for name in plan.methods
        if find_spec(METHODS[name].package) and (name != "river" or dataset in plan.slow_datasets)
    ]
