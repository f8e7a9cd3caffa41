"""Sections of docstrings that several methods share, in numpydoc's form."""

import inspect
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

SECTIONS = ("Parameters", "Returns", "Raises", "See Also", "Examples")
BEFORE_A_SECTION = re.compile(rf"\n\n(?=(?:{'|'.join(SECTIONS)})\n---)")


class DocstringEntry(NamedTuple):
    """What a section says of a type, or of something of that type."""

    kind: str
    about: str

    def under(self, head: str) -> str:
        return f"{head}\n    {self.about}"

    @property
    def text(self) -> str:
        return self.under(self.kind)


def add_sections(function: Any, sections: Mapping[str, Sequence[str]]) -> None:
    """Add sections by title, with their entries, that the docstring does not have itself."""
    text = inspect.cleandoc(function.__doc__ or "")
    head, *own = BEFORE_A_SECTION.split(text)
    known = {title: _section(title, entries) for title, entries in sections.items() if entries}
    known |= {section.partition("\n")[0]: section for section in own}
    function.__doc__ = "\n\n".join([head, *(known[title] for title in SECTIONS if title in known)])


def _section(title: str, entries: Sequence[str]) -> str:
    return "\n".join((title, "-" * len(title), *entries))
