"""What a command that ran out of memory can be asked for."""

import click

LESS_MEMORY = {
    "bits": "fewer --bits",
    "capacity": "a smaller --capacity",
    "memory": "a smaller --memory",
}


def memory_advice(error: BaseException, command: click.Command | None) -> str:
    """After a lack of memory, the options of the command that limit it; else nothing."""
    if not isinstance(error, MemoryError) or command is None:
        return ""
    names = [option.name for option in command.params]
    found = [less for name, less in LESS_MEMORY.items() if name in names]
    return f" Try {' or '.join(found)}." if found else ""
