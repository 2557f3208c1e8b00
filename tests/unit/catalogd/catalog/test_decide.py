"""One Catalog: what is done next."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from catalogd.catalog.decide import IMMEDIATELY, WRITE_BATCH_SIZE, decide, evaluate
from catalogd.catalog.desired_source import DEFAULT_POLL_INTERVAL, parse_duration
from catalogd.catalog.package_diff import Difference
from catalogd.catalog.world import (
    Action,
    ConfirmUnchanged,
    DesiredSource,
    FailedLoad,
    InputReference,
    Keep,
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


FULL = Waiting("DiskFull", "the disk is full", MINUTE)
REFRESH: dict[str, Any] = {"refresh_started": "now", "restart": True}
"""Of a Load that a person requested."""


def time_to_check(given: World) -> timedelta | None:
    """The time until the source is checked."""
    return evaluate(given).time_to_check


def now(action: Action) -> Plan:
    """The Plan with that action, and another pass right after it, or after the end of the job that it starts."""
    return Plan(action, None if isinstance(action, Load) else IMMEDIATELY)


@pytest.mark.parametrize(
    ("given", "plan"),
    [
        pytest.param(
            world(raw=None, catalog=None, served=served()),
            Plan(StopServing()),
            id="a Catalog that is gone is withdrawn",
        ),
        pytest.param(world(deleting=True, **LOOKED), now(StopServing()), id="one that is being deleted too"),
        pytest.param(world(deleting=True, job=LoadRunning(TAG)), now(StopServing()), id="also while it is read"),
        pytest.param(
            world(deleting=True), Plan(Keep(), None), id="once that is done, others' finalizers are waited for"
        ),
        pytest.param(world(), now(load()), id="a new one is read"),
        pytest.param(
            world(job=LoadRunning(TAG)),
            Plan(Keep(), None),
            id="one that is being read is waited for: the job's end tells",
        ),
        pytest.param(
            world(job=LoadRunning(TAG, is_queued=True)),
            Plan(Keep(), timedelta(seconds=5)),
            id="its turn is told by nothing",
        ),
        pytest.param(world(job=LoadRunning("other:v1")), now(load()), id="a job for what was asked before is replaced"),
        pytest.param(world(job=LoadFinished("other:v1", "i", ONE)), now(load()), id="its result too"),
        pytest.param(
            world(job=LoadFinished(TAG, IMAGE_ONE, ONE)),
            now(Serve(record(unpacked=STAMP))),
            id="what was read is served, from now",
        ),
        pytest.param(
            world(job=LoadFinished(TAG, IMAGE_TWO, TWO), **LOOKED),
            now(Serve(record(digest=TWO, unpacked=STAMP))),
            id="what is new replaces the old",
        ),
        pytest.param(
            world(job=LoadFinished(TAG, IMAGE_ONE, ONE), **LOOKED),
            Plan(ConfirmUnchanged(), wish().poll_interval),
            id="a tag that has not moved is noted, and looked at again after its interval",
        ),
        pytest.param(
            world(DIGEST, job=LoadFinished(DIGEST, IMAGE_ONE, ONE), served=served(record(DIGEST))),
            Plan(ConfirmUnchanged(), None),
            id="a digest that was looked at because a person asked is noted, and never looked at again",
        ),
        pytest.param(
            world(refresh_requested="now", job=LoadFinished(TAG, IMAGE_ONE, ONE), **LOOKED),
            Plan(ConfirmUnchanged(), IMMEDIATELY),
            id="a person who asked meanwhile gets another look at once",
        ),
        pytest.param(
            world(package_diff=WRITES, job=LoadFinished(TAG, IMAGE_ONE, ONE), **LOOKED),
            Plan(ConfirmUnchanged(), IMMEDIATELY),
            id="Packages that differ are written right after",
        ),
        pytest.param(
            world(labels={}, job=LoadFinished(TAG, IMAGE_ONE, ONE), **LOOKED),
            Plan(ConfirmUnchanged(), IMMEDIATELY),
            id="so is a label that is lost",
        ),
        pytest.param(
            world(said=TWO, job=LoadFinished(TAG, IMAGE_ONE, ONE), **LOOKED),
            Plan(ConfirmUnchanged(), IMMEDIATELY),
            id="so is what the status does not say yet",
        ),
        pytest.param(
            world("registry.example/c:v2", job=LoadFinished("registry.example/c:v2", IMAGE_ONE, ONE), **LOOKED),
            now(Serve(record("registry.example/c:v2"))),
            id="the same content under another tag keeps its time",
        ),
        pytest.param(
            world("registry.example/c:v2", **LOOKED),
            now(load("registry.example/c:v2")),
            id="a new reference is read at once",
        ),
        pytest.param(world(served=served()), now(load(is_confirmed=True)), id="after a restart a tag is looked at"),
        pytest.param(
            world(DIGEST, served=served(record(DIGEST))), Plan(Keep(), None), id="after a restart a digest is not"
        ),
        pytest.param(
            world(poll="30s", **LOOKED),
            now(load(poll="30s", is_confirmed=True)),
            id="a tag is looked at when its interval is over",
        ),
        pytest.param(world(poll="0s", served=served()), Plan(Keep(), None), id="never with an interval of 0s"),
        pytest.param(world(poll="0", served=served()), Plan(Keep(), None), id="nor with 0"),
        pytest.param(
            world(package_diff=WRITES, **LOOKED),
            now(SyncPackages(Difference(WRITES.writes[:WRITE_BATCH_SIZE]))),
            id="Packages are written in batches",
        ),
        pytest.param(
            world(package_diff=WRITES, job=LoadRunning(TAG), **LOOKED),
            now(SyncPackages(Difference(WRITES.writes[:WRITE_BATCH_SIZE]))),
            id="also while the tag is looked at",
        ),
        pytest.param(
            world(package_diff=Difference(deletes=(("c-x", "u"),)), job=LoadFailed(TAG, AWAY, timedelta(0)), **LOOKED),
            now(SyncPackages(Difference(deletes=(("c-x", "u"),)))),
            id="also while it cannot be read",
        ),
        pytest.param(
            world(job=LoadFailed(TAG, AWAY, timedelta(seconds=20))),
            now(load()),
            id="a registry that was away is asked again",
        ),
        pytest.param(
            world(job=LoadFailed("other:v1", WRONG, timedelta(0))),
            now(load()),
            id="what was wrong with another reference does not count",
        ),
        pytest.param(
            world(job=LoadFailed(TAG, BAD, timedelta(hours=1))),
            now(load(restart=True)),
            id="bad content under a tag is looked at when polled",
        ),
        pytest.param(
            world(refresh_requested="now", **LOOKED),
            now(load(**REFRESH, is_confirmed=True)),
            id="a person who asks for a look gets one before its time",
        ),
        pytest.param(
            world(DIGEST, refresh_requested="now", served=served(record(DIGEST))),
            now(load(DIGEST, **REFRESH, is_confirmed=True)),
            id="also one at a digest",
        ),
        pytest.param(
            world(refresh_requested="now", job=LoadFailed(TAG, WRONG, timedelta(0))),
            now(load(**REFRESH)),
            id="also one at what was refused",
        ),
        pytest.param(
            world(refresh_requested="now", job=LoadRunning(TAG), **LOOKED),
            Plan(Keep(), None),
            id="but not while one is under way",
        ),
        pytest.param(
            world(job=LoadFinished(TAG, "", ""), **LOOKED),
            Plan(ConfirmUnchanged(), wish().poll_interval),
            id="a server that says nothing is new is believed",
        ),
        pytest.param(
            world(refresh_requested="now", refresh_started="now", **LOOKED),
            Plan(Keep(), time_to_check(world(**LOOKED))),
            id="nor one more for the same",
        ),
        pytest.param(
            world(refresh_requested="now", handled="now", **LOOKED),
            Plan(Keep(), time_to_check(world(**LOOKED))),
            id="nor again after a restart",
        ),
        pytest.param(
            world(refresh_requested="", handled="now", **LOOKED),
            Plan(Keep(), time_to_check(world(**LOOKED))),
            id="an annotation that is taken away asks nothing",
        ),
        pytest.param(
            world(refresh_requested="now", refresh_started="before", handled="before", **LOOKED),
            now(load(**REFRESH, is_confirmed=True)),
            id="another value asks for another look",
        ),
        pytest.param(
            world(said=TWO, package_diff=WRITES, **LOOKED),
            Plan(Keep(), timedelta(0)),
            id="that content is served is said before its Packages are written",
        ),
        pytest.param(
            world(DIGEST, lacks_bundle_metadata=True, served=served(record(DIGEST))),
            now(load(DIGEST, is_confirmed=True)),
            id="what lacks a part is read again",
        ),
        pytest.param(
            world(lacks_bundle_metadata=True, job=LoadFinished(TAG, IMAGE_ONE, ONE), **LOOKED),
            now(Serve(record())),
            id="and opened again",
        ),
        pytest.param(
            world(
                source=MAPS,
                input_versions={MAP: "2"},
                loaded_config_map_versions="1",
                served=served(record("configMaps m:")),
            ),
            now(
                Load(
                    DesiredSource("configMaps m:", "the catalog in ConfigMaps", config_map_versions="2"),
                    is_confirmed=True,
                )
            ),
            id="ConfigMaps that have changed are read",
        ),
        pytest.param(
            world(
                source=MAPS,
                input_versions={MAP: "2"},
                loaded_config_map_versions="2",
                served=served(record("configMaps m:")),
            ),
            Plan(Keep(), None),
            id="ConfigMaps that have not are not",
        ),
        pytest.param(
            world(poll="0s", served=served(replace(record(), uid="u")), serves_deleted_catalog=False),
            now(load(poll="0s")),
            id="content that was noted for another object is asked for, though it is never looked at again",
        ),
        pytest.param(
            world(
                poll="0s",
                job=LoadFinished(TAG, IMAGE_ONE, ONE),
                served=served(replace(record(), uid="u", access="secret@1")),
            ),
            now(Serve(Record(TAG, IMAGE_ONE, ONE, "2026-01-01T00:00:00Z"))),
            id="when its source has answered that is noted, with the Secrets it was asked with",
        ),
        pytest.param(
            world(**WITH_SECRET, input_versions={SECRET: "7"}, job=LoadFinished(f"{TAG} secret@7", IMAGE_ONE, ONE)),
            now(Serve(Record(TAG, IMAGE_ONE, ONE, STAMP, access="secret@7"))),
            id="also for content that is new",
        ),
        pytest.param(
            world(
                job=LoadFailed(TAG, FULL, timedelta(minutes=1)),
                last_failure=FailedLoad(TAG, FULL),
                is_disk_full=True,
            ),
            now(load(free_space=True)),
            id="a load that failed because the disk is full is tried again after space is freed",
        ),
        pytest.param(
            world(job=LoadFailed(TAG, BAD, timedelta(hours=1)), last_failure=FailedLoad(TAG, BAD)),
            now(load(restart=True, known_bad=BAD)),
            id="content that could not be read is named to the next job, which need not read it again",
        ),
        pytest.param(
            world("registry.example/c:v2", last_failure=FailedLoad(TAG, BAD)),
            now(load("registry.example/c:v2")),
            id="but not to the job of another source",
        ),
        pytest.param(
            world(package_diff=WRITES, poll="30s", **LOOKED),
            Plan(load(poll="30s", is_confirmed=True), IMMEDIATELY),
            id="Packages are written while the job runs",
        ),
        pytest.param(
            world(serves_deleted_catalog=True),
            now(StopServing()),
            id="what an object of the same name served that is gone is withdrawn",
        ),
        pytest.param(
            world(serves_deleted_catalog=True, deleting=True), now(StopServing()), id="also by one that goes itself"
        ),
        pytest.param(world(labels={}), now(load()), id="a new Catalog is read before it gets its label"),
        pytest.param(world(labels={}, job=LoadRunning(TAG)), now(SetLabel()), id="while it is read it gets its label"),
        pytest.param(
            world(labels={NAME_LABEL: "d"}, **LOOKED), now(SetLabel()), id="a label with another name is put right"
        ),
        pytest.param(world(**OFF, **LOOKED), now(StopServing()), id="one that shall be unavailable is withdrawn"),
        pytest.param(world(**OFF, job=LoadRunning(TAG)), now(StopServing()), id="also while it is read"),
        pytest.param(
            world(**OFF, package_diff=Difference(deletes=(("c-x", "u"),))),
            now(SyncPackages(Difference(deletes=(("c-x", "u"),)))),
            id="then its Packages go",
        ),
        pytest.param(world(**OFF), Plan(Keep(), None), id="and then nothing is done for it"),
        pytest.param(
            world(**WITH_SECRET, input_versions={SECRET: "7"}),
            now(Load(DesiredSource(TAG, f'the catalog image "{TAG}"', "secret@7", poll_interval=wish().poll_interval))),
            id="a pull secret's version belongs to the wish",
        ),
        pytest.param(
            world(**WITH_SECRET, input_versions={SECRET: "8"}, job=LoadFailed(f"{TAG} secret@7", AWAY, timedelta(0))),
            now(Load(DesiredSource(TAG, f'the catalog image "{TAG}"', "secret@8", poll_interval=wish().poll_interval))),
            id="a pull secret that changes has the source asked again at once",
        ),
        pytest.param(
            world(**WITH_SECRET, input_versions={SECRET: "8"}, **LOOKED),
            Plan(Keep(), time_to_check(world(**LOOKED))),
            id="but not while all is well",
        ),
        pytest.param(
            world(
                **WITH_SECRET,
                input_versions={SECRET: "7"},
                pull_secret_version="2",
                job=LoadFailed(f"{TAG} secret@7", WRONG, MINUTE),
            ),
            now(
                Load(
                    DesiredSource(
                        TAG, f'the catalog image "{TAG}"', "secret@7 pull-secret@2", poll_interval=wish().poll_interval
                    )
                )
            ),
            id="so does the cluster-wide one, also where nothing was tried any more",
        ),
        pytest.param(
            world(pull_secret_version="2", **LOOKED),
            Plan(Keep(), time_to_check(world(**LOOKED))),
            id="that one neither while all is well",
        ),
        pytest.param(
            world(**WITH_SECRET, input_versions={SECRET: None}, package_diff=WRITES, **LOOKED),
            now(SyncPackages(Difference(WRITES.writes[:WRITE_BATCH_SIZE]))),
            id="without its pull secret its Packages are written still",
        ),
        pytest.param(
            world(bundle_diff=WRITES, **LOOKED),
            now(SyncPackages(Difference(), Difference(WRITES.writes[:WRITE_BATCH_SIZE]))),
            id="BundleMetadata is written as Packages are",
        ),
    ],
)
def test_plans(given: World, plan: Plan) -> None:
    assert decide(given).plan == plan


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
    found = decide(given).plan
    assert isinstance(found, OlmError)
    assert (type(found), str(found), getattr(found, "after", None)) == (
        *(type(error), str(error)),
        getattr(error, "after", None),
    )


def test_bad_content_under_a_tag_waits_for_the_next_check() -> None:
    found = decide(world(job=LoadFailed(TAG, BAD, MINUTE))).plan
    assert isinstance(found, Waiting)
    assert DEFAULT_POLL_INTERVAL - MINUTE <= found.after <= DEFAULT_POLL_INTERVAL * 1.01 - MINUTE


def test_the_jitter_is_at_most_one_percent_and_differs_between_catalogs() -> None:
    looks = {time_to_check(world(name=f"c{number}", served=served(), last_checked=NOW)) for number in range(50)}
    assert len(looks) == 50
    assert all(look is not None and DEFAULT_POLL_INTERVAL <= look <= DEFAULT_POLL_INTERVAL * 1.01 for look in looks)


def test_no_interval_is_so_short_that_it_is_a_loop() -> None:
    look = time_to_check(world(poll="1ms", served=served(), last_checked=NOW))
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
