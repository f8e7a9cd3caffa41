"""What is to be learned, and the making of a learner for it."""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from rarefy.engine.learner import Learner
from rarefy.engine.online_learner import OnlineLearner
from rarefy.engine.reference import new_reference
from rarefy.errors import ConfigError, InputError
from rarefy.model.answers import LOSSES_WITH_PROBABILITIES
from rarefy.model.calibration import Calibration
from rarefy.model.class_weights import ClassWeight, ClassWeights
from rarefy.model.importance import PLAIN, Weighting
from rarefy.model.losses import LOSSES, REGRESSION_LOSSES
from rarefy.model.multiclass import multiclass_loss
from rarefy.model.numbers_by_name import GivenGroups, GivenL1, GroupsByName, L1ByName, OwnByName
from rarefy.rules.averaging import is_averaged

GROW = "grow"  # instead of a list of classes


class Task(NamedTuple):
    """A rule, a loss, and all else that says how weights follow from examples."""

    rule: Any
    schedule: Any
    loss: Any
    multiclass: str = "auto"
    fit_intercept: bool = True
    weighting: Weighting = PLAIN
    class_weight: ClassWeight = None
    calibrate: bool = False
    l1_of: GivenL1 = ()  # by the names of namespaces or columns, for a rule with own l1
    groups: GivenGroups = ()  # of features that are kept or dropped together
    classes_grow: bool = False  # new ones may come, so that each has a score, even if they are two

    @property
    def loss_name(self) -> str:
        return next(name for name, kind in LOSSES.items() if isinstance(self.loss, kind))

    @property
    def is_regression(self) -> bool:
        return self.loss_name in REGRESSION_LOSSES

    @property
    def is_open(self) -> bool:
        """Whether some parameters are still to be found."""
        return False

    @property
    def target_features(self) -> int | None:
        """How many features may have a weight in the end."""
        return None

    def loss_over(self, n_classes: int) -> tuple[Any, int]:
        """The loss of all scores of a row, and how many there are; regression has 0 classes."""
        if n_classes <= 2 and not self.classes_grow:
            return self.loss, 1
        return multiclass_loss(self.multiclass, self.loss), max(n_classes, 2)

    def new_learner(self, classes: Collection[Any], n_features: int) -> OnlineLearner:
        """A learner that has not learned. `classes` are labels, in order; regression has none."""
        loss, n_outputs = self.loss_over(len(classes))
        return Learner(
            self.rule,
            self.schedule,
            loss,
            n_features=n_features,
            n_outputs=n_outputs,
            fit_intercept=self.fit_intercept,
            weighting=self.weighting,
            reference=new_reference(self.rule, loss, fit_intercept=self.fit_intercept),
            calibration=Calibration() if self.calibrate else None,
        )

    @property
    def own_by_name(self) -> OwnByName | None:
        """What features have of their own by name; None: nothing."""
        if self.groups:
            return GroupsByName({})
        return L1ByName(self.l1_of, self.rule.l1, set()) if self.l1_of else None

    def class_weights(self, classes: Sequence[str]) -> ClassWeights | None:
        """What rows of these classes count; None: all the same."""
        return None if self.class_weight is None else ClassWeights(self.class_weight, classes)

    def settled(self, learner: Learner) -> "Task":
        """The task with the parameters that a learner has found."""
        return Task(learner.rule, learner.clock.schedule, *self[2:])


def may_grow(classes: Any) -> bool:
    """Whether a user who lists classes allows new ones, instead: with "grow", as commands have it.

    There are two classes at the least, so that a single one is no list of classes.
    """
    return isinstance(classes, str | tuple) and classes in (GROW, (GROW,))


def with_growing_classes(task: Task) -> Task:
    """The task with classes that may come at any time, if all parameters can do with that."""
    if task.is_regression:
        raise InputError(f"classes='grow': loss={task.loss_name!r} predicts numbers, not classes.")
    if task.is_open:
        raise ConfigError(
            "classes='grow' cannot be combined with parameters that are tuned: give them."
        )
    for name in ("class_weight", "l1_of", "groups"):
        if value := getattr(task, name):
            raise ConfigError(f"classes='grow' cannot be combined with {name}={value!r}.")
    return task._replace(classes_grow=True)


def with_calibration(task: Task, wanted: bool) -> Task:
    """The task with probabilities that are calibrated, if that is wanted and its loss has any.

    Means of weights are not calibrated: the scores before learning are not theirs.
    """
    wanted = wanted and not is_averaged(task.rule)
    return task._replace(calibrate=wanted and task.loss_name in LOSSES_WITH_PROBABILITIES)
