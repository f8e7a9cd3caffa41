"""What shards cost in accuracy as rows become more, up to what is possible here."""

import numpy as np

from benchmarks.data import zipf_rows
from rarefy import SparseOnlineClassifier

TEST_ROWS = 1 << 16


def losses(n_rows: int, n_shards: list[int], seed: int) -> dict[int, float]:
    """The log-loss on other rows, by number of shards."""
    data = zipf_rows(n_rows + TEST_ROWS, 1 << 17, draws_per_row=16, seed=seed)
    learned, judged = slice(n_rows), slice(n_rows, None)
    found = {}
    for k in n_shards:
        model = SparseOnlineClassifier(shards=k, passes=1, shuffle=False)
        model.fit(data.X[learned], data.y[learned])
        right = model.predict_proba(data.X[judged])[
            np.arange(TEST_ROWS), np.searchsorted(model.classes_, data.y[judged])
        ]
        found[k] = float(-np.log(right).mean())
    return found
