"""Figures for the page, once a second, with their history."""

import threading
import time
from collections import deque
from concurrent.futures import Future
from typing import Any

from rarefy.errors import RarefyError
from rarefy.serving.member import Member
from rarefy.serving.service import Service
from rarefy.serving.slot import Slot
from rarefy.serving.views import rolling

SECONDS = 1.0
KEPT = 900  # points of a model


class Pulse:
    """Looks at all models once a second."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.history: dict[str, deque[dict[str, Any]]] = {}
        self.latest: dict[str, Any] = {"at": time.time(), "models": {}}
        self._before: dict[str, tuple[int, int]] = {}
        self._asked: dict[str, Future[Any]] = {}
        self._counts: dict[str, dict[str, tuple[int, int]]] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._live, name="pulse", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        self._thread.join()

    def _live(self) -> None:
        while not self._over.wait(SECONDS):
            self.beat()

    def beat(self) -> None:
        """Look at all models now."""
        at = time.time()
        slots = dict(self._service.slots)
        points = {name: self._point(slot, at) for name, slot in slots.items()}
        kept: tuple[dict[str, Any], ...] = (self.history, self._before, self._asked, self._counts)
        for by_name in kept:
            for name in set(by_name) - set(slots):
                del by_name[name]
        for name, point in points.items():
            self.history.setdefault(name, deque(maxlen=KEPT)).append(point)
        self.latest = {"at": at, "models": points}

    def _point(self, slot: Slot, at: float) -> dict[str, Any]:
        learned, predicted = slot.learned, slot.predicted
        old_learned, old_predicted = self._before.get(slot.name, (learned, predicted))
        self._before[slot.name] = learned, predicted
        champion = slot.champion
        point: dict[str, Any] = {
            "at": at,
            "seq": slot.seq,
            "backlog": slot.backlog,
            "learned_per_second": (learned - old_learned) / SECONDS,
            "predicted_per_second": (predicted - old_predicted) / SECONDS,
            "champion": slot.champion_name,
            "labels": slot.labels.figures(),
        }
        if champion is None:
            return point
        counts = self._counted(slot)
        weights, features = counts.get(slot.champion_name, (None, None))
        return {
            **point,
            "examples": champion.t,
            "rolling": rolling(champion),
            "drifts": [] if champion.record is None else champion.record.drifts[-10:],
            "weights": weights,
            "zeros": 1.0 - weights / features if weights is not None and features else None,
            "since_snapshot": slot.since_snapshot.figures(),
            "challengers": {
                name: {
                    "rolling": rolling(member),
                    "weights": counts.get(name, (None, None))[0],
                    "against_champion": rivalry.figures()
                    if (rivalry := slot.rivalries.get(name)) is not None
                    else None,
                }
                for name, member in slot.members.items()
                if name != slot.champion_name
            },
        }

    def _counted(self, slot: Slot) -> dict[str, tuple[int, int]]:
        """Weights and those that there could be, by member, as they were last counted."""
        asked = self._asked.get(slot.name)
        if asked is not None and asked.done():
            self._counts[slot.name] = asked.result()
        if asked is None or asked.done():
            try:
                self._asked[slot.name] = slot.ask(
                    lambda: {name: _weights(member) for name, member in slot.members.items()}
                )
            except RarefyError:
                self._asked.pop(slot.name, None)
        return self._counts.get(slot.name, {})


def _weights(member: Member) -> tuple[int, int]:
    estimator = member.estimator
    n_seen = estimator.stream_.store.n_seen(estimator.learner_.settled())
    return estimator.n_nonzero_, n_seen * max(1, estimator.learner_.n_outputs)
