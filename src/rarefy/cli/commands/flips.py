"""`rarefy flips`."""

import json
import math
from typing import Any

import click

from rarefy.analysis.flip_causes import Side
from rarefy.analysis.side_by_side import stream_flips
from rarefy.cli.options import FILE, data_options, labelled_data_options, report_bad_lines
from rarefy.cli.views.flips_view import flips_as_json, show_flips
from rarefy.files.model import Model
from rarefy.files.model_file import load_model
from rarefy.readers import read
from rarefy.readers.source import expand
from rarefy.system.output_checks import STREAM, check_outputs

EXIT_CODE = 3  # more answers were lost than allowed


@click.command()
@click.argument("old_path", metavar="OLD", type=FILE)
@click.argument("new_path", metavar="NEW", type=FILE)
@data_options
@labelled_data_options
@click.option(
    "--top",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    help="How many flips of each kind, and features, to show.",
)
@click.option(
    "--max-negative",
    type=click.FloatRange(0.0, 1.0),
    metavar="RATE",
    help="End with exit code 3 if more than this share of all examples are negative flips.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of tables.")
def flips(
    old_path: str,
    new_path: str,
    data: tuple[str, ...],
    top: int,
    max_negative: float | None,
    as_json: bool,
    **reading: Any,
) -> None:
    """Show which answers change from the model OLD to the model NEW on DATA, which has labels.

    A negative flip is an example that OLD has right and NEW has wrong; a positive flip is the
    opposite.

    \b
    Examples:
      rarefy flips old.model new.model new.svm
      rarefy flips old.model new.model new.svm --max-negative 0.01
    """
    if max_negative is not None and math.isnan(max_negative):
        raise click.UsageError("--max-negative nan: a share from 0 to 1 is expected.")
    check_outputs([STREAM], [old_path, new_path, *expand(data)])
    old, new = load_model(old_path), load_model(new_path)
    reader = read(*data, classes=old.classes, **reading)
    found = stream_flips(_side(old), _side(new), reader, top)
    report_bad_lines(reader)
    if as_json:
        click.echo(json.dumps(flips_as_json(found), indent=2))
    else:
        show_flips((old_path, new_path), found)
    if max_negative is not None and found.negative_rate > max_negative:
        click.echo(
            f"More answers were lost than allowed: {found.negative_rate:.4%} of all examples, and "
            f"the limit is {max_negative:.4%}.",
            err=True,
        )
        raise click.exceptions.Exit(EXIT_CODE)


def _side(model: Model) -> Side:
    return Side(model.scorer(), model.kept)
