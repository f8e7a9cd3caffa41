"""Tables that are shown while the benchmarks run and kept in docs/results/benchmarks.md."""

import re
from collections.abc import Sequence
from pathlib import Path

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "benchmarks.md"
HEAD = """# Benchmarks: speed, next to other tools

Written by `make bench`, section by section. Times are the best of several runs; compare the ratios,
not the times.
"""


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    cells = [list(map(str, row)) for row in [header, *rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in cells
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def page_with(page: str, title: str, text: str, titles: Sequence[str]) -> str:
    """The page with a section new or replaced; its sections are in the order of the titles."""
    found = re.findall(r"^## (.+?)\n+(.*?)\s*(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    sections = {**dict(found), title: text}
    return HEAD + "".join(
        f"\n## {each}\n\n{sections[each]}\n" for each in titles if each in sections
    )
