"""The folder of cached machine code; as it is executed, nobody else may write to it.

Everything is opened first and looked at then, a folder inside another, so that nothing can be
exchanged between the look and the use. Windows has no owners by number, and no way to open files
inside an open folder; there nothing is checked, and the user's folder is what protects the code.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

HAS_OWNERS = hasattr(os, "geteuid")
FOLDER = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
# A pipe that is not ours must not keep us waiting.
FILE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
OURS_ALONE = 0o700
OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


class UnsafeFolderError(Exception):
    """Others may have put something there; it says which folder it is, and why."""


class CodeFolder(NamedTuple):
    """`rarefy`, and in it the folder of this name, in the folder of the user's caches."""

    caches: Path
    name: str

    @property
    def path(self) -> Path:
        return self.caches / "rarefy" / self.name

    def make(self) -> None:
        """Make it where it is not there yet; an error, if it cannot be used."""
        self.caches.mkdir(OURS_ALONE, parents=True, exist_ok=True)
        with self._opened():
            pass

    def beside(self, ending: str) -> Path:
        """A folder for those who open files by their path; an error, if it is not safe.

        Nobody else may be able to exchange a folder on the way to it for another.
        """
        folder = CodeFolder(self.caches.resolve(), f"{self.name}.{ending}")
        folder.make()
        if HAS_OWNERS and not all(map(_is_fixed, folder.path.parents)):
            raise UnsafeFolderError(f"others may exchange {folder.path}")
        return folder.path

    def read(self, name: str) -> bytes | None:
        """What is in a file, if there is one that only we can have written."""
        with (
            suppress(OSError, UnsafeFolderError),
            self._opened() as folder,
            open(self._open(name, os.O_RDONLY, folder), "rb") as file,
        ):
            return file.read() if _is_our_file(file.fileno()) else None
        return None

    def write(self, name: str, content: bytes) -> None:
        """Write a file, all or nothing, whatever is there; where it is impossible, nothing."""
        part = f"{name}.{os.getpid()}.part"
        with suppress(OSError, UnsafeFolderError), self._opened() as folder:
            self._remove(part, folder)  # of a process of that number that was killed
            try:
                new = os.O_WRONLY | os.O_CREAT | os.O_EXCL
                with open(self._open(part, new, folder), "wb") as file:
                    file.write(content)
                source, target = self._named(part), self._named(name)
                os.replace(source, target, src_dir_fd=folder, dst_dir_fd=folder)
            finally:
                self._remove(part, folder)

    def _open(self, name: str, flags: int, folder: int | None) -> int:
        return os.open(self._named(name), flags | FILE, 0o600, dir_fd=folder)

    def _remove(self, name: str, folder: int | None) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._named(name), dir_fd=folder)

    def _named(self, name: str) -> str:
        return name if HAS_OWNERS else str(self.path / name)

    @contextmanager
    def _opened(self) -> Iterator[int | None]:
        """Its descriptor, where there are such things."""
        if not HAS_OWNERS:
            self.path.mkdir(parents=True, exist_ok=True)
            yield None
            return
        with (
            _closed_again(os.open(self.caches, os.O_DIRECTORY)) as caches,
            _own_folder(self.path.parent, caches) as outer,
        ):
            if os.fstat(outer).st_mode & OTHERS_MAY_WRITE:  # older versions left it to the umask
                os.fchmod(outer, OURS_ALONE)
            with _own_folder(self.path, outer) as folder:
                if os.fstat(folder).st_mode & OTHERS_MAY_WRITE:
                    raise UnsafeFolderError(f"others may write to {self.path}")
                yield folder


@contextmanager
def _own_folder(path: Path, parent: int) -> Iterator[int]:
    """The descriptor of a folder that is ours; it is made where there is none."""
    with suppress(FileExistsError):
        os.mkdir(path.name, OURS_ALONE, dir_fd=parent)
    # What is somebody else's may be closed to us, and yet it is to be said whose it is.
    _check_owner(path, os.stat(path.name, dir_fd=parent, follow_symlinks=False))
    with _closed_again(os.open(path.name, FOLDER, dir_fd=parent)) as folder:
        _check_owner(path, os.fstat(folder))
        yield folder


@contextmanager
def _closed_again(descriptor: int) -> Iterator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _check_owner(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISDIR(status.st_mode):
        raise UnsafeFolderError(f"{path} is no folder, but a link or a file")
    if status.st_uid != os.geteuid():
        raise UnsafeFolderError(f"{path} belongs to {_name_of_user(status.st_uid)}")


def _is_fixed(folder: Path) -> bool:
    """Whether nobody else but root can rename what is of ours in a folder."""
    status = folder.stat()
    is_shared = status.st_mode & OTHERS_MAY_WRITE and not status.st_mode & stat.S_ISVTX
    return status.st_uid in (0, os.geteuid()) and not is_shared


def _name_of_user(number: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


def _is_our_file(descriptor: int) -> bool:
    status = os.fstat(descriptor)
    return not HAS_OWNERS or (
        stat.S_ISREG(status.st_mode)
        and status.st_uid == os.geteuid()
        and not status.st_mode & OTHERS_MAY_WRITE
    )
