"""`rarefy train`."""

import signal
from functools import partial
from typing import Any

import click
from click.core import ParameterSource

from rarefy.cli.group import EXPECTED
from rarefy.cli.interrupts import NOTHING_LEARNED, Interrupts, Stopped
from rarefy.cli.loop import Loop
from rarefy.cli.options import (
    FILE,
    column_options,
    format_options,
    report_bad_lines,
    rule_options,
    weight_options,
)
from rarefy.cli.outputs import STREAM, check_outputs
from rarefy.cli.plan import Plan, new_plan, resumed_plan
from rarefy.cli.saving import Saving
from rarefy.cli.signals import exit_code
from rarefy.cli.views.display import Display, make_display
from rarefy.errors import InputError
from rarefy.model.losses import LOSSES
from rarefy.model.multiclass import MULTICLASS
from rarefy.parameters.build import MOST_PASSES
from rarefy.stores import DEFAULT_BITS, MOST_BITS, MOST_FEATURES, STORES
from rarefy.streams.run import NEVER
from rarefy.streams.stream_model import StreamModel
from rarefy.system.atomic_write import is_descriptor

STANDARD_OUTPUT = "/dev/stdout"
ENOUGH_TO_DOUBT = 100  # examples


@click.command()
@click.argument("data", nargs=-1, type=FILE)
@format_options
@click.option(
    "-o",
    "--output",
    "model_path",
    type=FILE,
    help="Where to write the model; - is standard output.",
)
@column_options
@click.option("--loss", type=click.Choice(list(LOSSES)), default="logistic", show_default=True)
@click.option("--epsilon", type=float, help="Of huber and epsilon_insensitive.")
@click.option("--quantile", type=float, help="Of the quantile loss.")
@click.option("--multiclass", type=click.Choice(MULTICLASS), default="auto", show_default=True)
@rule_options
@weight_options
@click.option("--no-intercept", is_flag=True)
@click.option("--passes", type=click.IntRange(1, MOST_PASSES), default=1, show_default=True)
@click.option(
    "--refit",
    is_flag=True,
    help="At the end, learn the weights that were kept again, without l1, to the minimum.",
)
@click.option(
    "--refit-l2", type=float, help="Its penalty. Default: what does best on a quarter of the rows."
)
@click.option(
    "--refit-features",
    type=click.IntRange(1, MOST_FEATURES),
    help="Leave so many features, the strongest.",
)
@click.option(
    "--store",
    type=click.Choice(STORES),
    help="Where weights are: by index, shared by hash, or exact. Default: table; hashed with -b.",
)
@click.option(
    "-b",
    "--bits",
    type=click.IntRange(1, MOST_BITS),
    help=f"Features share 2^bits weights (store hashed).  [default: {DEFAULT_BITS}]",
)
@click.option(
    "--max-features",
    type=click.IntRange(1),
    help="Never hold more; the least useful ones are dropped (store table).",
)
@click.option("--names/--no-names", default=True, help="Keep the names of features (store table).")
@click.option(
    "--cache",
    type=click.Path(dir_okay=False),
    help="File to keep the parsed rows in, for further passes and runs (needs rarefy[arrow]).",
)
@click.option(
    "--holdout",
    metavar="SHARE|FILE",
    help="Predict, and do not learn, this share of the rows (0.1), or the rows of this file.",
)
@click.option(
    "--save-every",
    type=click.IntRange(1, NEVER),
    metavar="N",
    help="Write the model whenever N more examples have been learned.",
)
@click.option(
    "--resume",
    type=click.Path(exists=True, dir_okay=False),
    metavar="MODEL",
    help="Go on with a run that was interrupted, or, with new DATA, with a finished model.",
)
@click.option("--slim", is_flag=True, help="A smaller file that can predict, but not go on.")
@click.option(
    "--json", is_flag=True, help="Show progress as JSON, a line each, on standard output."
)
@click.option("--quiet", is_flag=True, help="Say nothing unless something is wrong.")
@click.pass_context
def train(context: click.Context, /, **options: Any) -> None:
    """Learn a model from DATA: files, globs, or - for standard input.

    Ctrl-C saves what was learned; `rarefy train --resume MODEL` goes on as if nothing had happened.

    \b
    Examples:
      rarefy train reviews.svm.gz -o reviews.model --rule frda --l1 3e-4
      rarefy train clicks.csv -o clicks.model --label click --cross site,ad
      rarefy train sms.tsv -o sms.model --label kind --text message --holdout 0.1
      rarefy train more.svm -o newer.model --resume reviews.model
    """
    if options["json"] and options["quiet"]:
        raise click.UsageError("choose between --json and --quiet.")
    if options["model_path"] == STREAM:
        options["model_path"] = STANDARD_OUTPUT
    if options["resume"] is None:
        plan = new_plan(**options)
    else:
        plan = resumed_plan(given=given_options(context), **options)
    check_all_outputs(plan, STREAM if options["json"] else None)
    saving = Saving(plan)
    display = make_display(
        json=options["json"],
        quiet=options["quiet"],
        passes=plan.run.passes,
        regression=plan.run.model.task.is_regression,
        holdout=plan.holdout is not None,
    )
    try:
        with display:
            carry_out(plan, saving, display)
    finally:
        report_bad_lines(plan.run.reader)


