"""Single rows that come at the same time go to the log together, and nobody waits for ever."""

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from rarefy.serving.bodies import Body, encode_json
from rarefy.serving.gathering import MOST, Gathering
from rarefy.serving.refusals import BusyError
from rarefy.serving.service import Service
from tests.serving.in_process import SAID, rows

BODIES = [Body("json", encode_json(row) + b"\n") for row in rows(2 * MOST)]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    service = Service(tmp_path)
    service.create("m", SAID)
    service.learn("m", BODIES[0]).result()
    yield service
    service.close()


def submitted(gathering: Gathering, service: Service, body: Body) -> "asyncio.Future[object]":
    future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
    gathering.submit(service.to_learn("m", body), future)
    return future


def test_what_comes_meanwhile_is_the_next_group(service: Service) -> None:
    """In the order in which it came."""

    async def work() -> list[int]:
        gathering, futures = Gathering(service.log), []
        for body in BODIES[:64]:
            futures.append(submitted(gathering, service, body))
            if len(futures) == 10:
                while gathering._last is None:
                    await asyncio.sleep(0.0)
        return [receipt.seq for receipt in await asyncio.gather(*futures)]

    n_groups, first = service.log.n_groups, service.log.last_of("m") + 1
    assert asyncio.run(work()) == list(range(first, first + 64))
    assert service.log.n_groups <= n_groups + 8  # two, unless the thread of the log is very fast


def test_a_group_is_not_waited_for_without_end(service: Service) -> None:
    async def work() -> None:
        gathering = Gathering(service.log)
        futures = [submitted(gathering, service, body) for body in BODIES[:MOST]]
        await asyncio.sleep(0.0)
        assert gathering._last is futures[-1]
        await asyncio.gather(*futures)

    asyncio.run(work())


def test_those_who_come_later_do_not_wait_for_one_who_has_gone(service: Service) -> None:
    async def work() -> None:
        gathering = Gathering(service.log)
        first = submitted(gathering, service, BODIES[0])
        while gathering._last is None:
            await asyncio.sleep(0.0)
        second = submitted(gathering, service, BODIES[1])
        first.cancel()
        for _ in range(10):
            await asyncio.sleep(0.0)
        assert gathering._last is second
        other.execute("ROLLBACK")
        await second

    other = sqlite3.connect(service.log.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")  # the log cannot write
    asyncio.run(work())
    other.close()
    assert service.log.read("SELECT count(*) FROM entries WHERE kind = 'learn'") == [(3,)]


def test_nothing_is_taken_at_the_end(service: Service) -> None:
    async def work() -> None:
        with pytest.raises(BusyError):
            submitted(Gathering(service.log), service, BODIES[0])

    service.log._closed = True
    asyncio.run(work())
