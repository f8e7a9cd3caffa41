"""`rarefy train` as a process that is killed or interrupted at any moment loses nothing."""

from __future__ import annotations

import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from rarefy.cli import main
from rarefy.files.model_file import load_model
from rarefy.readers.source import BLOCK_BYTES
from tests.selecting import slow_but

pytestmark = pytest.mark.usefixtures("signals_are_not_ignored")

N_ROWS = 20_000
EVERY = 500
OPTIONS = {
    "table": ("--rule", "fobos", "--l2", "0.001"),
    "hashed": ("-b", "10", "--cache", "rows.cache"),
    "capped": ("--capacity", "400", "--holdout", "0.1"),
    "shards": ("--shards", "3"),
}
PATIENCE = 120  # seconds after which a process counts as hanging


def rows_text(n_rows: int) -> str:
    rng = np.random.default_rng(5)
    keys = rng.zipf(1.3, (n_rows, 6)) % 3000
    labels = np.where((keys % 7 == 3).any(axis=1) ^ (rng.random(n_rows) < 0.1), 1, -1)
    return "".join(
        f"{label} " + " ".join(f"{key}:1" for key in sorted(set(row))) + "\n"
        for label, row in zip(labels.tolist(), keys.tolist(), strict=True)
    )


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    """The working directory, with data, and the files of runs that nobody stopped."""
    before, path = os.getcwd(), tmp_path_factory.mktemp("kills")
    os.chdir(path)
    Path("rows.svm").write_text(rows_text(N_ROWS))
    trained("rows.svm", "-o", "warm.model")  # what is compiled now is found by all processes
    yield path
    os.chdir(before)


@pytest.fixture(params=OPTIONS)
def arguments(request) -> list[str]:
    return ["rows.svm", *OPTIONS[request.param], "--passes", "2", "--save-every", str(EVERY)]


def whole(arguments: list[str]) -> bytes:
    """The file of a run that nobody stopped."""
    trained(*arguments, "-o", "whole.model")
    if "--cache" in arguments:
        os.remove("rows.cache")
    return Path("whole.model").read_bytes()


def trained(*arguments: str, stdin: bytes | None = None) -> None:
    result = CliRunner().invoke(main, ["train", *arguments], input=stdin, catch_exceptions=False)
    assert result.exit_code == 0, result.output


def started(*arguments: str, **streams) -> subprocess.Popen:
    command = [sys.executable, "-m", "rarefy", "train", *arguments]
    return subprocess.Popen(command, stderr=subprocess.PIPE, **streams)


def wait_for_change(process: subprocess.Popen, before: float) -> None:
    """Until the process has written its model, or has ended."""
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and modified("some.model") == before:
        assert time.monotonic() < deadline
        time.sleep(0.002)


def wait_for_compiler(process: subprocess.Popen) -> None:
    """Until it is being imported, which is half of the time that a command takes to start."""
    maps, deadline = Path(f"/proc/{process.pid}/maps"), time.monotonic() + PATIENCE
    if not maps.exists():
        pytest.skip("there is no /proc here")
    while "llvmlite" not in maps.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def modified(path: str) -> float:
    return os.stat(path).st_mtime_ns if os.path.exists(path) else 0.0


def ended(process: subprocess.Popen) -> tuple[int, str]:
    _, errors = process.communicate(timeout=PATIENCE)
    text = errors.decode()
    assert "Traceback" not in text, text
    return process.returncode, text


def assert_goes_on_to(expected: bytes) -> None:
    """From a copy of the model; the model itself stays as it is."""
    shutil.copy("some.model", "copy.model")
    if load_model("copy.model").run["place"]["pass_number"] <= 2:
        trained("--resume", "copy.model")
    assert Path("copy.model").read_bytes() == expected


def survived_kills(arguments: list[str], n_kills: int, seed: int) -> int:
    """Kill a run, and those that go on with it, at random moments."""
    expected, chance = whole(arguments), random.Random(seed)
    Path("some.model").unlink(missing_ok=True)
    n_survived = 0
    while n_survived < n_kills:
        begins = not os.path.exists("some.model")
        again = [*arguments, "-o", "some.model"] if begins else ["--resume", "some.model"]
        before = modified("some.model")
        process = started(*again)
        if chance.random() < 0.8:
            wait_for_change(process, before)
        time.sleep(chance.random() ** 2 * 0.5)
        process.send_signal(signal.SIGKILL)
        code, _ = ended(process)
        assert code in (0, -signal.SIGKILL)
        n_survived += code == -signal.SIGKILL
        if os.path.exists("some.model"):
            model = load_model("some.model")
            assert_goes_on_to(expected)
            if code == 0 or model.run["place"]["pass_number"] > 2:
                os.remove("some.model")
            elif "--shards" not in arguments:  # those are saved when a round is merged
                assert model.examples % EVERY == 0
    for leftover in Path().glob("*.part"):
        leftover.unlink()
    return n_survived


@pytest.mark.parametrize("arguments", slow_but(OPTIONS, "table", "shards"), indirect=True)
def test_some_kills(arguments):
    assert survived_kills(arguments, 3, seed=1) == 3


@pytest.mark.slow
def test_many_kills(arguments):
    assert survived_kills(arguments, 40, seed=2) == 40


# --- interruptions --------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("seed", range(10))
def test_interrupted_at_many_moments(arguments, number, seed):
    assert_interruption_is_harmless(arguments, number, seed)


