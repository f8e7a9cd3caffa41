"""`rarefy completion`."""

import click
from click.shell_completion import get_completion_class

from rarefy.cli import PROGRAM

SHELLS = ("bash", "zsh", "fish")
VARIABLE = f"_{PROGRAM.upper()}_COMPLETE"  # by which the script asks for completions


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script with which SHELL completes rarefy commands.

    It completes options and file names, too.

    \b
    To install it, add a line to a file:
      bash  ~/.bashrc                   eval "$(rarefy completion bash)"
      zsh   ~/.zshrc                    eval "$(rarefy completion zsh)"
      fish  ~/.config/fish/config.fish  rarefy completion fish | source

    \b
    Example:
      rarefy completion bash
    """
    completer = get_completion_class(shell)
    assert completer is not None
    script = completer(context.find_root().command, {}, PROGRAM, VARIABLE)
    click.echo(script.source())
