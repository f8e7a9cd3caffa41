"""The command line: a module a command, imported when it is used."""

import gc
import os
import sys
from typing import Any

from rarefy.cli.signals import watch
from rarefy.cli.streams import open_standard_streams

PROGRAM = "rarefy"
COMMANDS = (
    *("train", "sweep", "predict", "evaluate", "inspect", "diff", "flips"),
    *("export", "completion"),
)


def __getattr__(name: str) -> Any:
    if name != "main":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rarefy.cli.group import main  # what takes time is imported when signals are watched

    return main


def run() -> None:
    """The command as a process.

    It seldom looks for garbage, of which imports make none, and ends at once: tidying up would take
    an eighth of a second.
    """
    open_standard_streams()  # first, or the next files that are opened would take their places
    watch()
    gc.set_threshold(100_000)
    os._exit(_exit_code())


def _exit_code() -> int:
    from rarefy.cli.group import main

    code = 0
    try:
        main(prog_name=PROGRAM)
    except SystemExit as end:
        code = int(end.code or 0)
    except OSError as error:  # of what click itself writes
        return _say(error)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        pass
    except OSError as error:
        return _say(error)
    return code


def _say(error: OSError) -> int:
    from rarefy.cli.group import sentence

    print(f"Error: {sentence(error)}", file=sys.stderr)
    return 1
