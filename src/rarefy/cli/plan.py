"""What `rarefy train` is to do: something new, or what a model file says was not finished."""

import os
import shlex
from typing import Any, NamedTuple

import click

from rarefy.checks import check_whole, number_or_none
from rarefy.cli.options import READING
from rarefy.errors import InputError
from rarefy.files.model_file import Model, load_model, model_of, save_model, texts
from rarefy.model.losses import LOSSES
from rarefy.model.multiclass import check_multiclass
from rarefy.parameters.build import RULE_PARAMETERS, check_refit, default_rule, make_loss
from rarefy.readers import Reader, read
from rarefy.readers.features.columns import Columns, checked_columns
from rarefy.readers.features.crosses import checked_crosses
from rarefy.readers.features.labels import checked_classes
from rarefy.readers.source import STDIN, expand
from rarefy.stores import make_store
from rarefy.streams.holdout import HeldOutFiles, HeldOutShare
from rarefy.streams.refit_stream import check_readable_again, refit_run
from rarefy.streams.run import BEGINNING, NEVER, Place, Run
from rarefy.streams.stream_model import StreamModel
from rarefy.system.atomic_write import Output
from rarefy.tuning.open_task import task_of
from rarefy.tuning.space import rule_or_space

# How a run is carried out; the others say what is learned.
OF_RUN = ("passes", "cache", "holdout", "save_every")
OF_RULE = tuple(name for name in RULE_PARAMETERS if name not in ("rule", "loss"))
LATER_SETTINGS = {"target_features": None}  # that files of before do not have
OF_WEIGHTING = ("importance", "endowment", "endowment_by")
# What may be given to go on with a run, and with a finished model; all else is in the file.
WITH_RUN = ("data", "model_path", "resume", "slim", "json", "quiet")
WITH_FINISHED = (*WITH_RUN, *OF_RUN, "format", "bad_lines")


class Plan(NamedTuple):
    run: Run
    path: str  # of the model
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
    def refits(self) -> bool:
        return bool(self.parameters.get("refit"))

    def refit(self) -> None:
        """Learn the weights that were kept again, now that the run is over."""
        refit_run(self.run, self.parameters["refit_l2"], self.parameters.get("refit_features"))

    def save(self, output: Output | None = None, *, slim: bool = False) -> int:
        """Write the model as it is now; how many bytes that were."""
        about = {**self.settings, "place": self.run.place._asdict()}
        model = model_of(self.run.model, self.parameters, run=about, slim=slim)
        return save_model(output or self.path, model)

    def command_to_go_on(self, saved: str) -> str:
        """What to type to go on with what was saved there."""
        files = self.run.reader.files
        to = [] if saved == self.path else ["-o", self.path]
        again = ["rarefy", "train", "--resume", saved, *to, *(["--slim"] if self.slim else [])]
        if STDIN in files:
            return f"... | {shlex.join([*again, *files])}"
        return shlex.join(again)


def new_plan(
    *,
    data: tuple[str, ...],
    model_path: str | None,
    loss: str,
    epsilon: float | None,
    quantile: float | None,
    multiclass: str,
    no_intercept: bool,
    store: str | None,
    bits: int | None,
    max_features: int | None,
    target_features: int | None,
    names: bool,
    rule: str | None,
    slim: bool,
    refit: bool,
    refit_l2: float | None,
    refit_features: int | None,
    **others: Any,
) -> Plan:
    """Learn from DATA, from scratch."""
    if not data:
        raise click.UsageError("DATA is missing: name a file, or - for standard input.")
    if model_path is None:
        raise click.UsageError("-o is missing: say where to write the model.")
    reader = read(*data, **{name: others[name] for name in READING})
    rule = rule or default_rule(loss)
    of_rule = {name: others[name] for name in OF_RULE}
    weights = {name: others[name] for name in OF_WEIGHTING}
    what = {"rule": rule, "loss": loss, **of_rule}
    made_rule, schedule, weighting = rule_or_space(
        what, weights, max_features=target_features, passes=others["passes"]
    )
    check_multiclass(multiclass, loss)
    of_refit = {"refit_l2": refit_l2, "refit_features": refit_features}
    for name, value in of_refit.items():
        if value is not None and not refit:
            raise click.UsageError(f"--{name.replace('_', '-')} has no meaning without --refit.")
    check_refit(refit, **of_refit, loss=loss)
    of_loss = _given_to_loss(loss, epsilon=epsilon, quantile=quantile)
    task = task_of(
        made_rule,
        schedule,
        make_loss(loss, **of_loss),
        multiclass,
        not no_intercept,
        weighting,
    )
    model = StreamModel(
        task,
        make_store(
            store or ("table" if bits is None else "hashed"),
            bits=bits,
            max_features=max_features,
            names=names,
        ),
        others["classes"],
    )
    parameters = {
        "rule": rule,
        "loss": loss,
        **{name: value for name, value in of_rule.items() if value is not None},
        **of_loss,
        **weights,
        "multiclass": multiclass,
        "fit_intercept": not no_intercept,
        "passes": others["passes"],
        "max_features": target_features,
        **({"refit": True, **of_refit} if refit else {}),
    }
    settings = {name: others[name] for name in OF_RUN} | {"target_features": target_features}
    return _plan(model, reader, model_path, parameters, settings, slim)


