"""`rarefy export`."""

from pathlib import Path

import click

from rarefy.cli.outputs import Destination
from rarefy.errors import InputError
from rarefy.files.model import Model
from rarefy.files.model_file import load_model
from rarefy.files.text_export import TEXT_EXPORTS, WITHOUT_THRESHOLD
from rarefy.system.output_checks import STREAM

ENDINGS = {
    ".json": "json",
    ".csv": "csv",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".vw": "vw",
    ".onnx": "onnx",
}


@click.command()
@click.argument("model_path", metavar="MODEL")
@click.option(
    "--to",
    "format",
    type=click.Choice([*TEXT_EXPORTS, "onnx"]),
    help="Output format. Default: inferred from the extension of FILE.",
)
@click.option("-o", "--output", metavar="FILE", default=STREAM, help="Where to write it.")
def export(model_path: str, format: str | None, output: str) -> None:
    """Export the weights of MODEL for other programs.

    \b
    Examples:
      rarefy export reviews.model -o weights.csv
      rarefy export reviews.model --to json
    """
    format = format or ENDINGS.get(Path(output).suffix.lower())
    if format is None:
        raise click.UsageError("say in which format, with --to.")
    if format == "onnx" and output == STREAM:
        raise click.UsageError("an ONNX file is not text; say where to write it, with -o.")
    place = Destination(output, [model_path])
    model = load_model(model_path).with_feature_names()
    if format == "onnx":
        write_onnx(model, place)
    else:
        with place.writing() as file:
            file.writelines(TEXT_EXPORTS[format](model))
    if model.decision_threshold and format in WITHOUT_THRESHOLD:
        click.echo(
            f"Warning: the decision threshold {model.decision_threshold:g} is not in the {format} "
            f"file: whoever predicts with it has to compare scores with that.",
            err=True,
        )


def write_onnx(model: Model, place: Destination) -> None:
    try:
        from rarefy.files.onnx_export import onnx_bytes
    except ImportError as error:
        raise InputError("writing ONNX files needs `pip install rarefy[onnx]`.") from error
    data = onnx_bytes(model)
    with place.writing("wb") as file:
        file.write(data)
