"""`rarefy token`."""

from pathlib import Path

import click

from rarefy.errors import ConfigError


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, exists=True))
@click.argument("name")
@click.option(
    "--scope",
    type=click.Choice(["read", "learn", "admin"]),
    default="read",
    show_default=True,
    help="What it allows: predictions; learning, too; or everything.",
)
@click.option("--remove", is_flag=True, help="Remove the token of that name.")
def token(folder: str, name: str, scope: str, remove: bool) -> None:
    """Make a token for the service of FOLDER, and print it.

    A token of the same NAME is replaced. A service that is running takes note at once. Only a hash
    of the token is kept, in FOLDER/tokens.json.

    \b
    Examples:
      rarefy token models website --scope learn
      rarefy token models website --remove
    """
    try:
        from rarefy.serving.access_control import Tokens
    except ImportError as error:
        raise ConfigError(f"serving needs `pip install rarefy[serve]` ({error}).") from error
    tokens = Tokens(Path(folder))
    if remove:
        tokens.remove(name)
    else:
        click.echo(tokens.add(name, scope))
