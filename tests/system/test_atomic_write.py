"""Files are there as a whole, or not at all, and keep their permissions and owners."""

from __future__ import annotations

import os
import shutil
import stat
import threading

import pytest

import rarefy
from rarefy.errors import RarefyWarning
from rarefy.system.atomic_write import Output, leave_nothing_unfinished


def test_permissions_stay(tmp_path):
    path = tmp_path / "file"
    for mode in (0o600, 0o640, 0o755):
        path.write_text("old")
        path.chmod(mode)
        with Output(path).writing() as file:
            (part,) = tmp_path.glob("*.part")
            assert part.stat().st_mode & ~mode & 0o777 == 0, "nobody may read more meanwhile"
            file.write(b"new")
        assert path.read_bytes() == b"new"
        assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_new_file_has_the_usual_permissions(tmp_path):
    (tmp_path / "usual").touch()
    with Output(tmp_path / "file").writing() as file:
        file.write(b"new")
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_the_owner_stays(tmp_path):
    path = tmp_path / "file"
    path.touch()
    os.chown(path, 12345, 23456)
    with Output(path).writing() as file:
        file.write(b"new")
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 23456)


@pytest.mark.parametrize("length", [230, 245, 255])
def test_long_names(tmp_path, length):
    for name in ("a" * length, ("é" * length)[: length // 2]):
        with Output(tmp_path / name).writing() as file:
            file.write(b"new")
        assert (tmp_path / name).read_bytes() == b"new"
    assert len(os.listdir(tmp_path)) == 2


class TestOverwriting:
    """In place, where files cannot be moved."""

    @pytest.fixture(autouse=True)
    def immovable(self, monkeypatch):
        def busy(*_):
            raise OSError(16, "Device or resource busy")

        monkeypatch.setattr("rarefy.system.atomic_write.os.replace", busy)

    @pytest.mark.parametrize("new", [b"", b"new", b"new" * 100])
    def test_all_of_it(self, tmp_path, new):
        path = tmp_path / "file"
        path.write_bytes(b"old" * 50)
        with pytest.warns(RarefyWarning, match="overwritten in place"):  # noqa: PT031, SIM117
            with Output(path).writing() as file:
                file.write(new)
                file.flush()
                assert path.read_bytes() == b"old" * 50
        assert path.read_bytes() == new
        assert os.listdir(tmp_path) == ["file"]

    def test_no_room_is_noticed_before_anything_is_lost(self, tmp_path, monkeypatch):
        def full(*_):
            raise OSError(28, "No space left on device")

        path = tmp_path / "file"
        path.write_bytes(b"old")
        monkeypatch.setattr("rarefy.system.atomic_write.os.posix_fallocate", full)
        with pytest.raises(OSError, match="No space left"), Output(path).writing() as file:
            file.write(b"newer")
        assert path.read_bytes() == b"old"
        assert os.listdir(tmp_path) == ["file"]

    def test_the_new_content_is_not_lost_when_it_fails(self, tmp_path, monkeypatch):
        def broken(*_):
            raise OSError(5, "Input/output error")

        path = tmp_path / "file"
        path.write_bytes(b"old")
        monkeypatch.setattr("rarefy.system.atomic_write.shutil.copyfileobj", broken)
        with (
            pytest.raises(OSError, match="The new content") as caught,
            Output(path).writing() as file,
        ):
            file.write(b"newer")
        (part,) = tmp_path.glob("*.part")
        assert str(part) in str(caught.value)
        assert part.read_bytes() == b"newer"

    def test_the_end_of_the_process_waits_for_it(self, tmp_path, monkeypatch):
        began, may_go_on = threading.Event(), threading.Event()
        copy = shutil.copyfileobj

        def slow(*files):
            began.set()
            may_go_on.wait(10)
            copy(*files)

        def write():
            with pytest.warns(RarefyWarning), Output(path).writing() as file:
                file.write(b"new")

        path = tmp_path / "file"
        path.write_bytes(b"old")
        monkeypatch.setattr("rarefy.system.atomic_write.shutil.copyfileobj", slow)
        writer = threading.Thread(target=write)
        writer.start()
        began.wait(10)
        ending = threading.Thread(target=leave_nothing_unfinished)
        ending.start()
        ending.join(0.1)
        assert ending.is_alive()
        may_go_on.set()
        ending.join(10)
        assert path.read_bytes() == b"new"
        assert os.listdir(tmp_path) == ["file"]
        rarefy.system.atomic_write._moving.release()
        writer.join(10)
