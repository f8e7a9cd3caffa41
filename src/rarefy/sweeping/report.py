"""The report of a sweep: a self-contained HTML page."""

import base64
import io
import math
from collections.abc import Callable, Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from rarefy.sweeping.plots import draw, draw_by_l1
from rarefy.sweeping.result import Choice, Sweep, names_in_table

PICTURES = {
    "Score against number of weights": draw,
    "Score against l1": draw_by_l1,
}
WITHOUT_PICTURES = "<p>Install rarefy[plots] to see plots here.</p>"
BY_FOLDS = (
    "The score is the mean over the folds, each predicted by a model trained on the others; ± is "
    "its standard error."
)
PROGRESSIVELY = "The score is for predictions made just before each row was learned."
TITLES = {"standard_error": "±", "r2": "R²"}


def report(
    sweep: Sweep,
    facts: Mapping[str, str],
    choices: Mapping[str, Choice],
    chosen: str,
    features: Sequence[Mapping[str, Any]],
) -> str:
    """The page; `facts` say what was run, `features` are the rows of the last table."""
    table = sweep.table
    points = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    of_choices = {
        name: {**dict.fromkeys(table), **names_in_table(choice.parameters), **choice.measures}
        for name, choice in choices.items()
    }
    template = Template(files("rarefy.sweeping").joinpath("report.html").read_text("utf-8"))
    return template.substitute(
        title=f"Sweep over {len(points):,} points",
        facts=_facts(facts),
        choices=_table(
            [{"choice": name, **row} for name, row in of_choices.items()],
            lambda row: row["choice"] == chosen,
        ),
        judged=BY_FOLDS if sweep.by_fold["loss"].shape[1] > 1 else PROGRESSIVELY,
        pictures=_pictures(sweep),
        points=_table(points, lambda row: row == of_choices[chosen]),
        features=_table(features),
    )


def _facts(facts: Mapping[str, str]) -> str:
    rows = (
        f"<tr><td>{escape(k)}</td><td class=text>{escape(v)}</td></tr>" for k, v in facts.items()
    )
    return f"<table>{''.join(rows)}</table>"


def _table(
    rows: Sequence[Mapping[str, Any]],
    is_chosen: Callable[[Mapping[str, Any]], bool] = lambda row: False,
) -> str:
    """A table to sort; columns in which there is nothing are left out."""
    names = dict.fromkeys(name for row in rows for name, value in row.items() if value is not None)
    heads = (f"<th><button>{escape(TITLES.get(name, name))}</button></th>" for name in names)
    lines = (
        f"<tr{' class=chosen' if is_chosen(row) else ''}>"
        f"{''.join(_cell(row.get(name)) for name in names)}</tr>\n"
        for row in rows
    )
    return (
        f"<table><thead><tr>{''.join(heads)}</tr></thead>\n<tbody>{''.join(lines)}</tbody></table>"
    )


def _cell(value: Any) -> str:
    """What is shown, and what is sorted by."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return '<td data-value="">–</td>'
    if isinstance(value, int | float) and not isinstance(value, bool):
        key = "Infinity" if value == math.inf else repr(value)
        return f'<td data-value="{key}">{_number(value)}</td>'
    text = escape(str(value))
    return f'<td class=text data-value="{text}">{text}</td>'


def _number(value: float) -> str:
    if isinstance(value, int) or (abs(value) >= 1000.0 and math.isfinite(value)):
        return f"{value:,.0f}"
    return f"{value:.4g}"


def _pictures(sweep: Sweep) -> str:
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        return WITHOUT_PICTURES
    images = []
    for title, drawn in PICTURES.items():
        figure = Figure(figsize=(6.4, 4.4), layout="constrained")
        drawn(sweep, figure.add_subplot())
        text = io.BytesIO()
        with rc_context({"svg.hashsalt": "rarefy"}):
            figure.savefig(text, format="svg", metadata={"Date": None})
        source = base64.b64encode(text.getvalue()).decode()
        images.append(f'<img alt="{title}" src="data:image/svg+xml;base64,{source}">')
    return f'<h2>Pictures</h2>\n<div class="pictures">{"".join(images)}</div>'