def check_all_outputs(plan: Plan, stream: str | None) -> None:
    """Only a file may take the place of the model with which the run goes on."""
    cache = plan.settings["cache"]
    check_outputs([plan.path, cache, stream], plan.inputs)
    written_at_once = plan.path if is_descriptor(plan.path) else None
    check_outputs([written_at_once, cache, stream], [plan.resumed])


def carry_out(plan: Plan, saving: Saving, display: Display) -> None:
    """Learn, save, and say what came of it."""
    save_every, save = plan.settings["save_every"], partial(saving.save_meanwhile, display)
    loop = Loop(plan.run, display, save, save_every=save_every, holdout=plan.holdout)
    with Interrupts(plan.run) as interrupts:
        try:
            is_over = _learned(plan, saving, display, loop, interrupts)
            n_bytes = saving.save(is_finished=is_over)
        except EXPECTED as error:
            raise click.ClickException(saving.after(error)) from error
    summary = loop.summary(is_over=is_over)
    model = plan.run.model
    for remark in (_found(model), model.store.report(), doubt(model)):
        if remark:
            display.say(remark)
    display.end({**summary, "path": plan.path, "bytes": n_bytes})
    if not is_over:
        display.say(saving.how_to_go_on())
        raise _interrupted(interrupts)


def _learned(
    plan: Plan, saving: Saving, display: Display, loop: Loop, interrupts: Interrupts
) -> bool:
    """Whether learning came to its end, and a refit if one is wanted."""
    run = plan.run
    is_over = loop.learn(interrupts)
    if run.model.t == 0:
        if not is_over:
            display.say(NOTHING_LEARNED)
            raise _interrupted(interrupts)
        raise InputError(f"{' '.join(run.reader.files)}: there are no examples to learn from.")
    if is_over:
        run.model = loop.model = run.model.settled()
    if is_over and plan.refits:
        saving.save_meanwhile(display)
        is_over = refit(plan, display, interrupts)
    return is_over


def _interrupted(interrupts: Interrupts) -> click.exceptions.Exit:
    return click.exceptions.Exit(exit_code(interrupts.number or signal.SIGINT))


def _found(model: StreamModel) -> str:
    """The parameters that were left to be found, as options."""
    found = {name: value for name, value in model.learner.found.items() if value is not None}
    if not found:
        return ""
    return f"Found: {' '.join(f'--{name} {_as_option(value)}' for name, value in found.items())}"


def _as_option(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def refit(plan: Plan, display: Display, interrupts: Interrupts) -> bool:
    """Whether the refit came to its end; if not, the model is as it was before."""
    model = plan.run.model
    learner = model.learner
    display.say(f"Refitting {learner.n_nonzero():,} weights ...")
    try:
        with interrupts.at_once():
            plan.refit()
        return True
    except Stopped:
        model.adopt(learner)
        return False
    except EXPECTED:
        model.adopt(learner)
        raise


def given_options(context: click.Context) -> dict[str, str]:
    """The options that are on the command line, and how they are written."""
    return {
        parameter.name: parameter.opts[0]
        for parameter in context.command.params
        if parameter.name is not None
        and context.get_parameter_source(parameter.name) == ParameterSource.COMMANDLINE
    }


def doubt(model: StreamModel) -> str:
    """A warning, if what was learned made predictions worse than none."""
    before = model.loss_without_weights()
    if model.t < ENOUGH_TO_DOUBT or not model.learner.progressive_loss > before:
        return ""
    return (
        f"Warning: predictions made while learning were worse than without any weights (loss "
        f"{before:.5f}). Numbers may be too large for the steps: try --rule ftrl, smaller --eta0, "
        f"or --categorical for columns that are names."
    )
