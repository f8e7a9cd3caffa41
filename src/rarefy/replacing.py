"""Files that are never half there."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
    part = target.with_name(f"{target.name}.{os.getpid()}-{threading.get_native_id()}.part")
    part.unlink(missing_ok=True)  # of a process of that number that was killed
    try:
        with part.open(mode.replace("w", "x"), **options) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
        _sync_folder(target.parent)
    finally:
        part.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Let the new name of a file outlive a power failure, where folders can be synced."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
