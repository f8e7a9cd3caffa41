"""Single rows of any form, as features in a buffer that is allocated once.

Of plain dicts only the address is noted: compiled loops read them directly. Other forms become a
line, which the cached parser of its format reads. Rows that fit neither are left to the readers of
files, which also say what is wrong with an invalid row.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.errors import InputError
from rarefy.jit import in_turn
from rarefy.readers.buffers import BatchBuffer
from rarefy.readers.feature_names import Names
from rarefy.readers.formats.dict_parser import NOT_PLAIN, dict_scratch
from rarefy.readers.formats.registry import is_plainly_vw, recognise_text
from rarefy.readers.in_memory import NAME
from rarefy.readers.single.line_parsing import LONGEST_LINE
from rarefy.readers.single.row_lines import RowLines
from rarefy.readers.single.row_loop import DONE, OwnTargets
from rarefy.readers.single.row_reading import (
    ObjectReading,
    Parser,
    RowForm,
    SingleRowReading,
    Step,
)

FEWEST_ENTRIES = 1 << 12  # that there is room for
MOST_ROWS, MOST_ENTRIES = 1 << 13, 1 << 18


def _refuse() -> int:
    """In the place of a call that cannot be bound."""
    return NOT_PLAIN


class SingleRowIntake:
    """Takes rows, each time instead of those before; after the `steps`, they are in `buffer`.

    If they are dicts, `_addresses` has theirs, and else 0 at first.
    """

    parser: Parser | None = None  # that of the last row, if it was a line
    line_format: str | None = None  # that of the first line that was taken without saying which
    _note: Callable[[], int] | None  # the names of features

    def __init__(self, form: RowForm, *, names_wanted: bool) -> None:
        self._form, self._names_wanted = form, names_wanted
        columns = form.columns
        self._text_column = columns.text[0] if len(columns.text) == 1 else None
        self._lines = RowLines(columns)
        self._labelled_lines = RowLines(columns._replace(label_needed=True))
        self._scratch = dict_scratch()
        self._row: Any = None  # the last one, if it was a single dict
        self._line: tuple[bytes, str] | None = None  # text and format of the last, if it was one
        self._make_memory(1, FEWEST_ENTRIES)

    @property
    def most_rows(self) -> int:
        """That there is room for now."""
        return len(self._addresses)

    @property
    def has_words(self) -> NDArray[np.int64]:
        """One number: 0 if no row has a feature twice."""
        return self._scratch.has_words

    @property
    def steps(self) -> list[Step]:
        """Loops that bring what was taken to the buffer."""
        return self._reading.steps(self._addresses, self._scratch)

    @property
    def buffer(self) -> BatchBuffer:
        return self._reading.buffer

    @property
    def names(self) -> Names:
        """What features are called, once that is noted."""
        return self._naming.names

    # --- taking rows ------------------------------------------------------------------------

    def take(self, x: Any, format: str | None, *, with_label: bool = False) -> bool:
        """Take a row: a dict, pairs, a text, or a line; whether it may be plain, and is short."""
        if type(x) is str:
            if format is not None or self._text_column is None:
                return self._take_text(x, format)
            x = {self._text_column: x}
        if type(x) is not dict or format is not None or with_label or self._form.plan is None:
            return self._take_as_line(
                x, format, self._labelled_lines if with_label else self._lines
            )
        self._row, self._line, self.parser = x, None, None
        self._addresses[0], self.n_rows[0] = id(x), 1
        return True

    def take_dict_as_line(self) -> bool:
        """Take the dict once more, which is not plain; whether that can be done."""
        row, self._row = self._row, None
        return row is not None and self._take_as_line(row, None, self._lines)

    def _take_as_line(self, x: Any, format: str | None, lines: RowLines) -> bool:
        try:
            line = lines.line(x, 1, format)
        except InputError:
            return False
        return self._take_line(line.text.removesuffix(b"\n"), line.format)

    def _take_text(self, x: str, format: str | None) -> bool:
        try:
            text = x.removesuffix("\n").encode()
            found = format or ("vw" if is_plainly_vw(text) else recognise_text(NAME, text + b"\n"))
        except (UnicodeEncodeError, InputError):
            return False
        is_taken = self._take_line(text, found)
        if is_taken and format is None and self.line_format is None:
            self.line_format = found
        return is_taken

    def _take_line(self, text: bytes, format: str) -> bool:
        if len(text) > LONGEST_LINE or format not in self._form.line_formats:
            return False
        self._row, self._line = None, (text, format)
        self._addresses[0], self.n_rows[0] = 0, 1
        self.parser = self._reading.read_line(text, format)
        return self.parser is not None

    def take_dicts(self, rows: Sequence[Any]) -> bool:
        """Take dicts; whether there are few enough. They have to stay until the next call."""
        n = len(rows)
        is_list = isinstance(rows, list | tuple) and 0 < n <= MOST_ROWS
        if self._form.plan is None or not is_list or set(map(type, rows)) != {dict}:
            return False
        if not self._has_room(n, sum(map(len, rows))):
            return False
        self._row = self._line = None
        self._addresses[:n] = np.fromiter(map(id, rows), np.int64, n)
        self.n_rows[0] = n
        return True

    def take_features(self, indptr: Any, keys: NDArray[Any], values: NDArray[Any]) -> bool:
        """Take rows by the keys and values of their features; whether there are few enough."""
        n_rows, n = len(indptr) - 1, len(keys)
        if not 0 < n_rows <= MOST_ROWS or not self._has_room(n_rows, n):
            return False
        self._row = self._line = None
        self._addresses[0] = 0
        self.n_rows[0] = n_rows
        self.buffer.indptr[: n_rows + 1] = indptr
        self.buffer.keys[:n] = keys
        self.buffer.values[:n] = values
        return True

    # --- names, which are noted only where features are new ---------------------------------

    def note_names(self) -> bool:
        """Read the rows once more, to note what features are called; whether that is done."""
        if not self._names_wanted:
            return True
        if self._note is None:
            steps = self._naming.steps(self._addresses, self._scratch)
            self._note = in_turn(*steps) or _refuse
        self._naming.forget_names()
        if self._line is not None and self._naming.read_line(*self._line) is None:
            return False
        return self._note() == DONE

    # --- rows that are not taken, but given to loops ----------------------------------------

    def object_reading(self, own: OwnTargets) -> ObjectReading | None:
        """What reads single dicts, or lines like the first one; None if neither is read."""
        line = self._form.line_memory(self.line_format, own)
        if line is None and self._form.plan is None:
            return None
        return ObjectReading(self._form, FEWEST_ENTRIES, self._scratch, line)

    # --- memory -----------------------------------------------------------------------------

    def _has_room(self, n_rows: int, n_entries: int) -> bool:
        """Whether there is room for so much now; too much gets none."""
        if n_rows <= len(self._addresses) and n_entries <= len(self.buffer.labels):
            return True
        if n_entries > MOST_ENTRIES:
            return False
        self._make_memory(n_rows, max(n_entries, FEWEST_ENTRIES))
        return True

    def _make_memory(self, n_rows: int, n_entries: int) -> None:
        self.n_rows = np.ones(1, np.int64)
        self._addresses = np.zeros(n_rows, np.int64)
        self._reading = self._naming = SingleRowReading(
            self._form, self.n_rows, n_entries, names=False
        )
        self._note = None
        if self._names_wanted:
            self._naming = SingleRowReading(self._form, self.n_rows, n_entries, names=True)
