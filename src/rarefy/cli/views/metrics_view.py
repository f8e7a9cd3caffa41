"""`rarefy evaluate`: how well a model predicts."""

from collections.abc import Iterator
from typing import Any

from rarefy.cli.views.tables import Column, Page
from rarefy.streams.metrics import MEASURES, confusions

HEADINGS = {
    "log_loss": "log-loss",
    "auc": "AUC",
    "f1": "F1",
    "average_precision": "average precision",
    "best_f1": "best F1",
    "best_threshold": "with threshold",
    "rmse": "RMSE",
    "mae": "MAE",
    "r2": "R2",
}
MOST_CLASSES = 20
MOST_CONFUSIONS = 20


def plain_lines(summary: dict[str, Any]) -> Iterator[str]:
    """A measure a line, after its name; of the confusion matrix, what is not zero."""
    for name in ("examples", "weight", *MEASURES):
        if name in summary:
            yield f"{name}\t{summary[name]}"
    for truth, predicted, weight in confusions(summary):
        yield f"confusion\t{truth}\t{predicted}\t{weight}"


def show_metrics(summary: dict[str, Any], page: Page | None = None) -> None:
    """The measures, and the confusion matrix, or where that is too wide what is in it."""
    page = page or Page()
    page.table(*_measures(summary))
    if "confusion" not in summary:
        return
    matrix = _confusion_matrix(summary) if len(summary["classes"]) <= MOST_CLASSES else []
    if matrix and page.has_room_for(*matrix, ruled=True):
        page.table(*matrix, ruled=True)
    else:
        page.table(*_frequent_confusions(summary), ruled=True)


def _measures(summary: dict[str, Any]) -> list[Column]:
    from rich.text import Text

    numbers = {"examples": f"{summary['examples']:,}"}
    if summary["weight"] != summary["examples"]:
        numbers["weight"] = _number(summary["weight"])
    for name in MEASURES:
        if name in summary:
            numbers[HEADINGS.get(name, name)] = _number(summary[name])
    names = [Text(name, "bold") for name in numbers]
    return [Column("", names, "bars"), Column("", [*numbers.values()], "counts")]


def _confusion_matrix(summary: dict[str, Any]) -> list[Column]:
    from rich.text import Text

    classes = summary["classes"]
    columns = [Column("truth / predicted", [Text(name, "bold") for name in classes], "bars")]
    for predicted, name in enumerate(classes):
        cells = [Text(_weight(weights[predicted])) for weights in summary["confusion"]]
        cells[predicted].stylize("bold green")
        columns.append(Column(name, cells, "counts"))
    return columns


def _frequent_confusions(summary: dict[str, Any]) -> list[Column]:
    """The pairs of different classes that have most weight."""
    mistakes = [pair for pair in confusions(summary) if pair[0] != pair[1]]
    mistakes.sort(key=lambda pair: -pair[2])
    shown = mistakes[:MOST_CONFUSIONS]
    return [
        Column("truth", [truth for truth, _, _ in shown], "texts"),
        Column("predicted", [predicted for _, predicted, _ in shown], "texts"),
        Column("weight", [_weight(weight) for _, _, weight in shown], "counts"),
    ]


def _number(value: float) -> str:
    plain = value == 0.0 or 1e-3 <= abs(value) < 1e9
    return f"{value:,.5f}" if plain else f"{value:.4e}"


def _weight(value: float) -> str:
    return f"{value:,.0f}" if value.is_integer() else f"{value:,.2f}"
