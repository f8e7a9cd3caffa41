"""The running table of `rarefy train`, as lines of text."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from rarefy.cli.views.formatting import FLIPS, count, duration, metric, number, percent, size
from rarefy.training.progress_tracker import ProgressLine


class Column(NamedTuple):
    """A column of the table, with a heading of two lines."""

    name: str  # of the value, see values_of
    above: str
    heading: str
    width: int
    text: Callable[[Any], str]

    def cell(self, values: dict[str, Any]) -> str:
        value = values.get(self.name)
        return "-" if value is None else self.text(value)


SO_FAR, FIRST_PASS = "so far", "pass 1"
COLUMNS = (
    Column("seconds", "", "time", 7, duration),
    Column("pass_number", "", "pass", 4, count),
    Column("examples", "", "examples", 10, count),
    Column("loss", "loss", SO_FAR, 7, number),
    Column("loss_since", "loss", "recent", 7, number),
    Column("accuracy", "accuracy", SO_FAR, 8, percent),
    Column("accuracy_since", "accuracy", "recent", 8, percent),
    Column("kept", "weights", "kept", 9, count),
    Column("zeros", "", "zeros", 7, lambda share: percent(share, digits=2)),
    Column("rate", "examples", "per s", 9, count),
    Column("memory", "", "memory", 7, size),
)
# Where there is no room for all columns, these go one after the other, then the last ones.
FIRST_TO_GO = (
    "memory",
    "rate",
    "zeros",
    "held-out examples",
    "accuracy_since",
    "loss_since",
    "held-out positive_flips",
    "pass_number",
    "seconds",
    "kept",
)
SHOWN_AT_THE_END = ("loss", "accuracy", "auc", "rmse", "r2")
GAP = "  "


class RunningTable:
    """How learning goes, a line of text at a time, with a heading whenever the columns change."""

    def __init__(self, passes: int, *, regression: bool, holdout: bool) -> None:
        self._passes = passes
        self._held_out = ["loss", "accuracy"][: 2 - regression] if holdout else []
        self.columns: list[Column] = []  # all there is something to say in
        self._shown: list[Column] = []  # those there is room for, as in the last heading

    def with_heading(self, line: ProgressLine, width: int) -> Iterator[tuple[str, str]]:
        """The line as text, below a heading if it needs one; every text has a style."""
        values = values_of(line)
        self.columns = widened(self.columns or self._columns_for(line), values)
        shown = fitting(self.columns, width)
        if shown != self._shown:
            self._shown = shown
            yield aligned(shown, [column.above for column in shown]), "bold"
            yield aligned(shown, [column.heading for column in shown]), "bold"
        yield aligned(shown, [column.cell(values) for column in shown]), ""

    def _columns_for(self, first: ProgressLine) -> list[Column]:
        """Those of the first line's values that are known, and of the metrics of held-out data."""
        values = values_of(first)
        found = [column for column in COLUMNS if values[column.name] is not None]
        if self._passes == 1:
            found = [column for column in found if column.name != "pass_number"]
        else:
            found = [_of_first_pass(column) for column in found]
        names = [] if "loss" in first.holdout else self._held_out
        return found + [held_out_column(name) for name in (*names, *first.holdout)]


def _of_first_pass(column: Column) -> Column:
    """Where there are several passes, only the examples of the first are new to the model."""
    return column._replace(heading=FIRST_PASS) if column.heading == SO_FAR else column


def held_out_column(name: str) -> Column:
    heading = FLIPS.get(name, name)
    width = max(len("held out"), len(heading))
    return Column(f"held-out {name}", "held out", heading, width, partial(metric, name))


def values_of(line: ProgressLine) -> dict[str, Any]:
    """What the cells of a line show, by the names of the columns."""
    values = line._asdict()
    held_out = values.pop("holdout")
    return values | {f"held-out {name}": value for name, value in held_out.items()}


def widened(columns: list[Column], values: dict[str, Any]) -> list[Column]:
    """The columns, wide enough for the values."""
    return [
        column._replace(width=max(column.width, len(column.cell(values)))) for column in columns
    ]


def fitting(columns: list[Column], width: int) -> list[Column]:
    """As many of the columns as there is room for."""
    columns = list(columns)
    while len(columns) > 1 and sum(len(GAP) + column.width for column in columns) > width + len(
        GAP
    ):
        columns.remove(min(reversed(columns), key=turn_to_go))
    return columns


def turn_to_go(column: Column) -> int:
    return FIRST_TO_GO.index(column.name) if column.name in FIRST_TO_GO else len(FIRST_TO_GO)


def aligned(columns: list[Column], cells: list[str]) -> str:
    texts = [cell.rjust(column.width) for column, cell in zip(columns, cells, strict=True)]
    return GAP.join(texts).rstrip()


def summary_lines(summary: dict[str, Any]) -> list[str]:
    """What was learned, how well, and where it is."""
    passes = f" ({summary['passes']} passes)" if summary["passes"] > 1 else ""
    return [
        f"{count(summary['examples'])} examples{passes} in {duration(summary['seconds'])}"
        f"{_progressive(summary)}",
        *_refitted(summary["refitted"]),
        *_held_out(summary["holdout"]),
        f"{count(summary['kept'])} weight{'s' if summary['kept'] != 1 else ''} kept: "
        f"{summary['path']} ({size(summary['bytes'])})",
    ]


def _progressive(summary: dict[str, Any]) -> str:
    """How well examples were predicted just before they were learned, and which these were."""
    n_new = summary["first_pass"]
    if not n_new:
        return ""
    which = []
    if n_new != summary["examples"]:
        where = "the first pass" if summary["passes"] > 1 else "this run"
        which.append(f"{where}: {count(n_new)} examples")
    if summary["weighted_by_class"]:
        which.append("weighted by class")
    if summary["refitted"]:
        which.append("before the refit")
    if summary["cut_to"] is not None:
        which.append(f"before the cut to {count(summary['cut_to'])} features")
    found = metrics_text({name: summary[name] for name in ("loss", "accuracy")})
    return f": progressive {found}" + (f" ({'; '.join(which)})" if which else "")


def _refitted(metrics: dict[str, Any]) -> Iterator[str]:
    """How well a refit fits what it was fitted to."""
    if metrics:
        found = metrics_text({name: metrics.get(name) for name in SHOWN_AT_THE_END})
        yield f"refitted: {found} ({_examples(metrics)}, the training rows)"


def _held_out(metrics: dict[str, Any]) -> Iterator[str]:
    """How well held-out rows were predicted, how many there were, and by which model."""
    if not metrics:
        return
    if not metrics["examples"]:
        yield "held out: no rows"
        return
    by = "each by the model at that time" if metrics["progressive"] else "by the final model"
    found = {name: value for name, value in metrics.items() if name in SHOWN_AT_THE_END}
    yield f"held out: {metrics_text(found)} ({_examples(metrics)}, {by})"


def _examples(metrics: dict[str, Any]) -> str:
    return f"{count(metrics['examples'])} example{'s' if metrics['examples'] != 1 else ''}"


def metrics_text(metrics: dict[str, float | None]) -> str:
    """Like `loss 0.3123, accuracy 87.1 %`; what is None is not there."""
    return ", ".join(
        f"{name} {metric(name, value)}" for name, value in metrics.items() if value is not None
    )
