"""The page docs/results/updates.md: its beginning, and sections that are written one by one."""

from collections.abc import Iterable, Mapping
from pathlib import Path

METHODS, TAUGHT, MEASURED = "Methods compared", "Other published methods", "Measured"
BEGINNING = """# Updates: lost answers, by method

How many right answers an update takes back, and at what accuracy.
[Updates within a budget](../how-to/updates.md) says how to use what is compared here.
"""
MARK = "\n## "


def write(file: Path, written: Mapping[str, Iterable[str]]) -> None:
    """Write these sections, by title; others stay as they are in the file, if it is there."""
    _, *parts = file.read_text().split(MARK) if file.exists() else [""]
    sections = {title: text for title, _, text in (part.partition("\n\n") for part in parts)}
    sections |= {title: "\n".join(lines) for title, lines in written.items()}
    order = [title for title in (METHODS, TAUGHT, MEASURED) if title in sections]
    body = "".join(f"{MARK}{title}\n\n{sections[title].strip()}\n" for title in order)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(BEGINNING + body)
