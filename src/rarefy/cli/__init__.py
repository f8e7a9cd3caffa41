"""The command line: a module a command, imported when it is used."""

import gc
import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

import click

from rarefy.errors import RarefyError

PROGRAM = "rarefy"
COMMANDS = (
    *("train", "sweep", "predict", "evaluate", "inspect", "diff", "flips"),
    *("export", "completion"),
)
# BLAS starts threads that wait busily, beside those that learn; no command has use for them.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

NO_MEMORY = "there is not enough memory; try fewer --bits, or a smaller --max-features."


class Commands(click.Group):
    """Turns the library's errors into one line and exit code 1."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"rarefy.cli.{name}"), name)
        return command

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except RarefyError as error:
            raise click.ClickException(str(error)) from error
        except BrokenPipeError:
            raise  # who reads the output has seen enough; click ends without a word
        except OSError as error:
            raise click.ClickException(f"{error.filename}: {error.strerror}.") from error
        except MemoryError as error:
            raise click.ClickException(NO_MEMORY) from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="rarefy")
def main() -> None:
    """Sparse online learning that keeps the rare features that matter.

    Exit codes: 0 done; 1 the data or the parameters are wrong; 2 the command is wrong; 3 more
    answers were lost than allowed (flips --max-negative); 130 interrupted, what was learned is
    saved.
    """


def run() -> None:
    """The command as a process.

    It seldom looks for garbage, of which imports make none, and ends at once: tidying up would take
    an eighth of a second.
    """
    gc.set_threshold(100_000)
    try:
        main(prog_name=PROGRAM)
    except SystemExit as end:
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(int(end.code or 0))
