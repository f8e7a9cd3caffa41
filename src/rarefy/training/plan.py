"""What is to be trained: something new, or what a model file says was not finished."""

import inspect
import os
import shlex
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rarefy.checks import check_whole, number_or_none
from rarefy.engine.task import Task
from rarefy.errors import ConfigError, InputError, RarefyWarning
from rarefy.files.model import Model, model_of
from rarefy.files.model_checks import checked_predicted, first_pass_of, texts
from rarefy.files.model_file import load_model, save_model
from rarefy.model.losses import LOSSES
from rarefy.model.multiclass import check_multiclass
from rarefy.parameters.build import make_loss
from rarefy.parameters.combinations import check_refit, is_refitted
from rarefy.parameters.entry import MOST_PASSES
from rarefy.parameters.table import (
    DECISION_PARAMETERS,
    DEFAULT_RULE,
    LOSS,
    RULE,
    TABLE,
    WEIGHTING_PARAMETERS,
    check_values,
)
from rarefy.readers import Reader, read
from rarefy.readers.features.columns import Columns, checked_columns
from rarefy.readers.features.crosses import checked_crosses
from rarefy.readers.features.labels import checked_classes
from rarefy.readers.source import STDIN, expand
from rarefy.stores import make_store
from rarefy.streams.holdout import HeldOutFiles, HeldOutShare
from rarefy.streams.refit_stream import Refit, check_readable_again
from rarefy.streams.run import BEGINNING, NEVER, Position, Predicted, Run
from rarefy.streams.stream_model import StreamModel
from rarefy.system.atomic_write import Output
from rarefy.tasks import make_task

READING = {
    name: parameter.default
    for name, parameter in inspect.signature(read).parameters.items()
    if parameter.kind is parameter.KEYWORD_ONLY
}
OF_MATRICES = ("shuffle", "random_state", "n_features", "warm_start", "verbose")
NOT_OF_FILES = (*OF_MATRICES, *DECISION_PARAMETERS)
# How a run is carried out; the others say what is learned.
OF_RUN = {"passes": 1, "cache": None, "holdout": None, "save_every": None}
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
LATER_SETTINGS: dict[str, Any] = {
    "target_features": None,
    "learned": [],
}  # that files of before do not have
# What may be asked for beside DATA when a finished model goes on; all else is in the file.
OF_NEW_DATA = ("format", "bad_lines", "label", "weight", "ignore", "delimiter", "quotes")
WITH_FINISHED = (*OF_RUN, *OF_NEW_DATA)


class RequestError(ConfigError):
    """A request that has no meaning whatever the data are.

    Its template names options in braces: `{holdout}` is shown as holdout=2 here, and by commands
    as --holdout 2.
    """

    def __init__(self, template: str, **options: Any) -> None:
        self._template, self._options = template, options
        super().__init__(self._filled(lambda name: name, "={!r}"))

    def as_command(self) -> str:
        """The message in the words of the command line."""
        return self._filled(lambda name: f"--{name.replace('_', '-')}", " {}")

    def _filled(self, title: Any, behind: str) -> str:
        shown = {
            name: title(name) + ("" if value is None else behind.format(value))
            for name, value in self._options.items()
        }
        return self._template.format(**shown)


class Plan(NamedTuple):
    """A run, and what it takes to save it and go on with it."""

    run: Run
    path: str | None  # of the model
    parameters: dict[str, Any]  # what is learned, in the words of the user
    settings: dict[str, Any]  # how: OF_RUN, and the reader as it was before it had read anything
    holdout: HeldOutShare | HeldOutFiles | None
    slim: bool
    resumed: str | None = None  # the model with which it goes on

    @property
    def inputs(self) -> list[str]:
        """The files with data."""
        held_out = self.holdout.files if isinstance(self.holdout, HeldOutFiles) else []
        return [*self.run.reader.files, *held_out]

    @property
    def refit(self) -> Refit | None:
        return Refit.of(self.parameters)

    def save(self, output: Output, *, slim: bool = False) -> int:
        """Write the model as it is now; how many bytes that were."""
        about = {**self.settings, "place": self.run.position._asdict(), **self._progressive()}
        return save_model(output, model_of(self.run.model, self.parameters, run=about, slim=slim))

    def _progressive(self) -> dict[str, Any]:
        """What cannot be told from the model: examples of before the run, and of its first pass."""
        run = self.run
        found = {"before": run.before if run.before.examples else None, "first_pass": None}
        if run.passes > 1 and run.position.pass_number > 1:
            found["first_pass"] = run.first_pass
        return {name: list(of) for name, of in found.items() if of is not None}

    def command_to_go_on(self, saved: str) -> str:
        """What to type to go on with what was saved there."""
        files = self.run.reader.files
        to = [] if saved == self.path or self.path is None else ["-o", self.path]
        again = ["rarefy", "train", "--resume", saved, *to, *(["--slim"] if self.slim else [])]
        if STDIN in files:
            return f"... | {shlex.join([*again, *files])}"
        return shlex.join(again)


