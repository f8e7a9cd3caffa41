"""Commands as processes that are ended, lose who looks at them, or meet errors late."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rarefy.readers.source import BLOCK_BYTES
from tests.test_kills import PATIENCE, rows_text, sigint_is_not_ignored, trained

__all__ = ["sigint_is_not_ignored"]  # a fixture

COMMAND = [sys.executable, "-m", "rarefy.cli"]
N_ROWS = 5000
SWEEP = ("--rule", "ftrl", "--n-l1", "2", "--folds", "2", "--passes", "2", "-o", "found")
COMMANDS = {
    "train": ("train", "rows.svm", "--passes", "3", "--save-every", "999", "-o", "new"),
    "refit": ("train", "rows.svm", "--refit", "--passes", "2", "-o", "new"),
    "sweep": ("sweep", "rows.svm", *SWEEP),
    "predict": ("predict", "some.model", "rows.svm", "--scores", "-o", "new"),
    "evaluate": ("evaluate", "some.model", "rows.svm"),
    "flips": ("flips", "some.model", "some.model", "rows.svm"),
    "inspect": ("inspect", "some.model"),
    "diff": ("diff", "some.model", "some.model"),
    "export": ("export", "some.model", "--to", "json", "-o", "new"),
}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    """The working directory, with data and a model; all that is needed is compiled."""
    before, path = os.getcwd(), tmp_path_factory.mktemp("ends")
    os.chdir(path)
    Path("rows.svm").write_text(rows_text(N_ROWS))
    text = Path("rows.svm").read_text()
    Path("long.svm").write_text(text * (3 * BLOCK_BYTES // len(text)))
    trained("rows.svm", "-o", "some.model")
    yield path
    os.chdir(before)


@pytest.fixture(autouse=True)
def clean(folder):
    yield
    for name in os.listdir():
        if name not in ("rows.svm", "long.svm", "some.model", "expected"):
            shutil.rmtree(name) if os.path.isdir(name) else os.remove(name)


def ended(*arguments: str, **options) -> subprocess.CompletedProcess:
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    done = subprocess.run([*COMMAND, *arguments], check=False, timeout=PATIENCE, **options)
    assert b"Traceback" not in (done.stderr or b""), done.stderr.decode()
    return done


# --- signals at random moments --------------------------------------------------------------------


def files_of(name: str) -> dict[str, bytes]:
    """What the command has written; a report says how long it took."""
    paths = [Path("new")] if name != "sweep" else sorted(Path("found").glob("*"))
    return {p.name: p.read_bytes() for p in paths if p.exists() and p.name != "report.html"}


def expected_files(name: str) -> tuple[dict[str, bytes], float]:
    """What it writes if nobody stops it, and how long that takes."""
    ended(*COMMANDS[name])  # to compile what is not compiled yet
    start = time.monotonic()
    assert ended(*COMMANDS[name]).returncode == 0
    seconds = time.monotonic() - start
    return files_of(name), seconds


def assert_signal_is_harmless(
    name: str, number: int, after: float, expected: dict[str, bytes], old: bool
) -> str:
    """Send a signal after so many seconds; how it went."""
    shutil.rmtree("found", ignore_errors=True)
    Path("new").unlink(missing_ok=True)
    if old and name != "sweep":
        Path("new").write_bytes(b"old")
    process = subprocess.Popen(
        [*COMMAND, *COMMANDS[name]], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    time.sleep(after)
    process.send_signal(number)
    sent = time.monotonic()
    _, errors = process.communicate(timeout=PATIENCE)
    assert time.monotonic() - sent < 5.0, "it should take a second"
    text = errors.decode()
    early = "site.py" in text or "<frozen" in text or "runpy" in text  # Python itself starts
    assert "Traceback" not in text or early, text
    found = files_of(name)
    if process.returncode == 0:
        assert found == expected
        return "over"
    kinds = {-number} if number == signal.SIGKILL or after < 0.1 else {128 + number}
    assert process.returncode in kinds | {128 + number}, (process.returncode, text)
    if number != signal.SIGKILL:
        assert not list(Path().rglob("*.part"))
    for part in Path().glob("*.part"):
        part.unlink()
    goes_on = {"new": "new", "best.model": "found/best.model"}
    for file, content in found.items():
        if content in (b"old", expected[file]):
            continue
        assert file in goes_on, file
        assert name in ("train", "refit", "sweep")
        done = ended("train", "--resume", goes_on[file])
        assert done.returncode == 0, done.stderr
        assert Path(goes_on[file]).read_bytes() == expected[file]
        return "gone on with"
    return "nothing, old, or all"


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_signals_at_random_moments(name):
    expected, seconds = expected_files(name)
    chance = random.Random(7)
    for _ in range(24):
        number, after = chance.choice(SIGNALS), 0.05 + chance.random() * seconds
        assert_signal_is_harmless(name, number, after, expected, old=chance.random() < 0.5)


@pytest.mark.parametrize("name", ["train", "predict", "sweep"])
def test_a_signal_in_the_middle(name):
    expected, seconds = expected_files(name)
    assert_signal_is_harmless(name, signal.SIGTERM, seconds / 2, expected, old=True)
