"""`rarefy serve` beside an endpoint that does nothing, one that only parses JSON, and VW's daemon.

With wrk. VW's daemon answers lines over TCP, on one connection here, and keeps nothing on disk.
"""

import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx

from benchmarks import vw_daemon
from benchmarks.processes import cpu_seconds, free_port
from benchmarks.tables import markdown_table

SECONDS = 3
REPEATS = 3
N_FEATURES = 20
BULK_ROWS = 5000
NO_WRK = "Not measured: wrk is not installed."
LUA = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.body = [==[%s]==]
"""
BARE = """
import sys
import msgspec, uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

async def empty(request):
    return Response(b"{}", media_type="application/json")

async def parsing(request):
    msgspec.json.decode(await request.body())
    return Response(b"{}", media_type="application/json")

app = Starlette(routes=[Route("/empty", empty, methods=["POST"]),
                        Route("/parsing", parsing, methods=["POST"])])
uvicorn.run(app, port=int(sys.argv[1]), log_level="error", access_log=False)
"""


def row(draw: random.Random) -> dict[str, object]:
    numbers = {f"feature{k}": round(draw.random(), 4) for k in range(N_FEATURES)}
    return {**numbers, "label": "b" if numbers["feature0"] > 0.5 else "a"}


def vw_line(text: str) -> bytes:
    """The features of a row of JSON, as VW has them."""
    numbers = [(name, x) for name, x in json.loads(text).items() if name != "label"]
    return ("| " + " ".join(f"{name}:{x}" for name, x in numbers) + "\n").encode()


@contextmanager
def running(command: list[str], port: int, path: str) -> Iterator[tuple[str, int]]:
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(6000):
            try:
                httpx.get(url + path)
                break
            except httpx.TransportError:
                time.sleep(0.02)
        yield url, process.pid
    finally:
        process.terminate()
        process.wait()


class Load(NamedTuple):
    of_cpu: float  # requests in a second of the server's CPU
    by_clock: float  # requests in a second
    p99: float  # ms


def load(server: tuple[str, int], path: str, body: str, connections: int) -> Load:
    url, pid = server[0] + path, server[1]
    before = cpu_seconds(pid)
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(LUA % body)
        script.flush()
        command = ["wrk", "-t1", f"-c{connections}", f"-d{SECONDS}s", "--latency"]
        command += ["-s", script.name, url]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "Non-2xx" not in said, said
    taken = cpu_seconds(pid) - before
    count = re.search(r"(\d+) requests in", said)
    slow = re.search(r"99%\s+([\d.]+)(us|ms|s)", said)
    assert count is not None
    assert slow is not None
    p99 = float(slow[1]) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[slow[2]]
    return Load(int(count[1]) / taken, int(count[1]) / SECONDS, p99)


class Bulk(threading.Thread):
    """Sends bodies of many lines, one after the other, at most so many rows a second."""

    def __init__(self, url: str, most: float = float("inf")) -> None:
        super().__init__(daemon=True)
        draw = random.Random(1)
        lines = (json.dumps(row(draw)) for _ in range(BULK_ROWS))
        self._body = ("\n".join(lines) + "\n").encode()
        self._url, self._most = f"{url}/models/m/learn", most
        self.is_over, self.n_rows = threading.Event(), 0

    def run(self) -> None:
        began = time.perf_counter()
        headers = {"Content-Type": "application/x-ndjson"}
        with httpx.Client(timeout=60.0) as client:
            while not self.is_over.is_set():
                client.post(self._url, content=self._body, headers=headers).raise_for_status()
                self.n_rows += BULK_ROWS
                ahead = self.n_rows / self._most - (time.perf_counter() - began)
                time.sleep(max(0.0, ahead))


def bulk_rates(server: tuple[str, int]) -> tuple[float, float]:
    """Rows that are acknowledged, and learned, in a second, and in one of the server's CPU."""
    url, before = server[0], cpu_seconds(server[1])
    senders = [Bulk(url) for _ in range(2)]
    began = time.perf_counter()
    for sender in senders:
        sender.start()
    time.sleep(SECONDS)
    for sender in senders:
        sender.is_over.set()
    for sender in senders:
        sender.join()
    while httpx.get(f"{url}/health").json()["backlog"]:
        time.sleep(0.01)
    n_rows = sum(sender.n_rows for sender in senders)
    return n_rows / (time.perf_counter() - began), n_rows / (cpu_seconds(server[1]) - before)


