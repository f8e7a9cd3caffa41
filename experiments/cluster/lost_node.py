"""Lose a node, and what is in its memory, in the midst of a training: give it a folder.

It says whether the model has the bytes of the run in one process.
"""

import sys
from pathlib import Path
from typing import Any

import rarefy
from experiments.cluster.faults import FEW_ROWS, write_rows
from rarefy.cluster import train
from rarefy.engine import sharding

HOW: dict[str, Any] = {"shards": 4, "holdout": 0.1}


def main(folder: Path) -> None:
    import ray
    from ray.cluster_utils import Cluster

    sharding.FEWEST_OF_A_SHARD = FEW_ROWS
    files = write_rows(folder, 12_000)
    rarefy.train(*files, output=folder / "here.model", **HOW)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    nodes = [cluster.add_node(num_cpus=2)]
    ray.init(cluster.address, log_to_driver=False)

    def lose(line: Any) -> None:
        if line.examples >= 4000 and nodes:
            cluster.remove_node(nodes.pop(), allow_graceful=False)

    try:
        train(*files, output=folder / "there.model", progress=lose, **HOW)
    finally:  # else another one would join this cluster
        ray.shutdown()
        cluster.shutdown()
    here, there = ((folder / f"{name}.model").read_bytes() for name in ("here", "there"))
    print("lost" if not nodes else "not lost", "same" if here == there else "different")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
