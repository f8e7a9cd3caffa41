"""`rarefy releases`."""

import json
from typing import Any, NamedTuple

import click

from rarefy.analysis.release_records import DEFAULTS, METHODS
from rarefy.cli.option_types import FILE, Passes, Rate
from rarefy.cli.options import (
    column_options,
    format_options,
    json_option,
    one_rule_options,
    options,
    report_bad_lines,
)
from rarefy.cli.views.releases_view import releases_as_json, show_releases
from rarefy.parameters.table import RULE
from rarefy.readers import read
from rarefy.readers.source import expand
from rarefy.system.output_checks import STREAM, check_outputs

ANY = click.FloatRange(0.0)


class Knob(NamedTuple):
    """An option of some methods, which it names in brackets."""

    kind: Any
    metavar: str | None
    help: str


KNOBS = {
    "max_negative": Knob(
        Rate(), None, "The budget of updates: the largest rate of lost answers, 0.5% or 0.005."
    ),
    "anchor": Knob(ANY, "L1", "l1 of the difference to the model before (anchor)."),
    "endowment": Knob(
        ANY, None, "Additional weight of examples that are predicted correctly (endowment)."
    ),
    "distillation": Knob(
        click.FloatRange(0.0, 1.0, max_open=True),
        "SHARE",
        "Weight of the last model's probabilities, next to the labels (distillation, damped).",
    ),
    "trust": Knob(
        click.FloatRange(0.0, 1.0),
        "SHARE",
        "Share of a label that is left where the last model is wrong (damped).",
    ),
    "focal": Knob(
        ANY,
        "WEIGHT",
        "Weight of the last model's probabilities, six times as large where it is right (focal).",
    ),
    "dissonance": Knob(
        ANY,
        "WEIGHT",
        "Additional weight of examples that the last model predicts correctly (dissonance).",
    ),
    "hysteresis": Knob(
        ANY,
        "LEAD",
        "Lead in score that an answer needs to replace the last model's (hysteresis).",
    ),
    "holdout": Knob(
        float, "SHARE", "The share of new rows that updates are judged by, and do not learn."
    ),
    "passes": Knob(Passes(), None, "Number of passes that updates make over their rows."),
}


knob_options = options(
    *(
        click.option(
            f"--{name.replace('_', '-')}",
            type=knob.kind,
            default=getattr(DEFAULTS, name),
            show_default=True,
            metavar=knob.metavar,
            help=knob.help,
        )
        for name, knob in KNOBS.items()
    )
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
@knob_options
@column_options
@one_rule_options
@json_option
def releases(
    data: tuple[str, ...],
    every: int,
    methods: tuple[str, ...],
    as_json: bool,
    **asked: Any,
) -> None:
    """Simulate a chain of releases on DATA, and count lost answers.

    DATA is replayed in its order, and a model is shipped every N rows. Each model is made from the
    last one. It is trained further as it is (plain), with an endowment,
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
    of_rule = {name: asked.pop(name) for name in ("rule", *RULE)}
    given = {name: value for name, value in of_rule.items() if value is not None}
    knobs = {name: asked.pop(name) for name in KNOBS}
    reader = read(*data, **asked)
    methods = methods or tuple(METHODS)
    chains = replayed(reader, every=every, methods=methods, **knobs, **given)
    report_bad_lines(reader)
    if as_json:
        click.echo(json.dumps(releases_as_json(chains), indent=2))
    else:
        show_releases(chains)
