"""The plan of a training: what is trained, and where it is saved."""

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rarefy.checks import number_or_none
from rarefy.engine.task import GROW, Task, may_grow, with_growing_classes
from rarefy.errors import ConfigError
from rarefy.files.model import model_of
from rarefy.files.model_file import save_model
from rarefy.parameters.combinations import is_refitted
from rarefy.readers import Reader, read
from rarefy.readers.features.columns import columns_given
from rarefy.readers.features.crosses import checked_crosses
from rarefy.readers.features.labels import checked_classes
from rarefy.readers.source import STDIN, expand
from rarefy.stores import Store, make_store
from rarefy.streams.holdout import HeldOutFiles, HeldOutShare
from rarefy.streams.refit_stream import Refit, check_readable_again
from rarefy.streams.run import BEGINNING, Position, Predicted, Run
from rarefy.streams.stream_model import StreamModel, check_names_kept
from rarefy.system.atomic_write import Output
from rarefy.training.request import (
    DEFAULTS,
    OF_RUN,
    OF_SHUFFLING,
    READING,
    RequestError,
    check_asked,
    check_may_stop_early,
    model_parameters,
    shuffle_of,
    task_for,
)


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

    def make_no_more_passes(self) -> None:
        """End the run after the passes that were made, as if no more had been asked for."""
        self.run.passes = self.run.position.pass_number - 1
        for named in (self.settings, self.parameters):
            named["passes"] = self.run.passes

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
    data: Sequence[str | Path] | Reader,
    *,
    output: str | None = None,
    slim: bool = False,
    **asked: Any,
) -> Plan:
    """Learn from files, from scratch; `asked` may have whatever DEFAULTS has.

    With a reader, it is not asked how to read.
    """
    check_asked(asked)
    if not isinstance(data, Reader) and not data:
        raise ConfigError("there is nothing to learn from: name a file, or - for standard input.")
    asked = DEFAULTS | asked
    if classes_grow := may_grow(asked["classes"]):
        asked["classes"] = ()
    if isinstance(data, Reader):
        reader = data
    else:
        reader = read(*data, **{name: asked[name] for name in READING})
    if asked["cache"] is not None or reader.can_be_read_again:
        asked["refit"] = is_refitted(asked["refit"], asked["target_features"], asked["loss"])
    parameters = model_parameters(asked)
    store = make_store(
        asked["store"] or ("table" if asked["bits"] is None else "hashed"),
        bits=asked["bits"],
        capacity=asked["capacity"],
        names=asked["names"],
    )
    model = new_model(task_for(asked, parameters), store, reader, classes_grow=classes_grow)
    settings = run_settings(asked, None if asked["refit"] else asked["target_features"])
    return make_plan(model, reader, output, parameters, settings, slim)


def new_model(task: Task, store: Store, reader: Reader, *, classes_grow: bool) -> StreamModel:
    """A model that has learned nothing, for the rows of a reader."""
    if classes_grow:
        task = with_growing_classes(task)
    check_names_kept(task, store)
    return StreamModel(task, store, reader.labels.classes)


def run_settings(
    asked: Mapping[str, Any], target: int | None, learned: Sequence[str] = ()
) -> dict[str, Any]:
    """How a run is carried out, as model files say it: files and shares as texts."""
    shuffled = shuffle_of(asked) is not None
    unused = () if shuffled else OF_SHUFFLING
    of_run = [name for name in OF_RUN if name not in unused]
    settings = {name: asked[name] for name in of_run} | {"target_features": target}
    for name, usual in (("shards", 1), ("early_stopping", False)):
        if settings[name] == usual:
            del settings[name]  # as in files from before there were any
    if learned:
        settings["learned"] = list(learned)  # by runs before
    texts_of = {
        name: str(settings[name]) for name in ("cache", "holdout") if settings[name] is not None
    }
    return settings | texts_of


def make_plan(
    model: StreamModel,
    reader: Reader,
    path: str | None,
    parameters: dict[str, Any],
    settings: dict[str, Any],
    slim: bool,
    position: Position = BEGINNING,
    **so_far: Predicted | None,
) -> Plan:
    """A run of a model over a reader from a position on, and what is held out of it."""
    if path is not None and callable(parameters.get("scoring")):
        raise ConfigError(
            "output: no file holds a function such as `scoring`, without which training cannot go "
            "on from there. Leave output out, and save the model that is returned with slim=True."
        )
    holdout = _holdout(settings["holdout"], reader, model, settings["passes"])
    if settings.get("early_stopping", False):
        check_may_stop_early(settings)
        settings = {"losses": [], **settings}
    run = Run(
        model,
        reader,
        passes=settings["passes"],
        cache=settings["cache"],
        position=position,
        held_out=holdout if isinstance(holdout, HeldOutShare) else None,
        shuffle=shuffle_of({**OF_SHUFFLING, **settings}),
        shards=settings.get("shards", 1),
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
    if model.task.classes_grow:
        raise RequestError(
            "{classes} cannot be combined with {holdout}.", classes=GROW, holdout=given
        )
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


def reader_of(settings: dict[str, Any]) -> Reader:
    """A reader with the settings of another one."""
    checked = {
        "columns": columns_given(**settings["columns"]),
        "classes": checked_classes(settings["classes"]),
        "cross": checked_crosses(settings["cross"]),
    }
    return Reader(**{**settings, **checked})
