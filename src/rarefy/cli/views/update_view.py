"""`rarefy update`: the step from one model to the next."""

from collections.abc import Iterator
from typing import Any

from rarefy.cli.views.formatting import percent, visible
from rarefy.cli.views.tables import Column, Page
from rarefy.updating.bound import CONFIDENCE
from rarefy.updating.choice import Updated
from rarefy.updating.path import Point

SHOWN_STEPS = 5  # one in so many points of the way
SHOWN_SLICES = 10


def update_as_json(found: Updated) -> dict[str, Any]:
    return {
        "examples": found.n_examples,
        "accepted": found.chosen is not None,
        "reason": found.reason or None,
        "alpha": found.alpha,
        "old": found.old._asdict(),
        "plain": found.plain._asdict(),
        "new": None if found.chosen is None else found.chosen._asdict(),
        "weights": _n_weights(found),
        "slim": found.is_slim,
        "points": [point._asdict() for point in found.points],
        "slices": [loss._asdict() for loss in found.slices],
    }


def show_update(paths: tuple[str, str], found: Updated, budget: float) -> None:
    page = Page()
    page.facts(_facts(paths, found, budget))
    page.say("\nModels between the old one and the one trained further:")
    page.table(*_columns(found))
    if found.slices:
        model = "one trained further" if found.chosen is None else "new model"
        shown = f"{min(len(found.slices), SHOWN_SLICES):,} of {len(found.slices):,}"
        page.say(f"\nSlices that lose the most with the {model} ({shown}):")
        page.table(*_slice_columns(found, budget))


def _facts(paths: tuple[str, str], found: Updated, budget: float) -> Iterator[tuple[str, str]]:
    old_path, new_path = map(visible, paths)
    yield "held-out rows", f"{found.n_examples:,}"
    yield "budget", f"{percent(budget, 2)} of all answers may be lost"
    yield "old model", f"{_quality(found.old)} ({old_path})"
    yield "trained on", f"{_quality(found.plain)}, {_lost(found.plain)}"
    if found.chosen is not None:
        new = found.chosen
        yield "new model", f"{_quality(new)}, {_lost(new)} ({new_path})"
        confidence = percent(CONFIDENCE, 1)
        yield (
            "on new rows",
            f"below {percent(new.bound, 2)} lost, with a confidence of {confidence}",
        )
        old, learned = percent(new.alpha, 0), percent(1.0 - new.alpha, 0)
        yield "weights", f"{_n_weights(found):,}, {old} of the old ones + {learned} of the new ones"


def _quality(point: Point) -> str:
    auc = "" if point.auc is None else f", AUC {point.auc:.5f}"
    return f"accuracy {percent(point.accuracy, 2)}, loss {point.loss:.5f}{auc}"


def _lost(point: Point) -> str:
    answers = "answer" if point.n_lost == 1 else "answers"
    return f"{point.n_lost:,} {answers} lost ({percent(point.lost_rate, 2)}), {point.n_won:,} won"


def _n_weights(found: Updated) -> int | None:
    return None if found.model is None else found.model.learner.settled().n_nonzero()


def _columns(found: Updated) -> Iterator[Column]:
    points = [
        point
        for step, point in enumerate(found.points)
        if step % SHOWN_STEPS == 0 or point is found.chosen
    ]
    yield Column("old weights", [percent(point.alpha, 0) for point in points])
    yield Column("accuracy", [percent(point.accuracy, 2) for point in points])
    yield Column("lost", [percent(point.lost_rate, 2) for point in points])
    yield Column("won", [percent(point.won_rate, 2) for point in points])
    yield Column("lost at most", [percent(point.bound, 2) for point in points])
    yield Column("", [_mark(point, found) for point in points], "labels")


def _mark(point: Point, found: Updated) -> str:
    if point is found.chosen:
        return "chosen"
    return "allowed" if point.is_allowed else ""


def _slice_columns(found: Updated, budget: float) -> Iterator[Column]:
    losses = found.slices[:SHOWN_SLICES]
    yield Column("rows", [f"{loss.n_rows:,}" for loss in losses])
    yield Column("lost", [percent(loss.lost_rate, 2) for loss in losses])
    yield Column("lost at most", [percent(loss.bound, 2) for loss in losses])
    yield Column("", ["too few rows" * (loss.least_bound > budget) for loss in losses], "labels")
    yield Column("slice", [visible(loss.value) for loss in losses], "names")
