"""What came of runs, kept in a file, so that nothing is done twice."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

RESULTS = Path(__file__).parents[1] / "docs" / "results"
MEASURED = Path(__file__).parent / "measured"  # small records, which are kept with the code

Key = TypeVar("Key")
Value = TypeVar("Value")


class Records(dict[Key, Value]):
    """Known values by key; those of earlier times are read from a file, new ones are added to it.

    Keys and values are tuples; `read` makes them of the lists that JSON has in their place.
    """

    def __init__(self, file: Path, read: Callable[[Any, Any], tuple[Key, Value]]) -> None:
        super().__init__()
        self.file = file
        if file.exists():
            lines = file.read_text().splitlines(keepends=True)
            whole = [line for line in lines if line.endswith("\n")]  # the last may be cut off
            if len(whole) < len(lines):
                file.write_text("".join(whole))
            self.update(read(*json.loads(line)) for line in whole)

    @classmethod
    def of_page(
        cls, name: str, read: Callable[[Any, Any], tuple[Key, Value]]
    ) -> "Records[Key, Value]":
        """What a page in docs/results says; without the file, all is measured again."""
        return cls(MEASURED / f"{name}.jsonl", read)

    def keep(self, found: Mapping[Key, Value]) -> None:
        self.update(found)
        with self.file.open("a") as lines:
            lines.writelines(json.dumps(item) + "\n" for item in found.items())


def head_of_page(name: str) -> str:
    """A comment that says how to write the page again."""
    return (
        f"<!-- Written by `python -m experiments.{name}` from experiments/measured/{name}.jsonl;\n"
        "to measure again, remove that file. -->\n"
    )
