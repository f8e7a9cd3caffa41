"""Lose a node, and what is in its memory, in the midst of a training: give it a folder.

It says whether the model has the bytes of the run in one process.
"""

import sys
from pathlib import Path
from typing import Any

import rarefy
from experiments.cluster.faults import write_rows
from rarefy.cluster import train

HOW: dict[str, Any] = {"shards": 4, "holdout": 0.1}


def main(folder: Path) -> None:
    import ray
    from ray.cluster_utils import Cluster

    files = write_rows(folder, 12_000)
    rarefy.train(*files, output=folder / "here.model", **HOW)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    nodes = [cluster.add_node(num_cpus=2)]
    ray.init(cluster.address, log_to_driver=False)

    def lose(line: Any) -> None:
        if line.examples >= 4000 and nodes:
            cluster.remove_node(nodes.pop(), allow_graceful=False)

    train(*files, output=folder / "there.model", progress=lose, **HOW)
    here, there = ((folder / f"{name}.model").read_bytes() for name in ("here", "there"))
    print("lost" if not nodes else "not lost", "same" if here == there else "different")
    ray.shutdown()
    cluster.shutdown()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
