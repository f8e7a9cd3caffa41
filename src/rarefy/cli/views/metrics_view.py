"""What `rarefy evaluate` shows on a terminal."""

from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rarefy.streams.metrics import MEASURES, confusions

HEADINGS = {"log_loss": "log-loss", "auc": "AUC", "rmse": "RMSE", "mae": "MAE", "r2": "R2"}
MOST_CLASSES = 20
WIDEST = 1_000_000
MOST_CONFUSIONS = 20


def show(summary: dict[str, Any], console: Console | None = None) -> None:
    """The measures, and the confusion matrix, or where that is too wide what is in it."""
    console = console or Console()
    console.print(measures(summary))
    if "confusion" not in summary:
        return
    matrix = confusion_matrix(summary) if len(summary["classes"]) <= MOST_CLASSES else None
    if matrix and width_of(matrix, console) <= console.width:
        console.print(matrix)
    else:
        console.print(frequent_confusions(summary))


def measures(summary: dict[str, Any]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_row("examples", f"{summary['examples']:,}")
    if summary["weight"] != summary["examples"]:
        table.add_row("weight", shown_number(summary["weight"]))
    for name in MEASURES:
        if name in summary:
            table.add_row(HEADINGS.get(name, name), shown_number(summary[name]))
    return table


def confusion_matrix(summary: dict[str, Any]) -> Table:
    classes = summary["classes"]
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("truth / predicted", no_wrap=True)
    for name in classes:
        table.add_column(Text(name), justify="right", no_wrap=True)
    for truth, weights in enumerate(summary["confusion"]):
        cells = [Text(shown_weight(weight)) for weight in weights]
        cells[truth].stylize("bold green")
        table.add_row(Text(classes[truth], "bold"), *cells)
    return table


def frequent_confusions(summary: dict[str, Any]) -> Table:
    """The pairs of different classes that have most weight."""
    mistakes = [pair for pair in confusions(summary) if pair[0] != pair[1]]
    mistakes.sort(key=lambda pair: -pair[2])
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("truth")
    table.add_column("predicted")
    table.add_column("weight", justify="right", no_wrap=True)
    for truth, predicted, weight in mistakes[:MOST_CONFUSIONS]:
        table.add_row(Text(truth), Text(predicted), shown_weight(weight))
    return table


def width_of(table: Table, console: Console) -> int:
    """The width of a table that nothing is cut off from."""
    return console.measure(table, options=console.options.update_width(WIDEST)).maximum


def shown_number(value: float) -> str:
    plain = value == 0.0 or 1e-3 <= abs(value) < 1e9
    return f"{value:,.5f}" if plain else f"{value:.4e}"


def shown_weight(value: float) -> str:
    return f"{value:,.0f}" if value.is_integer() else f"{value:,.2f}"
