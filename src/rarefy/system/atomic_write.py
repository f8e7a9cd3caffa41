"""Atomic writes: a file is there as a whole, or not at all."""

import errno
import io
import os
import re
import shutil
import stat
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import IO, Any

from rarefy.errors import InputError, RarefyWarning
from rarefy.system.deferred_signals import Deferral

DESCRIPTOR = re.compile(r"/dev/(stdout|stderr)|/(?:dev|proc/self)/fd/(\d+)")
STREAMS = {"stdout": 1, "stderr": 2}
FOLDERS = ("", os.curdir, os.pardir)  # names that no file has
# What the system says where no file can be made, or moved over another.
NOT_ALLOWED = (errno.EBUSY, errno.EXDEV, errno.EPERM, errno.EACCES, errno.EROFS)
LONGEST_NAME = 255  # bytes, where the file system does not say
PATIENCE = 10.0  # seconds that a file which is being overwritten is given to be complete

_numbers = count()  # of the files that this process makes
_parts: set[Path] = set()  # that are being written
_moving = threading.Lock()  # whoever makes, moves or removes files has it


class Output:
    """A place to write to, found to be good before there is anything to write.

    A file is written beside its place and moved there when it is complete; else what was there
    stays. Who may read it, and whose it is, does not change, and a link goes on leading to it.
    Where nothing can be moved to (the folder takes no new files, or the file is mounted by itself),
    it is overwritten once all of the new content is on disk, and a RarefyWarning says so.

    What is no file, such as a pipe or a device, is opened once, now, and written to.
    """

    def __init__(self, path: str | Path, *, mode: int = 0o666) -> None:
        self.path = str(path)
        self._mode = mode  # of a new file, less what the umask takes away
        self._target = Path(os.path.realpath(path))
        self.can_be_written_again = not is_written_once(self.path)
        try:
            self._stream = self._opened_stream()
            if self._stream is None:
                self._check_file()
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror}.") from error

    @contextmanager
    def writing(self, mode: str = "wb", **options: Any) -> Iterator[IO[Any]]:
        """A file to write, text in UTF-8; what is written counts when all went well."""
        if self._stream is not None:
            with self._file(os.dup(self._stream), mode, options) as file:
                yield file
            if not self.can_be_written_again:
                os.close(self._stream)
            return
        opened: tuple[Path, IO[Any]] | None = None
        try:
            with Deferral():  # until it is known here what has been made
                part, descriptor = self._new_part()
                opened = part, self._file(descriptor, mode, options)
            with opened[1] as file:
                yield file
                file.flush()
                os.fsync(descriptor)
            with _alone():
                self._put(part)
        except OSError as error:
            error.filename = error.filename or self.path
            raise
        finally:  # twice, as a handler of signals may raise an exception
            try:
                _discard(opened)
            finally:
                _discard(opened)

    def _opened_stream(self) -> int | None:
        """The descriptor of what is no file."""
        named = DESCRIPTOR.fullmatch(self.path)
        if named is not None:
            stream = os.dup(STREAMS[named[1]] if named[1] else int(named[2]))
        elif self._target.exists() and not self._target.is_file() and not self._target.is_dir():
            stream = os.open(self._target, os.O_WRONLY)
        else:
            return None
        os.write(stream, b"")  # an error, if it was opened to be read
        return stream

    def _check_file(self) -> None:
        folder, name = os.path.split(self.path)
        if name in FOLDERS or self._target.is_dir():
            raise InputError(f"{self.path} is a folder; name a file.")
        if self._target.is_symlink():
            raise InputError(f"{self.path} is a link to itself; name a file.")
        for place in (Path(folder), self._target.parent):
            if not place.is_dir():
                raise InputError(f"{self.path}: there is no folder {place}.")
        with Deferral():
            if self._target.exists():
                os.close(os.open(self._target, os.O_WRONLY))
            part, descriptor = self._new_part()
            os.close(descriptor)
            _remove(part)

    def _new_part(self) -> tuple[Path, int]:
        """A new file, beside the place if possible, and its descriptor."""
        part = self._target.with_name(_name_of_part(self._target))
        existing = self._target.stat() if self._target.exists() else None
        mode = self._mode if existing is None else stat.S_IMODE(existing.st_mode)
        with _alone():
            try:
                part.unlink(missing_ok=True)  # of a process of that number that was killed
                descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            except OSError as error:
                if error.errno not in NOT_ALLOWED or existing is None:
                    raise
                descriptor, part = _in_temporary_folder()
            _parts.add(part)
        return part, descriptor

    def _file(self, descriptor: int, mode: str, options: dict[str, Any]) -> IO[Any]:
        raw = io.BufferedWriter(_Named(descriptor, self.path))
        return raw if "b" in mode else io.TextIOWrapper(raw, "utf-8", **options)

    def _put(self, part: Path) -> None:
        """Let a complete file take its place."""
        if part.parent == self._target.parent:
            try:
                if self._target.exists():
                    _make_like(part, self._target.stat())
                os.replace(part, self._target)
                with suppress(OSError):  # where folders cannot be synced
                    sync_folder(self._target.parent)
                return
            except OSError as error:
                if error.errno not in NOT_ALLOWED or not self._target.exists():
                    raise
        self._overwrite(part)

    def _overwrite(self, part: Path) -> None:
        with part.open("rb") as new, self._target.open("r+b") as old:
            _reserve(old, os.fstat(new.fileno()).st_size)
            _parts.discard(part)  # it stays, if the rest fails
            try:
                shutil.copyfileobj(new, old)
                old.truncate()
                old.flush()
                os.fsync(old.fileno())
            except OSError as error:
                raise OSError(
                    error.errno,
                    f"{error.strerror}, while it was overwritten in place. The new content is in "
                    f"{part}",
                    self.path,
                ) from error
        part.unlink()
        warnings.warn(
            f"{self.path} was overwritten in place, because no file can be moved there.",
            RarefyWarning,
            stacklevel=2,
        )


