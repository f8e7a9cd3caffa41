"""`rarefy slim`."""

import click

from rarefy.cli.option_types import FILE
from rarefy.cli.views.formatting import size, visible
from rarefy.errors import InputError
from rarefy.files.model import model_of
from rarefy.files.model_file import load_model, save_model
from rarefy.system.atomic_write import Output
from rarefy.system.output_checks import check_outputs


@click.command()
@click.argument("model_path", metavar="MODEL", type=FILE)
@click.option("-o", "--output", type=FILE, required=True, help="Where to write the slim model.")
def slim(model_path: str, output: str) -> None:
    """Write MODEL without its training state.

    The slim model predicts the same, but cannot be trained further. `rarefy train --slim` writes
    the same file.

    \b
    Example:
      rarefy slim reviews.model -o small.model
    """
    check_outputs([output], [model_path])
    place = Output(output)
    saved = load_model(model_path)
    if saved.state is None:
        raise InputError(f"{model_path} is slim already.")
    model = model_of(saved.learner(), saved.asked, run=saved.run, matrix=saved.matrix, slim=True)
    n_bytes = save_model(place, model)
    click.echo(f"{visible(output)}: {len(model.kept.weights):,} weights, {size(n_bytes)}", err=True)
