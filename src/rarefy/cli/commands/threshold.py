"""`rarefy threshold`."""

import os
import warnings
from typing import Any

import click

from rarefy.checks import number_or_none
from rarefy.cli.option_types import FILE
from rarefy.cli.options import format_options, labelled_data_options, report_bad_lines
from rarefy.errors import InputError, RarefyWarning
from rarefy.files.model import Model
from rarefy.files.model_file import load_model, save_model
from rarefy.parameters.table import checked_number
from rarefy.readers import read
from rarefy.readers.source import also_among, expand
from rarefy.streams.metrics import measured
from rarefy.system.atomic_write import Output
from rarefy.system.output_checks import check_outputs
from rarefy.training.resumption import files_learned


@click.command()
@click.argument("model_path", metavar="MODEL", type=FILE)
@click.argument("data", nargs=-1, type=FILE)
@format_options
@labelled_data_options
@click.option(
    "--set",
    "given",
    type=click.FLOAT,
    metavar="SCORE",
    help="Set this threshold instead of choosing one on DATA; 0 is the default.",
)
@click.option("-o", "--output", type=FILE, help="Where to write the model. Default: MODEL itself.")
def threshold(
    model_path: str, data: tuple[str, ...], given: float | None, output: str | None, **reading: Any
) -> None:
    """Set the decision threshold of MODEL, which has two classes.

    MODEL predicts the second class for scores above the threshold. Without --set, the one that
    maximises F1 on labelled DATA is chosen. DATA should not be the training data.

    \b
    Examples:
      rarefy threshold reviews.model new.svm
      rarefy threshold reviews.model --set 1.5 -o careful.model
    """
    if given is None and not data:
        raise click.UsageError("give DATA to find the threshold on, or the threshold by --set.")
    if given is not None and data:
        raise click.UsageError("give either DATA to find the threshold on, or --set, not both.")
    place = Output(model_path if output is None else output)
    if len(data) == 1 and number_or_none(data[0]) is not None and not os.path.exists(data[0]):
        raise click.UsageError(f"to set the threshold to {data[0]}, use --set {data[0]}.")
    check_outputs([place.path], expand(data))
    model = load_model(model_path)
    if len(model.classes) != 2 or model.has_score_by_class:
        raise InputError(f"{model_path}: only models of two classes have a decision threshold.")
    if given is None:
        _warn_of_learned(files_learned(model, model_path), data)
        given, best_f1 = _best(model, data, reading)
        found = f", which gives an F1 of {best_f1:.4f} on these data"
    else:
        given, found = checked_number("decision_threshold", given), ""
    save_model(place, model._replace(decision_threshold=given))
    click.echo(
        f"{place.path}: {model.classes[1]} is predicted for scores above {given:.6g}{found}."
    )


def _warn_of_learned(learned: list[str], data: tuple[str, ...]) -> None:
    if again := also_among(expand(data), learned):
        warnings.warn(
            f"the model has learned {', '.join(again)}: its scores there are too far from 0, and "
            f"the best threshold for new rows may be another one. Give rows that it has not "
            f"learned.",
            RarefyWarning,
            stacklevel=2,
        )


def _best(model: Model, data: tuple[str, ...], reading: dict[str, Any]) -> tuple[float, float]:
    reader = read(*data, classes=model.classes, **reading)
    summary = measured(model.scorer(), reader)
    report_bad_lines(reader)
    if "best_threshold" not in summary:
        raise InputError(f"{' '.join(data)}: there are no examples of {model.classes[1]}.")
    return summary["best_threshold"], summary["best_f1"]
