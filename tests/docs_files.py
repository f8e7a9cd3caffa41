"""Small files under the names that the pages use, so that their commands can be run.

Pages say `reviews.svm` or `clicks.csv` where readers have data of their own.
"""

import gzip
import random
import shutil
from pathlib import Path

import rarefy

N_ROWS = 400
SVMLIGHT = {  # and how many rows
    "reviews": 4_800,
    "new": 6_000,
    "reviews-1": 800,  # with which an update finds a better model
    **dict.fromkeys(("pages", "held-out", "test", "recent", "old", "part-1", "part-2"), N_ROWS),
    **dict.fromkeys(("sunday", "monday", "tuesday"), N_ROWS),
}
SPAM = ["win a prize now", "free entry, call now", "claim your free prize", "text WIN to 80086"]
HAM = ["see you at lunch", "call me at noon", "are you at home?", "i am late, sorry"]


def write_files(folder: Path) -> None:
    """All of them, and the models that pages begin with."""
    for number, (name, n_rows) in enumerate(SVMLIGHT.items()):
        _write(folder / f"{name}.svm", _svmlight(number, n_rows))
    for number, name in enumerate(("clicks", "clicks-1", "december", "recent")):
        _write(folder / f"{name}.csv", _clicks(number))
    (folder / "clicks").mkdir()
    for number in range(4):
        (folder / "clicks" / f"{number}.vw").write_text(_vw(number, 700))
    _write(folder / "clicks.vw", _vw(9, N_ROWS))
    for number, name in enumerate(("sms", "new")):
        _write(folder / f"{name}.tsv", _texts(number))
    texts = _texts(5).replace(",", "").replace("\t", ",")
    _write(folder / "reviews.csv", texts.replace("kind,message", "label,review"))
    _write_models(folder)


def _write_models(folder: Path) -> None:
    rarefy.train(folder / "reviews-1.svm", output=folder / "reviews.model")
    for name in ("live", "next", "yesterday"):
        shutil.copy(folder / "reviews.model", folder / f"{name}.model")
    texts = {"label": "kind", "text": ["message"]}
    rarefy.train(folder / "sms.tsv", output=folder / "sms.model", l1=0.5, **texts)
    shutil.copy(folder / "sms.model", folder / "old.model")
    rarefy.train(folder / "new.tsv", output=folder / "new.model", resume=folder / "old.model")
    rarefy.train(folder / "clicks.vw", output=folder / "clicks.model")
    rarefy.train(folder / "clicks.csv", output=folder / "fraud.model", label="click")


def _write(path: Path, text: str) -> None:
    path.write_text(text)
    with gzip.open(f"{path}.gz", "wt") as file:
        file.write(text)


def _svmlight(seed: int, n_rows: int) -> str:
    rng = random.Random(seed)
    lines = []
    for _ in range(n_rows):
        features = sorted(rng.sample(range(1, 100), 8))
        is_second = sum(f < 40 for f in features) + rng.gauss(0.0, 0.5) > 3.2
        lines.append(f"{1 if is_second else -1} {' '.join(f'{f}:1' for f in features)}")
    return "\n".join(lines) + "\n"


def _clicks(seed: int) -> str:
    rng = random.Random(seed)
    rows = ["click,site,ad,hour"]
    for _ in range(N_ROWS):
        site, ad = rng.randrange(20), rng.choice(["shoes", "books", "games"])
        rows.append(f"{int(site < 7 or rng.random() < 0.1)},site{site},{ad},{rng.randrange(24)}")
    return "\n".join(rows) + "\n"


def _vw(seed: int, n_rows: int) -> str:
    rng = random.Random(seed)
    lines = []
    for _ in range(n_rows):
        site = rng.randrange(20)
        lines.append(f"{1 if site < 7 else -1} |site site{site} |ad {rng.choice('abc')}")
    return "\n".join(lines) + "\n"


def _texts(seed: int) -> str:
    rng = random.Random(seed)
    rows = ["kind\tmessage"]
    for _ in range(N_ROWS):
        is_spam = rng.random() < 0.3
        rows.append(f"{'spam' if is_spam else 'ham'}\t{rng.choice(SPAM if is_spam else HAM)}")
    return "\n".join(rows) + "\n"
