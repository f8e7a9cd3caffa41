"""A progress bar for loops over rows."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def shown_progress(is_shown: bool, n_items: int | None) -> Iterator[Callable[[int, int], None]]:
    """What to tell how many items more, and how many examples in all, have been learned.

    None: it is not known how many items there are.
    """
    if not is_shown:
        yield lambda n_more, n_learned: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True)) as progress:
        bar = progress.add_task("", total=n_items)

        def tell(n_more: int, n_learned: int) -> None:
            said = f"{n_learned:,} examples learned"
            progress.update(bar, advance=n_more, description=said)

        yield tell