def new_plan(
    data: Sequence[str | Path], *, output: str | None = None, slim: bool = False, **asked: Any
) -> Plan:
    """Learn from files, from scratch; `asked` may have whatever DEFAULTS has."""
    _check_asked(asked)
    if not data:
        raise ConfigError("there is nothing to learn from: name a file, or - for standard input.")
    asked = DEFAULTS | asked
    reader = read(*data, **{name: asked[name] for name in READING})
    if asked["cache"] is not None or reader.can_be_read_again:
        asked["refit"] = is_refitted(asked["refit"], asked["target_features"], asked["loss"])
    parameters = _parameters(asked)
    store = make_store(
        asked["store"] or ("table" if asked["bits"] is None else "hashed"),
        bits=asked["bits"],
        capacity=asked["capacity"],
        names=asked["names"],
    )
    model = StreamModel(_task(asked, parameters), store, reader.labels.classes)
    settings = _settings(asked, None if asked["refit"] else asked["target_features"])
    return _plan(model, reader, output, parameters, settings, slim)


def _settings(
    asked: Mapping[str, Any], target: int | None, learned: Sequence[str] = ()
) -> dict[str, Any]:
    """How a run is carried out, as model files say it: files and shares as texts."""
    settings = {name: asked[name] for name in OF_RUN} | {"target_features": target}
    if learned:
        settings["learned"] = list(learned)  # by runs before
    texts_of = {
        name: str(settings[name]) for name in ("cache", "holdout") if settings[name] is not None
    }
    return settings | texts_of


def _check_asked(asked: Mapping[str, Any]) -> None:
    """Refuse what cannot be asked for, and values that are not accepted whatever the others are."""
    for name, value in asked.items():
        if name in OF_MATRICES:
            raise ConfigError(
                f"{name}={value!r} is for matrices: files are learned in the order of their rows."
            )
        if name in DECISION_PARAMETERS:
            raise ConfigError(
                f"{name}={value!r}: set it on the model once it is trained, with set_params or "
                f"`rarefy threshold`."
            )
        if name not in DEFAULTS:
            raise ConfigError(
                f"{name}: there is no such parameter; there are {', '.join(DEFAULTS)}."
            )
    check_values(
        {name: value for name, value in asked.items() if name in TABLE and value is not None}
    )
    check_whole("passes", asked.get("passes", 1), 1, MOST_PASSES)
    if asked.get("save_every") is not None:
        check_whole("save_every", asked["save_every"], 1, NEVER)


def _parameters(asked: Mapping[str, Any]) -> dict[str, Any]:
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
        **{name: asked[name] for name in ("class_weight", "scoring") if asked[name] is not None},
        "fit_intercept": asked["fit_intercept"],
        "passes": asked["passes"],
        "target_features": asked["target_features"],
        **({"refit": True, **of_refit} if asked["refit"] else {}),
    }


def _task(asked: Mapping[str, Any], parameters: Mapping[str, Any]) -> Task:
    """The task that the parameters describe; all of them are checked."""
    loss = asked["loss"]
    check_multiclass(asked["multiclass"], loss)
    check_refit(asked["refit"], asked["refit_l2"], asked["refit_features"], loss)
    of_loss = {name: parameters[name] for name in LOSS if name in parameters}
    return make_task(
        {"rule": parameters["rule"], "loss": loss, **{name: asked[name] for name in RULE}},
        {name: asked[name] for name in WEIGHTING_PARAMETERS},
        make_loss(loss, **of_loss),
        multiclass=asked["multiclass"],
        fit_intercept=asked["fit_intercept"],
        class_weight=asked["class_weight"],
        target_features=asked["target_features"],
        is_refitted=asked["refit"],
        passes=asked["passes"],
        scoring=asked["scoring"],
    )


def resumed_plan(
    data: Sequence[str | Path],
    *,
    resume: str,
    output: str | None = None,
    slim: bool = False,
    **asked: Any,
) -> Plan:
    """Go on with a run that was interrupted, or learn new DATA with a model that is finished."""
    saved = load_model(resume)
    about = _checked_run(saved, resume)
    is_over = about is None or about["place"].pass_number > about["passes"]
    if saved.parameters.get("refit") and saved.state is not None:
        is_over = False
    for name in asked:
        if name not in (WITH_FINISHED if is_over else ()):
            raise RequestError(
                f"{{{name}}} has no meaning with {{resume}}: it is settled by {resume}.",
                **{name: None, "resume": None},
            )
    try:
        model = saved.learner()
    except InputError as error:
        raise InputError(f"{resume}: {error}") from error
    target = None if about is None else about["target_features"]
    if saved.search is None:
        model.target_features = target
    elif not saved.asked.get("refit"):
        target = saved.asked.get("target_features")
    if about is None or is_over:
        asked = {**OF_RUN, **{name: READING[name] for name in OF_NEW_DATA}, **asked}
        if not data:
            raise RequestError(f"{resume} is finished; name new DATA to learn.")
        if saved.search is not None and asked["passes"] != 1:
            raise RequestError(
                f"{{passes}}: {resume} is still to find its parameters, by predictions for "
                f"examples that are new, and so in one pass.",
                passes=asked["passes"],
            )
        reader = _reader_like(saved, data, {name: asked[name] for name in OF_NEW_DATA})
        learned = [] if about is None else [*about["learned"], *about["reader"]["files"]]
        _warn_of_learned(resume, reader.files, learned)
        settings = _settings(asked, target, learned)
        plan = _plan(model, reader, output, saved.asked, settings, slim)
        return plan._replace(resumed=resume)
    reader = _same_reader(about["reader"], data, resume)
    settings = _settings(about, target, about["learned"])
    so_far = {name: about[name] for name in ("before", "first_pass")}
    plan = _plan(model, reader, output, saved.asked, settings, slim, about["place"], **so_far)
    return plan._replace(resumed=resume)


