"""`rarefy train`."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import click
from click.core import ParameterSource

from rarefy.cli.option_types import FILE, Passes, Size, WholeNumber
from rarefy.cli.options import (
    column_options,
    format_options,
    loss_options,
    no_intercept_option,
    parameter_option,
    report_bad_lines,
    rule_options,
    seed_option,
    weight_options,
)
from rarefy.cli.training import carry_out
from rarefy.cli.views.display import make_display
from rarefy.cli.views.running_table import RunningTable
from rarefy.stores import DEFAULT_BITS, MOST_BITS, STORES
from rarefy.streams.run import NEVER
from rarefy.streams.shuffle import DEFAULT_MEMORY
from rarefy.system.atomic_write import is_descriptor
from rarefy.system.output_checks import STREAM, check_outputs
from rarefy.training.checkpoints import Checkpoints
from rarefy.training.plan import Plan
from rarefy.training.request import RequestError
from rarefy.training.requested_plan import requested_plan

STANDARD_OUTPUT = "/dev/stdout"
NOT_OF_PLANS = ("json", "quiet", "on")  # options


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
@loss_options
@rule_options
@weight_options
@no_intercept_option
@parameter_option("passes", type=Passes(), default=1)
@click.option(
    "--early-stopping",
    is_flag=True,
    help="Stop when more passes hardly lower the held-out loss; --passes is the most there are.",
)
@parameter_option("shards", metavar="K")
@parameter_option("refit")
@parameter_option("refit_l2")
@parameter_option("refit_features", metavar="N")
@click.option(
    "--store",
    type=click.Choice(STORES),
    help="How weights are stored: by index, hashed, or in an exact table. Default: table; hashed "
    "with -b.",
)
@click.option(
    "-b",
    "--bits",
    type=click.IntRange(1, MOST_BITS),
    help=f"Use 2^bits hashed weights (store hashed).  [default: {DEFAULT_BITS}]",
)
@click.option(
    "--capacity",
    type=click.IntRange(1),
    help="Largest number of features; the least useful are dropped (store table).",
)
@click.option(
    "--names/--no-names",
    default=True,
    show_default=True,
    help="Keep the names of features (store table).",
)
@click.option(
    "--cache",
    type=click.Path(dir_okay=False),
    help="File that keeps the parsed rows for further passes and runs (needs rarefy[arrow]).",
)
@click.option(
    "--holdout",
    metavar="SHARE|FILE",
    help="Test data: a share of the rows (0.1), or a file. They are predicted, not learned.",
)
@click.option(
    "--shuffle",
    is_flag=True,
    help="Shuffle the rows; as many as fit in --shuffle-memory are shuffled at a time.",
)
@click.option(
    "--shuffle-memory",
    type=Size(),
    help="Memory for the rows that are shuffled at a time.  "
    f"[default: {Size.written(DEFAULT_MEMORY)}]",
)
@seed_option
@click.option(
    "--save-every",
    type=WholeNumber(1, NEVER),
    metavar="N",
    help="Save the model after every N examples.",
)
@click.option(
    "--resume",
    type=click.Path(exists=True, dir_okay=False),
    metavar="MODEL",
    help="Continue an interrupted run, or train a finished model further on new DATA.",
)
@click.option(
    "--anchor",
    type=click.Path(exists=True, dir_okay=False),
    metavar="MODEL",
    help="Learn the difference to this model: l1 and l2 pull towards its weights.",
)
@click.option(
    "--on",
    metavar="ray[:ADDRESS]",
    help="Train the shards on the workers of a cluster (needs rarefy[ray] and --shards).",
)
@click.option(
    "--slim",
    is_flag=True,
    help="Write a smaller file that can predict, but not be trained further.",
)
@click.option("--json", is_flag=True, help="Print progress as JSON lines on standard output.")
@click.option("--quiet", is_flag=True, help="Print no progress.")
@click.pass_context
def train(context: click.Context, /, **options: Any) -> None:
    """Train a model on DATA: files, globs, or - for standard input.

    Ctrl-C saves the model; `rarefy train --resume MODEL` continues with the same result.

    \b
    Examples:
      rarefy train reviews.svm.gz -o reviews.model --l1 2
      rarefy train clicks.csv -o clicks.model --label click --cross site,ad
      rarefy train sms.tsv -o sms.model --label kind --text message --holdout 0.1
      rarefy train more.svm -o newer.model --resume reviews.model
      rarefy train more.svm -o anchored.model --anchor reviews.model --l1 2
    """
    if options["json"] and options["quiet"]:
        raise click.UsageError("choose between --json and --quiet.")
    plan = plan_of(context)
    check_all_outputs(plan, STREAM if options["json"] else None)
    checkpoints = Checkpoints(plan)
    table = RunningTable(
        plan.run.passes,
        regression=plan.run.model.task.is_regression,
        holdout=plan.holdout is not None,
    )
    display = make_display(table, json=options["json"], quiet=options["quiet"])
    try:
        with display, _cluster(options["on"], plan):
            carry_out(plan, checkpoints, display)
    finally:
        report_bad_lines(plan.run.reader)


def _cluster(on: str | None, plan: Plan) -> AbstractContextManager[None]:
    """Where the plan is carried out, if not in this process."""
    if on is None:
        return nullcontext()
    from rarefy.cluster.train_on_workers import learning_on

    return learning_on(on, plan)


def plan_of(context: click.Context) -> Plan:
    """What the options ask for."""
    options = dict(context.params)
    data, output = options.pop("data"), options.pop("model_path")
    resume, anchor = options.pop("resume"), options.pop("anchor")
    if resume is not None and anchor is not None:
        raise click.UsageError("choose between --resume and --anchor.")
    if output == STREAM:
        output = STANDARD_OUTPUT
    if resume is None:
        check_complete(data, output, options)
    how: dict[str, Any] = {
        "output": resume if output is None else output,
        "slim": options.pop("slim"),
        "resume": resume,
        "anchor": anchor,
    }
    given = [name for name in options if is_given(context, name) and name not in NOT_OF_PLANS]
    try:
        asked = as_asked({name: options[name] for name in given})
        return requested_plan(data, **how, asked=asked)
    except RequestError as error:
        raise click.UsageError(error.as_command()) from error


def as_asked(options: dict[str, Any]) -> dict[str, Any]:
    """Options by the names that parameters have."""
    asked = dict(options)
    if "no_intercept" in asked:
        asked["fit_intercept"] = not asked.pop("no_intercept")
    return asked


def is_given(context: click.Context, name: str) -> bool:
    """Whether an option is on the command line."""
    return context.get_parameter_source(name) == ParameterSource.COMMANDLINE


def check_complete(data: Any, output: str | None, options: dict[str, Any]) -> None:
    if not data:
        raise click.UsageError("DATA is missing: name a file, or - for standard input.")
    if output is None:
        raise click.UsageError("-o is missing: say where to write the model.")
    for name in ("refit_l2", "refit_features"):
        if options[name] is not None and not options["refit"]:
            raise click.UsageError(f"--{name.replace('_', '-')} needs --refit.")


def check_all_outputs(plan: Plan, stream: str | None) -> None:
    """Only a file may take the place of the model with which the run goes on."""
    assert plan.path is not None
    cache = plan.settings["cache"]
    check_outputs([plan.path, cache, stream], plan.inputs)
    written_at_once = plan.path if is_descriptor(plan.path) else None
    check_outputs([written_at_once, cache, stream], [plan.resumed])
