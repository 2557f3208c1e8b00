"""The next step for one Catalog."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from catalogd.catalog.decide import DEFAULT_POLL_INTERVAL, IMMEDIATELY, WRITE_BATCH_SIZE, decide, evaluate
from catalogd.catalog.package_diff import Difference
from catalogd.catalog.world import (
    Action,
    ConfirmUnchanged,
    DesiredSource,
    FailedLoad,
    Keep,
    Load,
    LoadFailed,
    LoadFinished,
    LoadRunning,
    Plan,
    Record,
    Recovery,
    Serve,
    SetLabel,
    StopServing,
    SyncPackages,
    World,
)
from olmkit.api.catalogs import NAME_LABEL
from olmkit.errors import Blocked, OlmError, Waiting
from olmkit.sources.spec_source import InputReference
from tests.unit.catalogd.catalog.worlds import (
    AWAY,
    BAD,
    CHECKED,
    DIGEST,
    IMAGE_ONE,
    IMAGE_TWO,
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
    desired,
    load,
    record,
    served,
    world,
)

MAP = InputReference("ConfigMap", "m")
MAPS = {"type": "configMaps", "configMaps": [{"configMap": {"name": "m"}}]}


FULL = Waiting("DiskFull", "the disk is full", MINUTE)
GONE = "there is no such content"
LOST_AGAIN = (
    "content that was read again is lost from the cache directory again (there is no such content): check the volume of "
    "--cache-dir, and what removes files there"
)
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
            id="a Catalog that was deleted is not served",
        ),
        pytest.param(
            world(deleting=True, **CHECKED), now(StopServing()), id="one that is being deleted is not served either"
        ),
        pytest.param(
            world(deleting=True, job=LoadRunning(TAG)), now(StopServing()), id="also while its source is read"
        ),
        pytest.param(
            world(deleting=True), Plan(Keep(), None), id="after that, the finalizers of others are waited for"
        ),
        pytest.param(world(), now(load()), id="a new one is read"),
        pytest.param(
            world(job=LoadRunning(TAG)),
            Plan(Keep(), None),
            id="one that is being read waits for the end of the job",
        ),
        pytest.param(
            world(job=LoadRunning(TAG, is_queued=True)),
            Plan(Keep(), timedelta(seconds=5)),
            id="a queued job is checked, since nothing reports its start",
        ),
        pytest.param(world(job=LoadRunning("other:v1")), now(load()), id="a job for another source is replaced"),
        pytest.param(world(job=LoadFinished("other:v1", "i", ONE)), now(load()), id="so is its result"),
        pytest.param(
            world(job=LoadFinished(TAG, IMAGE_ONE, ONE)),
            now(Serve(record(unpacked=STAMP))),
            id="content that was read is served, unpacked at this time",
        ),
        pytest.param(
            world(job=LoadFinished(TAG, "", ""), corruption="a file is missing"),
            now(load(restart=True, recoveries=1)),
            id="a source that has not changed is loaded again if its content is gone",
        ),
        pytest.param(
            world(corruption=GONE, last_checked=NOW),
            now(load(recoveries=1)),
            id="content that is lost on disk is read again at once",
        ),
        pytest.param(
            world(corruption=GONE, recovery=Recovery(TAG, 3, timedelta(seconds=20))),
            now(load(recoveries=4)),
            id="content that is lost again and again is read again after a delay",
        ),
        pytest.param(
            world(corruption=GONE, recovery=Recovery(TAG, 3, timedelta(seconds=2)), refresh_requested="now"),
            now(load(recoveries=4, refresh_started="now", restart=True)),
            id="a person who requests it does not wait",
        ),
        pytest.param(
            world(corruption=GONE, recovery=Recovery("other:v1", 3, timedelta(seconds=2))),
            now(load(recoveries=1)),
            id="nor does another source",
        ),
        pytest.param(
            world(corruption=GONE, recovery=Recovery(TAG, 9, timedelta(hours=2))),
            now(load(recoveries=1)),
            id="content that is lost long after that is read again at once",
        ),
        pytest.param(
            world(
                corruption=GONE,
                recovery=Recovery(TAG, 3, timedelta(seconds=2)),
                job=LoadFailed(TAG, AWAY, timedelta(seconds=20)),
            ),
            now(load(recoveries=3)),
            id="a load that failed has lost nothing",
        ),
        pytest.param(
            world(job=LoadFinished(TAG, IMAGE_TWO, TWO), **CHECKED),
            now(Serve(record(digest=TWO, unpacked=STAMP))),
            id="new content replaces the old",
        ),
        pytest.param(
            world(job=LoadFinished(TAG, IMAGE_ONE, ONE), **CHECKED),
            Plan(ConfirmUnchanged(), desired().poll_interval),
            id="a tag that has not moved is recorded, and checked again after its interval",
        ),
        pytest.param(
            world(DIGEST, job=LoadFinished(DIGEST, IMAGE_ONE, ONE), served=served(record(DIGEST))),
            Plan(ConfirmUnchanged(), None),
            id="a digest that was checked on request is recorded, and never checked again",
        ),
        pytest.param(
            world(refresh_requested="now", job=LoadFinished(TAG, IMAGE_ONE, ONE), **CHECKED),
            Plan(ConfirmUnchanged(), IMMEDIATELY),
            id="a check that was requested meanwhile is made at once",
        ),
        pytest.param(
            world(package_diff=WRITES, job=LoadFinished(TAG, IMAGE_ONE, ONE), **CHECKED),
            Plan(ConfirmUnchanged(), IMMEDIATELY),
            id="Packages that differ are written right after",
        ),
        pytest.param(
            world(labels={}, job=LoadFinished(TAG, IMAGE_ONE, ONE), **CHECKED),
            Plan(ConfirmUnchanged(), IMMEDIATELY),
            id="so is a missing label",
        ),
        pytest.param(
            world(reported=TWO, job=LoadFinished(TAG, IMAGE_ONE, ONE), **CHECKED),
            Plan(ConfirmUnchanged(), IMMEDIATELY),
            id="so is a status that does not name the content yet",
        ),
        pytest.param(
            world("registry.example/c:v2", job=LoadFinished("registry.example/c:v2", IMAGE_ONE, ONE), **CHECKED),
            now(Serve(record("registry.example/c:v2"))),
            id="the same content under another tag keeps its time",
        ),
        pytest.param(
            world("registry.example/c:v2", **CHECKED),
            now(load("registry.example/c:v2")),
            id="a new reference is read at once",
        ),
        pytest.param(world(served=served()), now(load(is_confirmed=True)), id="after a restart a tag is checked"),
        pytest.param(
            world(DIGEST, served=served(record(DIGEST))), Plan(Keep(), None), id="after a restart a digest is not"
        ),
        pytest.param(
            world(poll="30s", **CHECKED),
            now(load(poll="30s", is_confirmed=True)),
            id="a tag is checked when its interval is over",
        ),
        pytest.param(world(poll="0s", served=served()), Plan(Keep(), None), id="never with an interval of 0s"),
        pytest.param(world(poll="0", served=served()), Plan(Keep(), None), id="nor with 0"),
        pytest.param(
            world(package_diff=WRITES, **CHECKED),
            now(SyncPackages(Difference(WRITES.writes[:WRITE_BATCH_SIZE]))),
            id="Packages are written in batches",
        ),
        pytest.param(
            world(package_diff=WRITES, job=LoadRunning(TAG), **CHECKED),
            now(SyncPackages(Difference(WRITES.writes[:WRITE_BATCH_SIZE]))),
            id="also while the tag is checked",
        ),
        pytest.param(
            world(package_diff=Difference(deletes=(("c-x", "u"),)), job=LoadFailed(TAG, AWAY, timedelta(0)), **CHECKED),
            now(SyncPackages(Difference(deletes=(("c-x", "u"),)))),
            id="also while it cannot be read",
        ),
        pytest.param(
            world(job=LoadFailed(TAG, AWAY, timedelta(seconds=20))),
            now(load()),
            id="an unavailable registry is tried again",
        ),
        pytest.param(
            world(job=LoadFailed("other:v1", WRONG, timedelta(0))),
            now(load()),
            id="an error of another reference does not count",
        ),
        pytest.param(
            world(job=LoadFailed(TAG, BAD, timedelta(hours=1))),
            now(load(restart=True)),
            id="bad content under a tag is checked when polled",
        ),
        pytest.param(
            world(refresh_requested="now", **CHECKED),
            now(load(**REFRESH, is_confirmed=True)),
            id="a requested check is made before its time",
        ),
        pytest.param(
            world(DIGEST, refresh_requested="now", served=served(record(DIGEST))),
            now(load(DIGEST, **REFRESH, is_confirmed=True)),
            id="also of a digest",
        ),
        pytest.param(
            world(refresh_requested="now", job=LoadFailed(TAG, WRONG, timedelta(0))),
            now(load(**REFRESH)),
            id="also of a source that failed for good",
        ),
        pytest.param(
            world(refresh_requested="now", job=LoadRunning(TAG), **CHECKED),
            Plan(Keep(), None),
            id="but not while one is running",
        ),
        pytest.param(
            world(job=LoadFinished(TAG, "", ""), **CHECKED),
            Plan(ConfirmUnchanged(), desired().poll_interval),
            id="a server that reports nothing new is believed",
        ),
        pytest.param(
            world(refresh_requested="now", refresh_started="now", **CHECKED),
            Plan(Keep(), time_to_check(world(**CHECKED))),
            id="nor a second one for the same request",
        ),
        pytest.param(
            world(refresh_requested="now", handled="now", **CHECKED),
            Plan(Keep(), time_to_check(world(**CHECKED))),
            id="nor a second one after a restart",
        ),
        pytest.param(
            world(refresh_requested="", handled="now", **CHECKED),
            Plan(Keep(), time_to_check(world(**CHECKED))),
            id="an annotation that is removed requests nothing",
        ),
        pytest.param(
            world(refresh_requested="now", refresh_started="before", handled="before", **CHECKED),
            now(load(**REFRESH, is_confirmed=True)),
            id="another value requests another check",
        ),
        pytest.param(
            world(reported=TWO, package_diff=WRITES, **CHECKED),
            Plan(Keep(), timedelta(0)),
            id="that content is served is reported before its Packages are written",
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
            id="ConfigMaps that have not changed are not read",
        ),
        pytest.param(
            world(poll="0s", served=served(replace(record(), uid="u")), serves_deleted_catalog=False),
            now(load(poll="0s")),
            id="content that was recorded for another Catalog object is requested, although it is never polled",
        ),
        pytest.param(
            world(
                poll="0s",
                job=LoadFinished(TAG, IMAGE_ONE, ONE),
                served=served(replace(record(), uid="u", access="secret@1")),
            ),
            now(Serve(Record(TAG, IMAGE_ONE, ONE, "2026-01-01T00:00:00Z"))),
            id="when its source has confirmed it, that is recorded with the Secrets that were used",
        ),
        pytest.param(
            world(**WITH_SECRET, input_versions={SECRET: "7"}, job=LoadFinished(f"{TAG} secret@7", IMAGE_ONE, ONE)),
            now(Serve(Record(TAG, IMAGE_ONE, ONE, STAMP, access="secret@7"))),
            id="also for new content",
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
            world(package_diff=WRITES, poll="30s", **CHECKED),
            Plan(load(poll="30s", is_confirmed=True), IMMEDIATELY),
            id="Packages are written while the job runs",
        ),
        pytest.param(
            world(serves_deleted_catalog=True),
            now(StopServing()),
            id="content of a deleted Catalog of the same name is not served",
        ),
        pytest.param(
            world(serves_deleted_catalog=True, deleting=True),
            now(StopServing()),
            id="also if the new one is being deleted",
        ),
        pytest.param(world(labels={}), now(load()), id="a new Catalog is read before it gets its label"),
        pytest.param(world(labels={}, job=LoadRunning(TAG)), now(SetLabel()), id="while it is read it gets its label"),
        pytest.param(
            world(labels={NAME_LABEL: "d"}, **CHECKED), now(SetLabel()), id="a label with another name is corrected"
        ),
        pytest.param(world(**OFF, **CHECKED), now(StopServing()), id="an Unavailable Catalog is not served"),
        pytest.param(world(**OFF, job=LoadRunning(TAG)), now(StopServing()), id="also while its source is read"),
        pytest.param(
            world(**OFF, package_diff=Difference(deletes=(("c-x", "u"),))),
            now(SyncPackages(Difference(deletes=(("c-x", "u"),)))),
            id="then its Packages are deleted",
        ),
        pytest.param(world(**OFF), Plan(Keep(), None), id="and then nothing is done"),
        pytest.param(
            world(**WITH_SECRET, input_versions={SECRET: "7"}),
            now(
                Load(
                    DesiredSource(TAG, f'the catalog image "{TAG}"', "secret@7", poll_interval=desired().poll_interval)
                )
            ),
            id="the version of a pull secret is part of the desired source",
        ),
        pytest.param(
            world(**WITH_SECRET, input_versions={SECRET: "8"}, job=LoadFailed(f"{TAG} secret@7", AWAY, timedelta(0))),
            now(
                Load(
                    DesiredSource(TAG, f'the catalog image "{TAG}"', "secret@8", poll_interval=desired().poll_interval)
                )
            ),
            id="a failed load is tried again at once when its pull secret changes",
        ),
        pytest.param(
            world(**WITH_SECRET, input_versions={SECRET: "8"}, **CHECKED),
            Plan(Keep(), time_to_check(world(**CHECKED))),
            id="but not a successful one",
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
                        TAG,
                        f'the catalog image "{TAG}"',
                        "secret@7 pull-secret@2",
                        poll_interval=desired().poll_interval,
                    )
                )
            ),
            id="also when the cluster-wide one changes, even after a failure for good",
        ),
        pytest.param(
            world(pull_secret_version="2", **CHECKED),
            Plan(Keep(), time_to_check(world(**CHECKED))),
            id="but again not a successful one",
        ),
        pytest.param(
            world(**WITH_SECRET, input_versions={SECRET: None}, package_diff=WRITES, **CHECKED),
            now(SyncPackages(Difference(WRITES.writes[:WRITE_BATCH_SIZE]))),
            id="Packages are written even if the pull secret is missing",
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
            world(**WITH_SECRET, input_versions={SECRET: None}, **CHECKED),
            Blocked(
                "Blocked",
                'Secret "login" not found in namespace "the-suite": create it there, or name another one',
            ),
            id="a missing pull secret",
        ),
        pytest.param(
            world(job=LoadFailed(TAG, AWAY, timedelta(seconds=5))),
            Waiting("RegistryUnavailable", "the registry does not answer", timedelta(seconds=15)),
            id="an unavailable registry is tried again later",
        ),
        pytest.param(
            world(job=LoadFailed(TAG, WRONG, timedelta(days=1))), WRONG, id="an invalid reference is not retried"
        ),
        pytest.param(
            world(DIGEST, job=LoadFailed(DIGEST, BAD, timedelta(days=1))), BAD, id="nor bad content by digest"
        ),
        pytest.param(
            world(poll="0s", job=LoadFailed(TAG, BAD, timedelta(days=1))),
            BAD,
            id="nor bad content under a tag that is not polled",
        ),
        pytest.param(
            world(corruption=GONE, recovery=Recovery(TAG, 1, timedelta(seconds=2)), last_checked=NOW),
            Waiting("CacheLosesContent", LOST_AGAIN, timedelta(seconds=3)),
            id="but not if it is lost once more right after that",
        ),
        pytest.param(
            world(corruption=GONE, recovery=Recovery(TAG, 3, timedelta(seconds=2)), served=served(record("old:v1"))),
            Waiting("CacheLosesContent", LOST_AGAIN, timedelta(seconds=18)),
            id="each time the delay is longer, also while older content is served",
        ),
        pytest.param(
            world(corruption=GONE, recovery=Recovery(TAG, 1000, timedelta(seconds=2))),
            Waiting("CacheLosesContent", LOST_AGAIN, timedelta(minutes=10, seconds=-2)),
            id="up to a maximum",
        ),
    ],
)
def test_errors_when_no_step_can_be_taken(given: World, error: OlmError) -> None:
    found = decide(given).plan
    assert isinstance(found, OlmError)
    assert (type(found), str(found), getattr(found, "after", None)) == (
        *(type(error), str(error)),
        getattr(error, "after", None),
    )


@pytest.mark.parametrize("loads", [1, 4])
@pytest.mark.parametrize("job", [LoadRunning(TAG), LoadFinished(TAG, IMAGE_ONE, ONE)])
def test_lost_content_that_is_being_read_again_is_not_reported_as_lost_again(
    job: LoadRunning | LoadFinished, loads: int
) -> None:
    found = evaluate(world(corruption=GONE, recovery=Recovery(TAG, loads, timedelta(seconds=1)), job=job))
    assert (found.source_error, found.is_reading) == (None, True)


def test_bad_content_under_a_tag_waits_for_the_next_check() -> None:
    found = decide(world(job=LoadFailed(TAG, BAD, MINUTE))).plan
    assert isinstance(found, Waiting)
    assert DEFAULT_POLL_INTERVAL - MINUTE <= found.after <= DEFAULT_POLL_INTERVAL * 1.01 - MINUTE
