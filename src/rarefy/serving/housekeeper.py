"""Housekeeping: new and changed model files, expiry of the log, promotion by rule."""

import hashlib
import logging
import time
from pathlib import Path

from rarefy.errors import RarefyError
from rarefy.serving.operations import Forget
from rarefy.serving.pending_predictions import Expire
from rarefy.serving.refusals import BusyError, NoRoomError
from rarefy.serving.served_model import ServedModel
from rarefy.serving.service import FILES, Service

DAY = 24 * 3600.0
SETTLED = 3600.0  # seconds, after which a file that no entry of the log names is not needed
log = logging.getLogger("rarefy.serve")


class Housekeeper:
    """Has a look at the folder, whenever it is told to."""

    def __init__(
        self,
        service: Service,
        *,
        keep_days: float = 30.0,
        keep_bytes: int | None = None,
        promote_within: float | None = None,
    ) -> None:
        self._service, self._log = service, service.log
        self._keep_seconds, self._keep_bytes = keep_days * DAY, keep_bytes
        self._promote_within = promote_within
        self._seen: dict[Path, tuple[int, ...]] = {}

    def look(self) -> None:
        """See to all that is to be done now; what fails is tried again the next time."""
        try:
            for path in self.new_files():
                self._take_in(path)
        finally:
            self._service.loading = frozenset()
        for served in list(self._service.served_models.values()):
            self._promote_better(served)
            self._forget_old(served)
            before = time.time() - self._service.limits.asked_seconds
            served.labels.missing += self._log.do(Expire(served.name, before))
        self._remove_unused_files()

    def new_files(self) -> list[Path]:
        """Model files that are new or have changed since the last look."""
        paths = sorted(self._service.folder.glob("*.model"))
        found = [path for path in paths if path.is_file() and self._seen.get(path) != _state(path)]
        new = {path.stem for path in found} - self._service.served_models.keys()
        self._service.loading = frozenset(new)
        return found

    def _take_in(self, path: Path) -> None:
        """Load NAME.model, as `rarefy train` writes it, unless it has been loaded."""
        state = _state(path)
        try:
            data = path.read_bytes()
            sha = hashlib.sha256(data).hexdigest()
            found = self._log.read("SELECT source FROM models WHERE name = ?", (path.stem,))
            if not found or found[0][0] != sha:
                self._service.load(path.stem, data, source=sha)
                log.info("loaded", extra={"said": {"file": path.name}})
        except (BusyError, NoRoomError):
            raise
        except (RarefyError, OSError) as error:  # others are not to wait for it
            log.warning("file", extra={"said": {"file": path.name, "problem": str(error)}})
        self._seen[path] = state

    def _promote_better(self, served: ServedModel) -> None:
        """Let a challenger answer that is better by more than chance, and loses few answers."""
        if self._promote_within is None:
            return
        found = {name: rivalry.figures() for name, rivalry in list(served.rivalries.items())}
        better = {
            name: figures["gain"]
            for name, figures in found.items()
            if figures.get("is_better")
            and figures["lost_at_most"] <= self._promote_within
            and name not in served.replaced
        }
        if better:
            best = max(better, key=lambda name: better[name])
            self._service.promote(served.name, best, by_rule=True)
            said = {"model": served.name, "champion": best, **found[best]}
            log.info("promoted", extra={"said": said})

    def _forget_old(self, served: ServedModel) -> None:
        """Let entries go that are too old or too many, if they are in two snapshots."""
        seqs = served.snapshots.seqs()
        if len(seqs) < 2:
            return
        until = self._log.last_before(served.name, time.time() - self._keep_seconds)
        if self._keep_bytes is not None:
            until = max(until, self._log.last_beyond(served.name, self._keep_bytes))
        while self._log.do(Forget(served.name, min(until, seqs[-2]))):
            pass  # some at a time, so that nobody waits long

    def _remove_unused_files(self) -> None:
        """Remove model files that were uploaded, and are in no entry of the log any more."""
        before = time.time() - SETTLED
        paths = list((self._service.folder / FILES).iterdir())
        old = [path for path in paths if path.stat().st_mtime < before]
        if old:
            used = self._log.files()
            for path in old:
                if path.stem not in used:
                    path.unlink(missing_ok=True)


def _state(path: Path) -> tuple[int, ...]:
    """What changes when a file does, or who may read it; nothing, if it has gone."""
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_ctime_ns, status.st_ino
