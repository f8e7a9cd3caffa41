"""What becomes of signals that come at an awkward moment."""

import signal
import sys
import threading

import pytest

from rarefy.cli import signals


class Stopping:
    """A listener that ends what is going on by an exception."""

    def note(self, number):
        return True

    def wake(self, number):
        raise KeyError(number)


@pytest.fixture
def listener(monkeypatch):
    monkeypatch.setattr(signals, "_listener", Stopping())
    monkeypatch.setattr(signals, "_seen", [])


def test_a_signal_wakes_whoever_listens(listener):
    with pytest.raises(KeyError):
        signals._handle(signal.SIGINT, sys._getframe())


def test_in_a_destructor_it_comes_again(listener, monkeypatch):
    """Python prints what a destructor raises, and goes on."""
    come, sent = threading.Event(), []
    monkeypatch.setattr(signal, "raise_signal", lambda number: (sent.append(number), come.set()))

    class Temporary:
        def __del__(self):
            self.close()

        def close(self):
            signals._handle(signal.SIGTERM, sys._getframe())

    Temporary().close  # noqa: B018
    assert come.wait(5.0)
    assert sent == [signal.SIGTERM]
