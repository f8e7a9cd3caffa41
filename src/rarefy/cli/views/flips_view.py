"""`rarefy flips`: answers that changed from one model to another."""

from collections.abc import Iterator
from typing import Any

from rarefy.analysis.flip_tally import Example, Flips
from rarefy.cli.views.formatting import percent, visible
from rarefy.cli.views.tables import Column, Page, bars, signed


def flips_as_json(found: Flips) -> dict[str, Any]:
    def listed(examples: list[Example]) -> list[dict[str, Any]]:
        return [
            {"row": each.location, "label": each.label, "old": each.old, "new": each.new}
            for each in examples
        ]

    return {
        "examples": found.n_examples,
        "weight": found.weight,
        "old_accuracy": found.old_accuracy,
        "new_accuracy": found.new_accuracy,
        "old_log_loss": found.old_log_loss,
        "new_log_loss": found.new_log_loss,
        "old_auc": found.old_auc,
        "new_auc": found.new_auc,
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


def show_flips(paths: tuple[str, str], found: Flips) -> None:
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
        page.say("\nFeatures behind the lost answers: sum of value × change of weight.")
        page.table(*_feature_columns(page, found))


def _facts(paths: tuple[str, str], found: Flips) -> Iterator[tuple[str, str]]:
    old_path, new_path = map(visible, paths)
    yield "examples", f"{found.n_examples:,}"
    if found.weight != found.n_examples:
        yield "weight", f"{found.weight:,.6g}"
    yield "old accuracy", f"{percent(found.old_accuracy, 2)} ({old_path})"
    yield "new accuracy", f"{percent(found.new_accuracy, 2)} ({new_path})"
    for name, old, new in (
        ("log-loss", found.old_log_loss, found.new_log_loss),
        ("AUC", found.old_auc, found.new_auc),
    ):
        if old is not None and new is not None:
            yield name, f"{old:.5f} before, {new:.5f} now"
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
    yield Column("row", [visible(example.location) for example in examples], "names")


def _feature_columns(page: Page, found: Flips) -> Iterator[Column]:
    """A line for each feature, and one for the intercept."""
    moved = [feature.towards_wrong for feature in found.features or []] + [found.intercept or 0.0]
    yield Column("towards wrong", signed(moved))
    if page.has_bars:
        yield Column("", bars(moved), "bars")
    names = [visible(feature.name) for feature in found.features or []]
    yield Column("feature", [*names, "(intercept)"], "names")
