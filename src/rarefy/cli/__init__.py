"""The command line: a module a command, imported when it is used."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PROGRAM = "rarefy"
COMMANDS = (
    *("train", "update", "sweep", "predict", "evaluate", "inspect", "diff", "flips"),
    *("releases", "threshold", "merge", "slim", "export", "serve", "token", "replay", "completion"),
)


def __getattr__(name: str) -> "Any":
    if name != "main":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rarefy.cli.group import main

    return main


def run() -> None:
    """The command as a process.

    It listens to signals from the first moment on, before anything is imported that takes time. It
    seldom looks for garbage, of which imports make none, and ends at once: tidying up would take an
    eighth of a second.
    """
    import _signal as signal  # type: ignore[import-not-found]  # without all that `signal` imports
    import os

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # of Python, with a traceback
        signal.signal(signal.SIGINT, lambda number, frame: os._exit(128 + number))
    import gc

    from rarefy.cli.standard_streams import open_standard_streams

    open_standard_streams()  # first, or the next files that are opened would take their places
    from rarefy.cli.signals import watch

    watch()
    gc.set_threshold(100_000)
    os._exit(_exit_code())


def _exit_code() -> int:
    import sys

    from rarefy.cli.group import main

    try:
        main(prog_name=PROGRAM)
    except SystemExit as end:
        code = int(end.code or 0)
    except OSError as error:  # of what click itself writes
        return _say(error)
    try:
        sys.stdout.flush()
    except OSError as error:
        if code == 0 and not isinstance(error, BrokenPipeError):
            return _say(error)
    return code


def _say(error: OSError) -> int:
    import sys

    from rarefy.errors import sentence

    print(f"Error: {sentence(error)}", file=sys.stderr)
    return 1
