"""What tests of several folders need."""

import signal

import pytest


@pytest.fixture(scope="module")
def signals_are_not_ignored():
    """As processes inherit it from tests that a shell runs in the background, or with nohup."""
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
