"""What came of runs, kept in a file, so that nothing is done twice."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

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
            file.write_text("".join(whole))
            self.update(read(*json.loads(line)) for line in whole)

    def keep(self, found: Mapping[Key, Value]) -> None:
        self.update(found)
        with self.file.open("a") as lines:
            lines.writelines(json.dumps(item) + "\n" for item in found.items())
