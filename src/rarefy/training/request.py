"""A request for training, in the words of the user, and the task that it describes."""

import inspect
from collections.abc import Mapping
from typing import Any

from rarefy.checks import check_flag, check_whole
from rarefy.engine.task import Task
from rarefy.errors import ConfigError
from rarefy.model.losses import LOSSES, REGRESSION_LOSSES
from rarefy.model.multiclass import check_multiclass
from rarefy.parameters.build import make_loss
from rarefy.parameters.combinations import check_refit
from rarefy.parameters.entry import AUTO, LARGEST_SEED, MOST_PASSES
from rarefy.parameters.table import (
    DECISION_PARAMETERS,
    DEFAULT_RULE,
    LOSS,
    RULE,
    TABLE,
    WEIGHTING_PARAMETERS,
    check_values,
)
from rarefy.parameters.unknown_names import advice
from rarefy.readers import read
from rarefy.streams.run import NEVER
from rarefy.streams.shuffle import DEFAULT_MEMORY, LEAST_MEMORY, Shuffle
from rarefy.tasks import make_task

READING = {
    name: parameter.default
    for name, parameter in inspect.signature(read).parameters.items()
    if parameter.kind is parameter.KEYWORD_ONLY
}
OF_MATRICES = ("n_features", "warm_start", "verbose")
OF_SHUFFLING = {"shuffle": False, "shuffle_memory": None, "random_state": None}
NOT_OF_FILES = (*OF_MATRICES, *DECISION_PARAMETERS)
# How a run is carried out; the others say what is learned.
OF_RUN = {
    "shards": 1,
    "passes": 1,
    "early_stopping": False,
    "cache": None,
    "holdout": None,
    "save_every": None,
    **OF_SHUFFLING,
}
OPTIONAL = ("l1_of", "groups", "class_weight", "scoring")  # which files have if they were given
OPTIONS = {"random_state": "seed"}  # that commands call by another name
SIZES = ("shuffle_memory",)  # in bytes
# All that can be asked for, and what it is if nothing is said.
DEFAULTS: dict[str, Any] = {
    **READING,
    "rule": None,
    "loss": "logistic",
    **{name: entry.default for name, entry in TABLE.items() if name not in NOT_OF_FILES},
    **dict.fromkeys(LOSS),
    "store": None,
    "bits": None,
    "capacity": None,
    "names": True,
    **OF_RUN,
}


class RequestError(ConfigError):
    """A request that has no meaning whatever the data are.

    Its template names options in braces: `{holdout}` is shown as holdout=2 here, and by commands
    as --holdout 2.
    """

    def __init__(self, template: str, **options: Any) -> None:
        self._template, self._options = template, options
        super().__init__(self._filled(lambda name: name, "={!r}", options))

    def as_command(self) -> str:
        """The message in the words of the command line."""
        shown = {
            name: _size(value) if name in SIZES and value is not None else value
            for name, value in self._options.items()
        }
        return self._filled(_option, " {}", shown)

    def _filled(self, title: Any, behind: str, options: Mapping[str, Any]) -> str:
        shown = {
            name: title(name) + ("" if value is None else behind.format(value))
            for name, value in options.items()
        }
        return self._template.format(**shown)


def _option(name: str) -> str:
    """What a parameter is called on the command line."""
    return f"--{OPTIONS.get(name, name).replace('_', '-')}"


def _size(n_bytes: int) -> str:
    """A number of bytes as commands take it, exactly."""
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if n_bytes and n_bytes % scale == 0:
            return f"{n_bytes // scale}{unit}"
    return str(n_bytes)


def check_asked(asked: Mapping[str, Any]) -> None:
    """Refuse what cannot be asked for, and values that are not accepted whatever the others are."""
    for name, value in asked.items():
        if name in OF_MATRICES:
            raise ConfigError(f"{name}={value!r} is for matrices, not for files.")
        if name in DECISION_PARAMETERS:
            raise ConfigError(
                f"{name}={value!r}: set it after training, with set_params or `rarefy threshold`."
            )
        if name not in DEFAULTS:
            raise ConfigError(
                f"{name}: there is no such parameter{advice(name, DEFAULTS)}; there are "
                f"{', '.join(DEFAULTS)}."
            )
    check_values(
        {name: value for name, value in asked.items() if name in TABLE and value is not None}
    )
    if isinstance(asked.get("passes"), str) and asked["passes"] == AUTO:
        raise ConfigError(
            f"passes={AUTO!r}: only fit chooses it, as it has all rows in memory. Give a number; "
            f"early_stopping=True with holdout=0.1 stops before it where no more is gained."
        )
    check_whole("passes", asked.get("passes", 1), 1, MOST_PASSES)
    if asked.get("save_every") is not None:
        check_whole("save_every", asked["save_every"], 1, NEVER)


