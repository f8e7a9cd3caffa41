"""Rows that wait: for the log, and to be learned."""

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from rarefy.serving.bodies import Body, encode_json
from rarefy.serving.limits import Limits
from rarefy.serving.member import Member
from rarefy.serving.served_model import MOST_READY_ENTRIES
from tests.serving.in_process import SAID, Client, model_of, rows


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    client = Client(tmp_path, Limits(seconds=1.0))
    client.put("/models/m", json=SAID).raise_for_status()
    yield client
    client.service.close()


def test_a_log_that_is_slow_is_said_in_time(client: Client) -> None:
    row = rows(1)[0]
    other = sqlite3.connect(client.service.log.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    answer = client.post("/models/m/learn", json=row)
    other.execute("ROLLBACK")
    other.close()
    assert answer.status_code == 503
    assert "the log is slow" in answer.json()["error"]["message"]
    assert answer.headers["retry-after"] == "1"
    assert client.post("/models/m/learn", json=row).status_code == 200


def test_few_rows_wait_in_the_form_in_which_they_were_read(client: Client, tmp_path: Path) -> None:
    """However long it takes until they are learned, and whichever way that is."""
    served, sent, may_go_on = (
        client.service.served("m"),
        rows(2 * MOST_READY_ENTRIES),
        threading.Event(),
    )
    served.ask(may_go_on.wait)
    for row in sent:
        client.service.learn("m", Body("json", encode_json(row) + b"\n")).result()
    n_ready = sum(entry.ready is not None for entry in served._waiting)
    may_go_on.set()
    assert n_ready == MOST_READY_ENTRIES
    assert client.learned() == model_of(sent, tmp_path)
    assert served.keeps_ready


@pytest.mark.parametrize(("does", "called"), [("predict", "answers"), ("learn", "check")])
def test_nobody_waits_while_a_parser_is_compiled(
    client: Client, monkeypatch: pytest.MonkeyPatch, does: str, called: str
) -> None:
    """The first body of a format is read by a thread of its own."""
    threads: list[str] = []
    original = getattr(Member, called)

    def noted(*given: object) -> object:
        threads.append(threading.current_thread().name)
        return original(*given)

    monkeypatch.setattr(Member, called, noted)
    for _ in range(2):
        answer = client.post(
            f"/models/m/{does}", content="label,x\na,1\n", headers={"Content-Type": "text/csv"}
        )
        assert answer.status_code == 200
    first, second = threads
    assert "AnyIO worker" in first
    assert "AnyIO worker" not in second
