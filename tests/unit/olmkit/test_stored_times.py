"""An interval after a stored time, whatever the clock was when the time was stored; and that no decision reckons otherwise."""

from __future__ import annotations

import ast
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from olmkit.stored_times import MAX_CLOCK_SKEW, NO_TIME, has_passed, is_ahead, stored_time, time_left

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR, DAY, SECOND = timedelta(hours=1), timedelta(days=1), timedelta(seconds=1)
ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("since", "left"),
    [
        pytest.param(NOW, HOUR, id="just now"),
        pytest.param(NOW - HOUR / 4, HOUR * 3 / 4, id="a while ago"),
        pytest.param(NOW - HOUR, NO_TIME, id="the interval ago"),
        pytest.param(NOW - 60 * DAY, NO_TIME, id="long ago"),
        pytest.param(NOW + MAX_CLOCK_SKEW, HOUR, id="ahead by what clocks differ: never more than the interval"),
        pytest.param(NOW + MAX_CLOCK_SKEW + SECOND, NO_TIME, id="ahead by more than clocks differ"),
        pytest.param(NOW + 60 * DAY, NO_TIME, id="of a clock that was far ahead"),
    ],
)
def test_the_interval_after_a_stored_time(since: datetime, left: timedelta) -> None:
    assert time_left(since, HOUR, NOW) == left
    assert has_passed(since, HOUR, NOW) is (left == NO_TIME)
    assert is_ahead(since, NOW) is (since - NOW > MAX_CLOCK_SKEW)


@pytest.mark.parametrize(
    "text", ["", "soon", "0000-01-01T00:00:00Z", "2026-01-01T12:00:00+24:00", "2026-01-01T12:00:00"]
)
def test_a_text_that_is_no_time_counts_as_one_that_lies_ahead(text: str) -> None:
    assert is_ahead(stored_time(text), NOW)
    assert has_passed(stored_time(text), HOUR, NOW)


def test_a_time_is_read_with_its_offset() -> None:
    assert stored_time("2026-01-01T14:00:00.5+02:00") == NOW + SECOND / 2


KNOWN = {
    "rukpak/bundledeployment/deletion/finalize.py": (
        "ages of deletionTimestamps, which the API server gives; every delay has a maximum"
    ),
    "rukpak/bundledeployment/delays.py": "the same; the delay has a maximum",
    "rukpak/bundledeployment/decide.py": "the rest of a backoff that has not passed",
    "rukpak/certificates/serving_certificate.py": "the rest of a certificate that is valid now",
    "operator_controller/operator/dependencies.py": "an age whose range is checked",
    "olmkit/runtime/event_recorder.py": "the clock of the process",
    "olmkit/runtime/held_progress.py": "the clock of the process",
    "olmkit/runtime/queue.py": "the clock of the process",
    "olmkit/sources/transport.py": "the clock of the process",
    "olmkit/stored_times.py": "the rule itself",
    "olmkit/tls/certificate_authority.py": "ages of certificates that are valid now",
    "olmkit/tls/server_tls.py": "a warning",
    "olmctl/questions/controller_state.py": "a Lease, whose age is only shown",
    "olmctl/operators/output.py": "an age that is shown, at least 0",
}
"""The modules that subtract a time from the present one, or the other way round, and why that is right."""


def test_no_time_is_subtracted_from_the_present_one_but_by_the_shared_rule() -> None:
    found: set[str] = set()
    for directory in ("olmkit", "catalogd", "rukpak", "operator_controller", "olmctl"):
        for path in (ROOT / directory).rglob("*.py"):
            text = path.read_text()
            if ("datetime" in text or "world.now" in text) and any(map(_subtracts_now, ast.walk(ast.parse(text)))):
                found.add(str(path.relative_to(ROOT)))
    assert found == set(KNOWN)


def _subtracts_now(node: ast.AST) -> bool:
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub):
        return False
    return any(_is_now(side) for side in (node.left, node.right))


def _is_now(node: ast.AST) -> bool:
    """`now`, `world.now`, `datetime.now(UTC)`."""
    match node:
        case ast.Name(id="now") | ast.Attribute(attr="now"):
            return True
        case ast.Call(func=func):
            return _is_now(func)
        case ast.BoolOp(values=values):
            return any(map(_is_now, values))
    return False
