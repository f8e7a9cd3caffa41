"""`rarefy inspect --why`: the explanation of a prediction."""

from collections.abc import Iterator

import numpy as np

from rarefy.analysis.explanation import Explanation, Rivals, decisive, rivals_of
from rarefy.cli.views.formatting import visible
from rarefy.cli.views.tables import Column, Page, bars, signed
from rarefy.files.model import Model


def show_explanation(model: Model, explanation: Explanation, top: int, output: int | None) -> None:
    """What speaks for a class: that of the number given, or else the one that is predicted."""
    page, rivals = Page(), rivals_of(explanation.scores, output)
    page.say(_verdict(model, explanation), style="bold")
    page.say()
    if rivals is not None:
        _show_scores(page, model, explanation, top)
        page.say()
    page.table(*_columns(page, model, explanation.strongest_first(rivals), top, rivals))
    n_without = len(explanation.without_weight)
    if n_without:
        n_features = n_without + len(explanation.parts)
        page.say(f"\nWithout a weight in the model: {n_without:,} of {n_features:,} features.")


def _verdict(model: Model, explanation: Explanation) -> str:
    """The prediction, and how likely it is."""
    location, label, chances = explanation.location, explanation.label, explanation.probabilities
    if label is None:
        return f"{visible(location)}: {explanation.scores[0]:.6g}"
    verdict = f"{visible(location)}: {visible(label)}"
    if chances is None:
        return verdict
    of_each = chances if len(chances) > 1 else (1.0 - chances[0], chances[0])
    return f"{verdict}, probability {of_each[model.classes.index(label)]:.4g}"


def _show_scores(page: Page, model: Model, explanation: Explanation, top: int) -> None:
    order = np.argsort(-explanation.scores, kind="stable")[:top]
    columns = [Column("score", signed(explanation.scores[order].tolist()))]
    if explanation.probabilities is not None:
        chances = explanation.probabilities[order].tolist()
        columns.append(Column("probability", [f"{chance:.4f}" for chance in chances]))
    names = [visible(model.classes[number]) for number in order.tolist()]
    page.table(*columns, Column("class", names, "names"))


def _columns(
    page: Page, model: Model, explanation: Explanation, top: int, rivals: Rivals
) -> Iterator[Column]:
    """A line for each feature, for those that are not shown, for the intercept, and for the sum."""
    parts, contributions = explanation.parts[:top], explanation.contributions
    lines, names = [*contributions[:top]], [visible(part.name) for part in parts]
    n_others = len(explanation.parts) - len(parts)
    if n_others:
        lines.append(contributions[top:].sum(axis=0))
        names.append(f"({n_others:,} more)")
    lines += [np.array(explanation.intercepts), explanation.scores]
    names += ["(intercept)", "(prediction)" if explanation.label is None else "(score)"]
    blank = [""] * (len(lines) - len(parts))
    numbers = np.array(lines)
    amounts = decisive(numbers, rivals).tolist()

    yield Column("value", [*(f"{part.value:.6g}" for part in parts), *blank])
    if rivals is None:
        yield Column("weight", [*signed([float(part.weights[0]) for part in parts]), *blank])
        yield Column("value×weight", signed(amounts))
    else:
        for rival in rivals:
            yield Column(visible(model.classes[rival]), signed(numbers[:, rival].tolist()))
        yield Column("difference", signed(amounts))
    if page.has_bars:
        yield Column("", [*bars(amounts[:-1]), ""], "bars")
    yield Column("feature", names, "names")