def measure() -> str:
    """The table of results."""
    if shutil.which("wrk") is None:
        return NO_WRK
    draw = random.Random(0)
    one = json.dumps(row(draw))
    with tempfile.TemporaryDirectory() as folder:
        bare_port, port = free_port(), free_port()
        script = Path(folder) / "bare.py"
        script.write_text(BARE)
        serve = [sys.executable, "-m", "rarefy", "serve", f"{folder}/models", "--port", str(port)]
        bare = [sys.executable, str(script), str(bare_port)]
        with running(bare, bare_port, "/empty") as base, running(serve, port, "/health") as ours:
            url = ours[0]
            httpx.put(f"{url}/models/m", json={"classes": ["a", "b"]}, timeout=600.0)
            rows = [row(draw) for _ in range(1000)]
            httpx.post(f"{url}/models/m/learn", json=rows, timeout=600.0)
            httpx.post(f"{url}/models/m/predict", content=one, timeout=600.0)
            return _table(base, ours, one)


def _table(base: tuple[str, int], ours: tuple[str, int], one: str) -> str:
    predict, learn = "/models/m/predict", "/models/m/learn"
    best: dict[str, float] = {}
    by_clock: dict[str, float] = {}
    slow: dict[str, float] = {}
    bulk = bulk_of_cpu = 0.0

    def note(name: str, found: Load) -> None:
        best[name] = max(best.get(name, 0.0), found.of_cpu)
        by_clock[name] = max(by_clock.get(name, 0.0), found.by_clock)
        slow[name] = min(slow.get(name, float("inf")), found.p99)

    for _ in range(REPEATS):
        note("empty", load(base, "/empty", one, 16))
        note("parsing", load(base, "/parsing", one, 16))
        note("predict", load(ours, predict, one, 16))
        note("empty 64", load(base, "/empty", one, 64))
        note("learn 64", load(ours, learn, one, 64))
        rates = bulk_rates(ours)
        bulk, bulk_of_cpu = max(bulk, rates[0]), max(bulk_of_cpu, rates[1])
        half = Bulk(ours[0], bulk / 2)
        half.start()
        beside = load(ours, predict, one, 16)
        slow["predict while learning"] = min(slow.get("predict while learning", 1e9), beside.p99)
        half.is_over.set()
        half.join()
    found = []
    for title, name, base_name in (
        ("single-row predict, of an endpoint that only parses", "predict", "parsing"),
        ("single-row predict, of an empty endpoint", "predict", "empty"),
        ("single-row learn, acknowledged, 64 connections, of an empty one", "learn 64", "empty 64"),
    ):
        found.append([f"{title}: by the clock", by_clock[name] / by_clock[base_name]])
        found.append(["… by CPU", best[name] / best[base_name]])
    p99 = slow["predict while learning"] / slow["predict"]
    found.append(["p99 of predict while learning at half load", p99])
    lines = [[name, f"{ratio:.2f}"] for name, ratio in found]
    lines.append(["rows of 20 features, NDJSON, acknowledged: a second", f"{bulk:,.0f}"])
    lines.append(["… a second of CPU", f"{bulk_of_cpu:,.0f}"])
    lines += [[f"requests a second: {name}", f"{rate:,.0f}"] for name, rate in by_clock.items()]
    lines += [[f"requests a second of CPU: {name}", f"{rate:,.0f}"] for name, rate in best.items()]
    for name, label, at_once in (
        ("predict, one row at a time", b"", 1),
        ("learn, one row at a time", b"1 ", 1),
        ("learn, 1,000 rows at a time", b"1 ", 1000),
    ):
        found_rate = vw_daemon.rate(label + vw_line(one), at_once, SECONDS)
        lines.append([f"rows a second of CPU, VW's daemon: {name}", f"{found_rate:,.0f}"])
    lines += [[f"p99, ms: {name}", f"{most:.2f}"] for name, most in slow.items()]
    return markdown_table(["", "ratio, or rate"], lines)


if __name__ == "__main__":
    print(measure())
