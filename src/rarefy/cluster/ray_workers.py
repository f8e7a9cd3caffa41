"""Workers on Ray: tasks whose results stay in Ray's object store.

A task whose worker dies is run again, and an object that is lost with a node is made again by the
task that made it. All tasks are plain functions, so they give the same.
"""

import logging
import os
import socket
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from rarefy.cluster.pieces import End, Outline, Piece, Reading, read_piece
from rarefy.cluster.worker_protocol import Handle
from rarefy.errors import ClusterError, ConfigError

RETRIES = 20  # of a task whose workers die
BATCHES_AHEAD = 8  # of a piece, that are read before they are needed
PATIENCE = 10.0  # seconds after which a cluster counts as not there


class RayWorkers:
    """A cluster that is there (an address, or RAY_ADDRESS), or else processes of this machine."""

    def __init__(self, address: str | None = None) -> None:
        try:
            import ray
        except ImportError as error:
            raise ConfigError("Ray is not installed: `pip install rarefy[ray]`.") from error
        self._ray = ray
        self._is_own = not ray.is_initialized()
        if self._is_own:
            _check_that_one_listens(address or "auto")
            try:
                ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
            except (ConnectionError, ValueError, RuntimeError) as error:
                raise ClusterError(f"Ray: {error}") from error
        self._remote: Callable[[Callable[..., Any]], Any] = cache(ray.remote)

    @property
    def n_readers(self) -> int:
        return max(int(self._ray.cluster_resources().get("CPU", 1)), 1)

    def start(self, function: Callable[..., Any], *arguments: Any, n_results: int = 1) -> Any:
        how = {"max_retries": RETRIES, "num_returns": n_results}
        return self._remote(function).options(**how).remote(*arguments)

    def result(self, handle: Handle) -> Any:
        try:
            return self._ray.get(handle)
        except self._ray.exceptions.RayTaskError as error:
            cause = error.cause
            if isinstance(cause, self._ray.exceptions.RayError):  # as when its disks are full
                raise self._failure(cause) from error
            raise cause from None
        except self._ray.exceptions.RayError as error:
            raise self._failure(error) from error

    @staticmethod
    def _failure(error: Exception) -> ClusterError:
        return ClusterError(f"Ray: {type(error).__name__}: {str(error).splitlines()[0]}")

    def read(self, reading: Reading, piece: Piece) -> Iterator[tuple[Outline, Handle] | End]:
        """Readers, which wait most of the time, take no core from those who learn."""
        handles = (
            self._remote(read_piece)
            .options(
                num_returns="streaming",
                num_cpus=0,
                scheduling_strategy="SPREAD",
                max_retries=RETRIES,
                _generator_backpressure_num_objects=2 * BATCHES_AHEAD,
            )
            .remote(reading, piece._replace(table=None), piece.table)
        )
        return self._items(handles)

    def _items(self, handles: Iterator[Handle]) -> Iterator[tuple[Outline, Handle] | End]:
        try:
            for handle in handles:
                item = self.result(handle)
                yield item if isinstance(item, End) else (item, next(handles))
        except self._ray.exceptions.RayError as error:
            raise self._failure(error) from error

    def close(self) -> None:
        if self._is_own:
            self._ray.shutdown()


def _check_that_one_listens(address: str) -> None:
    """Refuse an address where nothing listens: Ray itself would try it for a quarter of an hour."""
    advice = ""
    if address == "auto":
        address = os.environ.get("RAY_ADDRESS") or address
    if address == "auto":
        address = _address_of_this_machine()
        advice = " (it was started on this machine; `ray stop` has Ray forget it)"
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        return  # "local", none, or another one that Ray knows
    try:
        socket.create_connection((host.strip("[]"), int(port)), PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise ClusterError(f"Ray: there is no cluster at {address}{advice}: {error}") from error


def _address_of_this_machine() -> str:
    """Of the cluster that `ray start` has started last, which Ray joins; empty if there is none."""
    try:
        from ray._private.utils import read_ray_address

        return read_ray_address() or ""
    except (ImportError, TypeError):  # other versions of Ray
        return ""
