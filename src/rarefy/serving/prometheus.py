"""What `/metrics` tells Prometheus."""

from collections.abc import Callable, Iterator
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from rarefy.serving.service import Service
from rarefy.serving.slot import Slot
from rarefy.serving.views import rolling

BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)
COUNTS: dict[str, tuple[str, Callable[[Slot], float]]] = {
    "rows_learned": ("Rows learned since the start", lambda slot: slot.learned),
    "rows_predicted": ("Rows predicted since the start", lambda slot: slot.predicted),
    "labels_asked": ("Predictions remembered for a label", lambda slot: slot.labels.asked),
    "labels_came": ("Labels of remembered predictions", lambda slot: slot.labels.came),
    "labels_unknown": ("Labels of what is not remembered", lambda slot: slot.labels.unknown),
    "labels_missing": ("Remembered for too long", lambda slot: slot.labels.missing),
}
GAUGES: dict[str, tuple[str, Callable[[Slot], float]]] = {
    "backlog_rows": ("Rows in the log, not learned yet", lambda slot: slot.backlog),
    "log_seq": ("Last entry of the log that was learned", lambda slot: slot.seq),
    "snapshot_seq": ("Entry of the log of the last snapshot", lambda slot: slot.saved_seq),
    "members": ("Champion and challengers", lambda slot: len(slot.members)),
}


class Metrics:
    """Counts requests, and asks models for their figures."""

    def __init__(self, service: Service) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "rarefy_requests", "Requests", ["route", "status"], registry=self._registry
        )
        self.seconds = Histogram(
            "rarefy_request_seconds",
            "Duration of requests",
            ["route"],
            buckets=BUCKETS,
            registry=self._registry,
        )
        self._registry.register(_OfModels(service))

    def text(self) -> bytes:
        return generate_latest(self._registry)


class _OfModels(Collector):
    def __init__(self, service: Service) -> None:
        self._service = service

    def collect(self) -> Iterator[Any]:
        slots = list(self._service.slots.values())
        for name, (text, count) in COUNTS.items():
            counted = CounterMetricFamily(f"rarefy_{name}", text, labels=["model"])
            for slot in slots:
                counted.add_metric([slot.name], count(slot))
            yield counted
        for name, (text, value) in GAUGES.items():
            gauge = GaugeMetricFamily(f"rarefy_{name}", text, labels=["model"])
            for slot in slots:
                gauge.add_metric([slot.name], value(slot))
            yield gauge
        of_members = ["model", "member", "figure"]
        figures = GaugeMetricFamily("rarefy_figure", "Of the last rows", labels=of_members)
        for slot in slots:
            for member_name, member in list(slot.members.items()):
                for figure, number in rolling(member).items():
                    figures.add_metric([slot.name, member_name, figure], number)
        yield figures
        commits = CounterMetricFamily("rarefy_log_commits", "Transactions of the log")
        commits.add_metric([], self._service.log.n_groups)
        yield commits
