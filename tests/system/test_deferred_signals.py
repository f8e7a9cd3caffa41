"""Signals that come while something must not be left half changed."""

from __future__ import annotations

import itertools
import signal
import threading

import pytest

from rarefy.system.deferred_signals import SIGNALS, Deferral
from tests.interrupting import run_interrupted

pytestmark = pytest.mark.usefixtures("signals_are_not_ignored")


class TestDeferral:
    def test_signals_come_when_it_closes(self):
        done = []

        def work():
            with Deferral():
                signal.raise_signal(signal.SIGINT)
                done.append("all")

        with pytest.raises(KeyboardInterrupt):
            work()
        assert done == ["all"]

    def test_and_when_they_are_let_through(self):
        done = []

        def work():
            with Deferral() as signals:
                signals.let_through()
                signal.raise_signal(signal.SIGINT)
                done.append("some")
                signals.let_through()
                done.append("more")

        with pytest.raises(KeyboardInterrupt):
            work()
        assert done == ["some"]

    def test_handlers_are_put_back(self):
        before = [signal.getsignal(number) for number in SIGNALS]
        with Deferral():
            assert signal.getsignal(signal.SIGINT) is not before[0]
        assert [signal.getsignal(number) for number in SIGNALS] == before

    def test_own_handlers_run_later(self):
        seen = []
        before = signal.signal(signal.SIGALRM, lambda number, frame: seen.append(number))
        try:
            with Deferral():
                signal.raise_signal(signal.SIGALRM)
                assert seen == []
            assert seen == [signal.SIGALRM]
        finally:
            signal.signal(signal.SIGALRM, before)

    def test_what_fails_inside_is_not_lost(self):
        with pytest.raises(ValueError, match="no"), Deferral():
            raise ValueError("no")

    def test_nothing_is_put_off_in_other_threads(self):
        def work():
            with Deferral():
                handlers.append(signal.getsignal(signal.SIGINT))

        handlers = []
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert handlers == [signal.getsignal(signal.SIGINT)]

    def test_every_handler_may_raise(self):
        def raising(number, frame):
            raise ValueError(int(number))

        others = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGVTALRM, signal.SIGPROF)
        before = {number: signal.signal(number, raising) for number in others}
        try:
            seen = set()
            with pytest.raises(ValueError, match=str(int(signal.SIGPROF))) as found, Deferral():
                list(map(signal.raise_signal, others))
            error = found.value
            while error is not None:
                seen.add(error.args[0])
                error = error.__context__
            assert seen == set(others)
            assert all(signal.getsignal(number) is raising for number in others)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def test_one_in_another(self):
        done = []

        def work():
            with Deferral() as outer:
                with Deferral():
                    signal.raise_signal(signal.SIGINT)
                    done.append("inner")
                done.append("outer")
                outer.let_through()
                done.append("not this")

        with pytest.raises(KeyboardInterrupt):
            work()
        assert done == ["inner", "outer"]

    def test_a_handler_may_set_another(self):
        before = signal.getsignal(signal.SIGALRM)

        def once(number, frame):
            signal.signal(signal.SIGALRM, signal.SIG_IGN)

        signal.signal(signal.SIGALRM, once)
        try:
            with Deferral() as signals:
                signal.raise_signal(signal.SIGALRM)
                signals.let_through()
            assert signal.getsignal(signal.SIGALRM) is signal.SIG_IGN
        finally:
            signal.signal(signal.SIGALRM, before)


PAIRS = (signal.SIGINT, signal.SIGUSR1)


def test_whenever_a_signal_comes_handlers_are_back_and_have_run():
    n_run = 0

    def handler(number, frame):
        nonlocal n_run
        n_run += 1
        raise KeyboardInterrupt

    def open_and_close():
        with Deferral() as signals:
            signals.let_through()

    before = {number: signal.signal(number, handler) for number in PAIRS}
    try:
        for moment in itertools.count(1):
            if not run_interrupted(open_and_close, moment, opcodes=True):
                break
            assert [signal.getsignal(number) for number in PAIRS] == [handler] * 2
            assert n_run == moment
        assert moment > 300
    finally:
        for number, own in before.items():
            signal.signal(number, own)
