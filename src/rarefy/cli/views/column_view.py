"""How the columns of the data are taken, a line each."""

from collections import Counter
from collections.abc import Iterator, Mapping

from rarefy.cli.views.formatting import visible

MOST_COLUMNS = 30
WIDEST_NAME = 30
IN_WORDS = {"weight": "sample weight", "ignore": "ignored"}


def column_lines(roles: Mapping[str, str]) -> Iterator[str]:
    """A line for each column; of many columns the first, and how many more of each kind."""
    shown = {visible(name): IN_WORDS.get(role, role) for name, role in roles.items()}
    first = [*shown.items()][:MOST_COLUMNS]
    width = min(max(len(name) for name, _ in first), WIDEST_NAME)
    for name, role in first:
        yield f"column {name:<{width}}  {role}"
    more = Counter([*shown.values()][MOST_COLUMNS:])
    if more:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in more.items())
        yield f"... and {sum(more.values()):,} more columns: {kinds}"
