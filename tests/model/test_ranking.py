"""Figures of rankings: the same whatever number of threads BLAS has."""

import numpy as np
from threadpoolctl import threadpool_limits

from rarefy.model.ranking import Ranking

N_ROWS = 50_000  # BLAS uses threads for dot products of more than 10,000 numbers


def figures(n_threads: int) -> tuple[float, float]:
    random = np.random.default_rng(0)
    positive = random.random(N_ROWS) < 0.3
    ranking = Ranking(random.normal(size=N_ROWS) + positive, positive, random.random(N_ROWS))
    with threadpool_limits(n_threads):
        return ranking.auc(), ranking.average_precision()


def test_threads_of_blas_change_no_digit():
    assert figures(1) == figures(2) == figures(4)
