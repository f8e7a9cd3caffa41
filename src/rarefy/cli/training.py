"""A training as a command carries it out: shown, saved, and ended by signals."""

import signal
from typing import Any

import click

from rarefy.cli.interrupts import NOTHING_LEARNED, Interrupts
from rarefy.cli.signals import exit_code
from rarefy.cli.views.display import Display
from rarefy.errors import EXPECTED
from rarefy.streams.stream_model import StreamModel
from rarefy.training.checkpoints import Checkpoints
from rarefy.training.plan import Plan
from rarefy.training.procedure import Training

ENOUGH_TO_DOUBT = 100  # examples
BY_CLASS = "--class-weight also applies to the loss and accuracy shown while learning."


def carry_out(plan: Plan, checkpoints: Checkpoints, display: Display) -> None:
    """Learn, save, and say what came of it."""
    if plan.run.model.task.class_weight is not None:
        display.say(BY_CLASS)
    with Interrupts(plan.run) as interrupts:
        training = Training(
            plan.run,
            refit=plan.refit,
            holdout=plan.holdout,
            checkpoints=checkpoints,
            reporter=display,
            interruption=interrupts,
        )
        try:
            is_over = training.carry_out()
            if plan.run.model.t == 0:
                display.say(NOTHING_LEARNED)
                raise _interrupted(interrupts)
            n_bytes = checkpoints.save(is_finished=is_over)
        except EXPECTED as error:
            raise click.ClickException(checkpoints.after(error)) from error
    summary = training.summary(is_over=is_over)
    model = plan.run.model
    for remark in (_found(model), model.store.report(), doubt(model)):
        if remark:
            display.say(remark)
    display.end({**summary, "path": plan.path, "bytes": n_bytes})
    if not is_over:
        display.say(checkpoints.how_to_go_on())
        raise _interrupted(interrupts)


def _interrupted(interrupts: Interrupts) -> click.exceptions.Exit:
    return click.exceptions.Exit(exit_code(interrupts.number or signal.SIGINT))


def _found(model: StreamModel) -> str:
    """The parameters that were left to be found, as options."""
    found = model.learner.settled().found
    found = {name: value for name, value in found.items() if value is not None}
    if not found:
        return ""
    return f"Found: {' '.join(f'--{name} {_as_option(value)}' for name, value in found.items())}"


def _as_option(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def doubt(model: StreamModel) -> str:
    """A warning, if what was learned made predictions worse than none."""
    before = model.loss_without_weights()
    if model.t < ENOUGH_TO_DOUBT or not model.learner.progressive_loss > before:
        return ""
    return (
        f"Warning: predictions while learning were worse than those of an empty model (loss "
        f"{before:.5f}). The values may be too large for the step size: try --rule scale-free, a "
        f"smaller --eta0, or --categorical for columns with categories."
    )
