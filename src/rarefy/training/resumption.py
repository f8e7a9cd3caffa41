"""Resuming from a model file: an interrupted run, or new data for a finished model."""

import math
import shlex
import warnings
from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from typing import Any

from rarefy.checks import check_whole
from rarefy.errors import InputError, RarefyWarning
from rarefy.files.model import Model
from rarefy.files.model_checks import checked_predicted, first_pass_of, texts
from rarefy.files.model_file import load_model
from rarefy.readers import Reader, read
from rarefy.readers.source import STDIN, also_among, expand
from rarefy.streams.run import NEVER, Position, Predicted
from rarefy.training.plan import Plan, make_plan, reader_of, run_settings
from rarefy.training.request import OF_RUN, OF_SHUFFLING, READING, RequestError, shuffle_of

LATER_SETTINGS: dict[str, Any] = {
    "target_features": None,
    "learned": [],
    "shards": 1,
    "early_stopping": False,
    **OF_SHUFFLING,
}  # that files of before do not have
# What may be asked for beside DATA when a finished model goes on; all else is in the file.
OF_NEW_DATA = ("format", "bad_lines", "label", "weight", "ignore", "delimiter", "quotes")
WITH_FINISHED = (*OF_RUN, *OF_NEW_DATA)


def resumed_plan(
    data: Sequence[str | Path],
    *,
    resume: str,
    output: str | None = None,
    slim: bool = False,
    **asked: Any,
) -> Plan:
    """Go on with a run that was interrupted, or learn new DATA with a model that is finished."""
    return plan_to_go_on(load_model(resume), data, resume, output, slim, asked)


def is_finished(saved: Model, path: str) -> bool:
    """Whether the run of a model has come to its end, so that it can learn new data."""
    about = _checked_run(saved, path)
    if saved.parameters.get("refit") and saved.state is not None:
        return False
    return about is None or about["place"].pass_number > about["passes"]


def refuse_settled(
    asked: Iterable[str], may_be_asked: Container[str], option: str, path: str
) -> None:
    """Refuse what the model that an option names has settled."""
    for name in asked:
        if name not in may_be_asked:
            raise RequestError(
                f"{{{name}}} cannot be combined with {{{option}}}: it is settled by {path}.",
                **{name: None, option: None},
            )


def plan_to_go_on(
    saved: Model,
    data: Sequence[str | Path],
    resume: str,
    output: str | None,
    slim: bool,
    asked: dict[str, Any],
    replayed: Sequence[str | Path] = (),
) -> Plan:
    """What `resumed_plan` plans, for a model that was read from the file `resume`.

    Files that are replayed are learned before DATA in every pass, whether or not the model has
    learned them already.
    """
    about, is_over = _checked_run(saved, resume), is_finished(saved, resume)
    refuse_settled(asked, WITH_FINISHED if is_over else (), "resume", resume)
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
            raise RequestError(f"{resume} is finished; name new DATA to train it further.")
        if saved.search is not None and asked["passes"] != 1:
            raise RequestError(
                f"{{passes}}: {resume} is still being tuned, which takes one pass over new "
                f"examples.",
                passes=asked["passes"],
            )
        reading = {name: asked[name] for name in OF_NEW_DATA}
        reader = _reader_like(saved, [*replayed, *data], reading)
        learned = files_learned(saved, resume)
        _warn_of_learned(resume, expand(data), learned)
        settings = run_settings(asked, target, learned)
        plan = make_plan(model, reader, output, saved.asked, settings, slim)
        return plan._replace(resumed=resume)
    reader = _same_reader(about["reader"], data, resume)
    settings = run_settings(about, target, about["learned"])
    if "losses" in about:
        settings["losses"] = list(about["losses"])
    so_far = {name: about[name] for name in ("before", "first_pass")}
    plan = make_plan(model, reader, output, saved.asked, settings, slim, about["place"], **so_far)
    return plan._replace(resumed=resume)


def files_learned(saved: Model, path: str) -> list[str]:
    """The files that a model has learned, as far as its own file says so."""
    about = _checked_run(saved, path)
    return [] if about is None else [*about["learned"], *about["reader"]["files"]]


def _warn_of_learned(resume: str, files: Sequence[str], learned: Sequence[str]) -> None:
    """Warn of files that a model has learned already."""
    if again := also_among(files, learned):
        warnings.warn(
            f"{resume} has learned {', '.join(again)} already: unless the rows have changed, they "
            f"count twice, more weights are kept, and progressive figures and probabilities are "
            f"too optimistic. To learn a file several times, train a new model with --passes "
            f"(passes=...).",
            RarefyWarning,
            stacklevel=4,
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
        if not all(math.isfinite(loss) for loss in about.get("losses", ())):
            raise ValueError("a loss is not finite")
        reader_of(about["reader"])
        shuffle_of(about)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        message = f"{resume} is damaged: its record of the run is invalid."
        raise InputError(message) from error
    return about


def _reader_like(saved: Model, data: Sequence[str | Path], reading: dict[str, Any]) -> Reader:
    """A reader of new data that reads as the one did from which the model has learned."""
    classes = () if saved.task.classes_grow else saved.classes
    reader = read(*data, classes=classes, **reading)
    reader.read_like(*saved.reading)
    return reader


def _same_reader(settings: dict[str, Any], data: Sequence[str | Path], resume: str) -> Reader:
    """The reader of a run; DATA says where its files are now, if that is elsewhere."""
    files = list(map(str, data)) or settings["files"]
    if STDIN in files and not data:
        raise RequestError(
            f"{resume} was trained on standard input; give the same data again, with "
            f"{shlex.join(files)} as DATA."
        )
    if not files:
        raise RequestError(
            f"{resume} was trained on a dataset in memory. To continue, write its rows to files in "
            f"the same order (dataset.write_parquet), and give these as DATA."
        )
    format = settings["format"] if settings["files"] else None  # datasets have none of their own
    return reader_of({**settings, "files": expand(files), "format": format})
