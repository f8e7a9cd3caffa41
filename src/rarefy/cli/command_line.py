"""A command as it was typed."""

import shlex
from typing import Any

import click

ARGUMENTS = "rarefy.arguments"


class RememberingCommand(click.Command):
    """A command that keeps its arguments as they were given."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[ARGUMENTS] = [*args]
        return super().parse_args(ctx, args)


def command_line(context: click.Context) -> str:
    """What to type to have the same again."""
    arguments: Any = context.meta[ARGUMENTS]
    return shlex.join(["rarefy", context.command.name or "", *arguments])
