"""`rarefy predict`."""

from typing import Any

import click

from rarefy.cli.option_types import FILE
from rarefy.cli.options import data_options, new_data_options, report_bad_lines
from rarefy.cli.outputs import Destination
from rarefy.files.model_file import load_model
from rarefy.model.answers import LOSSES_WITH_PROBABILITIES
from rarefy.readers import read
from rarefy.readers.source import expand
from rarefy.streams.stream_model import predicted_labels
from rarefy.system.output_checks import STREAM


@click.command()
@click.argument("model_path", metavar="MODEL", type=FILE)
@data_options
@new_data_options
@click.option("-o", "--output", type=FILE, default=STREAM, help="Where to write the predictions.")
@click.option("--scores", is_flag=True, help="Print scores instead of labels.")
@click.option(
    "--probabilities", is_flag=True, help="Print probabilities (logistic, modified_huber)."
)
def predict(
    model_path: str,
    data: tuple[str, ...],
    output: str,
    scores: bool,
    probabilities: bool,
    **reading: Any,
) -> None:
    """Predict DATA with MODEL, one line per row.

    With two classes, scores and probabilities are those of the second class; with more, there is
    one for each class, separated by tabs. If a row of VW text has a tag, it follows after a tab.
    Lines from a pipe are answered as they arrive.

    \b
    Example:
      rarefy predict reviews.model new.svm --probabilities
    """
    if scores and probabilities:
        raise click.UsageError("choose between --scores and --probabilities.")
    place = Destination(output, [model_path, *expand(data)])
    saved = load_model(model_path)
    if probabilities and saved.loss not in LOSSES_WITH_PROBABILITIES:
        raise click.UsageError(f"the model has the {saved.loss} loss, which has no probabilities.")
    reader = read(*data, classes=saved.classes, **reading)
    reader.tags_wanted = reader.at_once = True
    model = saved.scorer()
    with place.writing() as file:
        for batch, found in model.batches_with_scores(reader):
            if probabilities:
                lines = table_lines(model.probabilities(found))
            elif scores or model.task.is_regression:
                lines = table_lines(found)
            else:
                lines = predicted_labels(model, found)
            if any(batch.tags):
                lines = [
                    f"{a}\t{tag}" if tag else a for a, tag in zip(lines, batch.tags, strict=True)
                ]
            if lines:
                file.write("\n".join(lines) + "\n")
                file.flush()
    report_bad_lines(reader)


def table_lines(numbers: Any) -> list[str]:
    """Numbers as text, a row a line, in full precision."""
    if numbers.shape[1] == 1:
        return list(map(str, numbers.ravel().tolist()))
    return ["\t".join(map(str, row)) for row in numbers.tolist()]
