"""An entry of a section of a docstring."""

from typing import NamedTuple


class DocstringEntry(NamedTuple):
    kind: str
    about: str
