"""What the model of time is made of, from what was measured."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.optimize import nnls

from experiments.cluster.ray_runs import RayTakes
from experiments.cluster.simulation import Costs, Sparsity
from experiments.cluster.travel import Spent

Found = Mapping[Any, Any]


def sparsity_of(found: Found, name: str) -> Sparsity:
    entries, rows, distinct, n_features = found["sparsity", name]
    known = np.inf if n_features is None else float(n_features)
    return Sparsity(entries, np.array(rows, float), np.array(distinct, float), known)


def runs_of(found: Found, kind: str) -> dict[int, Spent]:
    """Runs in one process, by shards."""
    return {key[1]: Spent(*value) for key, value in found.items() if key[0] == kind}


def costs_of(found: Found) -> Costs:
    """What fits the runs best."""
    runs, takes = list(runs_of(found, "spent").values()), RayTakes(*found["ray",])
    totals = {name: sum(getattr(run, name) for run in runs) for name in Spent._fields[1:6]}
    work = {name: sum(run.seconds[name] for run in runs) for name in ("read", "meet", "learn")}
    exchanged = np.array([[run.meetings, run.entries - run.dealt] for run in runs], float)
    driving = nnls(exchanged, np.array([run.seconds["driver"] for run in runs]))[0]
    travelling = nnls(
        exchanged, np.array([run.n_bytes - run.outline_bytes for run in runs], float)
    )[0]
    return Costs(
        read=work["read"] / totals["entries"],
        meet=work["meet"] / totals["dealt"],
        learn=work["learn"] / totals["dealt"],
        serial=found["serial",][0],
        driver=float(driving[0]),
        in_order=float(driving[1]),
        n_bytes=float(travelling[0]),
        in_order_bytes=float(travelling[1]),
        outline_bytes=sum(run.outline_bytes for run in runs) / totals["rows"],
        row_bytes=sum(run.row_bytes for run in runs) / totals["entries"],
        met_bytes=sum(run.met_bytes for run in runs) / totals["dealt"],
        **takes._asdict(),
    )
