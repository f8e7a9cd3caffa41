"""What tests of several folders need."""

import signal

import pytest
from hypothesis import settings

from tests import selecting


def pytest_configure(config):
    """Before tests are imported, which say how many random examples they try."""
    if config.option.markexpr != "not slow":
        selecting.share_of_examples = 1.0
    settings.register_profile("rarefy", max_examples=selecting.examples(100))
    settings.load_profile("rarefy")


@pytest.fixture(scope="module")
def signals_are_not_ignored():
    """As processes inherit it from tests that a shell runs in the background, or with nohup."""
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
