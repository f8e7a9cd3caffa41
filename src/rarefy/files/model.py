"""A model as it is saved: what prediction needs, and how the model was trained."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rarefy.engine.snapshots import Arrays
from rarefy.engine.task import Task
from rarefy.errors import ConfigError, InputError
from rarefy.model.calibration import Calibration
from rarefy.model.clock import Clock
from rarefy.model.importance import PLAIN
from rarefy.model.schedules import Constant
from rarefy.rules.ogd import Ogd
from rarefy.stores import Kept, make_store
from rarefy.streams.stream_model import Reading, StreamModel

Search = dict[str, Any]  # for parameters, with all that it takes to go on
NOTHING_KEPT = Kept(np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0), None, None)

# Files have these only where they are used, as from before there were any.
LATER_PARAMETERS = ("calibrate", "average", "average_power")


class Model(NamedTuple):
    """What a file says: all that a prediction needs, and how the model came to be."""

    task: Task
    classes: tuple[str, ...]
    store: dict[str, Any]
    reading: Reading
    intercepts: tuple[float, ...]
    parameters: dict[str, Any]  # that the user gave
    examples: int
    progress: tuple[float, ...]  # weighted sums of losses, examples and right answers
    kept: Kept
    run: dict[str, Any] | None = None  # how to go on with a run that has not come to its end
    state: Arrays | None = None  # None: slim, it cannot go on learning
    clock: tuple[Any, ...] = ()
    matrix: dict[str, Any] | None = None  # labels and columns of the matrices it was learned from
    search: Search | None = None  # where parameters are still to be found
    limit: int | None = None  # of features that have a weight, once the run is over
    class_totals: tuple[float, ...] = ()  # what the rows of each class weigh that were learned
    decision_threshold: float = 0.0  # of the scores of two classes
    calibration: Calibration | None = None  # by scores before learning, of one pass

    @property
    def asked(self) -> dict[str, Any]:
        """The parameters that the user gave, without what was found so far."""
        asked: dict[str, Any] = (self.search or {}).get("parameters", self.parameters)
        return asked

    @property
    def has_score_by_class(self) -> bool:
        """Whether there is a score, and so a weight of each feature, for every class."""
        return len(self.classes) > 2 or self.task.classes_grow

    @property
    def is_settled(self) -> bool:
        return self.search is None and self.limit is None

    @property
    def loss(self) -> str:
        return self.task.loss_name

    @property
    def multiclass(self) -> str:
        return self.task.multiclass

    @property
    def progressive_loss(self) -> float:
        total, weight, _ = self.progress
        return total / weight if weight else 0.0

    @property
    def scaling(self) -> float | None:
        """What scores are scaled by to become probabilities."""
        return None if self.calibration is None else self.calibration.scaling

    def with_feature_names(self) -> "Model":
        """The model with the names that columns of a matrix had, if it has learned from such."""
        columns = (self.matrix or {}).get("columns")
        if columns is None:
            return self
        names = [
            columns[key] if key < len(columns) else str(key) for key in self.kept.keys.tolist()
        ]
        return self._replace(kept=self.kept._replace(names=names))

    def scorer(self) -> StreamModel:
        """A model to predict with; it cannot go on learning."""
        task = Task(
            Ogd(),
            Constant(1.0),
            self.task.loss,
            self.multiclass,
            classes_grow=self.task.classes_grow,
        )
        # a limit of features would only take room for all of them
        store = make_store(**{**self.store, "capacity": None})
        model = StreamModel(task, store, self.classes)
        model.reading = self.reading
        model.decision_threshold = self.decision_threshold
        learner = model.learner.settled()
        slots = store.slots_for(learner, self.kept)
        learner.state[slots * learner.n_outputs + self.kept.outputs, 0] = self.kept.weights
        learner.intercept_state[:, 0] = self.intercepts
        learner.clock = learner.clock._replace(t=float(self.examples))
        learner.calibration = self.calibration if self.is_settled else None
        learner.progress[:] = self.progress
        return model

    def learner(self) -> StreamModel:
        """A model that goes on learning from where this one was."""
        if self.state is None:
            raise InputError(
                "the model is slim or refitted: it can predict, but not be trained further. Resume "
                "the full model, or learn the difference to this one: anchor=... (--anchor MODEL)."
            )
        task = self.task
        if self.search is not None:
            from rarefy.tuning.open_task import OpenTask, begun_with, resumed

            space, point = begun_with(self.search)
            rule, schedule = space.rule_at(point)
            task = task._replace(rule=rule, schedule=schedule, weighting=PLAIN)
        model = StreamModel(task, make_store(**self.store), self.classes)
        model.reading = self.reading
        model.target_features = self.limit
        model.decision_threshold = self.decision_threshold
        model.class_totals = np.array(self.class_totals)
        learner = model.learner.settled()
        model.store.restore(learner, self.state)
        learner.intercept_state[:] = self.state["intercept_state"].reshape(
            learner.intercept_state.shape
        )
        learner.restore_groups(self.state.get("group_sums"))
        learner.reference = learner.reference.restored(self.state, learner.n_features)
        learner.clock = Clock(task.schedule, *self.clock)
        learner.calibration = self.calibration
        learner.progress[:] = self.progress
        if self.search is not None:
            model.adopt(resumed(self.search, self.state, learner, self.classes))
            model.task = OpenTask(space, None, *task[2:])
        return model


def _settled_parameters(parameters: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """What a user gave, with what was found; a target that a refit meets is no part of a search."""
    if parameters.get("refit"):
        found = {name: value for name, value in found.items() if name != "target_features"}
    return {**parameters, **found}


def check_classes_to_save(task: Task, classes: Sequence[Any]) -> None:
    """Refuse to save a model whose second class is still to come."""
    if task.classes_grow and len(classes) < 2:
        raise InputError(
            f"the classes so far are {[str(label) for label in classes]}; a model can be saved as "
            f"soon as it has two."
        )


def model_of(
    model: StreamModel,
    parameters: dict[str, Any],
    *,
    run: dict[str, Any] | None = None,
    matrix: dict[str, Any] | None = None,
    slim: bool = False,
) -> Model:
    """What is to be kept of a model that has learned."""
    check_classes_to_save(model.task, model.classes)
    unused = [name for name in LATER_PARAMETERS if not parameters.get(name)]
    if parameters.get("shards") == 1:
        unused.append("shards")
    if callable(parameters.get("scoring")):
        if not slim:
            raise ConfigError(
                "a model that is tuned by a function cannot be saved to go on learning, as files "
                "hold no functions: save it with slim=True, or tune by the name of a measure."
            )
        unused.append("scoring")
    parameters = {name: value for name, value in parameters.items() if name not in unused}
    settled = model.settled()
    learner = settled.learner.settled()
    saved = Model(
        settled.task,
        model.classes,
        model.store.settings(),
        model.reading,
        tuple(learner.intercept().tolist()),
        _settled_parameters(parameters, learner.found),
        learner.t,
        tuple(learner.progress.tolist()),
        settled.kept() if slim else NOTHING_KEPT,  # it follows from the state
        run,
        matrix=matrix,
        class_totals=tuple(model.class_totals.tolist()),
        decision_threshold=model.decision_threshold,
        calibration=learner.calibration,
    )
    if slim:
        return saved
    in_use, search, arrays = model.learner.checkpoint()
    arrays |= model.store.snapshot(in_use)
    arrays["intercept_state"] = in_use.intercept_state
    arrays |= in_use.reference.arrays()
    if in_use.group_sums is not None:
        arrays["group_sums"] = in_use.group_sums
    if search is not None:
        search = {"parameters": parameters, **search}
    return saved._replace(
        state=arrays,
        clock=in_use.clock[1:],
        search=search,
        limit=model.target_features,
        calibration=in_use.calibration,
    )