@pytest.mark.parametrize(
    ("number", "store"),
    [(signal.SIGINT, "table"), (signal.SIGTERM, "capped"), (signal.SIGHUP, "hashed")],
)
def test_interrupted(number, store):
    options = ["rows.svm", *OPTIONS[store], "--passes", "2", "--save-every", str(EVERY)]
    assert_interruption_is_harmless(options, number, seed=0)


def assert_interruption_is_harmless(arguments: list[str], number: int, seed: int) -> None:
    expected, chance = whole(arguments), random.Random(seed)
    Path("some.model").unlink(missing_ok=True)
    process = started(*arguments, "-o", "some.model")
    wait_for_change(process, 0.0)
    time.sleep(chance.random() * 0.1)
    process.send_signal(number)
    code, text = ended(process)
    # When the whole model had been saved; a last line of the table may come behind the word.
    is_late = "Interrupted.\n" in text
    if code == 0 or is_late:
        assert Path("some.model").read_bytes() == expected
        return
    assert code == 128 + number
    command = text.strip().splitlines()[-1].removeprefix("Interrupted, and saved. To continue: ")
    assert shlex.split(command) == ["rarefy", "train", "--resume", "some.model"]
    assert not list(Path().glob("*.part"))
    assert_goes_on_to(expected)
    trained(*shlex.split(command)[2:])
    assert Path("some.model").read_bytes() == expected


def test_interrupted_again_and_again():
    """Each time as soon as something is saved, which may be while rows are passed over."""
    arguments = ["rows.svm", "--passes", "3", "--rule", "rda"]
    trained(*arguments, "-o", "whole.model")
    Path("some.model").unlink(missing_ok=True)
    again, chance = [*arguments, "-o", "some.model", "--save-every", "7000"], random.Random(3)
    for _ in range(4):
        before = modified("some.model")
        process = started(*again)
        wait_for_compiler(process)
        time.sleep(2 * chance.random())
        process.send_signal(signal.SIGINT)
        code, _ = ended(process)
        assert code in (0, 130)
        if before != modified("some.model"):
            again = ["--resume", "some.model"]
            if load_model("some.model").run["place"]["pass_number"] > 3:
                break
    else:
        trained(*again)
    found, expected = load_model("some.model"), load_model("whole.model")
    assert found.kept.weights.tobytes() == expected.kept.weights.tobytes()
    assert (found.clock, found.progress) == (expected.clock, expected.progress)


def test_interrupted_before_it_has_started():
    """On a busy machine the signal may come when all is over; then once more."""
    for _ in range(10):
        Path("some.model").unlink(missing_ok=True)
        process = started("rows.svm", "-o", "some.model")
        wait_for_compiler(process)
        process.send_signal(signal.SIGINT)
        code, text = ended(process)
        if code == 130:
            break
    assert code == 130
    assert text.strip() in ("Interrupted.", "Interrupted before anything was learned.")
    assert not os.path.exists("some.model")


@pytest.mark.parametrize("seconds", [0.0, 0.01, 0.3])
def test_interrupted_twice(seconds):
    """At once, or while the end is being told: one wish, and all there is to say of it is said."""
    arguments = ["rows.svm", "--passes", "40", "--save-every", str(EVERY), "-o", "some.model"]
    Path("some.model").unlink(missing_ok=True)
    process = started(*arguments)
    wait_for_change(process, 0.0)
    process.send_signal(signal.SIGINT)
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    code, text = ended(process)
    assert code == 130
    assert "Interrupted, and saved." in text
    assert not list(Path().glob("*.part"))
    assert load_model("some.model").examples > 0


class TestStandardInput:
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_that_says_nothing(self, number):
        Path("some.model").unlink(missing_ok=True)
        process = started("-", "-o", "some.model", stdin=subprocess.PIPE)
        process.stdin.write(b"1 1")
        process.stdin.flush()
        self.wait_until_it_reads(process)
        process.send_signal(number)
        assert process.wait(PATIENCE) == 128 + number
        assert b"Interrupted before anything was learned." in process.stderr.read()
        assert not os.path.exists("some.model")
        process.stdin.close()
        process.stderr.close()

    def test_that_says_no_more(self):
        text = Path("rows.svm").read_bytes()
        text *= 3 * BLOCK_BYTES // len(text)
        Path("some.model").unlink(missing_ok=True)
        process = started("-", "-o", "some.model", "--save-every", "9000", stdin=subprocess.PIPE)
        process.stdin.write(text)
        process.stdin.flush()
        wait_for_change(process, 0.0)
        self.wait_until_it_reads(process)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
        assert b"... | rarefy train --resume some.model -" in process.stderr.read()
        assert 0 < load_model("some.model").examples < text.count(b"\n")
        process.stdin.close()
        process.stderr.close()
        trained("-", "--resume", "some.model", stdin=text)
        trained("-", "--save-every", "9000", "-o", "whole.model", stdin=text)
        assert Path("some.model").read_bytes() == Path("whole.model").read_bytes()

    @staticmethod
    def wait_until_it_reads(process: subprocess.Popen) -> None:
        """Its main thread sleeps, and it has the readers' threads."""
        tasks, deadline = Path(f"/proc/{process.pid}/task"), time.monotonic() + PATIENCE
        if not tasks.exists():
            pytest.skip("there is no /proc here")
        calm = 0
        while calm < 20:
            assert time.monotonic() < deadline
            state = (tasks / str(process.pid) / "stat").read_text().rsplit(")", 1)[1].split()[0]
            names = [(task / "comm").read_text() for task in tasks.iterdir()]
            calm = calm + 1 if state == "S" and len(names) > 2 else 0
            time.sleep(0.02)
