"""Machine code is run: nothing is loaded that somebody else may have put where ours is."""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from rarefy.errors import RarefyWarning
from rarefy.jit import compiled, dispatch, object_code
from rarefy.jit.code_folder import CodeFolder, UnsafeFolderError

SOMEBODY = 12345
is_root = hasattr(os, "geteuid") and os.geteuid() == 0
only_root = pytest.mark.skipif(not is_root, reason="only root can give files away")
posix = pytest.mark.skipif(os.name != "posix", reason="needs owners and permissions")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> CodeFolder:
    made = CodeFolder(tmp_path, "trial")
    made.make()
    assert dispatch._private_path_works()  # the verdict is not written to this folder
    monkeypatch.setattr(dispatch, "_cache_folder", lambda: made)
    return made


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def seven(x):
    return 7


def nine(x):
    return 9


def called(function) -> int:
    """What a new loop of whose kind code is kept returns."""
    function.__module__ = "rarefy.trial"
    return compiled(function)(1.0)


@pytest.fixture
def planted(folder) -> Path:
    """The file of a loop that returns seven, with code that returns nine in it."""
    called(nine)
    (file,) = folder.path.iterdir()
    return file.rename(file.with_name(file.name.replace("nine", "seven")))


# --- permissions ----------------------------------------------------------------------------------


@posix
@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o077])
def test_folders_and_files_are_ours_alone_whatever_the_umask(tmp_path, umask):
    folder = CodeFolder(tmp_path / "caches", "trial")
    before = os.umask(umask)
    try:
        folder.make()
        folder.write("file", b"content")
    finally:
        os.umask(before)
    paths = (folder.caches, folder.path.parent, folder.path, folder.path / "file")
    assert [mode(path) for path in paths] == [0o700, 0o700, 0o700, 0o600]
    assert folder.read("file") == b"content"
    assert os.listdir(folder.path) == ["file"]


def test_a_file_that_is_there_is_replaced(folder):
    (folder.path / f"file.{os.getpid()}.part").write_bytes(b"of a process that was killed")
    for content in (b"old", b"new"):
        folder.write("file", content)
        assert folder.read("file") == content
    assert os.listdir(folder.path) == ["file"]


def open_descriptors() -> set[int]:
    found = set()
    for number in range(256):
        with contextlib.suppress(OSError):
            os.fstat(number)
            found.add(number)
    return found


def test_no_descriptors_are_left_open(folder):
    before = open_descriptors()
    folder.write("file", b"content")
    folder.read("file")
    folder.read("no such file")
    assert open_descriptors() <= before


def test_where_files_have_no_owners_they_are_read_and_written(tmp_path, monkeypatch):
    """As on Windows."""
    monkeypatch.setattr("rarefy.jit.code_folder.HAS_OWNERS", False)
    folder = CodeFolder(tmp_path / "caches", "trial")
    folder.make()
    folder.write("file", b"content")
    assert folder.read("file") == b"content"
    assert os.listdir(folder.path) == ["file"]
    assert folder.read("no such file") is None


# --- files ----------------------------------------------------------------------------------------


def test_a_file_of_ours_is_loaded(planted):
    assert called(seven) == 9


def give_away(file: Path) -> None:
    os.chown(file, SOMEBODY, SOMEBODY)


def let_the_group_write(file: Path) -> None:
    file.chmod(0o620)


def let_all_write(file: Path) -> None:
    file.chmod(0o602)


def replace_by_a_link(file: Path) -> None:
    file.symlink_to(file.rename(file.parents[2] / "elsewhere"))


def replace_by_a_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file, 0o600)


@posix
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(give_away, marks=only_root),
        let_the_group_write,
        let_all_write,
        replace_by_a_link,
        replace_by_a_pipe,
    ],
)
def test_a_file_that_others_may_have_written_is_compiled_anew(folder, planted, change):
    change(planted)
    before = planted.stat()
    assert folder.read(planted.name) is None
    assert called(seven) == 7
    after = planted.lstat()
    assert (after.st_uid, stat.S_IMODE(after.st_mode)) == (os.geteuid(), 0o600)
    assert after.st_ino != before.st_ino
    assert object_code.object_code_in(folder.read(planted.name)) is not None
    assert os.listdir(folder.path) == [planted.name]


@posix
def test_a_folder_in_the_place_of_a_file(folder, planted):
    planted.unlink()
    planted.mkdir()
    assert called(seven) == 7
    assert os.listdir(folder.path) == [planted.name]


# --- folders --------------------------------------------------------------------------------------


def refusal(folder: CodeFolder) -> str:
    """Why it is not used; nothing is read from it and written to it."""
    with pytest.raises(UnsafeFolderError) as caught:
        folder.make()
    before = {path: path.lstat().st_mtime_ns for path in folder.caches.rglob("*")}
    assert folder.read("file") is None
    folder.write("file", b"new")
    assert {path: path.lstat().st_mtime_ns for path in folder.caches.rglob("*")} == before
    return str(caught.value)


