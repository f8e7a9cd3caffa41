"""Where commands write what they were asked for."""

from contextlib import AbstractContextManager
from typing import IO

import click

from rarefy.replacing import replacing

STDOUT = "-"


def output_file(path: str) -> AbstractContextManager[IO[str]]:
    """A text file, or standard output; an older file stays as it is until all is written."""
    return click.open_file(path, "w") if path == STDOUT else replacing(path, "w", encoding="utf-8")
