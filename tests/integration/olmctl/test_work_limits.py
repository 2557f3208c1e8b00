"""Limits of the work on one bundle: they end it, and are gone afterwards."""

from __future__ import annotations

import contextlib
import resource
import signal
import threading

import pytest

from olmctl import work_limits
from olmctl.work_limits import LimitReached, limited


def spin() -> None:
    while True:
        with contextlib.suppress(Exception):
            sum(range(1000))


def test_the_time_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_limits, "SECONDS", 0.1)
    before = signal.getsignal(signal.SIGVTALRM)
    with pytest.raises(LimitReached, match=r"^its checks take more than 0\.1 s of CPU time$"), limited("its checks"):
        spin()
    assert signal.getsignal(signal.SIGVTALRM) == before
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


def test_the_memory_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_limits, "MEMORY", 64 * 1024**2)
    before = resource.getrlimit(resource.RLIMIT_AS)
    with pytest.raises(LimitReached, match=r"^its checks need too much memory$"), limited("its checks"):
        bytearray(128 * 1024**2)
    assert resource.getrlimit(resource.RLIMIT_AS) == before


def test_other_threads_have_no_signals() -> None:
    done: list[bool] = []

    def work() -> None:
        with limited("its checks"):
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]
