"""`partial_fit` of readers, rows with names, and iterators of either."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import groupby, islice
from operator import length_hint
from typing import Any

from rarefy.errors import InputError
from rarefy.readers import Reader
from rarefy.readers.in_memory import are_rows
from rarefy.stores import make_store
from rarefy.streams.single_rows import learn_reader
from rarefy.streams.stream_model import StreamModel

ROWS_AT_ONCE = 1000  # of an iterator


class PartialFitOfRows:
    """Part of the base of both estimators."""

    def _is_no_matrix(self: Any, X: Any) -> bool:
        """Whether these are rows to go on with that are no matrix."""
        if isinstance(X, Reader | Mapping) or _is_iterator(X) or self._takes_raw(X):
            return True
        return isinstance(X, list | tuple) and len(X) > 0 and are_rows(X)

    def _go_on(self: Any, X: Any, y: Any = None, classes: Any = None, weight: Any = None) -> None:
        """Learn from a reader, from rows with names, or from an iterator of such."""
        if self.__sklearn_is_fitted__():
            self._single()  # refused, if the model is one of matrices
            self._check_can_learn()
            self._refuse_shards()
            self._task_to_go_on(self._task())
        has_own_labels = isinstance(X, Reader) or _is_iterator(X)
        if has_own_labels and (y is not None or weight is not None):
            raise InputError(
                f"a {type(X).__name__} has its own labels and weights: do not give y or "
                f"sample_weight."
            )
        if isinstance(X, Reader):
            self._learn_reader(X, classes)
            return
        if not self.__sklearn_is_fitted__():
            self._start_by_default(classes)
        if _is_iterator(X):
            with _shown_progress(bool(self.verbose), length_hint(X) or None) as tell:
                for rows, labels, n_items in _in_parts(X):
                    self._go_on(rows, labels)
                    tell(n_items, self.t_)
            return
        self.learn_many([X] if isinstance(X, Mapping) else X, y, weight)

    def _learn_reader(self: Any, reader: Reader, classes: Any) -> None:
        with self._draft(keeps_rows=True) as draft:
            model = draft.stream_
            task = draft._task_to_learn(classes) if model is None else model.task
            if model is None:
                names = reader.labels.classes if classes is None else draft._class_names(classes)
                model = StreamModel(task, make_store(), names)
            try:
                learn_reader(model, reader)
            finally:
                if model.t:
                    draft._take_over_stream(model, task)
            if not model.t:
                raise InputError(f"{' '.join(reader.files)}: there are no examples to learn from.")


@contextmanager
def _shown_progress(is_shown: bool, n_items: int | None) -> Iterator[Callable[[int, int], None]]:
    """A progress bar: what to tell how many more items, and examples in all, have been learned.

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


def _is_iterator(X: Any) -> bool:
    return isinstance(X, Iterator)


def _in_parts(items: Iterator[Any]) -> Iterator[tuple[Any, Any, int]]:
    """What an iterator gives: rows and their labels, some at a time, and of how many items.

    An item is a dict; a dict and its label; or a reader, a data frame or a list of dicts, alone or
    with its labels, each of which is learned by itself.
    """
    for kind, group in groupby(items, _kind):
        if kind == "other":
            yield from ((item, None, 1) for item in group)
        elif kind == "labelled":
            yield from ((*item, 1) for item in group)
        else:
            while part := list(islice(group, ROWS_AT_ONCE)):
                if kind == "labelled row":
                    yield [x for x, _ in part], [y for _, y in part], len(part)
                else:
                    yield part, None, len(part)


def _kind(item: Any) -> str:
    if isinstance(item, Mapping):
        return "row"
    if isinstance(item, tuple) and len(item) == 2 and not isinstance(item[1], Mapping):
        return "labelled row" if isinstance(item[0], Mapping) else "labelled"
    return "other"
