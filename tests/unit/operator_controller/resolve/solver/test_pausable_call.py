"""Calls that are paused and continued."""

from __future__ import annotations

import itertools

import pytest

from operator_controller.resolve.solver.pausable_call import PausableCall, may_pause


def test_a_call_goes_on_where_it_was_paused() -> None:
    steps: list[int] = []

    def count() -> str:
        for step in range(4):
            may_pause()
            steps.append(step)
        return "all"

    call = PausableCall(count)
    turns = itertools.count(1)
    assert not call.run(lambda: next(turns) > 2)
    assert steps == [0, 1]
    assert not call.run(lambda: len(steps) == 3)
    assert steps == [0, 1, 2]
    assert call.run(None)
    assert (steps, call.result) == ([0, 1, 2, 3], "all")
    assert call.pauses == 2


def test_an_error_reaches_the_caller_that_continued_the_call() -> None:
    def fail() -> None:
        may_pause()
        raise ValueError("not solved")

    call = PausableCall(fail)
    assert not call.run(lambda: True)
    with pytest.raises(ValueError, match="not solved"):
        call.run(None)


def test_a_call_that_nobody_continues_releases_what_it_holds() -> None:
    released: list[str] = []

    def hold() -> None:
        try:
            may_pause()
        finally:
            released.append("solver")

    call = PausableCall(hold)
    assert not call.run(lambda: True)
    del call
    assert released == ["solver"]


def test_a_step_outside_of_a_call_is_not_paused() -> None:
    may_pause()
