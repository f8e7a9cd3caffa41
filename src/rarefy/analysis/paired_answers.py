"""Predictions of two models for the same files, each with its own way of reading them."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from rarefy.analysis.comparison import predicted
from rarefy.analysis.flip_causes import Entries, FlipCauses, Side
from rarefy.analysis.flip_tally import BothAnswers, Flips, Tally
from rarefy.arrays import Floats, Numbers
from rarefy.checks import numbers_if_all_are
from rarefy.errors import InputError
from rarefy.model.answers import predicted_classes, true_classes
from rarefy.readers import Reader
from rarefy.readers.batch import Batch
from rarefy.readers.prefetch import READY_ITEMS, prefetched
from rarefy.stores import Prepared
from rarefy.streams.metrics import Metrics

QUALITIES = ("log_loss", "auc")  # that are compared beside accuracy


class Part(NamedTuple):
    """Rows of a file, and what a model answers; classes are by their shared numbers."""

    path: str
    lines: Numbers
    truth: Numbers
    answers: Numbers
    importance: Floats
    entries: Entries

    def location(self, row: int) -> str:
        return f"{self.path}:{self.lines[row]}"

    def split(self, n_rows: int) -> "tuple[Part, Part | None]":
        """The first so many rows, and the others, if there are any."""
        rest = self._rows(n_rows, len(self.lines)) if n_rows < len(self.lines) else None
        return self._rows(0, n_rows), rest

    def _rows(self, begin: int, end: int) -> "Part":
        return self._replace(
            lines=self.lines[begin:end],
            truth=self.truth[begin:end],
            answers=self.answers[begin:end],
            importance=self.importance[begin:end],
            entries=self.entries._replace(indptr=self.entries.indptr[begin : end + 1]),
        )


def stream_flips(old: Side, new: Side, reader: Reader, top: int) -> Flips:
    """The flips between two models, and up to `top` examples of each kind, and features.

    A row counts as much as the new model reads that it does.
    """
    check_classes(old.model.classes, new.model.classes)
    tally, flip_causes = Tally(old.labels, top), FlipCauses(old, new)
    metrics = Metrics(old.model), Metrics(new.model)
    answers = answered(old, reader, metrics[0]), answered(new, reader.another(), metrics[1])
    for before, now in side_by_side(*answers):
        check_labels(before, now, old.labels)
        lost = tally.add(
            BothAnswers(now.truth, before.answers, now.answers, now.importance, now.location)
        )
        if len(lost):
            entries = before.entries.only(lost), now.entries.only(lost)
            flip_causes.add(entries, now.answers[lost], now.truth[lost], now.importance[lost])
    qualities = qualities_of(*(one.summary() for one in metrics))
    found = tally.flips(**flip_causes.findings(top), **qualities)
    if found is None:
        raise InputError(f"{' '.join(reader.files)}: there are no examples to compare.")
    return found


def qualities_of(old: dict[str, Any], new: dict[str, Any]) -> dict[str, float | None]:
    """Log-loss and AUC of both models, as far as they are defined for both."""
    return {
        f"{which}_{name}": summary[name] if name in old and name in new else None
        for name in QUALITIES
        for which, summary in (("old", old), ("new", new))
    }


def check_classes(old: tuple[str, ...], new: tuple[str, ...]) -> None:
    """Refuse models whose answers cannot flip, or are about other classes."""
    for which, classes in (("old", old), ("new", new)):
        if not classes:
            raise numbers_error(which)
    if set(numbers_if_all_are(old)) != set(numbers_if_all_are(new)):
        raise other_classes_error(old, new)


def numbers_error(which: str) -> InputError:
    return InputError(
        f"the {which} model is a regression model; flips are defined only for classifiers."
    )


def other_classes_error(old: Sequence[Any], new: Sequence[Any]) -> InputError:
    return InputError(
        f"the old model predicts {predicted(old)} and the new one {predicted(new)}; flips need "
        f"models with the same classes."
    )


def answered(side: Side, reader: Reader, metrics: Metrics) -> Iterator[Part]:
    """All rows as the model reads them, with its answers, which are measured, too."""
    model, names_wanted = side.model, side.kept.names is None

    def work(batch: Batch) -> tuple[Prepared, Entries]:
        # copied, because the store uses up the arrays of a batch
        indptr, keys, values = batch.indptr.copy(), batch.keys.copy(), batch.values.copy()
        entries = Entries(indptr, keys, values, batch.names if names_wanted else None)
        return model.with_targets(model.store.prepare(batch)), entries

    with model.reading_again(reader, label_needed=True, names_wanted=names_wanted) as again:
        for prepared, entries in prefetched(job.then(work) for job in again.jobs(READY_ITEMS)):
            batch, y = prepared.batch, prepared.y
            if y is not None and len(y):
                scores = model.store.scores(model.learner, prepared)
                metrics.add(scores, y, batch.importance)
                yield Part(
                    batch.path,
                    batch.lines,
                    side.shared_numbers[true_classes(scores, y)],
                    side.shared_numbers[predicted_classes(scores, model.decision_threshold)],
                    batch.importance,
                    entries,
                )


def side_by_side(old: Iterator[Part], new: Iterator[Part]) -> Iterator[tuple[Part, Part]]:
    """Equal rows from both models, however many each of them gives at once."""
    before, now = next(old, None), next(new, None)
    while before is not None and now is not None:
        n_rows = min(len(before.lines), len(now.lines))
        (of_old, before), (of_new, now) = before.split(n_rows), now.split(n_rows)
        differ = of_old.lines != of_new.lines
        if of_old.path != of_new.path or differ.any():
            row = int(differ.argmax())
            raise _other_rows(of_old.location(row), of_new.location(row))
        yield of_old, of_new
        before, now = before or next(old, None), now or next(new, None)
    if before is not now:
        raise _other_rows(*(part.location(0) if part else "no more" for part in (before, now)))


def _other_rows(old: str, new: str) -> InputError:
    return InputError(
        f"the old model's next row is {old}, and the new one's {new}: there is a line that only "
        f"one of them can read. Fix or remove that line."
    )


def check_labels(before: Part, now: Part, labels: list[str]) -> None:
    """Refuse models that were taught by different columns."""
    differ = before.truth != now.truth
    if differ.any():
        row = int(differ.argmax())
        raise InputError(
            f"{now.location(row)}: the label is {labels[before.truth[row]]} for the old model and "
            f"{labels[now.truth[row]]} for the new one: they use different label columns."
        )
