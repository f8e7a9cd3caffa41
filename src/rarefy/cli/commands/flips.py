"""`rarefy flips`."""

import json
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import click

from rarefy.analysis.flip_causes import Side
from rarefy.analysis.flip_tally import Flips
from rarefy.analysis.paired_answers import stream_flips
from rarefy.cli.option_types import FILE, Rate
from rarefy.cli.options import (
    data_options,
    json_option,
    labelled_data_options,
    options,
    report_bad_lines,
    top_option,
)
from rarefy.cli.views.flips_view import flips_as_json, show_flips
from rarefy.errors import InputError
from rarefy.files.model import Model
from rarefy.files.model_file import load_model
from rarefy.readers import read
from rarefy.readers.source import expand
from rarefy.system.output_checks import STREAM, check_outputs

EXIT_CODE = 3  # the new model is worse than allowed


class Gate(NamedTuple):
    """A limit to how much worse the new model may be."""

    option: str
    metavar: str
    takes: Any  # the type of the option
    help: str
    measure: Callable[[Flips], float]  # what is not to be above the limit
    text: str  # of the message, with `found` and `limit`

    @property
    def parameter(self) -> str:
        return self.option.removeprefix("--").replace("-", "_")

    def message(self, found: Flips, limit: float) -> str:
        return self.text.format(found=self.measure(found), limit=limit)


def _change(name: str, old: float | None, new: float | None) -> float:
    """From the old model to the new one; a limit of what is undefined is an error."""
    if old is None or new is None:
        raise InputError(f"the {name} of these models on these data is undefined.")
    return new - old


GATES = (
    Gate(
        "--max-negative",
        "RATE",
        Rate(may_be_any=True),
        "End with exit code 3 if more than this share of all examples are negative flips: 0.5% "
        "or 0.005.",
        lambda found: found.negative_rate,
        "More answers were lost than allowed: {found:.4%} of all examples, and the limit is "
        "{limit:.4%}.",
    ),
    Gate(
        "--max-log-loss-rise",
        "NUMBER",
        click.FloatRange(0.0),
        "End with exit code 3 if the log-loss rises by more than this.",
        lambda found: _change("log-loss", found.old_log_loss, found.new_log_loss),
        "The log-loss rose by {found:.5g}, and the limit is {limit:g}.",
    ),
    Gate(
        "--max-auc-drop",
        "NUMBER",
        Rate(may_be_any=True),
        "End with exit code 3 if the AUC falls by more than this: 0.01 or 1%.",
        lambda found: -_change("AUC", found.old_auc, found.new_auc),
        "The AUC dropped by {found:.5g}, and the limit is {limit:g}.",
    ),
)


gate_options = options(
    *(
        click.option(
            gate.option,
            type=gate.takes,
            metavar=gate.metavar,
            help=gate.help,
        )
        for gate in GATES
    )
)


@click.command()
@click.argument("old_path", metavar="OLD", type=FILE)
@click.argument("new_path", metavar="NEW", type=FILE)
@data_options
@labelled_data_options
@top_option("Number of flips of each kind, and of features, to show.")
@gate_options
@json_option
def flips(
    old_path: str,
    new_path: str,
    data: tuple[str, ...],
    top: int,
    as_json: bool,
    **asked: Any,
) -> None:
    """Show which answers change from OLD to NEW on labelled DATA.

    OLD and NEW are models. A negative flip is an example that OLD gets right and NEW gets wrong; a
    positive flip is the opposite.

    \b
    Examples:
      rarefy flips old.model new.model new.svm
      rarefy flips old.model new.model new.svm --max-negative 0.01 --max-auc-drop 0.005
    """
    limits = {gate: asked.pop(gate.parameter) for gate in GATES}
    for gate, limit in limits.items():
        if limit is not None and math.isnan(limit):
            raise click.UsageError(f"{gate.option} nan: a number is expected.")
    check_outputs([STREAM], [old_path, new_path, *expand(data)])
    old, new = load_model(old_path), load_model(new_path)
    reader = read(*data, classes=old.classes, **asked)
    found = stream_flips(_side(old), _side(new), reader, top)
    report_bad_lines(reader)
    if as_json:
        click.echo(json.dumps(flips_as_json(found), indent=2))
    else:
        show_flips((old_path, new_path), found)
    broken = [
        gate.message(found, limit)
        for gate, limit in limits.items()
        if limit is not None and gate.measure(found) > limit
    ]
    for message in broken:
        click.echo(message, err=True)
    if broken:
        raise click.exceptions.Exit(EXIT_CODE)


def _side(model: Model) -> Side:
    return Side(model.scorer(), model.kept)
