"""The group of all commands."""

import os
import warnings
from importlib import import_module
from typing import Any

import click

from rarefy.cli import COMMANDS
from rarefy.cli.memory_advice import memory_advice
from rarefy.errors import EXPECTED, RarefyWarning, sentence
from rarefy.version import __version__

# BLAS starts threads that wait busily, beside those that learn; no command has use for them.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


class Commands(click.Group):
    """Turns the library's errors into one line and exit code 1."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"rarefy.cli.commands.{name}"), name)
        return command

    def resolve_command(self, context: click.Context, args: list[str]) -> Any:
        try:
            return super().resolve_command(context, args)
        except click.UsageError as error:
            from rarefy.cli.foreign_options import command_advice

            text = f"{error.message}{command_advice(args[0])}"
            raise click.UsageError(text, context) from error

    def invoke(self, context: click.Context) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = Warnings().show
                return super().invoke(context)
        except BrokenPipeError:
            raise  # who reads the output has seen enough; click ends without a word
        except click.NoSuchOption as error:
            from rarefy.cli.foreign_options import with_advice

            raise with_advice(error) from error
        except EXPECTED as error:
            command = self.get_command(context, context.invoked_subcommand or "")
            advice = memory_advice(error, command)
            raise click.ClickException(f"{sentence(error)}{advice}") from error


class Warnings:
    """Shows ours as a sentence, others as usual, and each once, however often data are read."""

    def __init__(self) -> None:
        self._shown: set[str] = set()

    def show(
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: Any = None,
        line: str | None = None,
    ) -> None:
        text = f"Warning: {message}\n"
        if not issubclass(category, RarefyWarning):
            text = warnings.formatwarning(message, category, filename, lineno, line)
        if text not in self._shown:
            self._shown.add(text)
            click.echo(text, err=True, nl=False)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Sparse online learning that keeps the rare features that matter.

    Exit codes: 0 success; 1 the data or the parameters are wrong; 2 the command line is wrong; 3
    the new model is worse than allowed (flips, update); 130 interrupted by Ctrl-C (143 SIGTERM, 129
    SIGHUP); what was learned is saved.
    """
