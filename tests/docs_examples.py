"""Examples of docstrings, run with their outputs compared."""

import doctest
import inspect
from typing import Any


def run_examples(thing: Any, *, replaced: dict[str, str] | None = None, **names: Any) -> int:
    """Run the examples of a docstring, those that are skipped elsewhere too; how many there are."""
    text = (inspect.getdoc(thing) or "").replace("  # doctest: +SKIP", "")
    for old, new in (replaced or {}).items():
        text = text.replace(old, new)
    name = getattr(thing, "__qualname__", str(thing))
    test = doctest.DocTestParser().get_doctest(text, dict(names), name, None, None)
    printed: list[str] = []
    found = doctest.DocTestRunner(verbose=False).run(test, out=printed.append)
    assert found.failed == 0, "".join(printed)
    return len(test.examples)