def resumed_plan(
    *,
    given: dict[str, str],
    data: tuple[str, ...],
    model_path: str | None,
    resume: str,
    slim: bool,
    **others: Any,
) -> Plan:
    """Go on with a run that was interrupted, or learn new DATA with a model that is finished."""
    saved = load_model(resume)
    about = _checked_run(saved, resume)
    is_over = about is None or about["place"].pass_number > about["passes"]
    if saved.parameters.get("refit") and saved.state is not None:
        is_over = False
    for name, option in given.items():
        if name not in (WITH_FINISHED if is_over else WITH_RUN):
            raise click.UsageError(
                f"{option} has no meaning with --resume: it is settled by {resume}."
            )
    try:
        model = saved.learner()
    except InputError as error:
        raise InputError(f"{resume}: {error}") from error
    target = None if about is None else about["target_features"]
    if saved.search is None:
        model.max_features = target
    else:
        target = saved.asked.get("max_features")
    path = model_path or resume
    if about is None or is_over:
        if not data:
            raise click.UsageError(f"{resume} is finished; name new DATA to learn.")
        if saved.search is not None and others["passes"] != 1:
            raise click.UsageError(
                f"--passes {others['passes']}: {resume} is still to find its parameters, by "
                f"predictions for examples that are new, and so in one pass."
            )
        reader = _reader_like(saved, data, others)
        settings = {name: others[name] for name in OF_RUN} | {"target_features": target}
        plan = _plan(model, reader, path, saved.asked, settings, slim)
        return plan._replace(resumed=resume)
    reader = _same_reader(about["reader"], data, resume)
    settings = {name: about[name] for name in OF_RUN} | {"target_features": target}
    plan = _plan(model, reader, path, saved.asked, settings, slim, about["place"])
    return plan._replace(resumed=resume)


def _checked_run(saved: Model, resume: str) -> dict[str, Any] | None:
    """What a model says of the run that it comes from, if it does; nonsense is refused."""
    if saved.run is None:
        return None
    try:
        about = {**LATER_SETTINGS, **saved.run, "place": Place(**saved.run["place"])}
        for name, value in (*about["place"]._asdict().items(), ("passes", about["passes"])):
            check_whole(name, value, 0, NEVER)
        for name in ("save_every", "target_features"):
            if about[name] is not None:
                check_whole(name, about[name], 1, NEVER)
        texts([value for value in (about["cache"], about["holdout"]) if value is not None])
        texts(about["reader"]["files"])
        reader_of(about["reader"])
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        message = f"{resume} is damaged: what it says of its run makes no sense."
        raise InputError(message) from error
    return about


def _plan(
    model: StreamModel,
    reader: Reader,
    path: str,
    parameters: dict[str, Any],
    settings: dict[str, Any],
    slim: bool,
    place: Place = BEGINNING,
) -> Plan:
    holdout = _holdout(settings["holdout"], reader, model, settings["passes"])
    run = Run(
        model,
        reader,
        passes=settings["passes"],
        cache=settings["cache"],
        place=place,
        held_out=holdout if isinstance(holdout, HeldOutShare) else None,
    )
    plan = Plan(run, path, parameters, {**settings, "reader": reader.settings()}, holdout, slim)
    if plan.refits:
        check_readable_again(run)
    return plan


def _holdout(
    given: str | None, reader: Reader, model: StreamModel, passes: int
) -> HeldOutShare | HeldOutFiles | None:
    """What --holdout says: a share of the rows, or a file."""
    if given is None:
        return None
    has_answers = not model.task.is_regression
    share = number_or_none(given)
    if share is None or os.path.exists(given):
        like = {**reader.settings(), "files": expand([given]), "skip_bad_lines": False}
        return HeldOutFiles(reader_of(like), with_flips=has_answers)
    if not 0.0 < share < 1.0:
        raise click.UsageError(
            f"--holdout {given}: a share between 0 and 1, or a file, is expected."
        )
    return HeldOutShare(share, with_flips=has_answers and passes > 1)


def _reader_like(saved: Model, data: tuple[str, ...], others: dict[str, Any]) -> Reader:
    """A reader of new data that reads as the one did from which the model has learned."""
    reader = read(
        *data, format=others["format"], bad_lines=others["bad_lines"], classes=saved.classes
    )
    reader.columns, reader.cross = saved.reading
    return reader


def _same_reader(settings: dict[str, Any], data: tuple[str, ...], resume: str) -> Reader:
    """The reader of a run; DATA says where its files are now, if that is elsewhere."""
    files = list(data) or settings["files"]
    if STDIN in files and not data:
        raise click.UsageError(
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


def _given_to_loss(loss: str, **parameters: float | None) -> dict[str, float]:
    """The parameters that were given; one that the loss does not have is a mistake."""
    given = {name: value for name, value in parameters.items() if value is not None}
    for name in given:
        if name not in LOSSES[loss]._fields:
            raise click.UsageError(f"--{name} has no meaning for the {loss} loss.")
    return given
