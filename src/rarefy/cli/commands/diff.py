"""`rarefy diff`."""

import json

import click

from rarefy.analysis.comparison import compare
from rarefy.cli.option_types import FILE
from rarefy.cli.options import json_option, top_option
from rarefy.cli.views.comparison_view import comparison_as_json, show_comparison
from rarefy.files.model_file import load_model
from rarefy.system.output_checks import STREAM, check_outputs


@click.command()
@click.argument("old_path", metavar="OLD", type=FILE)
@click.argument("new_path", metavar="NEW", type=FILE)
@top_option("Number of features to show.")
@json_option
def diff(old_path: str, new_path: str, top: int, as_json: bool) -> None:
    """Show how the weights of two models, OLD and NEW, differ.

    It lists those that were added, removed and changed.

    \b
    Example:
      rarefy diff old.model new.model --top 10
    """
    check_outputs([STREAM], [old_path, new_path])
    old, new = (load_model(path).with_feature_names() for path in (old_path, new_path))
    comparison = compare(old, new)
    if as_json:
        click.echo(json.dumps(comparison_as_json(old, new, comparison, top), indent=2))
    else:
        show_comparison((old_path, new_path), old, new, comparison, top)
