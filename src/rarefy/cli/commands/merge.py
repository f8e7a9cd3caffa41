"""`rarefy merge`."""

import click

from rarefy.cli.option_types import FILE
from rarefy.cli.views.formatting import size, visible
from rarefy.files.merged_file import merge_models
from rarefy.files.model_file import load_model, save_model
from rarefy.system.atomic_write import Output
from rarefy.system.output_checks import check_outputs


@click.command()
@click.argument("models", nargs=-1, required=True, type=FILE)
@click.option("-o", "--output", type=FILE, required=True, help="Where to write the merged model.")
@click.option(
    "--base",
    type=FILE,
    metavar="MODEL",
    help="The model that all others were trained further from, if there was one.",
)
def merge(models: tuple[str, ...], output: str, base: str | None) -> None:
    """Merge MODELS trained on different rows of the same problem.

    The merged model can predict, and be trained further. If all MODELS began with --resume of a
    common one, name that as --base: what it has learned counts only once.

    \b
    Examples:
      rarefy merge monday.model tuesday.model -o both.model
      rarefy merge monday.model tuesday.model -o both.model --base sunday.model
    """
    inputs = [*models, *([] if base is None else [base])]
    check_outputs([output], inputs)
    place = Output(output)
    named = [(path, load_model(path)) for path in models]
    model = merge_models(named, None if base is None else (base, load_model(base)))
    n_bytes = save_model(place, model)
    click.echo(
        f"{visible(output)}: {len(models)} models, {model.examples:,} examples, {size(n_bytes)}",
        err=True,
    )
