"""Vowpal Wabbit's daemon, which speaks lines over TCP: what a second of its CPU is enough for."""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from benchmarks.processes import cpu_seconds, free_port

DAEMON = """
import sys, vowpalwabbit
options = "--daemon --foreground --num_children 1 --loss_function logistic --quiet --port "
vowpalwabbit.Workspace(options + sys.argv[1]).run_parser()
"""


def connected(port: int) -> socket.socket:
    for _ in range(600):
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=60.0)
        except ConnectionRefusedError:
            time.sleep(0.05)
    raise TimeoutError("the daemon does not answer")


def rate(line: bytes, at_once: int, seconds: float) -> float:
    """Rows that are answered, and learned if they have labels, in a second of the daemon's CPU."""
    port = free_port()
    daemon = subprocess.Popen([sys.executable, "-c", DAEMON, str(port)], stderr=subprocess.DEVNULL)
    try:
        with connected(port) as client:
            _send(client, line, at_once)
            before, n_rows, until = _cpu(daemon.pid), 0, time.perf_counter() + seconds
            while time.perf_counter() < until:
                _send(client, line, at_once)
                n_rows += at_once
            return n_rows / (_cpu(daemon.pid) - before)
    finally:
        children = _children(daemon.pid)
        daemon.kill()
        daemon.wait()
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)


def _send(client: socket.socket, line: bytes, at_once: int) -> None:
    client.sendall(line * at_once)
    n_answers = 0
    while n_answers < at_once:
        n_answers += client.recv(1 << 16).count(b"\n")


def _cpu(pid: int) -> float:
    return sum(map(cpu_seconds, [pid, *_children(pid)]))


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]
