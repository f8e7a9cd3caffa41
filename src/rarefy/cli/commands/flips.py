"""`rarefy flips`."""

import json
import math
from collections.abc import Iterator
from typing import Any

import click

from rarefy.analysis.flip_causes import Side
from rarefy.analysis.flip_tally import Example, Flips
from rarefy.analysis.side_by_side import stream_flips
from rarefy.cli.options import FILE, data_options, report_bad_lines
from rarefy.cli.views.tables import Column, Page, bars, signed, visible
from rarefy.cli.views.texts import percent
from rarefy.files.model_file import Model, load_model
from rarefy.readers import read
from rarefy.readers.source import expand
from rarefy.system.output_checks import STREAM, check_outputs

EXIT_CODE = 3  # more answers were lost than allowed


@click.command()
@click.argument("old_path", metavar="OLD", type=FILE)
@click.argument("new_path", metavar="NEW", type=FILE)
@data_options
@click.option(
    "--top",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    help="How many flips of each kind, and features, to show.",
)
@click.option(
    "--max-negative",
    type=click.FloatRange(0.0, 1.0),
    metavar="RATE",
    help="End with exit code 3 if more than this share of all examples are negative flips.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of tables.")
def flips(
    old_path: str,
    new_path: str,
    data: tuple[str, ...],
    format: str | None,
    bad_lines: str,
    top: int,
    max_negative: float | None,
    as_json: bool,
) -> None:
    """Show which answers change from the model OLD to the model NEW on DATA, which has labels.

    A negative flip is an example that OLD has right and NEW has wrong; a positive flip is the
    opposite.

    \b
    Examples:
      rarefy flips old.model new.model new.svm
      rarefy flips old.model new.model new.svm --max-negative 0.01
    """
    if max_negative is not None and math.isnan(max_negative):
        raise click.UsageError("--max-negative nan: a share from 0 to 1 is expected.")
    check_outputs([STREAM], [old_path, new_path, *expand(data)])
    old, new = load_model(old_path), load_model(new_path)
    reader = read(*data, format=format, bad_lines=bad_lines, classes=old.classes)
    found = stream_flips(_side(old), _side(new), reader, top)
    report_bad_lines(reader)
    if as_json:
        click.echo(json.dumps(_as_json(found), indent=2))
    else:
        _show((old_path, new_path), found)
    if max_negative is not None and found.negative_rate > max_negative:
        click.echo(
            f"More answers were lost than allowed: {found.negative_rate:.4%} of all examples, and "
            f"the limit is {max_negative:.4%}.",
            err=True,
        )
        raise click.exceptions.Exit(EXIT_CODE)


def _side(model: Model) -> Side:
    return Side(model.scorer(), model.kept)


def _as_json(found: Flips) -> dict[str, Any]:
    def listed(examples: list[Example]) -> list[dict[str, Any]]:
        return [
            {"row": each.place, "label": each.label, "old": each.old, "new": each.new}
            for each in examples
        ]

    return {
        "examples": found.n_examples,
        "weight": found.weight,
        "old_accuracy": found.old_accuracy,
        "new_accuracy": found.new_accuracy,
        "negative_flips": found.n_negative,
        "negative_rate": found.negative_rate,
        "lost_rate": found.lost_rate,
        "positive_flips": found.n_positive,
        "positive_rate": found.positive_rate,
        "negative": listed(found.first_negative),
        "positive": listed(found.first_positive),
        "features": [
            {"feature": name, "key": key, "towards_wrong": amount}
            for name, key, amount in found.features or []
        ],
        "intercept": found.intercept,
    }


def _show(paths: tuple[str, str], found: Flips) -> None:
    page = Page()
    page.facts(_facts(paths, found))
    for kind, n_flips, examples in (
        ("negative", found.n_negative, found.first_negative),
        ("positive", found.n_positive, found.first_positive),
    ):
        if examples:
            page.say(f"\n{len(examples):,} of {n_flips:,} {kind} flips:")
            page.table(*_example_columns(examples))
    if found.features:
        page.say("\nWhat moved the answers that were lost: the sum of value × change of weight.")
        page.table(*_feature_columns(page, found))


def _facts(paths: tuple[str, str], found: Flips) -> Iterator[tuple[str, str]]:
    old_path, new_path = map(visible, paths)
    yield "examples", f"{found.n_examples:,}"
    if found.weight != found.n_examples:
        yield "weight", f"{found.weight:,.6g}"
    yield "old accuracy", f"{percent(found.old_accuracy, 2)} ({old_path})"
    yield "new accuracy", f"{percent(found.new_accuracy, 2)} ({new_path})"
    yield (
        "negative flips",
        f"{found.n_negative:,} ({percent(found.negative_rate, 2)} of all, "
        f"{percent(found.lost_rate, 2)} of what the old model had right)",
    )
    positive_rate = percent(found.positive_rate, 2)
    yield "positive flips", f"{found.n_positive:,} ({positive_rate} of all)"


def _example_columns(examples: list[Example]) -> Iterator[Column]:
    for title in ("label", "old", "new"):
        labels = [visible(getattr(example, title)) for example in examples]
        yield Column(title, labels, "labels")
    yield Column("row", [visible(example.place) for example in examples], "names")


def _feature_columns(page: Page, found: Flips) -> Iterator[Column]:
    """A line for each feature, and one for the intercept."""
    moved = [feature.towards_wrong for feature in found.features or []] + [found.intercept or 0.0]
    yield Column("towards wrong", signed(moved))
    if page.has_bars:
        yield Column("", bars(moved), "bars")
    names = [visible(feature.name) for feature in found.features or []]
    yield Column("feature", [*names, "(intercept)"], "names")