@only_root
@pytest.mark.parametrize("is_outer", [False, True])
@pytest.mark.parametrize("permissions", [0o700, 0o755, 0o777])
def test_a_folder_of_somebody_else_is_not_used(folder, is_outer, permissions):
    folder.write("file", b"content")
    path = folder.path.parent if is_outer else folder.path
    path.chmod(permissions)
    os.chown(path, SOMEBODY, SOMEBODY)
    assert refusal(folder) == f"{path} belongs to user {SOMEBODY}"
    assert mode(path) == permissions


@only_root
def test_owners_are_named(folder):
    pwd = pytest.importorskip("pwd")
    somebody = next(entry for entry in pwd.getpwall() if entry.pw_uid != 0)
    os.chown(folder.path, somebody.pw_uid, somebody.pw_gid)
    assert refusal(folder).endswith(f"belongs to {pwd.getpwuid(somebody.pw_uid).pw_name}")


@posix
@pytest.mark.parametrize("is_outer", [False, True])
def test_a_link_to_a_folder_is_not_followed(folder, is_outer):
    """It may lead to any folder of ours, and so to files that we were given by others."""
    path = folder.path.parent if is_outer else folder.path
    folder.write("file", b"content")
    path.symlink_to(path.rename(folder.caches / "elsewhere"))
    assert refusal(folder) == f"{path} is no folder, but a link or a file"


@posix
@pytest.mark.parametrize("permissions", [0o770, 0o707, 0o777])
def test_a_folder_that_others_may_write_to_is_not_used(folder, permissions):
    """They may have moved files of ours there that have other content than they should."""
    folder.write("file", b"content")
    folder.path.chmod(permissions)
    assert refusal(folder) == f"others may write to {folder.path}"


@posix
def test_the_folder_around_it_is_closed_to_others(folder):
    folder.write("file", b"content")
    folder.path.parent.chmod(0o777)
    folder.make()
    assert mode(folder.path.parent) == 0o700
    assert folder.read("file") == b"content"


@posix
def test_a_folder_that_all_may_write_to_may_have_ours_in_it(folder):
    """Whoever replaces ours there by another makes one that does not belong to us."""
    folder.write("file", b"content")
    folder.caches.chmod(0o777)
    folder.make()
    assert folder.read("file") == b"content"
    assert mode(folder.caches) == 0o777


@posix
def test_what_is_opened_by_its_path_lies_where_nobody_can_exchange_it(folder):
    path = folder.beside("njit")
    assert path.parent == folder.path.parent
    assert mode(path) == 0o700
    folder.caches.chmod(0o1777)
    assert folder.beside("njit") == path
    folder.caches.chmod(0o777)
    with pytest.raises(UnsafeFolderError, match=f"others may exchange {path}"):
        folder.beside("njit")


# --- what is said of it ---------------------------------------------------------------------------


def found_in(caches: Path, monkeypatch) -> CodeFolder | None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(caches))
    return dispatch._cache_folder.__wrapped__()


@posix
def test_a_warning_says_why_code_is_compiled_anew(tmp_path, monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        folder = found_in(tmp_path, monkeypatch)
    assert folder.path.is_dir()
    folder.path.chmod(0o777)
    with pytest.warns(RarefyWarning, match=f"others may write to {folder.path}.*NUMBA_CACHE_DIR"):
        assert found_in(tmp_path, monkeypatch) is None


def test_the_folder_stays_the_same_if_the_working_directory_changes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = found_in(Path("caches"), monkeypatch)
    monkeypatch.chdir("/")
    folder.write("file", b"content")
    assert folder.path.parents[1] == tmp_path / "caches"
    assert (folder.path / "file").read_bytes() == b"content"


@pytest.mark.slow
@only_root
def test_a_command_warns_once_and_works(tmp_path):
    (tmp_path / "rarefy").mkdir()
    os.chown(tmp_path / "rarefy", SOMEBODY, SOMEBODY)
    (tmp_path / "rows.svm").write_text("1 1:1\n-1 2:1\n")
    done = subprocess.run(
        [sys.executable, "-m", "rarefy", "train", "--quiet", "rows.svm", "-o", "a.model"],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert done.stderr == (
        f"Warning: The cache of compiled code is not used, so starting takes seconds longer: "
        f"{tmp_path / 'rarefy'} belongs to user {SOMEBODY}. Remove it, or set "
        f"NUMBA_CACHE_DIR to a folder of your own.\n"
    )
    assert (tmp_path / "a.model").exists()
    assert not os.listdir(tmp_path / "rarefy")