def is_descriptor(path: str) -> bool:
    """Whether a path stands for what is open already, such as standard output."""
    return DESCRIPTOR.fullmatch(path) is not None


def is_written_once(path: str) -> bool:
    """Whether what was written there cannot be replaced, as in a pipe or standard output.

    It is told without opening it, as a pipe cannot be opened before somebody reads it. A device,
    such as a terminal, takes as much as one likes.
    """
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    is_file = stat.S_ISREG(mode) or stat.S_ISDIR(mode)
    return not stat.S_ISCHR(mode) and (not is_file or is_descriptor(path))


def leave_nothing_unfinished() -> None:
    """To be called before the process is ended: all that is not complete goes away.

    No file is made or moved any more; who tries to waits for the end.
    """
    if _moving.acquire(timeout=PATIENCE):
        for part in _parts:
            with suppress(OSError):
                part.unlink(missing_ok=True)


@contextmanager
def _alone() -> Iterator[None]:
    """Inside, no other thread makes, moves or removes files, and no handler of signals runs."""
    with Deferral(), _moving:
        yield


def _discard(opened: tuple[Path, IO[Any]] | None) -> None:
    """Close, and remove, a file that has not taken its place."""
    if opened is not None:
        part, file = opened
        file.close()
        _remove(part)


def _remove(part: Path) -> None:
    with _alone():
        if part in _parts:
            part.unlink(missing_ok=True)
            _parts.discard(part)


def _begin_anew() -> None:
    """In a fork: other threads, which may have had the lock, are not there."""
    global _moving  # noqa: PLW0603
    _moving = threading.Lock()
    _parts.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


class _Named(io.FileIO):
    """Errors of writing say to what."""

    def __init__(self, descriptor: int, path: str) -> None:
        super().__init__(descriptor, "w")
        self._path = path

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = self._path
            raise


def fitting_name(folder: str | Path, name: str, ending: str) -> str:
    """A name with an ending, shortened before it to what the folder takes."""
    longest = LONGEST_NAME
    with suppress(OSError, ValueError, AttributeError):
        longest = os.pathconf(folder, "PC_NAME_MAX")
    return os.fsdecode(os.fsencode(name)[: longest - len(ending)]) + ending


def _name_of_part(target: Path) -> str:
    ending = f".{os.getpid()}-{next(_numbers)}.part"
    return fitting_name(target.parent, target.name, ending)


def _in_temporary_folder() -> tuple[int, Path]:
    import tempfile

    descriptor, name = tempfile.mkstemp(suffix=".part", prefix="rarefy-")
    return descriptor, Path(name)


def _make_like(part: Path, existing: os.stat_result) -> None:
    """Give the new file the owner, where that is allowed, and the permissions of the old one."""
    with suppress(OSError, AttributeError):
        os.chown(part, existing.st_uid, existing.st_gid)
    os.chmod(part, stat.S_IMODE(existing.st_mode))


def _reserve(file: IO[bytes], n_bytes: int) -> None:
    """Make sure of room for so many bytes before any of the old ones are lost."""
    before = os.fstat(file.fileno()).st_size
    if not hasattr(os, "posix_fallocate") or n_bytes <= before:
        return
    try:
        os.posix_fallocate(file.fileno(), 0, n_bytes)
    except OSError as error:
        file.truncate(before)
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
            raise


def sync_folder(folder: Path) -> None:
    """Let new names of files in a folder outlive a power failure."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
