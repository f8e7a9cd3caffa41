"""`rarefy evaluate`."""

import json
import shlex
import sys
from typing import Any

import click

from rarefy.cli.options import data_options, labelled_data_options, report_bad_lines
from rarefy.cli.views.metrics_view import plain_lines, show_metrics
from rarefy.files.model_file import load_model
from rarefy.readers import read
from rarefy.readers.source import expand
from rarefy.streams.metrics import measured
from rarefy.system.output_checks import STREAM, check_outputs

MUCH = 0.05  # of F1


@click.command()
@click.argument("model_path", metavar="MODEL")
@data_options
@labelled_data_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of text.")
def evaluate(model_path: str, data: tuple[str, ...], as_json: bool, **reading: Any) -> None:
    """Evaluate MODEL on labelled DATA: accuracy, loss and more.

    Of two classes, precision, recall and F1 are those of the second; of more, means over all.

    \b
    Example:
      rarefy evaluate reviews.model new.svm
    """
    check_outputs([STREAM], [model_path, *expand(data)])
    saved = load_model(model_path)
    reader = read(*data, classes=saved.classes, **reading)
    summary = measured(saved.scorer(), reader)
    report_bad_lines(reader)
    if as_json:
        click.echo(json.dumps(summary))
    elif sys.stdout.isatty():
        show_metrics(summary)
    else:
        for line in plain_lines(summary):
            click.echo(line)
    if not as_json and (hint := _hint_of_threshold(summary, model_path)):
        click.echo(hint, err=True)


def _hint_of_threshold(summary: dict[str, Any], model_path: str) -> str:
    """What to do if another threshold would give a much better F1, as it does with rare classes."""
    best = summary.get("best_f1")
    if best is None or best - summary.get("f1", 0.0) < MUCH:
        return ""
    return (
        f"With another decision threshold, F1 can be {best:.2f}: rarefy threshold "
        f"{shlex.quote(model_path)} DATA sets it."
    )
