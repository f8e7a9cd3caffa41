"""Tables that are shown while the benchmarks run and kept in docs/results/benchmarks.md."""

from collections.abc import Sequence
from pathlib import Path

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "benchmarks.md"


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    cells = [list(map(str, row)) for row in [header, *rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in cells
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def write_results(sections: Sequence[tuple[str, str]]) -> None:
    """Write the sections, (title, text), in order."""
    text = "# Benchmark results\n\nWritten by `make bench`. "
    text += "Times are the best of 5 runs; compare the ratios, not the times.\n"
    for title, body in sections:
        text += f"\n## {title}\n\n{body}\n"
    RESULTS.write_text(text)
