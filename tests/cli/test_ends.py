"""Commands as processes that are ended, lose who looks at them, or meet errors late."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import pytest

from rarefy.files.model_file import load_model
from rarefy.readers.source import BLOCK_BYTES
from tests.cli.test_kills import PATIENCE, rows_text, trained
from tests.cli.test_outputs import give_up_privileges

pytestmark = pytest.mark.usefixtures("signals_are_not_ignored")

COMMAND = [sys.executable, "-m", "rarefy"]
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
    return {
        p.name: p.read_bytes() for p in paths if p.exists() and p.suffix not in (".html", ".part")
    }


@cache
def start_up() -> float:
    """The seconds that a command takes which does nothing, on this machine."""
    start = time.monotonic()
    ended("--version")
    return time.monotonic() - start


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
    if old and "new" in expected:
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
    early |= after < 2 * start_up() and text == ""
    kinds = {-number} if number == signal.SIGKILL else {128 + number}
    kinds |= {-number, 1} if early else set()
    assert process.returncode in kinds, (process.returncode, text)
    if number != signal.SIGKILL:
        assert not list(Path().rglob("*.part"))
    for part in Path().rglob("*.part"):
        part.unlink()
    goes_on = {"new": "new", "best.model": "found/best.model"}
    for file, content in found.items():
        if content in (b"old", expected.get(file)):
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


def test_a_signal_while_compiling(tmp_path):
    """The compiler cannot be stopped, but left alone."""
    process = subprocess.Popen(
        [*COMMAND, "train", "rows.svm", "-o", "new"],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}, stderr=subprocess.PIPE,
    )  # fmt: skip
    while not list(tmp_path.rglob("*")):  # the first loops are being compiled
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    sent = time.monotonic()
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert time.monotonic() - sent < 3.0
    assert b"Traceback" not in errors
    assert not os.path.exists("new")


def test_a_signal_that_is_ignored():
    """As under nohup."""
    process = subprocess.Popen(
        [*COMMAND, "train", "long.svm", "--quiet", "-o", "new"],
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),  # noqa: PLW1509
    )
    for _ in range(3):
        time.sleep(0.1)
        process.send_signal(signal.SIGHUP)
    _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (0, b"")
    assert load_model("new").examples > 0


# --- nobody looks ---------------------------------------------------------------------------------


def long_model() -> bytes:
    if not os.path.exists("expected"):
        trained("long.svm", "-o", "expected")
    return Path("expected").read_bytes()


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_who_reads_the_progress_goes_away(stream):
    expected = long_model()
    options = ["--json"] if stream == "stdout" else []
    process = subprocess.Popen(
        [*COMMAND, "train", "long.svm", "-o", "new", *options],
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE},
    )
    reading = getattr(process, stream)
    assert reading.readline()
    reading.close()
    assert process.wait(PATIENCE) == 0
    assert Path("new").read_bytes() == expected
    if stream == "stdout":
        assert process.stderr.read() == b""
    process.stdout.close()
    process.stderr.close()


@pytest.mark.parametrize("command", ["train", "sweep"])
def test_the_terminal_goes_away(command):
    """Without a signal, as that of another session."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    arguments = ["train", "long.svm", "-o", "new"] if command == "train" else COMMANDS["sweep"]
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=theirs, stdout=subprocess.DEVNULL, stderr=theirs,
        env={**os.environ, "TERM": "xterm"}, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    assert os.read(ours, 10)
    os.close(ours)
    assert process.wait(PATIENCE) == 0
    if command == "train":
        assert Path("new").read_bytes() == long_model()
    else:
        assert sorted(os.listdir("found")) == ["best.model", "report.html", "table.csv"]


def test_the_terminal_hangs_up():
    """What is learned is saved, though nobody is there to be told."""
    pty = pytest.importorskip("pty")
    number, ours = pty.fork()
    if number == 0:
        os.execv(sys.executable, [*COMMAND, "train", "long.svm", "--passes", "500", "-o", "new"])
    seen = b""
    while b"1,000 " not in seen:
        seen += os.read(ours, 4096)
    os.close(ours)
    _, status = os.waitpid(number, 0)
    assert os.waitstatus_to_exitcode(status) == 129
    assert load_model("new").run["place"]["rows"] > 0


CLOSED = {"stdout": ">&-", "stderr": "2>&-", "all": ">&- 2>&- <&-"}


