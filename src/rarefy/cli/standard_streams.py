"""Standard streams that can be used even if the command was started without them."""

import io
import os
import sys
from typing import Any

STDIN, STDOUT, STDERR = range(3)


class _Lasting(io.FileIO):
    """What is written helps whoever looks; when nobody does any more, it goes nowhere."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError:
            return len(data)


def open_standard_streams() -> None:
    """Let nothing else become a standard stream that is closed, and no remark end the command.

    Writing results to a closed standard output is an error, like that of a full disk.
    """
    for number in (STDIN, STDOUT, STDERR):
        try:
            os.fstat(number)
        except OSError:  # the lowest number is taken: this one
            os.open(os.devnull, os.O_WRONLY if number == STDERR else os.O_RDONLY)
    if sys.stdout is None:
        sys.stdout = open(STDOUT, "w", closefd=False)  # noqa: SIM115
    encoding = "utf-8" if sys.stderr is None else sys.stderr.encoding
    sys.stderr = io.TextIOWrapper(
        io.BufferedWriter(_Lasting(STDERR, "w", closefd=False)),
        encoding=encoding,
        errors="backslashreplace",
        line_buffering=True,
    )
