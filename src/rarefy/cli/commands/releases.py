"""`rarefy releases`."""

import json
from typing import Any

import click

from rarefy.analysis.release_records import (
    DEFAULT_ANCHOR,
    DEFAULT_BUDGET,
    DEFAULT_DISSONANCE,
    DEFAULT_DISTILLATION,
    DEFAULT_ENDOWMENT,
    DEFAULT_FOCAL,
    DEFAULT_HYSTERESIS,
    DEFAULT_TRUST,
    METHODS,
)
from rarefy.cli.options import (
    FILE,
    Rate,
    WholeNumber,
    column_options,
    format_options,
    one_rule_options,
    report_bad_lines,
)
from rarefy.cli.views.releases_view import releases_as_json, show_releases
from rarefy.parameters.entry import MOST_PASSES
from rarefy.parameters.table import RULE
from rarefy.readers import read
from rarefy.readers.source import expand
from rarefy.system.output_checks import STREAM, check_outputs
from rarefy.updating.safe_update import DEFAULT_HOLDOUT, DEFAULT_PASSES

KNOBS = (
    *("max_negative", "anchor", "endowment", "distillation", "trust", "focal", "dissonance"),
    *("hysteresis", "holdout", "passes"),
)


@click.command()
@click.argument("data", nargs=-1, required=True, type=FILE)
@format_options
@click.option(
    "--every",
    type=click.IntRange(1),
    required=True,
    metavar="N",
    help="After how many rows a model is shipped.",
)
@click.option(
    "--method",
    "methods",
    type=click.Choice(list(METHODS)),
    multiple=True,
    help="How each model follows from the one before; several may be given. Default: all.",
)
@click.option(
    "--max-negative",
    type=Rate(),
    default=DEFAULT_BUDGET,
    show_default=True,
    help="The budget of updates: the largest rate of lost answers, 0.5% or 0.005.",
)
@click.option(
    "--anchor",
    type=click.FloatRange(0.0),
    default=DEFAULT_ANCHOR,
    show_default=True,
    metavar="L1",
    help="l1 of the difference to the model before (anchor).",
)
@click.option(
    "--endowment",
    type=click.FloatRange(0.0),
    default=DEFAULT_ENDOWMENT,
    show_default=True,
    help="Additional weight of examples that are predicted correctly (endowment).",
)
@click.option(
    "--distillation",
    type=click.FloatRange(0.0, 1.0, max_open=True),
    default=DEFAULT_DISTILLATION,
    show_default=True,
    metavar="SHARE",
    help="Weight of the last model's probabilities, next to the labels (distillation, damped).",
)
@click.option(
    "--trust",
    type=click.FloatRange(0.0, 1.0),
    default=DEFAULT_TRUST,
    show_default=True,
    metavar="SHARE",
    help="Share of a label that is left where the last model is wrong (damped).",
)
@click.option(
    "--focal",
    type=click.FloatRange(0.0),
    default=DEFAULT_FOCAL,
    show_default=True,
    metavar="WEIGHT",
    help="Weight of the last model's probabilities, six times as large where it is right (focal).",
)
@click.option(
    "--dissonance",
    type=click.FloatRange(0.0),
    default=DEFAULT_DISSONANCE,
    show_default=True,
    metavar="WEIGHT",
    help="Additional weight of examples that the last model predicts correctly (dissonance).",
)
@click.option(
    "--hysteresis",
    type=click.FloatRange(0.0),
    default=DEFAULT_HYSTERESIS,
    show_default=True,
    metavar="LEAD",
    help="Lead in score that an answer needs to replace the last model's (hysteresis).",
)
@click.option(
    "--holdout",
    type=float,
    default=DEFAULT_HOLDOUT,
    show_default=True,
    metavar="SHARE",
    help="The share of new rows that updates are judged by, and do not learn.",
)
@click.option(
    "--passes",
    type=WholeNumber(1, MOST_PASSES),
    default=DEFAULT_PASSES,
    show_default=True,
    help="Number of passes that updates make over their rows.",
)
@column_options
@one_rule_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of tables.")
def releases(
    data: tuple[str, ...],
    every: int,
    methods: tuple[str, ...],
    as_json: bool,
    **options: Any,
) -> None:
    """Replay DATA in its order, ship a model every N rows, and count lost answers.

    Each model is made from the last one. It is trained further as it is (plain), with an endowment,
    or on the last model's predictions as well (dissonance, distillation, damped, focal); trained
    from scratch (retrained); changes an answer only if it is sure enough (hysteresis); or is
    updated within a budget of lost answers (update, replay, anchor). Each is judged on the rows
    between its release and the next one.

    \b
    Examples:
      rarefy releases reviews.svm.gz --every 1000
      rarefy releases clicks.csv --every 5000 --label click --method plain --method update
    """
    from rarefy.analysis.release_chain import releases as replayed

    check_outputs([STREAM], expand(data))
    of_rule = {name: options.pop(name) for name in ("rule", *RULE)}
    given = {name: value for name, value in of_rule.items() if value is not None}
    knobs = {name: options.pop(name) for name in KNOBS}
    reader = read(*data, **options)
    methods = methods or tuple(METHODS)
    chains = replayed(reader, every=every, methods=methods, **knobs, **given)
    report_bad_lines(reader)
    if as_json:
        click.echo(json.dumps(releases_as_json(chains), indent=2))
    else:
        show_releases(chains)
