"""Programs that print without end, never end, or leave others behind that keep their pipes."""

from __future__ import annotations

import sys

import pytest

from olmctl.programs import Ended, TimeIsUp, TooMuchOutput, run_program

COPY = "import sys; data = sys.stdin.buffer.read(); sys.stdout.buffer.write(data); sys.stderr.write('e'); sys.exit(3)"
ENDLESS = "import os\nwhile True: os.write({}, b'x' * 65536)"
LEAVES_ONE = "import os, time\nif os.fork() == 0: time.sleep(60)\nelse: os.write(1, b'done')"
CLOSED = "import os, time\nos.close(1)\nos.close(2)\ntime.sleep(6000)"


def python(text: str, seconds: float = 10, given: bytes = b"", *, with_errors: bool = True) -> Ended:
    return run_program([sys.executable, "-c", text], seconds, 1_000_000, given, with_errors=with_errors)


def test_input_and_both_outputs_of_more_than_a_pipe_holds() -> None:
    given = b"0123456789" * 50_000
    assert python(COPY, given=given) == Ended(3, given, b"e")
    assert python(COPY, given=b"a", with_errors=False) == Ended(3, b"a")


def test_a_program_that_does_not_read_its_input() -> None:
    assert python("pass", given=b"x" * 1_000_000) == Ended(0, b"")


@pytest.mark.parametrize("descriptor", [1, 2])
def test_output_without_end_is_not_read(descriptor: int) -> None:
    with pytest.raises(TooMuchOutput):
        python(ENDLESS.format(descriptor))


@pytest.mark.parametrize(
    "text", [pytest.param("import time; time.sleep(6000)", id="open"), pytest.param(CLOSED, id="closed")]
)
def test_a_program_that_does_not_end_is_ended(text: str) -> None:
    with pytest.raises(TimeIsUp):
        python(text, seconds=0.3)


def test_what_a_program_has_left_behind_is_not_waited_for() -> None:
    assert python(LEAVES_ONE) == Ended(0, b"done")
