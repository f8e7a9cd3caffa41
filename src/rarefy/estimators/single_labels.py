"""Conversion between the labels of single rows and the targets of the loss."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.readers.single.row_loop import OwnTargets, targets_by_number
from rarefy.streams.fast_path import TargetOf, no_target


class LabelTable(NamedTuple):
    """The classes of a model, and what its loss learns for each."""

    classes: NDArray[Any]
    labels: list[Any]
    targets: dict[Any, float]
    of_lines: OwnTargets
    has_one_score: bool


class SingleLabels:
    """Part of the classifier."""

    classes_: NDArray[Any]
    _labels: LabelTable | None = None  # made when single rows come

    def _answer(self: Any, scores: NDArray[np.float64]) -> Any:
        """The label that the scores of a single row predict."""
        if scores.size > 1 or self.decision_threshold != 0.0:
            return self._answers(scores).tolist()[0]
        return self._label_table().labels[scores.item() > 0.0]

    def _answer_to(self: Any, found: float) -> Any:
        """The label that a score predicts; where there are several, that of the best one."""
        table: LabelTable | None = self._labels
        if table is None or table.classes is not self.classes_:
            table = self._label_table()
        if self.decision_threshold != 0.0:
            self._check_threshold()
        number = found > self.decision_threshold if table.has_one_score else int(found)
        return table.labels[number]

    def _for_single_labels(self: Any) -> tuple[TargetOf, TargetOf, list[Any] | None]:
        """What gives the target of a label, that of a line's own label, and the two labels.

        Lines have no truths. Where there are more labels than one score tells apart, it is None.
        """
        table: LabelTable = self._label_table()
        of_lines = no_target if table.classes.dtype.kind == "b" else table.targets.get
        return table.targets.get, of_lines, table.labels if table.has_one_score else None

    def _own_targets(self: Any) -> OwnTargets:
        """What is learned for the labels of lines that are numbers."""
        return self._label_table().of_lines  # type: ignore[no-any-return]

    def _target_at_once(self: Any, y: Any) -> float | None:
        """What the loss learns for a label; None for all that is not just that."""
        table: LabelTable | None = self._labels
        if table is None or table.classes is not self.classes_:
            table = self._label_table()
        try:
            return table.targets.get(y)
        except TypeError:
            return None

    def _targets_at_once(self: Any, y: Any) -> NDArray[np.float64] | None:
        """What the loss learns for labels; None if not all are just that."""
        try:
            return np.array([*map(self._label_table().targets.__getitem__, y)])
        except (KeyError, TypeError):
            return None

    def _target_of_one(self: Any, y: Any) -> float | None:
        """What the loss learns for the only label of an array; None for all that is not that."""
        is_known = type(y) is np.ndarray and y.shape == (1,) and y.dtype.kind in "iubU"
        if not is_known or y.dtype.kind != self.classes_.dtype.kind:
            return None
        return self._target_at_once(y.item())  # type: ignore[no-any-return]

    def _label_table(self: Any) -> LabelTable:
        table: LabelTable | None = self._labels
        if table is None or table.classes is not self.classes_:
            labels = self.classes_.tolist()
            has_one_score = len(labels) == 2 and self.learner_.n_outputs == 1
            numbers = [-1.0, 1.0] if has_one_score else [float(n) for n in range(len(labels))]
            targets = dict(zip(labels, numbers, strict=True))
            table = self._labels = LabelTable(
                self.classes_, labels, targets, targets_by_number(targets), has_one_score
            )
        return table
