"""Remarks made during training, as Python warnings."""

import warnings

from rarefy.errors import RarefyWarning
from rarefy.model.label_runs import LabelRuns
from rarefy.model.target_order import TargetOrder
from rarefy.training.procedure import Reporter


def warn_of(runs: LabelRuns | TargetOrder, remedy: str) -> None:
    """Warn of an order of the rows that spoils the model, if it does."""
    if complaint := runs.complaint():
        warnings.warn(f"{complaint} {remedy}", RarefyWarning, stacklevel=4)


class WarningReporter(Reporter):
    """Warns of what has to be known, and shows nothing."""

    def warn(self, message: str) -> None:
        warnings.warn(message, RarefyWarning, stacklevel=2)
