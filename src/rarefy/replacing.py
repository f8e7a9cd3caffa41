"""Files that are never half there."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


@contextmanager
def replacing(path: str | Path, mode: str = "wb", **options: Any) -> Iterator[IO[Any]]:
    """A file to write that takes its place when it is complete, and else leaves what was there.

    It is written beside its place and moved there. A link goes on leading to it. What is there and
    is no file, such as a pipe or a device, is written to and stays what it is.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        with target.open(mode, **options) as file:
            yield file
        return
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        with part.open(mode.replace("w", "x"), **options) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
