"""Watching how well a model predicts while it learns."""

import numbers
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rarefy.checks import check_whole
from rarefy.engine.watch import Watch
from rarefy.engine.watched import Seen
from rarefy.errors import ConfigError
from rarefy.model.page_hinkley import THRESHOLD, losses_test

LARGEST_WINDOW = 1 << 30


class Watching:
    """Part of the base of both estimators."""

    _watch: Watch | None = None

    def watch(
        self: Any,
        window: int = 1000,
        fading: float = 0.999,
        *,
        drift_delta: float | None = None,
        drift_threshold: float = THRESHOLD,
        on_drift: Callable[[int], None] | None = None,
    ) -> Watch:
        """Keep figures of what is predicted just before it is learned, from now on.

        They count what `learn_one`, `learn_many` and `partial_fit` learn; where labels come later,
        the predictions that were made at the time.

        Parameters
        ----------
        window : int
            How many of the latest examples `rolling` is about.
        fading : float
            How much an example counts in `fading`, compared with the next one.
        drift_delta, drift_threshold : float
            A rise of the mean loss by more than drift_delta is noticed when it has added up to
            drift_threshold (the Page-Hinkley test). A classifier has them in units of the loss,
            and drift_delta is 0.005 by default; a regressor in standard deviations of the loss,
            and drift_delta is 0.1.
        on_drift : function, optional
            Called with the number of the example with which a rise is noticed, once all rows of
            the call are learned. What it raises is raised to who learns.

        Returns
        -------
        Watch
            With the attributes `rolling`, `fading` and `drifts`.

        Raises
        ------
        ConfigError
            If a number is out of range, or parameters are still being tuned.

        See Also
        --------
        learn_one : Learns a row, which is then counted.

        Examples
        --------
        >>> from rarefy import SparseOnlineClassifier
        >>> model = SparseOnlineClassifier().start(classes=["ham", "spam"])
        >>> watch = model.watch(window=100)
        >>> for n in range(200):
        ...     _ = model.learn_one({"prizes": n % 2}, ["ham", "spam"][n % 2])
        >>> watch.rolling["accuracy"], watch.drifts
        (1.0, [])
        """
        check_whole("window", window, 1, LARGEST_WINDOW)
        _check_number("fading", fading, lambda x: 0.0 < x <= 1.0, "above 0, and 1 at most")
        if drift_delta is not None:
            _check_number("drift_delta", drift_delta, lambda x: x >= 0.0, "of 0 or more")
        _check_number("drift_threshold", drift_threshold, lambda x: x > 0.0, "above 0")
        task = self._learned_by.task if self.__sklearn_is_fitted__() else self._task()
        if task.is_open:
            raise ConfigError("parameters that are tuned cannot be watched: give them.")
        drift = losses_test(
            of_numbers=task.is_regression, delta=drift_delta, threshold=float(drift_threshold)
        )
        self._set_watch(Watch(window, float(fading), drift, on_drift))
        return self._watch  # type: ignore[no-any-return]

    def _set_watch(self: Any, watch: Watch | None) -> None:
        self._watch = watch
        if self.stream_ is not None:
            with self.stream_.lock:
                self.stream_.watch = watch

    def _note_seen(self: Any, seen: Sequence[Seen]) -> None:
        """Count what was predicted just before it was learned."""
        if self._watch is not None:
            learner = self.learner_.settled()
            self._watch.add(self._learned_by.task, learner.loss, seen, learner.t)

    def _tell_drifts(self: Any) -> None:
        """Tell what was noticed, now that everything is learned, and nothing can be lost."""
        if self._watch is not None:
            self._watch.tell()

    @contextmanager
    def _unwatched(self: Any) -> Iterator[None]:
        watch = self._watch
        self._set_watch(None)
        try:
            yield
        finally:
            self._set_watch(watch)


def _check_number(name: str, value: Any, is_right: Callable[[Any], bool], expected: str) -> None:
    if not isinstance(value, numbers.Real) or not is_right(value):
        raise ConfigError(f"{name}={value!r}: a number {expected} is expected.")
