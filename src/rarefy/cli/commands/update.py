"""`rarefy update`."""

import json
from typing import Any

import click

from rarefy.cli.option_types import FILE, Passes, Rate
from rarefy.cli.options import (
    data_options,
    json_option,
    labelled_data_options,
    report_bad_lines,
    seed_option,
)
from rarefy.cli.views.display import make_display
from rarefy.cli.views.update_view import show_update, update_as_json
from rarefy.system.atomic_write import Output
from rarefy.system.output_checks import STREAM, check_outputs
from rarefy.training.request import RequestError
from rarefy.updating.choice import Limits
from rarefy.updating.path import MEASURES
from rarefy.updating.safe_update import DEFAULT_HOLDOUT, DEFAULT_PASSES, SafeUpdate

EXIT_CODE = 3  # the old model stays


@click.command()
@click.argument("old_path", metavar="OLD", type=FILE)
@data_options
@click.option("-o", "--output", type=FILE, required=True, help="Where to write the new model.")
@click.option(
    "--max-negative",
    type=Rate(),
    required=True,
    help="The largest rate of lost answers, of all examples: 0.5% or 0.005.",
)
@click.option(
    "--holdout",
    metavar="SHARE|FILE",
    default=str(DEFAULT_HOLDOUT),
    show_default=True,
    help="Test data to choose the model by: a share of the rows, which is not learned, or a file.",
)
@click.option(
    "--by",
    type=click.Choice(list(MEASURES)),
    default="accuracy",
    show_default=True,
    help="Metric to choose the model by.",
)
@click.option(
    "--min-gain",
    type=click.FloatRange(0.0),
    default=0.0,
    show_default=True,
    help="Smallest gain over OLD; if no model gains that much, none is written.",
)
@click.option(
    "--slice",
    "slice_by",
    metavar="COLUMN",
    help="Keep the budget for the rows of each value of this column, too.",
)
@click.option("--protect", type=FILE, help="File of rows whose right answers must all be kept.")
@click.option(
    "--anchor",
    type=click.FloatRange(0.0),
    metavar="L1",
    help="Learn the difference to OLD, with this l1: fewer weights change.",
)
@click.option(
    "--replay",
    type=FILE,
    multiple=True,
    help="Rows that OLD has learned, to be learned again before DATA in every pass; may be given "
    "several times.",
)
@click.option(
    "--passes",
    type=Passes(),
    help=f"Number of passes over the rows.  [default: {DEFAULT_PASSES}; 1 from a pipe]",
)
@click.option("--shuffle", is_flag=True, help="Learn the rows in random order.")
@seed_option
@labelled_data_options
@json_option
def update(
    old_path: str,
    data: tuple[str, ...],
    output: str,
    max_negative: float,
    by: str,
    min_gain: float,
    as_json: bool,
    **asked: Any,
) -> None:
    """Train OLD further on DATA, within a limit on lost answers.

    A lost answer is one that OLD has right and the new model has wrong. This writes the best
    model between OLD and the one trained on DATA whose rate of lost answers is within the budget;
    held-out rows show that with a confidence of 97.5 %. If no such model is better than OLD,
    nothing is written, and the exit code is 3.

    \b
    Examples:
      rarefy update live.model new.svm -o next.model --max-negative 0.5%
      rarefy update live.model new.svm -o next.model --max-negative 1% --holdout recent.svm
      rarefy update live.model new.csv -o next.model --max-negative 1% --slice country
      rarefy update live.model new.svm -o next.model --max-negative 1% --replay old.svm
      rarefy update live.model new.svm -o next.model --max-negative 1% --anchor 2
    """
    if output == STREAM:
        raise click.UsageError("-o -: standard output has the report; name a file.")
    place = Output(output)
    limits = Limits(max_negative, by, min_gain)
    try:
        work = SafeUpdate(old_path, data, limits, output, **asked)
    except RequestError as error:
        raise click.UsageError(error.as_command()) from error
    check_outputs([output, STREAM if as_json else None], work.inputs)
    with make_display(quiet=as_json) as display:
        found = work.carry_out(display)
    report_bad_lines(work.plan.run.reader)
    if found.model is not None:
        work.save(found, place)
    if as_json:
        click.echo(json.dumps(update_as_json(found), indent=2))
    else:
        show_update((old_path, output), found, max_negative)
    if found.model is None:
        click.echo(f"Nothing was written, {old_path} stays: {found.reason}.", err=True)
        raise click.exceptions.Exit(EXIT_CODE)
    if found.is_slim:
        click.echo(
            f"{output} is slim: this rule cannot learn on from weights that are set.", err=True
        )
