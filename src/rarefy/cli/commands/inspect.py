"""`rarefy inspect`."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import click
import numpy as np
from click.core import ParameterSource
from numpy.typing import NDArray

from rarefy.analysis.explanation import explain
from rarefy.cli.options import FILE, format_options, report_bad_lines, top_option
from rarefy.cli.views.description import description, feature_title, in_words
from rarefy.cli.views.explanation_view import explanation_as_json, show_explanation
from rarefy.cli.views.tables import Column, Page, bars, signed, visible, written
from rarefy.files.model_file import Model, load_model
from rarefy.readers import read
from rarefy.readers.source import expand
from rarefy.stores import Kept
from rarefy.system.output_checks import STREAM, check_outputs

ONLY_WITH_WHY = ("row", "format", "bad_lines")
ONLY_WITHOUT = ("sort",)
SORT_KEYS: dict[str, Callable[[Kept], Any]] = {
    "weight": lambda kept: -np.abs(kept.weights),
    "count": lambda kept: None if kept.counts is None else -kept.counts,
    "r": lambda kept: None if kept.r is None else -kept.r,
    "name": lambda kept: kept.keys if kept.names is None else np.array(kept.names, object),
}


@click.command()
@click.argument("model_path", metavar="MODEL", type=FILE)
@top_option
@click.option(
    "--sort",
    type=click.Choice(list(SORT_KEYS)),
    default="weight",
    show_default=True,
    help="The largest first, or names in their order.",
)
@click.option("--class", "class_name", help="Of several classes, this one alone.")
@click.option("--why", metavar="DATA", type=FILE, help="Explain the prediction of a row of DATA.")
@click.option("--row", type=click.IntRange(1), default=1, show_default=True, help="Which row.")
@format_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of tables.")
@click.pass_context
def inspect(
    context: click.Context,
    model_path: str,
    top: int,
    sort: str,
    class_name: str | None,
    why: str | None,
    row: int,
    format: str | None,
    bad_lines: str,
    as_json: bool,
) -> None:
    """Show what MODEL is, how it was trained, and its strongest features.

    With --why, show instead what each feature of a row (of a file, or - for standard input) adds
    to its score: value times weight. With several classes, the one that is predicted, or that is
    named by --class, is held against the best of the others.

    \b
    Examples:
      rarefy inspect reviews.model --top 10
      rarefy inspect sms.model --why sms.tsv --row 2
    """
    _check_options(context, why is not None)
    check_outputs([STREAM], [model_path, *([] if why is None else expand([why]))])
    model = load_model(model_path)
    output = None if class_name is None else _class_number(model, class_name)
    if why is not None:
        reader = read(why, format=format, bad_lines=bad_lines, classes=model.classes)
        explanation = explain(model, reader, row)
        report_bad_lines(reader)
        if as_json:
            click.echo(json.dumps(explanation_as_json(model, explanation, output), indent=2))
        else:
            show_explanation(model, explanation, top, output)
        return
    order = order_of(model.kept, sort, output)
    if as_json:
        features = [feature_as_json(model, at) for at in order[:top].tolist()]
        click.echo(json.dumps({**description(model), "features": features}, indent=2))
    else:
        _show(model_path, model, order, top, sort, output)


def _check_options(context: click.Context, with_why: bool) -> None:
    for name in ONLY_WITHOUT if with_why else ONLY_WITH_WHY:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = "--" + name.replace("_", "-")
            problem = "has no meaning with --why" if with_why else "is for --why DATA"
            raise click.UsageError(f"{option} {problem}.")


def _class_number(model: Model, name: str) -> int:
    if len(model.intercepts) == 1:
        raise click.UsageError("--class is for models of three classes or more.")
    if name not in model.classes:
        classes = ", ".join(map(visible, model.classes))
        raise click.UsageError(f"--class {visible(name)}: one of {classes} is expected.")
    return model.classes.index(name)


def order_of(kept: Kept, sort: str, output: int | None) -> NDArray[np.int64]:
    """The positions of the weights to show."""
    sort_keys = SORT_KEYS[sort](kept)
    if sort_keys is None:
        reason = (
            "only those of the store table count"
            if sort == "count"
            else "its rule is not feature-aware"
        )
        raise click.UsageError(f"the model has nothing to sort by {sort}: {reason}.")
    order = np.argsort(sort_keys, kind="stable")
    return order if output is None else order[kept.outputs[order] == output]


def _name(kept: Kept, at: int) -> str:
    return str(kept.keys[at]) if kept.names is None else kept.names[at]


def feature_as_json(model: Model, at: int) -> dict[str, Any]:
    kept = model.kept
    several = {"class": model.classes[kept.outputs[at]]} if len(model.intercepts) > 1 else {}
    return {
        "feature": _name(kept, at),
        "key": int(kept.keys[at]),
        **several,
        "weight": float(kept.weights[at]),
        "count": None if kept.counts is None else int(kept.counts[at]),
        "r": None if kept.r is None else float(kept.r[at]),
    }


def _show(
    path: str, model: Model, order: NDArray[np.int64], top: int, sort: str, output: int | None
) -> None:
    page = Page()
    page.say(visible(path), style="bold")
    page.facts(in_words(model).items())
    page.say()
    if len(model.intercepts) > 1 and output is None:
        _show_classes(page, model, top)
        page.say()
    if len(order) == 0:
        page.say("There are no weights, and so every score is the intercept.")
        return
    shown = order[:top]
    page.say(
        f"{len(shown):,} of {len(order):,} weights, sorted by {sort}{_meaning(model, output)}:"
    )
    page.table(*_columns(page, model, shown, with_class=output is None))


def _show_classes(page: Page, model: Model, top: int) -> None:
    counts = np.bincount(model.kept.outputs, minlength=len(model.classes))
    page.table(
        Column("weights", [f"{count:,}" for count in counts[:top]]),
        Column("intercept", signed(model.intercepts[:top])),
        Column("class", [visible(name) for name in model.classes[:top]], "names"),
    )
    if len(model.classes) > top:
        page.say(f"... and {len(model.classes) - top:,} more classes.")


def _meaning(model: Model, output: int | None) -> str:
    """What the sign of a weight says."""
    if output is not None:
        return f", of the class {visible(model.classes[output])}"
    if len(model.classes) == 2:
        low, high = map(visible, model.classes)
        return f"; those above zero speak for {high}, those below for {low}"
    return ""


def _columns(
    page: Page, model: Model, shown: NDArray[np.int64], *, with_class: bool
) -> Iterator[Column]:
    kept = model.kept
    weights = kept.weights[shown].tolist()
    yield Column("weight", signed(weights))
    if page.has_bars:
        yield Column("", bars(weights), "bars")
    if kept.counts is not None:
        yield Column("count", [f"{count:,}" for count in kept.counts[shown].tolist()])
    if kept.r is not None:
        yield Column("r", written(kept.r[shown].tolist()))
    if with_class and len(model.intercepts) > 1:
        labels = [visible(model.classes[output]) for output in kept.outputs[shown].tolist()]
        yield Column("class", labels, "labels")
    names = [visible(_name(kept, at)) for at in shown.tolist()]
    yield Column(feature_title(model), names, "names")
