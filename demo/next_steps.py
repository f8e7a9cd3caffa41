"""What to do after the demo: a data file, and three commands that use it."""

import os
import shutil
import sys
from pathlib import Path

import numpy as np

from demo.data import Corpus

N_ROWS = 20_000


def write_rows(corpus: Corpus, file: Path, n_rows: int = N_ROWS) -> Path:
    """Write the first training rows as VW text, with features named by their kind."""
    names = np.array([f"noise{word}" for word in range(corpus.n_features)], dtype=object)
    for kind in ("rare", "frequent", "small_unit"):
        for word in getattr(corpus, kind):
            names[word] = f"{kind}{word}"
    X = corpus.X_train[:n_rows]
    named = names[X.indices]
    entries = [f"{name}:{value:g}" for name, value in zip(named, X.data, strict=True)]
    with file.open("w") as lines:
        for label, begin, end in zip(corpus.y_train, X.indptr, X.indptr[1:], strict=False):
            lines.write(f"{label} | {' '.join(entries[begin:end])}\n")
    return file


def commands(file: Path) -> list[str]:
    """Train on the file, look at the model, predict with it."""
    rarefy = _rarefy_command()
    return [
        f"{rarefy} train {file} -o demo.model --l1 2 --holdout 0.2",
        f"{rarefy} inspect demo.model",
        f"{rarefy} predict demo.model {file} --probabilities | head",
    ]


def _rarefy_command() -> str:
    """The command of this Python, as short as it can be called from here."""
    script = Path(sys.executable).parent / "rarefy"
    if shutil.which("rarefy") == str(script):
        return "rarefy"
    return os.path.relpath(script) if script.exists() else f"{sys.executable} -m rarefy"
