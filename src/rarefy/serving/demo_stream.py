"""`rarefy serve --demo`: a synthetic stream of events for the page."""

import random
import threading
import time
from typing import Any

from rarefy.errors import RarefyError
from rarefy.serving.background import Background
from rarefy.serving.bodies import Body, encode_json, with_member
from rarefy.serving.service import Service

MODEL = "demo"
SAID = {"classes": ["ham", "spam"], "text": ["words"], "categorical": ["sender"]}
CHALLENGERS: dict[str, dict[str, Any]] = {"ftrl": {"rule": "ftrl"}, "sparse": {"l1": 4.0}}
PERIOD = 60.0  # seconds, after which spam speaks of something else
COMMON = ["you", "the", "a", "to", "see", "is", "and", "for", "we", "at", "on", "it", "me", "now"]
TOPICS = [
    ["prize", "winner", "claim", "cash", "urgent", "award"],
    ["loan", "credit", "debt", "rate", "offer", "apply"],
    ["crypto", "wallet", "coin", "invest", "profit", "double"],
]
FRIENDLY = ["lunch", "home", "dinner", "meeting", "train", "weekend", "thanks", "tomorrow"]
PER_SECOND = 200


class DemoStream(Background):
    """Rows that are predicted, and learned, or labelled somewhat later."""

    def __init__(self, service: Service) -> None:
        super().__init__("demo")
        self._service, self._rng = service, random.Random(0)
        self._began = time.monotonic()

    def _live(self) -> None:
        if MODEL not in self._service.served_models:
            self._service.create(MODEL, SAID)
            for name, parameters in CHALLENGERS.items():
                self._service.challenge(MODEL, name, parameters)
        number = 0
        while not self._over.wait(0.1):
            try:
                for _ in range(PER_SECOND // 10):
                    number += 1
                    self._event(number)
            except RarefyError:
                self._over.wait(1.0)  # the service is busy, or the disk is full

    def _event(self, number: int) -> None:
        row, label = self._row()
        line = Body("json", encode_json(row) + b"\n")
        answer = self._service.champion(MODEL).answer(line)
        self._service.served_models[MODEL].predicted += 1
        if number % 20:
            self._service.learn(MODEL, Body("json", with_member(line.data, "label", label)))
            return
        id = f"demo-{number}"
        self._service.remember(MODEL, [(id, line, {"id": id, **answer})])
        if self._rng.random() < 0.8:  # some labels never come
            threading.Timer(self._rng.expovariate(0.5), self._label, [id, label]).start()

    def _label(self, id: str, label: str) -> None:
        try:
            if not self._over.is_set():
                self._service.label(MODEL, {id: label})
        except RarefyError:
            pass  # it has been forgotten, or the service is about to end

    def _row(self) -> tuple[dict[str, Any], str]:
        rng = self._rng
        topic = TOPICS[int((time.monotonic() - self._began) / PERIOD) % len(TOPICS)]
        is_spam = rng.random() < 0.3
        words = rng.choices(COMMON, k=6) + rng.choices(topic if is_spam else FRIENDLY, k=2)
        rng.shuffle(words)
        sender = rng.choice(["shop", "unknown", "ann", "bob"][(0 if is_spam else 1) :])
        row = {"words": " ".join(words), "hour": rng.randrange(24), "sender": sender}
        is_noise = rng.random() < 0.03
        return row, "spam" if is_spam != is_noise else "ham"
