"""What commands write: never over what they read, checked at the start, never half there."""

from __future__ import annotations

import ctypes
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rarefy.cli import main
from rarefy.errors import InputError
from rarefy.files.model_file import load_model
from rarefy.system.atomic_write import Output
from tests import data

QUICK = ("--rule", "ftrl", "--n-l1", "2", "--folds", "2", "--passes", "1")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """The working directory, with data and a model in it."""
    monkeypatch.chdir(tmp_path)
    Path("rows.svm").write_text(data.svmlight_text(data.problem("binary", n=100, d=9)))
    shutil.copy("rows.svm", "other.svm")
    run("train", "rows.svm", "-o", "some.model", "--quiet")
    return tmp_path


def run(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(main, [*arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def process(*arguments: str, start: tuple[str, ...] = ()) -> subprocess.CompletedProcess:
    """The command as a process of its own."""
    done = subprocess.run(
        [*start, sys.executable, "-m", "rarefy", *arguments],
        capture_output=True, check=False, timeout=120,
    )  # fmt: skip
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return done


# --- what is read is not written ------------------------------------------------------------------


@pytest.fixture(params=["itself", "symbolic link", "hard link"])
def alias(request):
    """Another name of a file."""

    def make(path: str) -> str:
        if request.param == "itself":
            return path
        link = f"link-to-{path}"
        (os.symlink if request.param == "symbolic link" else os.link)(path, link)
        return link

    return make


@pytest.mark.parametrize(
    ("command", "target"),
    [
        ("train rows.svm -o TARGET", "rows.svm"),
        ("train other.svm ro*.svm -o TARGET", "rows.svm"),
        ("train other.svm --holdout rows.svm -o TARGET", "rows.svm"),
        ("train other.svm --cache TARGET -o new.model --holdout rows.svm", "rows.svm"),
        ("train rows.svm --cache TARGET -o new.model", "rows.svm"),
        ("train rows.svm --cache TARGET -o some.model", "some.model"),
        ("train other.svm --resume some.model -o TARGET", "other.svm"),
        ("train other.svm --resume some.model --cache TARGET -o new.model", "some.model"),
        ("predict some.model rows.svm -o TARGET", "rows.svm"),
        ("predict some.model rows.svm -o TARGET", "some.model"),
        ("export some.model --to json -o TARGET", "some.model"),
    ],
)
def test_an_output_that_is_an_input_is_refused(folder, alias, command, target):
    before = {path: path.read_bytes() for path in folder.iterdir()}
    link = alias(target)
    message = run(*command.replace("TARGET", link).split(), code=1).stderr
    assert f"{link} is also " in message
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("name", ["table.csv", "best.model", "report.html"])
def test_a_sweep_does_not_replace_its_data(folder, name):
    os.mkdir("found")
    shutil.copy("rows.svm", f"found/{name}")
    os.link(f"found/{name}", "data.svm")
    assert "is also read" in run("sweep", "data.svm", "-o", "found", *QUICK, code=1).stderr
    assert Path("data.svm").read_bytes() == Path("rows.svm").read_bytes()
    assert os.listdir("found") == [name]


def test_two_outputs_are_two_files(folder):
    assert "is also written" in run("train", "rows.svm", "-o", "a", "--cache", "./a", code=1).stderr
    assert not Path("a").exists()


def test_a_model_may_be_gone_on_with_in_place(folder):
    run("train", "other.svm", "--resume", "some.model", "-o", "some.model")
    assert load_model("some.model").examples == 200
    os.symlink("some.model", "link")
    run("train", "other.svm", "--resume", "some.model", "-o", "link")
    assert load_model("some.model").examples == 300


@pytest.mark.parametrize(
    "command",
    [
        "train - -o rows.svm",
        "predict some.model rows.svm",
        "evaluate some.model rows.svm",
        "flips some.model some.model rows.svm",
        "inspect some.model --why rows.svm",
        "train rows.svm --json -o new.model",
        f"sweep rows.svm -o found {' '.join(QUICK)}",
    ],
)
def test_standard_streams_are_files_too(folder, command):
    before = Path("rows.svm").read_bytes()
    with open("rows.svm", "rb") as reading, open("rows.svm", "ab") as writing:
        done = subprocess.run(
            [sys.executable, "-m", "rarefy", *command.split()],
            stdin=reading, stdout=writing, stderr=subprocess.PIPE, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert b"is also " in done.stderr
    assert Path("rows.svm").read_bytes() == before


@pytest.mark.parametrize("more", ["-o new.model --json", "-o - --quiet"])
def test_standard_output_is_not_the_model_that_is_gone_on_with(folder, more):
    before = Path("some.model").read_bytes()
    command = f"train other.svm --resume some.model {more}"
    with open("some.model", "ab") as writing:
        done = subprocess.run(
            [sys.executable, "-m", "rarefy", *command.split()],
            stdout=writing, stderr=subprocess.PIPE, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert b"is also read, as some.model" in done.stderr
    assert Path("some.model").read_bytes() == before


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize(
    "command", ["train rows.svm -o new.model", "evaluate some.model rows.svm", "train - -o new"]
)
def test_nothing_is_said_in_what_is_read(folder, command, both):
    """Not even that; it is said on standard output, if that is somewhere else."""
    before = Path("rows.svm").read_bytes()
    with open("rows.svm", "rb") as reading, open("rows.svm", "ab") as writing:
        done = subprocess.run(
            [sys.executable, "-m", "rarefy", *command.split()],
            stdin=reading, stdout=writing if both else subprocess.PIPE, stderr=writing, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert both or b"standard error is also read" in done.stdout
    assert Path("rows.svm").read_bytes() == before
    assert not Path("new.model").exists()


# --- places that can be written, found at the start ----------------------------------------------


@pytest.mark.parametrize("path", ["fox/", "fox/.", "./", "..", "."])
def test_a_folder_is_no_place_for_a_file(folder, path):
    assert "is a folder; name a file" in run("train", "rows.svm", "-o", path, code=1).stderr
    assert not os.path.exists("fox")


def test_links_that_lead_nowhere(folder):
    os.symlink("loop", "loop")
    os.symlink("missing/model", "dangling")
    os.symlink("new.model", "good")
    assert "loop is a link to itself" in run(
        "train", "rows.svm", "-o", "loop", code=1
    ).stderr  # fmt: skip
    said = run("train", "rows.svm", "-o", "dangling", code=1).stderr
    assert f"dangling: there is no folder {folder}/missing." in said
    assert (
        "there is no folder nowhere." in run("train", "rows.svm", "-o", "nowhere/x", code=1).stderr
    )
    run("train", "rows.svm", "-o", "good", "--quiet")
    assert sorted(path.name for path in folder.iterdir() if path.is_symlink()) == [
        *("dangling", "good", "loop"),
    ]
    assert load_model("new.model").examples == 100


def give_up_privileges() -> None:
    """Let permissions hold for root, too, in programs that are started from now on (Linux)."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        for capability in (1, 2, 3):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER
            libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


@pytest.fixture
def locked(folder):
    """A folder in which no files can be made, with two in it that can be written."""
    os.mkdir("locked")
    for name in ("model", "predictions"):
        Path(f"locked/{name}").write_text("old" * 10_000)
    os.chmod("locked", 0o555)
    if unprivileged("-c", "open('locked/new', 'w')").returncode == 0:
        pytest.skip("permissions do not hold for this user")
    yield Path("locked")
    os.chmod("locked", 0o755)


def unprivileged(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True, check=False, timeout=120, preexec_fn=give_up_privileges,
    )  # fmt: skip


def unprivileged_command(*arguments: str) -> subprocess.CompletedProcess:
    return unprivileged("-m", "rarefy", *arguments)


def test_a_file_in_a_folder_that_takes_no_files_is_overwritten(locked):
    before = (locked / "model").stat().st_ino
    done = unprivileged_command("train", "rows.svm", "-o", "locked/model")
    assert done.returncode == 0, done.stderr
    assert b"Warning: locked/model was overwritten in place" in done.stderr
    assert (locked / "model").read_bytes() == Path("some.model").read_bytes()
    assert (locked / "model").stat().st_ino == before
    done = unprivileged_command("predict", "some.model", "rows.svm", "-o", "locked/predictions")
    assert done.returncode == 0, done.stderr
    expected = run("predict", "some.model", "rows.svm").stdout
    assert (locked / "predictions").read_text() == expected
    assert sorted(os.listdir(locked)) == ["model", "predictions"]


def test_a_new_file_in_such_a_folder_is_refused_at_the_start(locked):
    for command in ("train rows.svm", "predict some.model rows.svm", "export some.model --to json"):
        done = unprivileged_command(*command.split(), "-o", "locked/new")
        assert done.returncode == 1
        assert done.stderr == b"Error: locked/new cannot be written: Permission denied.\n"


def test_a_file_without_permission_is_refused_at_the_start(locked):
    (locked / "model").chmod(0o444)
    done = unprivileged_command("train", "rows.svm", "-o", "locked/model")
    assert done.returncode == 1
    assert b"cannot be written: Permission denied." in done.stderr


def mounted(command: str) -> tuple[str, ...]:
    """How to start a program for which something is mounted."""
    start = ("unshare", "-m", "sh", "-c", f'{command} && exec "$@"', "sh")
    if shutil.which("unshare") is None or subprocess.run([*start, "true"], check=False).returncode:
        pytest.skip("nothing can be mounted here")
    return start


def test_a_file_that_is_mounted_by_itself(folder):
    Path("place").write_text("old" * 10_000)
    Path("mounted").write_text("old" * 10_000)
    start = mounted("mount --bind mounted place")
    done = process("train", "rows.svm", "-o", "place", start=start)
    assert done.returncode == 0, done.stderr
    assert b"Warning: place was overwritten in place" in done.stderr
    assert Path("mounted").read_bytes() == Path("some.model").read_bytes()
    assert not list(folder.glob("*.part"))


class TestFullDisk:
    """A disk of a few pages."""

    @pytest.fixture
    def start(self, folder):
        os.mkdir("disk")
        return mounted("mount -t tmpfs -o size=8k none disk")

    def test_what_cannot_be_written_is_named(self, start):
        Path("rows.svm").write_text(Path("rows.svm").read_text() * 50)
        command = ("predict", "some.model", "rows.svm", "--scores", "-o", "disk/new")
        done = process(*command, start=start)
        assert done.returncode == 1
        assert done.stderr == b"Error: disk/new: No space left on device.\n"

    def test_a_periodic_save_does_not_end_learning(self, start):
        (table,) = (part for part in start if "mount" in part)
        filled = table.replace("&& exec", "&& head -c 6000 /dev/zero > disk/filling && exec")
        freed = "import os, rarefy.training.checkpoints as s; m = s.Checkpoints.save_meanwhile\n"
        freed += "def once(self, display):\n m(self, display); "
        freed += "os.path.exists('disk/filling') and os.remove('disk/filling')\n"
        freed += "s.Checkpoints.save_meanwhile = once\nfrom rarefy.cli import run; run()"
        done = subprocess.run(
            [*(filled if part is table else part for part in start),
             "sh", "-c", '"$@" && cp disk/new saved', "sh", sys.executable, "-c", freed,
             "train", "rows.svm", "-o", "disk/new", "--save-every", "30"],
            capture_output=True, check=False, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stderr.count(b"No space left on device. Training continues.") == 1
        assert load_model("saved").examples == 100


# --- pipes and devices ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    ["train rows.svm --quiet", "predict some.model rows.svm", "export some.model --to json"],
)
def test_pipes(folder, command):
    process(*command.split(), "-o", "file")
    expected = Path("file").read_bytes()
    for target in ("-", "/dev/stdout", "/dev/fd/1"):
        done = process(*command.split(), "-o", target)
        assert (done.returncode, done.stdout) == (0, expected)
    os.mkfifo("pipe")
    with subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE) as reader:
        done = process(*command.split(), "-o", "pipe")
        assert (done.returncode, reader.stdout.read()) == (0, expected)
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)
    with open("appended", "ab") as file:
        file.write(b"before")
        file.flush()
        subprocess.run(
            [sys.executable, "-m", "rarefy", *command.split(), "-o", "/dev/stdout"],
            stdout=file, check=True,
        )  # fmt: skip
    assert Path("appended").read_bytes() == b"before" + expected


def test_a_refit_writes_a_pipe_once(folder):
    run("train", "rows.svm", "--refit", "-o", "file")
    done = process("train", "rows.svm", "--refit", "--quiet", "-o", "/dev/stdout")
    assert done.stdout == Path("file").read_bytes()


def test_a_pipe_cannot_be_written_twice(folder):
    os.mkfifo("pipe")  # which nobody reads from, and which is not waited for
    os.symlink("pipe", "link")
    for target in ("/dev/stdout", "/dev/fd/1", "-", "pipe", "link"):
        done = process("train", "rows.svm", "-o", target, "--save-every", "10")
        assert (done.returncode, done.stdout) == (1, b"")
        assert b"a pipe, which cannot be written twice" in done.stderr
    run("train", "rows.svm", "-o", "/dev/null", "--save-every", "10", "--quiet")


def test_progress_and_model_do_not_go_into_one_pipe(folder):
    done = process("train", "rows.svm", "-o", "/dev/stdout", "--json")
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"standard output is also written" in done.stderr


def test_a_pipe_to_read_from_is_none_to_write_to(folder):
    reading, writing = os.pipe()
    with pytest.raises(InputError, match="cannot be written: Bad file descriptor"):
        Output(f"/dev/fd/{reading}")
    os.close(reading)
    os.close(writing)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize(
    "command",
    [
        "train rows.svm --quiet -o /dev/full",
        "predict some.model rows.svm -o /dev/full",
        "export some.model --to json -o /dev/full",
    ],
)
def test_a_full_device_is_named(folder, command):
    done = process(*command.split())
    assert done.returncode == 1
    assert done.stderr == b"Error: /dev/full cannot be written: No space left on device.\n"


def test_a_cache_is_a_file(folder):
    pytest.importorskip("pyarrow")
    os.mkfifo("pipe")
    message = run("train", "rows.svm", "-o", "new.model", "--cache", "pipe", code=1).stderr
    assert "pipe is not a file" in message
