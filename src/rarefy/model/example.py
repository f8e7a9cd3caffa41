"""What a rule is given of a whole example, between its prediction and the steps."""

from typing import NamedTuple


class Example(NamedTuple):
    """One score and its target.

    A row with a score for each of C classes makes C examples; or a single one, whose score is the
    difference of two, if the loss is of the right class and the best wrong one.
    """

    score: float
    y: float  # the target; of classes -1 or +1, and +1 for a difference of scores
    slope: float  # of the loss at the score, times the weight
    weight: float
    sums: tuple[float, ...]  # of the rule's row terms, over the entries of the row
    n_scores: float = 1.0  # that the score is made of, and whose entries are summed: 1 or 2
    share: float = 1.0  # of the row: 1 over the number of examples that it makes
    loss: float = 0.0  # of a row with one score, without the weight
