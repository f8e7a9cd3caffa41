"""The examples in the docstrings of the client, run against a service."""

import asyncio

import pytest

import rarefy
from tests.docs_examples import run_examples
from tests.serving.served import Served

METHODS = ("create", "learn", "predict", "label", "explain", "about")


@pytest.mark.slow
def test_examples(tmp_path):
    with Served(tmp_path) as served:
        here = {"http://127.0.0.1:8080": served.url}
        assert run_examples(rarefy.Client, replaced=here, rarefy=rarefy) > 0
        with rarefy.Client(served.url, "spam", timeout=200.0) as client:
            while client.about()["backlog"] > 0:
                pass
        for method in METHODS:
            assert run_examples(getattr(rarefy.Client, method), replaced=here, rarefy=rarefy) > 0
        awaited = "asyncio.run(client"
        here |= {"await client": awaited, '{"words": "a prize"})': '{"words": "a prize"}))'}
        names = {"rarefy": rarefy, "asyncio": asyncio}
        assert run_examples(rarefy.AsyncClient, replaced=here, **names) > 0
