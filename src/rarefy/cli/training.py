"""Training as commands do it: with a display, checkpoints and interruption."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import click

from rarefy.cli import signals
from rarefy.cli.memory_advice import memory_advice
from rarefy.cli.views.display import Display
from rarefy.errors import EXPECTED, InputError
from rarefy.model.label_runs import LabelRuns
from rarefy.rules.scale_free import ScaleFree
from rarefy.rules.scale_free_ftrl import ScaleFreeFtrl
from rarefy.streams.run import Run
from rarefy.streams.stream_model import StreamModel
from rarefy.training.checkpoints import Checkpoints
from rarefy.training.plan import Plan
from rarefy.training.procedure import Interruption, Stopped, Training

SAME_WISH = 1.0  # seconds in which further signals say the same: they come in twos and threes
NOTHING_LEARNED = "Interrupted before anything was learned."
ENOUGH_TO_DOUBT = 100  # examples
BY_CLASS = "--class-weight also applies to the loss and accuracy shown while learning."


class Interrupts(Interruption):
    """Notes signals to end while it is open, for whoever looks at `number` between two steps.

    While the run waits for data, or inside `at_once`, `Stopped` is raised, but only once. A signal
    before anything was learned, and one that comes later than the first, end the command.
    """

    def __init__(self, run: Run) -> None:
        self._since = 0.0
        self._run = run
        self._may_stop = False
        self._has_raised = False

    def __enter__(self) -> Self:
        signals.listen(self)
        return self

    def __exit__(self, *error: object) -> None:
        signals.listen(None)

    def note(self, number: int) -> bool:
        if self.number is None:
            self._since, self.number = time.monotonic(), number
        elif time.monotonic() - self._since > SAME_WISH:
            return False
        if self._run.model.t == 0:
            signals.end(self.number, NOTHING_LEARNED)
        return True

    def wake(self, number: int) -> None:
        self.note(number)
        if (self._may_stop or self._run.is_waiting) and not self._has_raised:
            self._has_raised = True
            raise Stopped

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Inside, nothing is done that cannot be left off."""
        self._may_stop = True
        try:
            if self.number is not None:
                self.wake(self.number)
            yield
        finally:
            self._may_stop = False


def carry_out(plan: Plan, checkpoints: Checkpoints, display: Display) -> None:
    """Learn, save, and say what came of it."""
    if plan.run.model.task.class_weight is not None:
        display.say(BY_CLASS)
    with Interrupts(plan.run) as interrupts:
        training = Training(
            plan,
            checkpoints=checkpoints,
            reporter=display,
            interruption=interrupts,
        )
        try:
            is_over = training.carry_out()
        except EXPECTED as error:
            said, *rest = checkpoints.after(error).split("\n")
            advice = memory_advice(error, click.get_current_context().command)
            raise click.ClickException("\n".join([said + advice, *rest])) from error
        if plan.run.model.t == 0:
            display.say(NOTHING_LEARNED)
            raise _interrupted(interrupts)
        if not is_over:  # a second signal of the same wish does not silence what there is to say
            _conclude(plan, training, display, is_over=False)
            display.say(checkpoints.how_to_go_on())
            raise _interrupted(interrupts)
    try:
        _conclude(plan, training, display, is_over=True)
    except InputError as error:  # the data, which are read again, are not what they were
        raise click.ClickException(checkpoints.after_the_end(error)) from error


def _conclude(plan: Plan, training: Training, display: Display, *, is_over: bool) -> None:
    """Say what was learned, which is saved."""
    summary = training.summary(is_over=is_over)
    model = plan.run.model
    for remark in (_found(model), model.store.report()):
        if remark:
            display.say(remark)
    if complaint := doubt(plan.run):
        display.warn(complaint)
    display.end({**summary, "path": plan.path, "bytes": training.n_bytes})


def _interrupted(interrupts: Interrupts) -> click.exceptions.Exit:
    return click.exceptions.Exit(signals.exit_code(interrupts.number or signal.SIGINT))


def _found(model: StreamModel) -> str:
    """The parameters that were left to be found, as options."""
    found = model.learner.settled().found
    found = {name: value for name, value in found.items() if value is not None}
    if not found:
        return ""
    return f"Found: {' '.join(f'--{name} {_as_option(value)}' for name, value in found.items())}"


def _as_option(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def doubt(run: Run) -> str:
    """A warning, if the model tells nothing apart, or predictions were worse than none."""
    model, labels = run.model, run.label_runs
    if model.t < ENOUGH_TO_DOUBT:
        return ""
    if isinstance(labels, LabelRuns) and labels.n_labels == 1 and labels.n_rows == model.t:
        return f"All {model.t:,} labels are the same: the model cannot tell classes apart."
    if getattr(model.task.rule, "l1", 0.0) and not model.learner.settled().n_nonzero():
        return (
            "The model keeps no weights and predicts the same for all rows: the features may say "
            "little about the labels, or --l1 is too large."
        )
    before = model.loss_without_weights()
    if not model.learner.progressive_loss > before:
        return ""
    worse = (
        f"Predictions while learning were worse than those of an empty model (loss {before:.5f})."
    )
    if isinstance(model.task.rule, ScaleFree | ScaleFreeFtrl):  # for values of any size
        return (
            f"{worse} The columns may say little about the labels, or there are too few rows: look "
            f"at held-out rows (--holdout 0.2); or columns with categories are read as numbers "
            f"(--categorical)."
        )
    return (
        f"{worse} The values may be too large for the step size: try --rule scale-free, a smaller "
        f"--eta0, or --categorical for columns with categories."
    )
