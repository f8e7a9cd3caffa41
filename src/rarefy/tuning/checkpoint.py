"""A search for parameters that has not come to its end, as model files have it.

The header has the parameters that the user gave, the point of the model in use, and what else it
takes to go on. In arrays are the models that learn side by side.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any, TypeVar, cast

from rarefy.engine.learner import Learner
from rarefy.engine.snapshots import Arrays
from rarefy.tuning.space import REGRESSION_RULES_TO_TRY, Point, Space, space_of

Search = dict[str, Any]
Named = TypeVar("Named")

_OF_PACK = {
    "features": "<i8",  # in the order of their numbers
    **dict.fromkeys(("state", "intercepts", "clocks", "tallies", "alive"), "<f8"),
    **dict.fromkeys(("progress_before", "losses_before", "losses", "counts", "means"), "<f8"),
    "own_stretches": "<i8",
}


def with_prefixes(packs: Sequence[dict[str, Named]]) -> dict[str, Named]:
    """What is named, of all packs together."""
    return {
        f"pack_{number}_{name}": own
        for number, named in enumerate(packs)
        for name, own in named.items()
    }


def without_prefix(named: dict[str, Named], number: int) -> dict[str, Named]:
    """The opposite: what is one pack's."""
    prefix = f"pack_{number}_"
    return {name.removeprefix(prefix): named[name] for name in named if name.startswith(prefix)}


SEARCH_ARRAYS = with_prefixes([_OF_PACK] * len(REGRESSION_RULES_TO_TRY))


def snapshot_of(
    learner: Learner, parameters: dict[str, Any]
) -> tuple[Learner, Search | None, Arrays]:
    """The model in use, and what else a learner needs to go on, if its parameters are not settled.

    It began with what the user gave. Arrays are not copied.
    """
    if not hasattr(learner, "space"):
        return learner, None, {}
    tuning = cast(Any, learner)
    numbers, arrays = tuning.snapshot()
    return tuning.in_use(), {"parameters": parameters, **numbers}, arrays


def begun_with(search: Search) -> tuple[Space, Point]:
    """Where to look, and the point of the model in use."""
    space = space_of(search["parameters"])
    return space, space.checked_point(search["point"], [*chain(*space.kinds)])


def resumed(search: Search, arrays: Arrays, model: Learner) -> Learner:
    """The learner of which there is a snapshot; the model is the one that was in use."""
    from rarefy.tuning.tuning_learner import TuningLearner

    space, model.found = begun_with(search)
    learner = TuningLearner(
        space,
        model.loss,
        n_features=model.n_features,
        n_outputs=model.n_outputs,
        fit_intercept=len(model.intercept_state) > 0,
    )
    learner.restore(model, search, arrays)
    return cast(Learner, learner)
