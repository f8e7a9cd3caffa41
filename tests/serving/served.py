"""A service in a process of its own, and clients that go on whatever happens to it."""

import json
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx


def row(rng: random.Random, **more: object) -> dict[str, object]:
    """A row of five features that say something about its label."""
    names = [rng.randrange(50) for _ in range(5)]
    label = "b" if sum(names) + rng.gauss(0.0, 30.0) > 122.5 else "a"
    return {**{f"f{name}": round(rng.random(), 4) for name in names}, **more, "label": label}


PORTS = range(20_000, 30_000)  # below those of which the system gives one to each connection


def free_port() -> int:
    """One that stays free while a service that was killed is started again."""
    for port in random.SystemRandom().sample(PORTS, 100):
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:  # it is taken
            continue
    raise AssertionError("no port is free")


class Served:
    """`rarefy serve`, which can be killed and started again."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder, self.port = folder, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._options = options
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  # as long as the service
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "rarefy", "serve", str(self.folder)]
        command += ["--port", str(self.port), *self._options]
        self._process = subprocess.Popen(command, stderr=self._said)
        self._wait(lambda: self._process is not None and self._process.poll() is None)

    def _wait(self, lives: Callable[[], bool]) -> None:
        until = time.monotonic() + 120.0
        while time.monotonic() < until:
            try:
                if httpx.get(f"{self.url}/health").status_code == 200:
                    return
            except httpx.TransportError:
                pass
            assert lives(), f"the service has ended: {self._last_words()}"
            time.sleep(0.01)
        raise AssertionError("the service does not answer")

    def _last_words(self) -> str:
        self._said.seek(0)
        return self._said.read().decode()[-2000:]

    def memory(self) -> float:
        """Megabytes that it takes, without files."""
        assert self._process is not None
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        (line,) = (line for line in status.splitlines() if line.startswith("RssAnon:"))
        return int(line.split()[1]) / 1024

    def wait_until_learned(self) -> None:
        while httpx.get(f"{self.url}/health").json()["backlog"]:
            time.sleep(0.01)

    def limit_files(self, n_bytes: int) -> None:
        """Let no file grow beyond that, as if the disk were full; -1: as far as they like."""
        assert self._process is not None
        resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE, (n_bytes, -1))

    def kill(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stop(self) -> float:
        """How many seconds it took to end in good order."""
        assert self._process is not None
        began = time.monotonic()
        self._process.send_signal(signal.SIGTERM)
        assert self._process.wait(30.0) == 0
        return time.monotonic() - began

    def __enter__(self) -> "Served":
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._process is not None and self._process.poll() is None:
            self.kill()


class Forked(Served):
    """A service that is forked from a process in which all is loaded; it starts at once."""

    def __init__(self, folder: Path, seconds: float) -> None:
        super().__init__(folder)
        command = [sys.executable, "-m", "tests.serving.forking"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._forking = subprocess.Popen(command, text=True, **pipes)
        self._line = f"{folder} {self.port} {seconds}\n"
        self._number = 0

    def start(self) -> None:
        assert self._forking.stdin is not None
        assert self._forking.stdout is not None
        self._forking.stdin.write(self._line)
        self._forking.stdin.flush()
        self._number = int(self._forking.stdout.readline())
        self._wait(lambda: self._forking.poll() is None)

    def kill(self) -> None:
        os.kill(self._number, signal.SIGKILL)

    def __exit__(self, *error: object) -> None:
        assert self._forking.stdin is not None
        self._forking.stdin.close()
        self._forking.wait()


class Sender(threading.Thread):
    """Sends numbered rows, one request after the other, each until it is acknowledged."""

    def __init__(self, number: int, url: str, model: str) -> None:
        super().__init__(daemon=True)
        self.number, self._url = number, f"{url}/models/{model}/learn"
        self.is_over = threading.Event()
        self.acknowledged: list[tuple[int, int]] = []  # the number of the first row, and of rows
        self.n_retries = 0

    def run(self) -> None:
        rng, first = random.Random(self.number), 0
        with httpx.Client(timeout=20.0) as client:
            while not self.is_over.is_set():
                n_rows = rng.choice([1, 1, 1, 1, 1, 1, 7, 7, 500])
                rows = [row(rng, c=self.number, n=first + n) for n in range(n_rows)]
                headers = {"Idempotency-Key": f"{self.number}-{first}"}
                while not self._is_sent(client, rows, headers):
                    self.n_retries += 1
                    time.sleep(0.05)
                self.acknowledged.append((first, n_rows))
                first += n_rows

    def _is_sent(self, client: httpx.Client, rows: list[object], headers: dict[str, str]) -> bool:
        try:
            answer = client.post(self._url, json=rows, headers=headers)
        except httpx.TransportError:
            return False
        if answer.status_code == 503:
            return False
        assert answer.status_code == 200, answer.text
        assert answer.json()["rows"] == len(rows)
        return True


def lines_of(body: bytes) -> list[dict[str, object]]:
    return [json.loads(line) for line in body.splitlines()]
