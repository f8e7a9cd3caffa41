"""The fast path for few rows: compiled calls that are bound to the model.

All buffers are allocated once. Rows that cannot take the fast path are left to the ordinary one,
with the same results. Single dicts and lines do not need the model's lock: a call is one step of
the interpreter, and is refused while another thread holds the lock.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from numpy.typing import NDArray

from rarefy.arrays import Floats
from rarefy.engine.divergence import divergence
from rarefy.engine.watch import Watch
from rarefy.engine.watched import Seen
from rarefy.model.calibration import Calibration
from rarefy.readers.features.columns import Columns
from rarefy.readers.single.row_intake import SingleRowIntake
from rarefy.readers.single.row_reading import RowForm
from rarefy.streams.bound_calls import BoundCalls, Owner, refuse
from rarefy.streams.fast_path_loops import DIVERGED, DONE, NOT_TAKEN, UNKNOWN_FEATURE

TargetOf = Callable[[Any], float | None]


def no_target(_: Any) -> None:
    """No label has one."""


def _known_classes(owner: Owner) -> Sequence[str]:
    """Those that labels may be of; where they grow, any may come."""
    return () if owner.task.classes_grow else owner.classes


class FastPath:
    """Learns and scores rows, if they go the shortest way; who calls holds the model's lock.

    `learn_one`, a function of a row, a target and its importance, which gives DONE or not, and
    `score_one`, which gives the score of a row, the number of its class, or None, need no lock.
    Rows are dicts or lines then; only lines may have their OWN target.
    """

    learn_one: Callable[..., int | None]
    score_one: Callable[..., float | None]
    target_of: TargetOf  # of a label
    own_target_of: TargetOf  # of the label of a line, which is a number or a text
    labels: list[Any] | None  # the two, where there is one score

    def __init__(
        self, owner: Owner, columns: Columns, cross: tuple[tuple[str, ...], ...] = ()
    ) -> None:
        self.owner = owner
        store = owner.store
        form = RowForm(columns, cross, partial(_known_classes, owner))
        names_wanted = store is not None and store.names_wanted
        self._intake = SingleRowIntake(form, names_wanted=names_wanted)
        self.bound = BoundCalls(owner, self._intake)
        self.learn_one = self.score_one = refuse
        self.target_of = self.own_target_of = no_target
        self.labels = None

    # --- rows of one kind or another --------------------------------------------------------

    def take(self, x: Any, format: str | None, *, with_label: bool = False) -> bool:
        """Take a row: a dict, pairs, a text, or a line; whether it may go this way."""
        return self._intake.take(x, format, with_label=with_label)

    def take_dicts(self, rows: Sequence[Any]) -> bool:
        """Take dicts; whether there are few enough. They have to stay until the next call."""
        return self._intake.take_dicts(rows)

    def take_features(self, indptr: Any, keys: NDArray[Any], values: NDArray[Any]) -> bool:
        """Take rows by the keys and values of their features; whether there are few enough."""
        return self._intake.take_features(indptr, keys, values)

    def own_target(self) -> tuple[float | None, float]:
        """The target and the weight of a line's own label; None: it has to be read otherwise."""
        parser = self._intake.parser
        if parser is None:
            return None, 1.0
        return self.own_target_of(parser.label), parser.weight

    # --- learning and scoring what was taken ------------------------------------------------

    def score(self) -> bool:
        """Whether `scores` are those of the rows now; if not, they have to go the other way."""
        bound = self.bound
        if not bound.is_ready():
            return False
        result = bound.score()
        if result == NOT_TAKEN and self._intake.take_dict_as_line():
            result = bound.score()
        return result == DONE

    def learn(self, y: Floats | float, importance: Floats | float) -> bool:
        """Whether the rows were learned; if not, nothing has changed. Of one row, y is a float."""
        bound = self.bound
        if not bound.is_ready() or not bound.may_learn:
            return False
        if type(y) is float:
            bound.y[0], bound.importance[0] = y, importance
        else:
            n = self._intake.n_rows.item()
            bound.y[:n], bound.importance[:n] = y, importance
        watch = self.owner.watch
        calibration = None if watch is None else bound.learner.calibration
        result = bound.learn()
        if result == NOT_TAKEN and self._intake.take_dict_as_line():
            result = bound.learn()
        if result == UNKNOWN_FEATURE and self._intake.note_names():
            bound.may_add[0] = 1
            try:
                result = bound.learn()
            finally:
                bound.may_add[0] = 0
        if result == DONE and watch is not None:
            self._tell(watch, calibration)
        if result == DIVERGED and (n_learned := bound.n_learned.item()):
            raise divergence(bound.learner, n_learned, is_changed=True)
        return result == DONE

    def offer(self) -> None:
        """Learn and score single rows without the lock, until it is taken for something else.

        Who calls holds it, and has just learned or scored something else on the fast path.
        """
        bound, owner = self.bound, self.owner
        if bound.learner is None:
            return
        learn_one, score_one = bound.free(owner.lock.next_turn)
        may_learn = bound.may_learn and owner.watch is None
        self.learn_one = learn_one if may_learn else refuse
        self.score_one = refuse if owner.task.classes_grow else score_one

    def _tell(self, watch: Watch, calibration: Calibration | None) -> None:
        """Tell what was predicted just before it was learned."""
        bound, n = self.bound, self._intake.n_rows.item()
        rows = self.scores.copy(), bound.y[:n].copy(), bound.importance[:n].copy()
        learner = bound.learner
        watch.add(self.owner.task, learner.loss, [Seen(*rows, calibration)], learner.t)

    @property
    def scores(self) -> Floats:
        """One row of scores for each row that was scored; the next ones overwrite them."""
        return self.bound.scores[: self._intake.n_rows.item()]
