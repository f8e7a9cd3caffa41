"""`rarefy replay`."""

import json
from pathlib import Path
from typing import Any

import click

from rarefy.cli.option_types import FILE
from rarefy.cli.options import one_rule_options
from rarefy.cli.views.formatting import visible
from rarefy.errors import ConfigError
from rarefy.parameters.table import RULE
from rarefy.system.output_checks import check_outputs


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, exists=True))
@click.argument("model")
@click.option("-o", "--output", type=FILE, help="Where to write the model.")
@one_rule_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of a sentence.")
def replay(folder: str, model: str, output: str | None, as_json: bool, **options: Any) -> None:
    """Train a new model on the rows that MODEL in FOLDER learned.

    The rows come from the log of FOLDER. FOLDER is that of `rarefy serve`, which may be running.
    Every row is predicted before it is learned, so the loss is the one that the model would have
    had in service. The file can be uploaded as a challenger.

    \b
    Examples:
      rarefy replay models spam --rule ftrl --l1 2
      rarefy replay models spam --rule auto -o tomorrow.model
    """
    try:
        from rarefy.serving.log_replay import replay as replayed
    except ImportError as error:
        raise ConfigError(f"serving needs `pip install rarefy[serve]` ({error}).") from error
    if output is not None:
        check_outputs([output], [])
    given = {name: options[name] for name in ("rule", *RULE) if options.get(name) is not None}
    found = replayed(Path(folder), model, given)
    estimator = found.member.estimator
    said = {
        "rows": found.rows,
        "first": found.first,
        "last": found.last,
        "loss": estimator.progressive_loss_,
        "weights": estimator.n_nonzero_,
        **({} if found.member.record is None else found.member.record.rolling),
    }
    if output is not None:
        found.member.save(Path(output))
    if as_json:
        click.echo(json.dumps(said, indent=2))
        return
    click.echo(
        f"{found.rows:,} rows (entries {found.first:,} to {found.last:,}): loss "
        f"{said['loss']:.5f}, {said['weights']:,} weights"
        f"{'' if output is None else f', in {visible(output)}'}."
    )
