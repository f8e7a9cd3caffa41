"""A reader of Ray Data's datasets.

So data may come from wherever Ray Data reads it, as from object stores. The blocks are tables of
Arrow, whose rows are read as those of a Parquet file are, or are lines of text.
"""

import os
from typing import Any

from rarefy.cluster.pieces import Piece, reader_of_table
from rarefy.cluster.worker_protocol import Handle, Workers
from rarefy.errors import ClusterError, ConfigError, InputError
from rarefy.readers import Reader, read

FIRST_ROWS = 1 << 16  # that tell columns and classes
LINES = ("svmlight", "vw", "json")  # formats in which a line stands for itself
NAME = "dataset"  # in the place of a file's name, in messages


def reader_of_blocks(
    first_rows: Any, blocks: list[Handle], format: str | None, reading: dict[str, Any]
) -> Reader:
    """A reader for the driver, which has the first rows, and knows where the others are."""
    like = read(os.devnull, format=format or "parquet", **reading)
    reader: Any = reader_of_table(first_rows, format, like.labels.classes, _name(0))
    reader.columns, reader.labels, reader.cross = like.columns, like.labels, like.cross
    reader.skip_bad_lines = like.skip_bad_lines
    share = 1.0 / len(blocks)
    reader.pieces = [Piece(_name(n), share, block, format) for n, block in enumerate(blocks)]
    return reader  # type: ignore[no-any-return]


def is_dataset(data: Any) -> bool:
    return hasattr(data, "to_arrow_refs")


def reader_of_dataset(dataset: Any, workers: Workers, reading: dict[str, Any]) -> Reader:
    """A reader of a dataset, the order of whose rows is kept; with a format, these are lines."""
    format = reading.pop("format", None)
    if format is not None and format not in LINES:
        raise ConfigError(
            f"format={format!r}: the lines of a dataset can be {', '.join(LINES)}. Ray Data reads "
            f"other formats itself, as by ray.data.read_csv: leave `format` out."
        )
    options = dataset.context.execution_options
    options.preserve_order = True
    blocks = _blocks_of(dataset)
    sizes = [workers.start(_n_rows, block) for block in blocks]
    blocks = [b for b, size in zip(blocks, sizes, strict=True) if workers.result(size)]
    if not blocks:
        raise InputError(f"{NAME}: there are no rows.")
    first = workers.result(workers.start(_first_rows, blocks[0]))
    return reader_of_blocks(first, blocks, format, reading)


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
