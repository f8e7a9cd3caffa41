"""Figures for the page, once a second, with their history."""

import time
from collections import deque
from concurrent.futures import Future
from typing import Any

from rarefy.errors import RarefyError
from rarefy.serving.background import Background
from rarefy.serving.member import Member
from rarefy.serving.served_model import ServedModel
from rarefy.serving.service import Service
from rarefy.serving.views import rolling

SECONDS = 1.0
KEPT = 900  # points of a model


class LiveFigures(Background):
    """Looks at all models once a second."""

    def __init__(self, service: Service) -> None:
        super().__init__("live figures")
        self._service = service
        self.history: dict[str, deque[dict[str, Any]]] = {}
        self.latest: dict[str, Any] = {"at": time.time(), "models": {}}
        self._before: dict[str, tuple[int, int]] = {}
        self._asked: dict[str, Future[Any]] = {}
        self._counts: dict[str, dict[str, tuple[int, int]]] = {}

    def _live(self) -> None:
        while not self._over.wait(SECONDS):
            self.update()

    def update(self) -> None:
        """Look at all models now."""
        at = time.time()
        served_models = dict(self._service.served_models)
        points = {name: self._point(served, at) for name, served in served_models.items()}
        kept: tuple[dict[str, Any], ...] = (self.history, self._before, self._asked, self._counts)
        for by_name in kept:
            for name in set(by_name) - set(served_models):
                del by_name[name]
        for name, point in points.items():
            self.history.setdefault(name, deque(maxlen=KEPT)).append(point)
        self.latest = {"at": at, "models": points}

    def _point(self, served: ServedModel, at: float) -> dict[str, Any]:
        learned, predicted = served.learned, served.predicted
        old_learned, old_predicted = self._before.get(served.name, (learned, predicted))
        self._before[served.name] = learned, predicted
        champion = served.champion
        point: dict[str, Any] = {
            "at": at,
            "seq": served.seq,
            "backlog": served.backlog,
            "learned_per_second": (learned - old_learned) / SECONDS,
            "predicted_per_second": (predicted - old_predicted) / SECONDS,
            "champion": served.champion_name,
            "labels": served.labels.figures(),
        }
        if champion is None:
            return point
        counts = self._counted(served)
        weights, features = counts.get(served.champion_name, (None, None))
        return {
            **point,
            "examples": champion.t,
            "rolling": rolling(champion),
            "drifts": [] if champion.record is None else champion.record.drifts[-10:],
            "weights": weights,
            "zeros": 1.0 - weights / features if weights is not None and features else None,
            "since_snapshot": served.since_snapshot.figures(),
            "challengers": {
                name: {
                    "rolling": rolling(member),
                    "weights": counts.get(name, (None, None))[0],
                    "against_champion": rivalry.figures()
                    if (rivalry := served.rivalries.get(name)) is not None
                    else None,
                }
                for name, member in served.members.items()
                if name != served.champion_name
            },
        }

    def _counted(self, served: ServedModel) -> dict[str, tuple[int, int]]:
        """Weights and those that there could be, by member, as they were last counted."""
        asked = self._asked.get(served.name)
        if asked is not None and asked.done():
            self._counts[served.name] = asked.result()
        if asked is None or asked.done():
            try:
                self._asked[served.name] = served.ask(
                    lambda: {name: _weights(member) for name, member in served.members.items()}
                )
            except RarefyError:
                self._asked.pop(served.name, None)
        return self._counts.get(served.name, {})


def _weights(member: Member) -> tuple[int, int]:
    estimator = member.estimator
    n_seen = estimator.stream_.store.n_seen(estimator.learner_.settled())
    return estimator.n_nonzero_, n_seen * max(1, estimator.learner_.n_outputs)
