"""Metrics for Prometheus."""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from rarefy.serving.served_model import ServedModel
from rarefy.serving.service import Service
from rarefy.serving.views import rolling

BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)
COUNTS: dict[str, tuple[str, Callable[[ServedModel], float]]] = {
    "rows_learned": ("Rows learned since the start", lambda served: served.learned),
    "rows_predicted": ("Rows predicted since the start", lambda served: served.predicted),
    "labels_asked": ("Predictions remembered for a label", lambda served: served.labels.asked),
    "labels_came": ("Labels of remembered predictions", lambda served: served.labels.came),
    "labels_unknown": ("Labels of what is not remembered", lambda served: served.labels.unknown),
    "labels_lost": ("Predictions that could not be remembered", lambda served: served.labels.lost),
    "labels_missing": ("Remembered for too long", lambda served: served.labels.missing),
}
GAUGES: dict[str, tuple[str, Callable[[ServedModel], float]]] = {
    "backlog_rows": ("Rows in the log, not learned yet", lambda served: served.backlog),
    "log_seq": ("Last entry of the log that was learned", lambda served: served.seq),
    "snapshot_seq": ("Entry of the log of the last snapshot", lambda served: served.saved_seq),
    "members": ("Champion and challengers", lambda served: len(served.members)),
}


class Traffic:
    """The requests of a route; only the thread that answers them counts."""

    def __init__(self) -> None:
        self.by_status: dict[int, int] = {}
        self.seconds = 0.0
        self._by_duration = [0] * (len(BUCKETS) + 1)

    def note(self, status: int, seconds: float) -> None:
        self.by_status[status] = self.by_status.get(status, 0) + 1
        self.seconds += seconds
        self._by_duration[bisect_left(BUCKETS, seconds)] += 1

    def buckets(self) -> list[tuple[str, float]]:
        """How many took up to so many seconds."""
        bounds = [*map(str, BUCKETS), "+Inf"]
        return list(zip(bounds, accumulate(self._by_duration), strict=True))


class Metrics:
    """What is known of requests, and of models, when somebody asks for it."""

    def __init__(self, service: Service) -> None:
        self._registry = CollectorRegistry()
        self._routes: dict[str, Traffic] = {}
        self._registry.register(_OfRoutes(self._routes))
        self._registry.register(_OfModels(service))

    def of_route(self, path: str) -> Traffic:
        return self._routes.setdefault(path, Traffic())

    def text(self) -> bytes:
        return generate_latest(self._registry)


class _OfRoutes(Collector):
    def __init__(self, routes: dict[str, Traffic]) -> None:
        self._routes = routes

    def collect(self) -> Iterator[Any]:
        requests = CounterMetricFamily("rarefy_requests", "Requests", labels=["route", "status"])
        text = "Duration of requests"
        seconds = HistogramMetricFamily("rarefy_request_seconds", text, labels=["route"])
        for path, traffic in self._routes.items():
            for status, count in traffic.by_status.items():
                requests.add_metric([path, str(status)], count)
            seconds.add_metric([path], traffic.buckets(), traffic.seconds)
        yield requests
        yield seconds


class _OfModels(Collector):
    def __init__(self, service: Service) -> None:
        self._service = service

    def collect(self) -> Iterator[Any]:
        served_models = list(self._service.served_models.values())
        for name, (text, count) in COUNTS.items():
            counted = CounterMetricFamily(f"rarefy_{name}", text, labels=["model"])
            for served in served_models:
                counted.add_metric([served.name], count(served))
            yield counted
        for name, (text, value) in GAUGES.items():
            gauge = GaugeMetricFamily(f"rarefy_{name}", text, labels=["model"])
            for served in served_models:
                gauge.add_metric([served.name], value(served))
            yield gauge
        of_members = ["model", "member", "figure"]
        figures = GaugeMetricFamily("rarefy_figure", "Of the last rows", labels=of_members)
        for served in served_models:
            for member_name, member in list(served.members.items()):
                for figure, number in rolling(member).items():
                    figures.add_metric([served.name, member_name, figure], number)
        yield figures
        commits = CounterMetricFamily("rarefy_log_commits", "Transactions of the log")
        commits.add_metric([], self._service.log.n_groups)
        yield commits