def _warn_of_learned(resume: str, files: Sequence[str], learned: Sequence[str]) -> None:
    """Warn of files that a model has learned already."""
    known = {os.path.realpath(file) for file in learned if file != STDIN}
    again = [file for file in files if os.path.realpath(file) in known and file != STDIN]
    if again:
        warnings.warn(
            f"{resume} has learned {', '.join(again)} already: unless other rows are there by now, "
            f"they count twice.",
            RarefyWarning,
            stacklevel=3,
        )


def _checked_run(saved: Model, resume: str) -> dict[str, Any] | None:
    """What a model says of the run that it comes from, if it does; nonsense is refused."""
    if saved.run is None:
        return None
    try:
        about = {**LATER_SETTINGS, **saved.run, "place": Position(**saved.run["place"])}
        for name, value in (*about["place"]._asdict().items(), ("passes", about["passes"])):
            check_whole(name, value, 0, NEVER)
        for name in ("save_every", "target_features"):
            if about[name] is not None:
                check_whole(name, about[name], 1, NEVER)
        about["before"] = checked_predicted(saved.run.get("before", Predicted()))
        about["first_pass"] = first_pass_of(saved.run)
        texts([value for value in (about["cache"], about["holdout"]) if value is not None])
        texts(about["reader"]["files"])
        texts(about["learned"])
        reader_of(about["reader"])
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        message = f"{resume} is damaged: what it says of its run makes no sense."
        raise InputError(message) from error
    return about


def _plan(
    model: StreamModel,
    reader: Reader,
    path: str | None,
    parameters: dict[str, Any],
    settings: dict[str, Any],
    slim: bool,
    position: Position = BEGINNING,
    **so_far: Predicted | None,
) -> Plan:
    holdout = _holdout(settings["holdout"], reader, model, settings["passes"])
    run = Run(
        model,
        reader,
        passes=settings["passes"],
        cache=settings["cache"],
        position=position,
        held_out=holdout if isinstance(holdout, HeldOutShare) else None,
        **so_far,
    )
    plan = Plan(run, path, parameters, {**settings, "reader": reader.settings()}, holdout, slim)
    if plan.refit is not None:
        check_readable_again(run)
    return plan


def _holdout(
    given: str | None, reader: Reader, model: StreamModel, passes: int
) -> HeldOutShare | HeldOutFiles | None:
    """What is held out: a share of the rows, or a file."""
    if given is None:
        return None
    has_answers = not model.task.is_regression
    share = number_or_none(given)
    if share is None or os.path.exists(given):
        like = {**reader.settings(), "files": expand([given]), "skip_bad_lines": False}
        return HeldOutFiles(reader_of(like), with_flips=has_answers)
    if not 0.0 < share < 1.0:
        raise RequestError(
            "{holdout}: a share between 0 and 1, or a file, is expected.", holdout=given
        )
    return HeldOutShare(share, with_flips=has_answers and passes > 1)


def _reader_like(saved: Model, data: Sequence[str | Path], reading: dict[str, Any]) -> Reader:
    """A reader of new data that reads as the one did from which the model has learned."""
    reader = read(*data, classes=saved.classes, **reading)
    reader.read_like(*saved.reading)
    return reader


def _same_reader(settings: dict[str, Any], data: Sequence[str | Path], resume: str) -> Reader:
    """The reader of a run; DATA says where its files are now, if that is elsewhere."""
    files = list(map(str, data)) or settings["files"]
    if STDIN in files and not data:
        raise RequestError(
            f"{resume} was learned from standard input; give the same data again, with "
            f"{shlex.join(files)} as DATA."
        )
    return reader_of({**settings, "files": expand(files)})


def reader_of(settings: dict[str, Any]) -> Reader:
    """A reader with the settings of another one."""
    checked = {
        "columns": checked_columns(Columns(**settings["columns"])),
        "classes": checked_classes(settings["classes"]),
        "cross": checked_crosses(settings["cross"]),
    }
    return Reader(**{**settings, **checked})


def _given_to_loss(loss: str, parameters: dict[str, float | None]) -> dict[str, float]:
    """The parameters that were given; one that the loss does not have is a mistake."""
    given = {name: value for name, value in parameters.items() if value is not None}
    for name in given:
        if name not in LOSSES[loss]._fields:
            raise RequestError(f"{{{name}}} has no meaning for the {loss} loss.", **{name: None})
    return given