@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize("name", ["train", "predict", "evaluate", "inspect", "help"])
def test_closed_streams(name, closed):
    """Results that go nowhere are an error; what is said to people is not."""
    arguments = {**COMMANDS, "help": ("--help",)}[name]
    script = f'exec "$@" {CLOSED[closed]}'
    done = subprocess.run(
        ["sh", "-c", script, "sh", *COMMAND, *arguments],
        capture_output=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    has_result = name not in ("train", "predict")  # which write to a file
    if closed == "stderr" or not has_result:
        assert (done.returncode, b"Traceback" in done.stderr) == (0, False)
    else:
        assert done.returncode == 1
        said = b"" if closed == "all" else b"Error: standard output: Bad file descriptor.\n"
        assert done.stderr == said


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("name", ["predict", "evaluate", "inspect", "export", "help"])
def test_a_full_disk_behind_standard_output(name):
    arguments = {**COMMANDS, "help": ("--help",)}[name]
    arguments = arguments[:-2] if "-o" in arguments else arguments
    with open("/dev/full", "wb") as full:
        done = ended(*arguments, stdout=full)
    assert done.returncode == 1
    assert done.stderr == b"Error: standard output: No space left on device.\n"
    with open("/dev/full", "wb") as full:
        assert ended("train", "rows.svm", "-o", "new", stderr=full).returncode == 0


@pytest.mark.parametrize("command", ["train - -o new", "predict some.model -"])
def test_standard_input_that_cannot_be_read(command):
    with open("only-written", "wb") as file:
        done = ended(*command.split(), stdin=file)
    assert done.returncode == 1
    assert done.stderr == b"Error: -: Bad file descriptor.\n"


# --- errors after something was learned -----------------------------------------------------------


def late_error(*arguments: str, line: str = "1 1:x\n") -> str:
    """What is said of a bad line behind many good ones."""
    Path("bad.svm").write_text(Path("long.svm").read_text() + line)
    done = ended("train", "bad.svm", "--quiet", *arguments)
    assert done.returncode == 1
    return done.stderr.decode()


def test_a_bad_line_late():
    said = late_error("-o", "new")
    assert said.startswith("Error: bad.svm:")
    assert "cannot be saved" not in said
    assert said.endswith("fixing the error: rarefy train --resume new\n")
    assert 0 < load_model("new").examples < 10**6
    Path("bad.svm").write_text(Path("long.svm").read_text() + "1 1:1\n")
    trained("bad.svm", "-o", "whole")
    trained("--resume", "new")
    assert Path("new").read_bytes() == Path("whole").read_bytes()


def test_an_error_does_not_replace_another_model():
    shutil.copy("some.model", "new")
    said = late_error("-o", "new")
    assert said.endswith("fixing the error: rarefy train --resume new.unfinished -o new\n")
    assert Path("new").read_bytes() == Path("some.model").read_bytes()
    Path("bad.svm").write_text(Path("long.svm").read_text())
    trained("--resume", "new.unfinished", "-o", "new")
    trained("bad.svm", "-o", "whole")
    assert Path("new").read_bytes() == Path("whole").read_bytes()


def test_nor_any_other_file():
    shutil.copy("some.model", "new")
    Path("new.unfinished").write_text("precious")
    os.symlink("bad.svm", "new.unfinished-2")
    for name in ("new.unfinished-3", "new.unfinished-4"):
        said = late_error("-o", "new")
        assert said.endswith(f"fixing the error: rarefy train --resume {name} -o new\n")
        assert load_model(name).run["place"]["rows"] > 0
    assert Path("new.unfinished").read_text() == "precious"
    assert Path("bad.svm").read_text().endswith("1 1:x\n")


def test_data_that_is_called_unfinished():
    shutil.copy("some.model", "new")
    text = Path("long.svm").read_text() + "1 1:x\n"
    Path("new.unfinished").write_text(text)
    done = ended("train", "new.unfinished", "--format", "svmlight", "-o", "new", "--quiet")
    assert done.returncode == 1
    assert b"--resume new.unfinished-2 -o new" in done.stderr
    assert Path("new.unfinished").read_text() == text


def test_a_long_name_is_shortened_for_it():
    name = "n" * 250
    shutil.copy("some.model", name)
    said = late_error("-o", name)
    unfinished = f"{name[:244]}.unfinished"
    assert said.startswith("Error: bad.svm:")
    assert f"What was learned before the error is in {unfinished} " in said
    assert load_model(unfinished).run["place"]["rows"] > 0


def test_a_folder_that_takes_no_files(tmp_path):
    """What was learned goes to the temporary folder."""
    os.mkdir("locked")
    shutil.copy("some.model", "locked/new")
    os.chmod("locked", 0o555)
    try:
        options = {
            "preexec_fn": give_up_privileges,
            "env": {**os.environ, "TMPDIR": str(tmp_path)},
        }
        Path("bad.svm").write_text(Path("long.svm").read_text() + "1 1:x\n")
        done = ended("train", "bad.svm", "--quiet", "-o", "locked/new", **options)
    finally:
        os.chmod("locked", 0o755)
    if os.path.exists("locked/new.unfinished"):
        pytest.skip("permissions do not hold for this user")
    said = done.stderr.decode()
    assert said.startswith("Error: bad.svm:")
    assert said.endswith(f"--resume {tmp_path}/new.unfinished -o locked/new\n")
    assert load_model(tmp_path / "new.unfinished").run["place"]["rows"] > 0


def test_an_error_with_a_model_on_its_way_to_standard_output():
    with open("new", "wb") as new:
        Path("bad.svm").write_text(Path("long.svm").read_text() + "1 1:x\n")
        assert ended("train", "bad.svm", "--quiet", "-o", "-", stdout=new).returncode == 1
    assert load_model("new").run["place"]["rows"] > 0
    assert not os.path.exists("/dev/stdout.unfinished")


def test_an_error_replaces_what_the_run_has_written():
    shutil.copy("some.model", "new")
    said = late_error("-o", "new", "--save-every", "40000")
    assert said.endswith("fixing the error: rarefy train --resume new\n")
    assert load_model("new").examples > load_model("some.model").examples
    assert not os.path.exists("new.unfinished")


def test_a_row_that_is_too_long_for_the_table():
    """The rows before it in the same step are learned when it is gone on with."""
    row = "1 " + " ".join(f"{n}:1" for n in range(500)) + "\n"
    said = late_error("-o", "new", "--capacity", "400", line=row)
    assert "more than capacity=400" in said
    text = Path("long.svm").read_text()
    Path("bad.svm").write_text(text)
    trained("--resume", "new")
    trained("bad.svm", "--capacity", "400", "-o", "whole")
    assert Path("new").read_bytes() == Path("whole").read_bytes()


def test_held_out_rows_that_cannot_be_read_do_not_cost_the_model():
    Path("bad.svm").write_text("1 1:x\n")
    for data in ("rows.svm", "few.svm"):
        Path("few.svm").write_text("".join(Path("rows.svm").read_text().splitlines(True)[:500]))
        done = ended("train", data, "--holdout", "bad.svm", "-o", "new")
        assert done.returncode == 1
        assert b"Error: bad.svm:1:" in done.stderr
        assert load_model("new").examples > 0


@pytest.mark.parametrize("old", [False, True])
def test_an_error_at_the_beginning_saves_nothing(old):
    Path("bad.svm").write_text("1 1:x\n" + Path("rows.svm").read_text())
    if old:
        shutil.copy("some.model", "new")
    said = ended("train", "bad.svm", "-o", "new", "--quiet").stderr.decode()
    assert said.count("\n") == 1
    assert os.path.exists("new") == old
    assert not os.path.exists("new.unfinished")
    if old:
        assert Path("new").read_bytes() == Path("some.model").read_bytes()


FAILING = """
from rarefy.errors import DivergenceError
from rarefy.streams.run import Run
from rarefy.stores.table_store import TableStore
owner, name, error = {owner}, {name!r}, {error}
method, calls = getattr(owner, name), []
def failing(*arguments):
    calls.append(None)
    if len(calls) == 3:
        raise error
    return method(*arguments)
setattr(owner, name, failing)
from rarefy.cli import run
run()
"""


def failed(owner: str, name: str, error: str, *options: str) -> str:
    """What is said if a method fails when it is called for the third time."""
    script = FAILING.format(owner=owner, name=name, error=error)
    done = subprocess.run(
        [sys.executable, "-c", script, "train", "long.svm", "--quiet", "-o", "new", *options],
        capture_output=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 1
    text = done.stderr.decode()
    assert "Traceback" not in text
    return text


@pytest.mark.parametrize("error", ["MemoryError()", "OSError(5, 'Input/output error', 'long.svm')"])
def test_other_errors_while_reading(error):
    said = failed("Run", "_next", error)
    assert said.startswith("Error: ")
    assert "fixing the error: rarefy train --resume new" in said
    trained("--resume", "new")
    assert Path("new").read_bytes() == long_model()


def test_less_memory_is_advised_where_it_can_be_asked_for():
    assert "not enough memory. Try fewer --bits or a smaller" in failed(
        "TableStore", "learn", "MemoryError()"
    )


@pytest.mark.parametrize("error", ["MemoryError()", "DivergenceError('The weights diverged.')"])
def test_errors_in_the_middle_of_learning(error):
    """The model may be anything; what was saved before is all there is."""
    said = failed("TableStore", "learn", error)
    assert said.count("\n") == 1
    assert os.listdir().count("new") == 0
    said = failed("TableStore", "learn", error, "--save-every", "40000")
    assert "(examples: 80,000)" in said
    assert load_model("new").examples == 80_000
    trained("--resume", "new")
    trained("long.svm", "--save-every", "40000", "-o", "whole")
    assert Path("new").read_bytes() == Path("whole").read_bytes()
