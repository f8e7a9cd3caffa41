"""Measure, simulate, draw and write docs/results/cluster.md: `python -m experiments.cluster`.

With --short, a few minutes of smaller runs, whose page is only printed.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

from experiments.cluster import pictures
from experiments.cluster.fitting import Found
from experiments.cluster.measuring import SHORT, Measuring, Scale
from experiments.cluster.page import losses_of, page, read, times_of
from experiments.records import RESULTS, Records

IMAGES = RESULTS / "img"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="smaller runs; print the page")
    is_short = parser.parse_args().short
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        records: Records[Any, Any] = (
            Records(folder / "short.jsonl", read) if is_short else Records.of_page("cluster", read)
        )
        Measuring(records, SHORT if is_short else Scale(), folder).all()
    if is_short:
        print(page(records))
    else:
        _write(records)


def _write(found: Found) -> None:
    pictures.draw_times(times_of(found), IMAGES / "cluster-times.svg")
    pictures.draw_losses(losses_of(found), IMAGES / "cluster-losses.svg")
    (RESULTS / "cluster.md").write_text(page(found))


if __name__ == "__main__":
    main()
