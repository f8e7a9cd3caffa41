"""What to say of a parameter that there is not: another library's, or misspelt."""

from collections.abc import Iterable

from rarefy.checks import nearest

_STOPS = 'passes: "auto", the default of fit, stops early'
INSTEAD = {
    **dict.fromkeys(("max_iter", "n_iter", "epochs"), "passes"),
    **dict.fromkeys(("early_stopping", "tol", "n_iter_no_change", "validation_fraction"), _STOPS),
    **dict.fromkeys(("alpha", "C", "penalty", "l1_ratio"), "l1 and l2"),
    **dict.fromkeys(("learning_rate", "power_t"), "eta0 and schedule"),
    "solver": "rule",
    "by": "scoring",
}
# where there is that
SAME = {"folds": "cv", "target": "label", "sep": "delimiter", "n_jobs": "shards"}


def advice(name: str, known: Iterable[str]) -> str:
    """In brackets: what does the same here, or the name that may have been meant."""
    names = list(known)
    instead = SAME[name] if SAME.get(name) in names else INSTEAD.get(name)
    return nearest(name, names) if instead is None else f" (use {instead})"
