"""An unfinished search for hyperparameters in a model file.

The header has the parameters that the user gave, the point of the model in use, and what else it
takes to go on. In arrays are the models that learn side by side; files call a population a pack,
and an interval a stretch.
"""

from collections.abc import Sequence
from typing import TypeVar

from rarefy.engine.reference import REFERENCE_ARRAYS
from rarefy.tuning.space import REGRESSION_RULES_TO_TRY

Named = TypeVar("Named")

_OF_POPULATION = {
    "features": "<i8",  # in the order of their numbers
    **dict.fromkeys(("state", "intercepts", "clocks", "tallies", "alive"), "<f8"),
    **dict.fromkeys(("progress_before", "losses_before", "losses", "counts", "means"), "<f8"),
    "own_stretches": "<i8",
    **dict.fromkeys(("noted_scores", "noted_y", "noted_importance"), "<f8"),
    **REFERENCE_ARRAYS,
}


def with_prefixes(populations: Sequence[dict[str, Named]]) -> dict[str, Named]:
    """What is named, of all populations together."""
    return {
        f"pack_{number}_{name}": own
        for number, named in enumerate(populations)
        for name, own in named.items()
    }


def without_prefix(named: dict[str, Named], number: int) -> dict[str, Named]:
    """What belongs to one population."""
    prefix = f"pack_{number}_"
    return {name.removeprefix(prefix): named[name] for name in named if name.startswith(prefix)}


SEARCH_ARRAYS = with_prefixes([_OF_POPULATION] * len(REGRESSION_RULES_TO_TRY))
