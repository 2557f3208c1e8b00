"""One Catalog: what is done next."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from catalogd.catalog.decide import IMMEDIATELY, WRITE_BATCH, decide, time_to_next_check
from catalogd.catalog.desired_source import DEFAULT_POLL_INTERVAL, desired_source, parse_duration
from catalogd.catalog.package_diff import Difference
from catalogd.catalog.world import (
    ConfirmUnchanged,
    DesiredSource,
    InputReference,
    Load,
    LoadFailed,
    LoadFinished,
    LoadRunning,
    Plan,
    Record,
    Serve,
    SetLabel,
    StopServing,
    SyncPackages,
    Wait,
    World,
)
from olmkit.api.catalogs import NAME_LABEL
from olmkit.errors import Blocked, OlmError, Waiting
from tests.unit.catalogd.catalog.worlds import (
    AWAY,
    BAD,
    DIGEST,
    IMAGE_ONE,
    IMAGE_TWO,
    LOOKED,
    MINUTE,
    NOW,
    OFF,
    ONE,
    SECRET,
    STAMP,
    TAG,
    TWO,
    WITH_SECRET,
    WRITES,
    WRONG,
    load,
    record,
    served,
    wish,
    world,
)

MAP = InputReference("ConfigMap", "m")
MAPS = {"type": "configMaps", "configMaps": [{"configMap": {"name": "m"}}]}


def wish_rest() -> timedelta | None:
    """How long until a Catalog that is served is looked at."""
    return time_to_next_check(world(**LOOKED), wish())


@pytest.mark.parametrize(
    ("given", "plan"),
    [
        pytest.param(
            world(raw=None, catalog=None, served=served()), StopServing(), id="a Catalog that is gone is withdrawn"
        ),
        pytest.param(world(deleting=True, **LOOKED), StopServing(), id="one that is being deleted too"),
        pytest.param(world(deleting=True, job=LoadRunning(TAG)), StopServing(), id="also while it is read"),
        pytest.param(world(deleting=True), Wait(None), id="once that is done, others' finalizers are waited for"),
        pytest.param(world(), load(), id="a new one is read"),
        pytest.param(
            world(job=LoadRunning(TAG)), Wait(None), id="one that is being read is waited for: the job's end tells"
        ),
        pytest.param(
            world(job=LoadRunning(TAG, is_queued=True)), Wait(timedelta(seconds=5)), id="its turn is told by nothing"
        ),
        pytest.param(world(job=LoadRunning("other:v1")), load(), id="a job for what was asked before is replaced"),
        pytest.param(world(job=LoadFinished("other:v1", "i", ONE)), load(), id="its result too"),
        pytest.param(
            world(job=LoadFinished(TAG, IMAGE_ONE, ONE)),
            Serve(record(unpacked=STAMP)),
            id="what was read is served, from now",
        ),
        pytest.param(
            world(job=LoadFinished(TAG, IMAGE_TWO, TWO), **LOOKED),
            Serve(record(digest=TWO, unpacked=STAMP)),
            id="what is new replaces the old",
        ),
        pytest.param(
            world(job=LoadFinished(TAG, IMAGE_ONE, ONE), **LOOKED),
            ConfirmUnchanged(wish().poll_interval),
            id="a tag that has not moved is noted, and looked at again after its interval",
        ),
        pytest.param(
            world(DIGEST, job=LoadFinished(DIGEST, IMAGE_ONE, ONE), served=served(record(DIGEST))),
            ConfirmUnchanged(None),
            id="a digest that was looked at because a person asked is noted, and never looked at again",
        ),
        pytest.param(
            world(refresh_requested="now", job=LoadFinished(TAG, IMAGE_ONE, ONE), **LOOKED),
            ConfirmUnchanged(IMMEDIATELY),
            id="a person who asked meanwhile gets another look at once",
        ),
        pytest.param(
            world(package_diff=WRITES, job=LoadFinished(TAG, IMAGE_ONE, ONE), **LOOKED),
            ConfirmUnchanged(IMMEDIATELY),
            id="Packages that differ are written right after",
        ),
        pytest.param(
            world(labels={}, job=LoadFinished(TAG, IMAGE_ONE, ONE), **LOOKED),
            ConfirmUnchanged(IMMEDIATELY),
            id="so is a label that is lost",
        ),
        pytest.param(
            world(said=TWO, job=LoadFinished(TAG, IMAGE_ONE, ONE), **LOOKED),
            ConfirmUnchanged(IMMEDIATELY),
            id="so is what the status does not say yet",
        ),
        pytest.param(
            world("registry.example/c:v2", job=LoadFinished("registry.example/c:v2", IMAGE_ONE, ONE), **LOOKED),
            Serve(record("registry.example/c:v2")),
            id="the same content under another tag keeps its time",
        ),
        pytest.param(
            world("registry.example/c:v2", **LOOKED),
            load("registry.example/c:v2"),
            id="a new reference is read at once",
        ),
        pytest.param(world(served=served()), load(), id="after a restart a tag is looked at"),
        pytest.param(world(DIGEST, served=served(record(DIGEST))), Wait(None), id="after a restart a digest is not"),
        pytest.param(world(poll="30s", **LOOKED), load(poll="30s"), id="a tag is looked at when its interval is over"),
        pytest.param(world(poll="0s", served=served()), Wait(None), id="never with an interval of 0s"),
        pytest.param(world(poll="0", served=served()), Wait(None), id="nor with 0"),
        pytest.param(
            world(package_diff=WRITES, **LOOKED),
            SyncPackages(Difference(WRITES.writes[:WRITE_BATCH])),
            id="Packages are written in batches",
        ),
        pytest.param(
            world(package_diff=WRITES, job=LoadRunning(TAG), **LOOKED),
            SyncPackages(Difference(WRITES.writes[:WRITE_BATCH])),
            id="also while the tag is looked at",
        ),
        pytest.param(
            world(package_diff=Difference(deletes=(("c-x", "u"),)), job=LoadFailed(TAG, AWAY, timedelta(0)), **LOOKED),
            SyncPackages(Difference(deletes=(("c-x", "u"),))),
            id="also while it cannot be read",
        ),
        pytest.param(
            world(job=LoadFailed(TAG, AWAY, timedelta(seconds=20))),
            load(),
            id="a registry that was away is asked again",
        ),
        pytest.param(
            world(job=LoadFailed("other:v1", WRONG, timedelta(0))),
            load(),
            id="what was wrong with another reference does not count",
        ),
        pytest.param(
            world(job=LoadFailed(TAG, BAD, timedelta(hours=1))),
            load(),
            id="bad content under a tag is looked at when polled",
        ),
        pytest.param(
            world(refresh_requested="now", **LOOKED), load(), id="a person who asks for a look gets one before its time"
        ),
        pytest.param(
            world(DIGEST, refresh_requested="now", served=served(record(DIGEST))),
            load(DIGEST),
            id="also one at a digest",
        ),
        pytest.param(
            world(refresh_requested="now", job=LoadFailed(TAG, WRONG, timedelta(0))),
            load(),
            id="also one at what was refused",
        ),
        pytest.param(
            world(refresh_requested="now", job=LoadRunning(TAG), **LOOKED),
            Wait(None),
            id="but not while one is under way",
        ),
        pytest.param(
            world(job=LoadFinished(TAG, "", ""), **LOOKED),
            ConfirmUnchanged(wish().poll_interval),
            id="a server that says nothing is new is believed",
        ),
        pytest.param(
            world(refresh_requested="now", refresh_started="now", **LOOKED),
            Wait(wish_rest()),
            id="nor one more for the same",
        ),
        pytest.param(
            world(refresh_requested="now", handled="now", **LOOKED), Wait(wish_rest()), id="nor again after a restart"
        ),
        pytest.param(
            world(refresh_requested="", handled="now", **LOOKED),
            Wait(wish_rest()),
            id="an annotation that is taken away asks nothing",
        ),
        pytest.param(
            world(refresh_requested="now", refresh_started="before", handled="before", **LOOKED),
            load(),
            id="another value asks for another look",
        ),
        pytest.param(
            world(said=TWO, package_diff=WRITES, **LOOKED),
            Wait(timedelta(0)),
            id="that content is served is said before its Packages are written",
        ),
        pytest.param(
            world(DIGEST, lacks_bundle_metadata=True, served=served(record(DIGEST))),
            load(DIGEST),
            id="what lacks a part is read again",
        ),
        pytest.param(
            world(lacks_bundle_metadata=True, job=LoadFinished(TAG, IMAGE_ONE, ONE), **LOOKED),
            Serve(record()),
            id="and opened again",
        ),
        pytest.param(
            world(
                source=MAPS,
                input_versions={MAP: "2"},
                loaded_config_map_versions="1",
                served=served(record("configMaps m:")),
            ),
            Load(DesiredSource("configMaps m:", "the catalog in ConfigMaps", config_map_versions="2")),
            id="ConfigMaps that have changed are read",
        ),
        pytest.param(
            world(
                source=MAPS,
                input_versions={MAP: "2"},
                loaded_config_map_versions="2",
                served=served(record("configMaps m:")),
            ),
            Wait(None),
            id="ConfigMaps that have not are not",
        ),
        pytest.param(
            world(poll="0s", served=served(replace(record(), uid="u")), serves_deleted_catalog=False),
            load(poll="0s"),
            id="content that was noted for another object is asked for, though it is never looked at again",
        ),
        pytest.param(
            world(
                poll="0s",
                job=LoadFinished(TAG, IMAGE_ONE, ONE),
                served=served(replace(record(), uid="u", access="secret@1")),
            ),
            Serve(Record(TAG, IMAGE_ONE, ONE, "2026-01-01T00:00:00Z")),
            id="when its source has answered that is noted, with the Secrets it was asked with",
        ),
        pytest.param(
            world(**WITH_SECRET, input_versions={SECRET: "7"}, job=LoadFinished(f"{TAG} secret@7", IMAGE_ONE, ONE)),
            Serve(Record(TAG, IMAGE_ONE, ONE, STAMP, access="secret@7")),
            id="also for content that is new",
        ),
        pytest.param(
            world(serves_deleted_catalog=True),
            StopServing(),
            id="what an object of the same name served that is gone is withdrawn",
        ),
        pytest.param(
            world(serves_deleted_catalog=True, deleting=True), StopServing(), id="also by one that goes itself"
        ),
        pytest.param(world(labels={}), load(), id="a new Catalog is read before it gets its label"),
        pytest.param(world(labels={}, job=LoadRunning(TAG)), SetLabel(), id="while it is read it gets its label"),
        pytest.param(
            world(labels={NAME_LABEL: "d"}, **LOOKED), SetLabel(), id="a label with another name is put right"
        ),
        pytest.param(world(**OFF, **LOOKED), StopServing(), id="one that shall be unavailable is withdrawn"),
        pytest.param(world(**OFF, job=LoadRunning(TAG)), StopServing(), id="also while it is read"),
        pytest.param(
            world(**OFF, package_diff=Difference(deletes=(("c-x", "u"),))),
            SyncPackages(Difference(deletes=(("c-x", "u"),))),
            id="then its Packages go",
        ),
        pytest.param(world(**OFF), Wait(None), id="and then nothing is done for it"),
        pytest.param(
            world(**WITH_SECRET, input_versions={SECRET: "7"}),
            Load(DesiredSource(TAG, f'the catalog image "{TAG}"', "secret@7", poll_interval=wish().poll_interval)),
            id="a pull secret's version belongs to the wish",
        ),
        pytest.param(
            world(**WITH_SECRET, input_versions={SECRET: "8"}, job=LoadFailed(f"{TAG} secret@7", AWAY, timedelta(0))),
            Load(DesiredSource(TAG, f'the catalog image "{TAG}"', "secret@8", poll_interval=wish().poll_interval)),
            id="a pull secret that changes has the source asked again at once",
        ),
        pytest.param(
            world(**WITH_SECRET, input_versions={SECRET: "8"}, **LOOKED),
            Wait(wish_rest()),
            id="but not while all is well",
        ),
        pytest.param(
            world(
                **WITH_SECRET,
                input_versions={SECRET: "7"},
                pull_secret_version="2",
                job=LoadFailed(f"{TAG} secret@7", WRONG, MINUTE),
            ),
            Load(
                DesiredSource(
                    TAG, f'the catalog image "{TAG}"', "secret@7 pull-secret@2", poll_interval=wish().poll_interval
                )
            ),
            id="so does the cluster-wide one, also where nothing was tried any more",
        ),
        pytest.param(
            world(pull_secret_version="2", **LOOKED), Wait(wish_rest()), id="that one neither while all is well"
        ),
        pytest.param(
            world(**WITH_SECRET, input_versions={SECRET: None}, package_diff=WRITES, **LOOKED),
            SyncPackages(Difference(WRITES.writes[:WRITE_BATCH])),
            id="without its pull secret its Packages are written still",
        ),
        pytest.param(
            world(bundle_diff=WRITES, **LOOKED),
            SyncPackages(Difference(), Difference(WRITES.writes[:WRITE_BATCH])),
            id="BundleMetadata is written as Packages are",
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
            world(**WITH_SECRET, input_versions={SECRET: None}, **LOOKED),
            Blocked(
                "Blocked",
                'Secret "login" not found in namespace "the-suite": create it there, or name another one',
            ),
            id="a pull secret that is not there",
        ),
        pytest.param(
            world(job=LoadFailed(TAG, AWAY, timedelta(seconds=5))),
            Waiting("RegistryUnavailable", "the registry does not answer", timedelta(seconds=15)),
            id="a registry that is away is given its time",
        ),
        pytest.param(world(job=LoadFailed(TAG, WRONG, timedelta(days=1))), WRONG, id="a wrong reference stays wrong"),
        pytest.param(
            world(DIGEST, job=LoadFailed(DIGEST, BAD, timedelta(days=1))), BAD, id="bad content by digest stays bad"
        ),
        pytest.param(
            world(poll="0s", job=LoadFailed(TAG, BAD, timedelta(days=1))), BAD, id="so does a tag that is not polled"
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


def _look(seen: World) -> timedelta | None:
    asked = desired_source(seen)
    assert isinstance(asked, DesiredSource)
    return time_to_next_check(seen, asked)


def test_bad_content_under_a_tag_waits_for_the_next_look() -> None:
    with pytest.raises(Waiting) as caught:
        decide(world(job=LoadFailed(TAG, BAD, MINUTE)))
    assert DEFAULT_POLL_INTERVAL - MINUTE <= caught.value.after <= DEFAULT_POLL_INTERVAL * 1.01 - MINUTE


def test_the_jitter_is_at_most_one_percent_and_differs_between_catalogs() -> None:
    looks = {_look(world(name=f"c{number}", served=served(), last_checked=NOW)) for number in range(50)}
    assert len(looks) == 50
    assert all(look is not None and DEFAULT_POLL_INTERVAL <= look <= DEFAULT_POLL_INTERVAL * 1.01 for look in looks)


def test_no_interval_is_so_short_that_it_is_a_loop() -> None:
    look = _look(world(poll="1ms", served=served(), last_checked=NOW))
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
