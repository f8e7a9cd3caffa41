"""`rarefy.train`: from files to an estimator in one call."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rarefy.errors import EXPECTED, ConfigError, InputError
from rarefy.estimators.persistence import Saving, estimator_with, model_of_estimator
from rarefy.estimators.training_warnings import WarningReporter
from rarefy.files.model import Model
from rarefy.system.output_checks import check_outputs
from rarefy.training.checkpoints import Checkpoints
from rarefy.training.plan import Plan
from rarefy.training.procedure import Training
from rarefy.training.progress_tracker import ProgressLine
from rarefy.training.requested_plan import requested_plan


def train(
    *data: str | Path,
    output: str | Path | None = None,
    resume: Any = None,
    anchor: str | Path | None = None,
    slim: bool = False,
    progress: Callable[[ProgressLine], None] | None = None,
    **parameters: Any,
) -> Any:
    """Train a model on files, as `rarefy train` does, and return it as an estimator.

    Parameters
    ----------
    *data : str or Path
        Files, globs, or "-" for standard input.
    output : str or Path, optional
        Model file to write; with `save_every` also during training.
    resume : str, Path or estimator, optional
        Model file to continue from: an interrupted run, which continues with the same result, or,
        with new data, a finished model. An estimator counts as the file that it would be saved to,
        and stays as it is.
    anchor : str or Path, optional
        Model file whose weights are those that the penalties l1 and l2 pull towards, as in
        `rarefy.anchored`: what is learned is a difference to them.
    slim : bool, default=False
        Whether to write a smaller file that can predict, but not be trained further.
    progress : function, optional
        Called with a ProgressLine (examples, loss, accuracy, weights kept, metrics of held-out
        rows, ...) after 1,000 examples, 2,000, 4,000 and so on, and at the end.
    **parameters
        Those of `rarefy.read`, of the estimator (a regressor for the losses of regression), of its
        `fit_stream`, and of the run: `holdout` (a share of the rows, or a file), `save_every` (a
        number of examples), `cache`, `passes`, `shuffle` (False by default) with `shuffle_memory`
        and `random_state`.

    Returns
    -------
    SparseOnlineClassifier or SparseOnlineRegressor
        The model that `rarefy train` would have written. With `holdout` it has the attribute
        `holdout_`, its metrics on the held-out rows (`examples`, `loss`, `accuracy`, ...). If these
        cannot be read again, as from standard input, each was predicted by the model at that time,
        and `progressive` is true.

    Raises
    ------
    ConfigError
        If a parameter is unknown or invalid.
    InputError
        If a file cannot be read, or a line cannot be parsed.

    See Also
    --------
    read : How files are read.
    load : Reads a model file.
    update : Trains further within a budget for lost answers.
    merge : One model of several that were trained apart.

    Examples
    --------
    >>> import rarefy, tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp()) / "mail.csv"
    >>> _ = file.write_text("kind,words\\n" + "spam,win a prize\\nham,see you\\n" * 20)
    >>> model = rarefy.train(file, label="kind", text=["words"], l1=0.5)
    >>> model.predict({"words": "a prize"}).tolist()
    ['spam']
    """
    plan = plan_for(
        data, output=output, resume=resume, anchor=anchor, slim=slim, parameters=parameters
    )
    return trained(plan, progress)


def plan_for(
    data: Sequence[str | Path],
    *,
    output: str | Path | None,
    resume: Any,
    anchor: str | Path | None,
    slim: bool,
    parameters: Mapping[str, Any],
) -> Plan:
    """What `train` is asked for."""
    if resume is not None and anchor is not None:
        raise ConfigError("resume and anchor: give only one of them.")
    plan = requested_plan(
        data,
        output=None if output is None else str(output),
        slim=slim,
        resume=_to_resume(resume),
        anchor=None if anchor is None else str(anchor),
        asked=parameters,
    )
    if output is None and plan.settings["save_every"] is not None:
        raise ConfigError("save_every needs output, the file to save to.")
    check_outputs([plan.path, plan.settings["cache"]], plan.inputs)
    return plan


def _to_resume(resume: Any) -> str | Model | None:
    """The model file, or what would be in that of an estimator."""
    if isinstance(resume, Saving):
        return model_of_estimator(resume)
    if resume is None or isinstance(resume, str | Path):
        return None if resume is None else str(resume)
    raise ConfigError(f"resume={resume!r}: a model file, or an estimator, is expected.")


def trained(plan: Plan, progress: Callable[[ProgressLine], None] | None) -> Any:
    """The estimator that comes of a plan."""
    task = plan.run.model.task
    held_out = _carry_out(plan, progress)
    is_slim = plan.refit is not None
    estimator = estimator_with(plan.run.model, task, plan.parameters, is_slim=is_slim)
    if plan.holdout is not None:
        estimator.holdout_ = held_out
    return estimator


def _carry_out(plan: Plan, progress: Callable[[ProgressLine], None] | None) -> dict[str, Any]:
    """Train and save the model; metrics of what is held out."""
    checkpoints = None if plan.path is None else Checkpoints(plan)
    reporter = WarningReporter() if progress is None else _Caller(progress)
    training = Training(plan, checkpoints=checkpoints, reporter=reporter)
    try:
        training.carry_out()
    except (*EXPECTED, KeyboardInterrupt) as error:
        if checkpoints is not None:
            error.add_note(checkpoints.after(error))
        raise
    try:
        training.summary(is_over=True)
        return training.tracker.final_holdout(is_over=True)
    except InputError as error:  # the data, which are read again, are not what they were
        if checkpoints is not None:
            error.add_note(checkpoints.after_the_end(error))
        raise


class _Caller(WarningReporter):
    """Hands lines to a function of the user."""

    wants_lines = True

    def __init__(self, progress: Callable[[ProgressLine], None]) -> None:
        self._progress = progress

    def line(self, line: ProgressLine) -> None:
        self._progress(line)
