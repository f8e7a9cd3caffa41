"""What is between the socket and the application: slow requests, and answers in one write."""

import socket
import threading
import time
from collections.abc import Iterator

import httpx
import pytest

from rarefy.serving import http_protocol
from rarefy.serving.http_protocol import OneWrite
from rarefy.serving.limits import Limits
from rarefy.serving.process import Running
from rarefy.serving.service import Service
from tests.serving.in_process import SAID, rows

SECONDS = 0.5
START = b"POST /models/m/learn HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    limits = Limits(body_bytes=1_000_000, arrival_seconds=SECONDS)
    service = Service(tmp_path_factory.mktemp("slow"), limits)
    running = Running(service, "127.0.0.1", 0)
    thread = threading.Thread(target=running.serve)
    thread.start()
    httpx.put(f"http://127.0.0.1:{running.port}/models/m", json=SAID, timeout=400.0)
    yield running.port
    running.stop()
    thread.join()


def dripped(port: int, start: bytes, drop: bytes) -> tuple[bytes, float]:
    """What is answered to a request that goes on in drops, and after how many seconds."""
    began, found = time.monotonic(), b""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(start)
        connection.settimeout(SECONDS / 10)
        while time.monotonic() < began + 20 * SECONDS:
            try:
                data = connection.recv(1 << 16)
                found += data
                if not data:
                    return found, time.monotonic() - began
            except TimeoutError:
                connection.sendall(drop)
            except ConnectionResetError:
                return found, time.monotonic() - began
    raise AssertionError("the connection is not closed")


@pytest.mark.parametrize(
    ("start", "drop"),
    [
        (START + b"Content-Length: 1000\r\n\r\n", b" "),
        (START + b"Content-Length: 1000\r\n\r\n", b""),
        (START + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
        (START, b"a: b\r\n"),
        (b"POS", b""),
    ],
)
def test_requests_that_come_drop_by_drop_are_given_up(port: int, start: bytes, drop: bytes) -> None:
    answer, seconds = dripped(port, start, drop)
    assert answer.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert b"connection: close\r\n" in answer
    assert b"x-content-type-options: nosniff\r\n" in answer
    assert b'"status":408' in answer
    assert 0.98 * SECONDS <= seconds < 10 * SECONDS


def test_connections_on_which_nothing_comes_are_closed(port: int) -> None:
    answer, seconds = dripped(port, b"", b"")
    assert answer == b""
    assert 0.98 * SECONDS <= seconds < 10 * SECONDS


def test_the_next_request_of_a_connection_has_the_same_time(port: int) -> None:
    first = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    answer, _ = dripped(port, first + START, b"a: b\r\n")
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert answer.count(b"HTTP/1.1 408 ") == 1


def test_what_was_answered_before_it_arrived_is_not_answered_again(port: int) -> None:
    start = b"POST /none HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"
    answer, _ = dripped(port, start, b" ")
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert answer.count(b"HTTP/1.1") == 1


def test_requests_that_come_fast_enough_have_as_long_as_they_need(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And so has what comes whole, on a connection that waits in between."""
    monkeypatch.setattr(http_protocol, "LEAST_RATE", 100)
    with httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:

        def slow() -> Iterator[bytes]:
            for _ in range(6):
                yield b" " * 100
                time.sleep(SECONDS / 3)
            yield b'{"f1": 1.0, "label": "a"}'

        assert client.post("/models/m/learn", content=slow()).status_code == 200
        time.sleep(2 * SECONDS)
        assert client.post("/models/m/learn", json=rows(1)[0]).status_code == 200


class Written(list[bytes]):
    """What a transport has been given."""

    def write(self, data: bytes) -> None:
        self.append(data)

    def close(self) -> None:
        self.append(b"closed")

    def is_closing(self) -> bool:
        return False


def test_an_answer_is_one_write() -> None:
    written = Written()
    transport = OneWrite(written)  # type: ignore[arg-type]
    for data in (b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n", b"body", b"more"):
        transport.write(data)
    assert written == [b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\nbody", b"more"]
    transport.write(b"HTTP/1.1 204 No Content\r\n\r\n")
    transport.close()
    assert written[3:] == [b"HTTP/1.1 204 No Content\r\n\r\n", b"closed"]


def test_answers_without_a_body_arrive(port: int) -> None:
    with httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:
        for _ in range(2):
            answer = client.head("/health")
            assert (answer.status_code, answer.content) == (200, b"")
