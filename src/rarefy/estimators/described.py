"""An entry of a section of a docstring."""

from typing import NamedTuple


class Described(NamedTuple):
    kind: str
    about: str
