"""`rarefy inspect`."""

import json
from typing import Any

import click
from click.core import ParameterSource

from rarefy.analysis.explanation import explain_row, explanation_as_json
from rarefy.analysis.model_description import description, feature_as_json
from rarefy.cli.option_types import FILE
from rarefy.cli.options import (
    format_options,
    json_option,
    new_data_options,
    report_bad_lines,
    top_option,
)
from rarefy.cli.views.explanation_view import show_explanation
from rarefy.cli.views.feature_view import SORT_KEYS, order_of
from rarefy.cli.views.formatting import visible
from rarefy.cli.views.model_view import show_model
from rarefy.files.model import Model
from rarefy.files.model_file import load_model
from rarefy.readers import read
from rarefy.readers.source import expand
from rarefy.system.output_checks import STREAM, check_outputs

ONLY_WITH_WHY = ("row", "format", "bad_lines", "ignore", "delimiter", "quotes")
ONLY_WITHOUT = ("sort",)


@click.command()
@click.argument("model_path", metavar="MODEL", type=FILE)
@top_option("Number of features to show.")
@click.option(
    "--sort",
    type=click.Choice(list(SORT_KEYS)),
    default="weight",
    show_default=True,
    help="Sort by this, largest first; names alphabetically.",
)
@click.option("--class", "class_name", help="Show only this class.")
@click.option("--why", metavar="DATA", type=FILE, help="Explain the prediction of a row of DATA.")
@click.option("--row", type=click.IntRange(1), default=1, show_default=True, help="Which row.")
@format_options
@new_data_options
@json_option
@click.pass_context
def inspect(
    context: click.Context,
    /,
    model_path: str,
    top: int,
    sort: str,
    class_name: str | None,
    why: str | None,
    row: int,
    as_json: bool,
    **reading: Any,
) -> None:
    """Show how MODEL was trained, and its strongest features.

    With --why, explain the score of one row (of a file, or - for standard input): value times
    weight of each feature. With several classes, the predicted one, or that of --class, is compared
    with the best of the others.

    \b
    Examples:
      rarefy inspect reviews.model --top 10
      rarefy inspect sms.model --why sms.tsv --row 2
    """
    _check_options(context, why is not None)
    check_outputs([STREAM], [model_path, *([] if why is None else expand([why]))])
    model = load_model(model_path).with_feature_names()
    output = None if class_name is None else _class_number(model, class_name)
    if why is not None:
        reader = read(why, classes=model.classes, **reading)
        explanation = explain_row(model, reader, row)
        report_bad_lines(reader)
        if as_json:
            click.echo(json.dumps(explanation_as_json(model, explanation, output), indent=2))
        else:
            show_explanation(model, explanation, top, output)
        return
    order = order_of(model.kept, sort, output)
    if as_json:
        features = [feature_as_json(model, at) for at in order[:top].tolist()]
        click.echo(json.dumps({**description(model), "features": features}, indent=2))
    else:
        show_model(model_path, model, order, top, sort, output)


def _check_options(context: click.Context, with_why: bool) -> None:
    for name in ONLY_WITHOUT if with_why else ONLY_WITH_WHY:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = "--" + name.replace("_", "-")
            problem = "cannot be combined with --why" if with_why else "is for --why DATA"
            raise click.UsageError(f"{option} {problem}.")


def _class_number(model: Model, name: str) -> int:
    if len(model.intercepts) == 1:
        raise click.UsageError("--class is for models of three classes or more.")
    if name not in model.classes:
        classes = ", ".join(map(visible, model.classes))
        raise click.UsageError(f"--class {visible(name)}: one of {classes} is expected.")
    return model.classes.index(name)
