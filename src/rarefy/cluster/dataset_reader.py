"""A reader of Ray Data's datasets.

So data may come from wherever Ray Data reads it, as from object stores. The blocks are tables of
Arrow, whose rows are read as those of a Parquet file are.
"""

import os
from typing import Any

from rarefy.cluster.pieces import Piece
from rarefy.cluster.worker_protocol import Handle, Workers
from rarefy.errors import ClusterError, InputError
from rarefy.readers import read
from rarefy.readers.in_memory import RowsReader

FIRST_ROWS = 1 << 16  # that tell columns and classes
NAME = "dataset"  # in the place of a file's name, in messages


class DatasetReader(RowsReader):
    """A reader for the driver, which has the first rows, and knows where the others are."""

    def __init__(self, first_rows: Any, blocks: list[Handle], **reading: Any) -> None:
        like = read(os.devnull, format="parquet", **reading)
        super().__init__(first_rows, like.labels.classes, _name(0))
        self.columns, self.labels, self.cross = like.columns, like.labels, like.cross
        self.skip_bad_lines = like.skip_bad_lines
        self.pieces = [Piece(_name(n), 1.0 / len(blocks), block) for n, block in enumerate(blocks)]


def is_dataset(data: Any) -> bool:
    return hasattr(data, "to_arrow_refs")


def reader_of_dataset(dataset: Any, workers: Workers, reading: dict[str, Any]) -> DatasetReader:
    """A reader of a dataset, the order of whose rows is kept."""
    options = dataset.context.execution_options
    options.preserve_order = True
    blocks = _blocks_of(dataset)
    sizes = [workers.start(_n_rows, block) for block in blocks]
    blocks = [b for b, size in zip(blocks, sizes, strict=True) if workers.result(size)]
    if not blocks:
        raise InputError(f"{NAME}: there are no rows.")
    first = workers.result(workers.start(_first_rows, blocks[0]))
    return DatasetReader(first, blocks, **reading)


def _blocks_of(dataset: Any) -> list[Handle]:
    """The blocks, which Ray reads now."""
    from ray.exceptions import RayError, RayTaskError

    try:
        return list(dataset.to_arrow_refs())
    except RayTaskError as error:
        reason = str(error.cause).partition("\n")[0]
        raise InputError(f"{NAME}: Ray Data cannot read it: {reason}") from error
    except RayError as error:
        raise ClusterError(f"Ray: {str(error).splitlines()[0]}") from error


def _name(block: int) -> str:
    return f"{NAME}, block {block}"


def _n_rows(table: Any) -> int:
    return len(table)


def _first_rows(table: Any) -> Any:
    return table.slice(0, FIRST_ROWS)
