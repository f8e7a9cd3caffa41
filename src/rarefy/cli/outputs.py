"""Output files of commands."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Any

import click

from rarefy.system.atomic_write import Output
from rarefy.system.output_checks import STREAM, check_outputs


class Destination:
    """A file, or standard output, that is not among the inputs, and can be written."""

    def __init__(self, path: str, inputs: Iterable[str]) -> None:
        check_outputs([path], inputs)
        self._output = None if path == STREAM else Output(path)

    @contextmanager
    def writing(self, mode: str = "w") -> Iterator[IO[Any]]:
        """What is written; an older file stays as it is until that is all."""
        if self._output is None:
            with click.open_file(STREAM, mode) as file:
                yield file
                file.flush()
        else:
            with self._output.writing(mode) as file:
                yield file