def check_may_stop_early(settings: Mapping[str, Any]) -> None:
    """Refuse to stop early where nothing says when, or there is nothing to stop before."""
    check_flag("early_stopping", settings["early_stopping"])
    if settings["holdout"] is None:
        raise RequestError(
            "{early_stopping} needs {holdout}: held-out rows say when to stop.",
            early_stopping=None,
            holdout=None,
        )
    if settings["passes"] == 1:
        raise RequestError(
            "{early_stopping} has no meaning with {passes}: give the largest number of passes.",
            early_stopping=None,
            passes=1,
        )


def shuffle_of(settings: Mapping[str, Any]) -> Shuffle | None:
    """In which order the rows are to be learned, if not in their own."""
    given = {name: settings[name] for name in OF_SHUFFLING if settings[name] is not None}
    check_flag("shuffle", given.pop("shuffle"))
    for name, value in given.items():
        if not settings["shuffle"]:
            raise RequestError(
                f"{{{name}}} has no meaning without {{shuffle}}.", **{name: value, "shuffle": None}
            )
    if not settings["shuffle"]:
        return None
    seed, memory = given.get("random_state", 0), given.get("shuffle_memory", DEFAULT_MEMORY)
    check_whole("random_state", seed, 0, LARGEST_SEED)
    check_whole("shuffle_memory", memory, 0, NEVER)
    if memory < LEAST_MEMORY:
        raise RequestError(
            f"{{shuffle_memory}}: at least {_size(LEAST_MEMORY)} is needed.", shuffle_memory=memory
        )
    return Shuffle(seed, memory)


def model_parameters(asked: Mapping[str, Any]) -> dict[str, Any]:
    """What is learned, as model files say it: without what was left to the defaults of a rule."""
    of_rule = {name: asked[name] for name in RULE if asked[name] is not None}
    of_refit = {name: asked[name] for name in ("refit_l2", "refit_features")}
    return {
        "rule": asked["rule"] or DEFAULT_RULE,
        "loss": asked["loss"],
        **of_rule,
        **_given_to_loss(asked["loss"], {name: asked[name] for name in LOSS}),
        **{name: asked[name] for name in WEIGHTING_PARAMETERS},
        "multiclass": asked["multiclass"],
        **{name: asked[name] for name in OPTIONAL if asked[name] is not None},
        "calibrate": asked["calibrate"] and asked["loss"] not in REGRESSION_LOSSES,
        "fit_intercept": asked["fit_intercept"],
        "passes": asked["passes"],
        "shards": asked["shards"],
        "target_features": asked["target_features"],
        **({"refit": True, **of_refit} if asked["refit"] else {}),
    }


def task_for(asked: Mapping[str, Any], parameters: Mapping[str, Any]) -> Task:
    """The task that the parameters describe; all of them are checked."""
    loss = asked["loss"]
    check_multiclass(asked["multiclass"], loss)
    check_refit(asked["refit"], asked["refit_l2"], asked["refit_features"], loss)
    of_loss = {name: parameters[name] for name in LOSS if name in parameters}
    return make_task(
        {**asked, "rule": parameters["rule"]},
        make_loss(loss, **of_loss),
        is_refitted=asked["refit"],
        passes=asked["passes"],
    )


def _given_to_loss(loss: str, parameters: dict[str, float | None]) -> dict[str, float]:
    """The parameters that were given; one that the loss does not have is a mistake."""
    given = {name: value for name, value in parameters.items() if value is not None}
    for name in given:
        if name not in LOSSES[loss]._fields:
            raise RequestError(f"{{{name}}} does not apply to the {loss} loss.", **{name: None})
    return given
