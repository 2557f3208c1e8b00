"""One Catalog: what is done next."""

from __future__ import annotations

from datetime import timedelta

import pytest

from catalogd.decide import BATCH, POLL_INTERVAL, decide, next_look, parse_duration
from catalogd.listing import Difference
from catalogd.world import (
    Confirm,
    Keep,
    Load,
    Plan,
    Read,
    Reading,
    Refused,
    Serve,
    SyncPackages,
    Withdraw,
    World,
)
from olmkit.errors import Blocked, OlmError, Waiting
from tests.unit.catalogd.decide.worlds import (
    AWAY,
    BAD,
    DIGEST,
    IMAGE_ONE,
    IMAGE_TWO,
    LOOKED,
    MINUTE,
    NOW,
    ONE,
    STAMP,
    TAG,
    TWO,
    WRITES,
    WRONG,
    record,
    served,
    world,
)


@pytest.mark.parametrize(
    ("given", "plan"),
    [
        pytest.param(
            world(raw=None, catalog=None, served=served()), Withdraw(), id="a Catalog that is gone is withdrawn"
        ),
        pytest.param(world(deleting=True, **LOOKED), Withdraw(), id="one that is being deleted too"),
        pytest.param(world(deleting=True, job=Reading(TAG)), Withdraw(), id="also while it is read"),
        pytest.param(world(), Load(TAG), id="a new one is read"),
        pytest.param(
            world(job=Reading(TAG)), Keep(None), id="one that is being read is waited for: the job's end tells"
        ),
        pytest.param(world(job=Reading(TAG, waits=True)), Keep(timedelta(seconds=5)), id="its turn is told by nothing"),
        pytest.param(world(job=Reading("other:v1")), Load(TAG), id="a job for what was asked before is replaced"),
        pytest.param(world(job=Read("other:v1", "i", ONE)), Load(TAG), id="its result too"),
        pytest.param(
            world(job=Read(TAG, IMAGE_ONE, ONE)), Serve(record(unpacked=STAMP)), id="what was read is served, from now"
        ),
        pytest.param(
            world(job=Read(TAG, IMAGE_TWO, TWO), **LOOKED),
            Serve(record(digest=TWO, unpacked=STAMP)),
            id="what is new replaces the old",
        ),
        pytest.param(world(job=Read(TAG, IMAGE_ONE, ONE), **LOOKED), Confirm(), id="a tag that has not moved is noted"),
        pytest.param(
            world("registry.example/c:v2", job=Read("registry.example/c:v2", IMAGE_ONE, ONE), **LOOKED),
            Serve(record("registry.example/c:v2")),
            id="the same content under another tag keeps its time",
        ),
        pytest.param(
            world("registry.example/c:v2", **LOOKED),
            Load("registry.example/c:v2"),
            id="a new reference is read at once",
        ),
        pytest.param(world(served=served()), Load(TAG), id="after a restart a tag is looked at"),
        pytest.param(world(DIGEST, served=served(record(DIGEST))), Keep(None), id="after a restart a digest is not"),
        pytest.param(world(poll="30s", **LOOKED), Load(TAG), id="a tag is looked at when its interval is over"),
        pytest.param(world(poll="0s", served=served()), Keep(None), id="never with an interval of 0s"),
        pytest.param(world(poll="0", served=served()), Keep(None), id="nor with 0"),
        pytest.param(
            world(packages=WRITES, **LOOKED),
            SyncPackages(Difference(WRITES.writes[:BATCH])),
            id="Packages are written in batches",
        ),
        pytest.param(
            world(packages=WRITES, job=Reading(TAG), **LOOKED),
            SyncPackages(Difference(WRITES.writes[:BATCH])),
            id="also while the tag is looked at",
        ),
        pytest.param(
            world(packages=Difference(deletes=(("c-x", "u"),)), job=Refused(TAG, AWAY, timedelta(0)), **LOOKED),
            SyncPackages(Difference(deletes=(("c-x", "u"),))),
            id="also while it cannot be read",
        ),
        pytest.param(
            world(job=Refused(TAG, AWAY, timedelta(seconds=20))),
            Load(TAG),
            id="a registry that was away is asked again",
        ),
        pytest.param(
            world(job=Refused("other:v1", WRONG, timedelta(0))),
            Load(TAG),
            id="what was wrong with another reference does not count",
        ),
        pytest.param(
            world(job=Refused(TAG, BAD, timedelta(hours=1))),
            Load(TAG),
            id="bad content under a tag is looked at when polled",
        ),
    ],
)
def test_plans(given: World, plan: Plan) -> None:
    assert decide(given) == plan


@pytest.mark.parametrize(
    ("given", "error"),
    [
        pytest.param(
            world(ref=None),
            Blocked("Blocked", "set spec.source.image: a source of type image needs it"),
            id="no image in the spec",
        ),
        pytest.param(
            world(job=Refused(TAG, AWAY, timedelta(seconds=5))),
            Waiting("RegistryUnavailable", "the registry does not answer", timedelta(seconds=15)),
            id="a registry that is away is given its time",
        ),
        pytest.param(world(job=Refused(TAG, WRONG, timedelta(days=1))), WRONG, id="a wrong reference stays wrong"),
        pytest.param(
            world(DIGEST, job=Refused(DIGEST, BAD, timedelta(days=1))), BAD, id="bad content by digest stays bad"
        ),
        pytest.param(
            world(poll="0s", job=Refused(TAG, BAD, timedelta(days=1))), BAD, id="so does a tag that is not polled"
        ),
    ],
)
def test_errors_that_stand(given: World, error: OlmError) -> None:
    with pytest.raises(OlmError) as caught:
        decide(given)
    assert (type(caught.value), str(caught.value), getattr(caught.value, "after", None)) == (
        *(type(error), str(error)),
        getattr(error, "after", None),
    )


def test_bad_content_under_a_tag_waits_for_the_next_look() -> None:
    with pytest.raises(Waiting) as caught:
        decide(world(job=Refused(TAG, BAD, MINUTE)))
    assert POLL_INTERVAL - MINUTE <= caught.value.after <= POLL_INTERVAL * 1.01 - MINUTE


def test_the_jitter_is_at_most_one_percent_and_differs_between_catalogs() -> None:
    looks = {next_look(world(name=f"c{number}", served=served(), looked=NOW)) for number in range(50)}
    assert len(looks) == 50
    assert all(look is not None and POLL_INTERVAL <= look <= POLL_INTERVAL * 1.01 for look in looks)


def test_no_interval_is_so_short_that_it_is_a_loop() -> None:
    look = next_look(world(poll="1ms", served=served(), looked=NOW))
    assert look is not None
    assert look >= timedelta(seconds=1)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("0s", 0),
        ("10m", 600),
        ("1h30m", 5400),
        ("1.5h", 5400),
        ("500ms", 0.5),
        ("1m0.5s", 60.5),
        (".5s", 0.5),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text).total_seconds() == seconds


@pytest.mark.parametrize("text", ["", "10", "m", "10 m", "-1s", "1d", "1h30", "1,5h"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(Blocked, match="is no duration"):
        parse_duration(text)


def test_a_duration_beyond_time_is_long() -> None:
    assert parse_duration("9" * 400 + "h") > timedelta(days=365_000)
