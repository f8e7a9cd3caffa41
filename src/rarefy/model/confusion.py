"""What rows of each class were taken for, and what follows from it."""

import numpy as np

from rarefy.arrays import Floats, Numbers


def confusion_matrix(
    truth: Numbers, predicted: Numbers, importance: Floats, n_classes: int
) -> Floats:
    """What the rows of each true class, a row, and each predicted one, a column, weigh."""
    matrix = np.zeros((n_classes, n_classes))
    np.add.at(matrix, (truth, predicted), importance)
    return matrix


def precision_and_recall(confusion: Floats) -> dict[str, float]:
    """Precision, recall and F1 of the second of two classes; of more classes, their means.

    The means are over the classes that occur, as labels or as predictions, and what is undefined
    counts as 0 there, as in scikit-learn's macro averages.
    """
    right, of_label, predicted = np.diag(confusion), confusion.sum(axis=1), confusion.sum(axis=0)
    with np.errstate(invalid="ignore"):
        found = {
            "precision": right / predicted,
            "recall": right / of_label,
            "f1": 2.0 * right / (of_label + predicted),
        }
    if len(confusion) == 2:
        return {name: float(values[1]) for name, values in found.items()}
    occurs = of_label + predicted > 0.0
    return {name: float(np.nan_to_num(values[occurs]).mean()) for name, values in found.items()}
