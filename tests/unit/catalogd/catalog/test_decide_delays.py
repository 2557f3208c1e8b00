"""All delays of a Catalog, as one table."""

from __future__ import annotations

from datetime import timedelta

import pytest

from catalogd.catalog.decide import DEFAULT_POLL_INTERVAL, IMMEDIATELY, QUEUE_CHECK_INTERVAL, delay, desired_source
from catalogd.catalog.package_diff import Difference
from catalogd.catalog.world import (
    Action,
    ConfirmUnchanged,
    DesiredSource,
    Keep,
    LoadFailed,
    LoadFinished,
    LoadRunning,
    Serve,
    SetLabel,
    StopServing,
    SyncPackages,
    World,
)
from tests.unit.catalogd.catalog.worlds import (
    AWAY,
    BAD,
    CHECKED,
    DIGEST,
    MINUTE,
    NOW,
    OFF,
    ONE,
    TAG,
    TWO,
    WRITES,
    WRONG,
    desired,
    load,
    record,
    served,
    world,
)

POLL = desired().poll_interval or timedelta(0)
SECONDS = timedelta(seconds=1)


def delay_of(given: World, action: Action | None = None) -> timedelta | None:
    found = desired_source(given)
    return delay(given, found if isinstance(found, DesiredSource) else None, action)


@pytest.mark.parametrize(
    ("given", "action", "expected"),
    [
        pytest.param(world(), None, IMMEDIATELY, id="a source that was never checked is due"),
        pytest.param(world(last_checked=NOW - MINUTE), None, POLL - MINUTE, id="one that was checked is due later"),
        pytest.param(world(last_checked=NOW - POLL - MINUTE), None, IMMEDIATELY, id="one that is overdue is due"),
        pytest.param(
            world(last_checked=NOW + timedelta(days=1)),
            None,
            IMMEDIATELY,
            id="one that a clock checked that was ahead is due",
        ),
        pytest.param(world(DIGEST), None, None, id="a digest is never due"),
        pytest.param(world(poll="0s"), None, None, id="nor is a tag with an interval of 0s"),
        pytest.param(world(ref=None), None, None, id="nor is an invalid source"),
        pytest.param(world(**OFF), None, None, id="nor is that of an Unavailable Catalog"),
        pytest.param(world(job=LoadRunning(TAG)), None, None, id="a job reports its end"),
        pytest.param(
            world(job=LoadRunning(TAG, is_queued=True)), None, QUEUE_CHECK_INTERVAL, id="a queued job not its start"
        ),
        pytest.param(world(job=LoadRunning("other:v1")), None, IMMEDIATELY, id="a job for another source is ignored"),
        pytest.param(world(job=LoadFailed(TAG, AWAY, 5 * SECONDS)), None, 15 * SECONDS, id="a retry"),
        pytest.param(world(job=LoadFailed(TAG, BAD, MINUTE)), None, POLL - MINUTE, id="bad content under a tag"),
        pytest.param(world(DIGEST, job=LoadFailed(DIGEST, BAD, MINUTE)), None, None, id="bad content by digest"),
        pytest.param(world(job=LoadFailed(TAG, WRONG, MINUTE)), None, None, id="an invalid reference"),
        pytest.param(world(raw=None, catalog=None), StopServing(), None, id="nothing follows a deletion"),
        pytest.param(world(), StopServing(), IMMEDIATELY, id="unless the object still exists"),
        pytest.param(world(), load(), None, id="the end of a job enqueues"),
        pytest.param(world(package_diff=WRITES), load(), IMMEDIATELY, id="Packages are written while it runs"),
        pytest.param(world(), Serve(record()), IMMEDIATELY, id="content that is served is reported"),
        pytest.param(world(), SetLabel(), IMMEDIATELY, id="what follows the label"),
        pytest.param(world(), SyncPackages(Difference()), IMMEDIATELY, id="the next batch"),
        pytest.param(world(**CHECKED), ConfirmUnchanged(), POLL, id="an unchanged source is due after its interval"),
        pytest.param(
            world(DIGEST, served=served(record(DIGEST))), ConfirmUnchanged(), None, id="an unchanged digest never"
        ),
        pytest.param(
            world(refresh_requested="now", **CHECKED), ConfirmUnchanged(), IMMEDIATELY, id="a check was requested"
        ),
        pytest.param(world(labels={}, **CHECKED), ConfirmUnchanged(), IMMEDIATELY, id="the label is missing"),
        pytest.param(world(reported=TWO, **CHECKED), ConfirmUnchanged(), IMMEDIATELY, id="the status is old"),
        pytest.param(world(package_diff=WRITES, **CHECKED), ConfirmUnchanged(), IMMEDIATELY, id="objects differ"),
        pytest.param(world(deleting=True), Keep(), None, id="the finalizers of others are waited for"),
        pytest.param(world(reported=TWO, **CHECKED), Keep(), IMMEDIATELY, id="the objects follow the status"),
        pytest.param(world(last_checked=NOW - MINUTE), Keep(), POLL - MINUTE, id="otherwise the next check"),
        pytest.param(
            world(job=LoadRunning(TAG, is_queued=True)), Keep(), QUEUE_CHECK_INTERVAL, id="or that of the queue"
        ),
        pytest.param(world(job=LoadFinished(TAG, "i", ONE)), Keep(), IMMEDIATELY, id="or content that was loaded"),
    ],
)
def test_delays(given: World, action: Action | None, expected: timedelta | None) -> None:
    assert delay_of(given, action) == expected


def test_the_jitter_is_at_most_one_percent_and_differs_between_catalogs() -> None:
    delays = {delay_of(world(name=f"c{number}", served=served(), last_checked=NOW)) for number in range(50)}
    assert len(delays) == 50
    assert all(delay is not None and DEFAULT_POLL_INTERVAL <= delay <= DEFAULT_POLL_INTERVAL * 1.01 for delay in delays)


def test_the_poll_interval_is_at_least_a_second() -> None:
    delay = delay_of(world(poll="1ms", served=served(), last_checked=NOW))
    assert delay is not None
    assert delay >= timedelta(seconds=1)


@pytest.mark.parametrize("poll", ["100000000h", "86399999999000s", "9" * 60 + "h"])
def test_a_long_interval_ends_at_a_date_that_can_be_represented(poll: str) -> None:
    found = delay_of(world(poll=poll, served=served(), last_checked=NOW))
    assert found is not None
    assert NOW + found > NOW + timedelta(days=36_000)
