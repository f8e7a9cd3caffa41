"""`rarefy flips`."""

import json
import math
from collections.abc import Iterator
from typing import Any

import click

from rarefy.analysis.flip_causes import Side
from rarefy.analysis.flip_tally import Flips
from rarefy.analysis.side_by_side import stream_flips
from rarefy.cli.options import FILE, data_options, labelled_data_options, report_bad_lines
from rarefy.cli.views.flips_view import flips_as_json, show_flips
from rarefy.errors import InputError
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
    help="Number of flips of each kind, and of features, to show.",
)
@click.option(
    "--max-negative",
    type=click.FloatRange(0.0, 1.0),
    metavar="RATE",
    help="End with exit code 3 if more than this share of all examples are negative flips.",
)
@click.option(
    "--max-log-loss-rise",
    type=click.FloatRange(0.0),
    metavar="NUMBER",
    help="... or if the log-loss is higher by more than this.",
)
@click.option(
    "--max-auc-drop",
    type=click.FloatRange(0.0, 1.0),
    metavar="NUMBER",
    help="... or if the AUC is lower by more than this.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of tables.")
def flips(
    old_path: str,
    new_path: str,
    data: tuple[str, ...],
    top: int,
    max_negative: float | None,
    max_log_loss_rise: float | None,
    max_auc_drop: float | None,
    as_json: bool,
    **reading: Any,
) -> None:
    """Show which answers change from the model OLD to the model NEW on labelled DATA.

    A negative flip is an example that OLD gets right and NEW gets wrong; a positive flip is the
    opposite.

    \b
    Examples:
      rarefy flips old.model new.model new.svm
      rarefy flips old.model new.model new.svm --max-negative 0.01 --max-auc-drop 0.005
    """
    limits = {
        "max-negative": max_negative,
        "max-log-loss-rise": max_log_loss_rise,
        "max-auc-drop": max_auc_drop,
    }
    for name, limit in limits.items():
        if limit is not None and math.isnan(limit):
            raise click.UsageError(f"--{name} nan: a number is expected.")
    check_outputs([STREAM], [old_path, new_path, *expand(data)])
    old, new = load_model(old_path), load_model(new_path)
    reader = read(*data, classes=old.classes, **reading)
    found = stream_flips(_side(old), _side(new), reader, top)
    report_bad_lines(reader)
    if as_json:
        click.echo(json.dumps(flips_as_json(found), indent=2))
    else:
        show_flips((old_path, new_path), found)
    broken = [*_broken(found, **{name.replace("-", "_"): value for name, value in limits.items()})]
    for message in broken:
        click.echo(message, err=True)
    if broken:
        raise click.exceptions.Exit(EXIT_CODE)


def _broken(
    found: Flips,
    max_negative: float | None,
    max_log_loss_rise: float | None,
    max_auc_drop: float | None,
) -> Iterator[str]:
    """What to say of each limit that was passed; one of what is undefined is an error."""
    if max_negative is not None and found.negative_rate > max_negative:
        yield (
            f"More answers were lost than allowed: {found.negative_rate:.4%} of all examples, and "
            f"the limit is {max_negative:.4%}."
        )
    if max_log_loss_rise is not None:
        rise = _change("log-loss", found.old_log_loss, found.new_log_loss)
        if rise > max_log_loss_rise:
            yield f"The log-loss rose by {rise:.5g}, and the limit is {max_log_loss_rise:g}."
    if max_auc_drop is not None:
        drop = -_change("AUC", found.old_auc, found.new_auc)
        if drop > max_auc_drop:
            yield f"The AUC dropped by {drop:.5g}, and the limit is {max_auc_drop:g}."


def _change(name: str, old: float | None, new: float | None) -> float:
    if old is None or new is None:
        raise InputError(f"the {name} of these models on these data is undefined.")
    return new - old


def _side(model: Model) -> Side:
    return Side(model.scorer(), model.kept)
