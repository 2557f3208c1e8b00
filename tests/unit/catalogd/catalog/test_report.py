"""The status of one Catalog."""

from __future__ import annotations

import errno
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalogd.catalog import report as reports
from catalogd.catalog.decide import decide, evaluate
from catalogd.catalog.package_diff import Difference
from catalogd.catalog.world import (
    ConfirmUnchanged,
    DesiredSource,
    Done,
    Keep,
    LoadFailed,
    LoadFinished,
    LoadRunning,
    Plan,
    Record,
    Serve,
    StopServing,
    SyncPackages,
    World,
)
from olmkit.api.catalogs import CatalogStatus, ConditionType, Reason
from olmkit.api.conditions import StatusReport
from olmkit.errors import Blocked, OlmError, Unavailable, Waiting
from olmkit.sources.errors import BadContent
from olmkit.sources.signatures.policy import invalid_policy
from olmkit.sources.source import GitReference, GitSource, RefKind, identity
from olmkit.sources.spec_source import InputReference
from olmkit.store.disk_errors import disk_error
from tests.causes import PublishedReports, assert_causes
from tests.unit.catalogd.catalog.worlds import (
    AWAY,
    BAD,
    CHECKED,
    DIGEST,
    IMAGE_ONE,
    MINUTE,
    NOW,
    OFF,
    ONE,
    SECRET,
    TAG,
    TWO,
    WITH_SECRET,
    WRITES,
    WRONG,
    load,
    record,
    served,
    world,
)


def report(given: World, outcome: Done | Exception) -> StatusReport[CatalogStatus]:
    """The report of a pass that evaluated the World."""
    found = reports.report(given, evaluate(given), outcome)
    if given.catalog is not None:
        assert_causes(given.catalog.status, found)
    return found


CONTENTS = f'serving 2 packages and 5 bundles of "{IMAGE_ONE}"'
UNPACKED = ("Unpacked", "True", "UnpackSuccessful", f'successfully unpacked the catalog image "{IMAGE_ONE}"')
SERVING = ("Serving", "True", "Available", f'serving "{IMAGE_ONE}"')
VALID = ("Valid", "True", "AllBlobsRead", "all 9 blobs could be read")
READY = ("Ready", "True", "Succeeded", CONTENTS)
NOT_SERVING = ("Serving", "False", "Unavailable", "nothing has been unpacked yet")
NOT_VALID_YET = ("Valid", "Unknown", "NotReadYet", "nothing has been unpacked yet")
OLD = f'serving "{IMAGE_ONE}" until newer content can be read: '
READ_BEFORE = f'serving "{IMAGE_ONE}", which was read before: '


def not_unpacked(reason: str, message: str) -> list[tuple[str, str, str, str]]:
    """The conditions while nothing is served."""
    return [
        ("Unpacked", "False", reason, message),
        NOT_SERVING,
        NOT_VALID_YET,
        ("Ready", "False", reason, message),
    ]


def failing(message: str, old: str = OLD) -> list[tuple[str, str, str, str]]:
    """The conditions while older content is served, or content that may be the newest."""
    return [
        *(("Unpacked", "False", "UnpackFailed", message), SERVING, VALID),
        ("Ready", "True", "ServingOldContent", old + message),
    ]


def old_content(reason: str, message: str) -> list[tuple[str, str, str, str]]:
    """The conditions while newer content of ConfigMaps is read."""
    text = f"{message} the catalog in ConfigMaps"
    return [
        *(("Unpacked", "False", reason, text), SERVING, VALID),
        *(("Ready", "True", "ServingOldContent", OLD + text), ("Reconciling", "True", "Unpacking", text)),
    ]


BAD_KEY = invalid_policy("ConfigMap keys", "has no public key")
PENDING_TEXT, READING_TEXT = f'waiting to read the catalog image "{TAG}"', f'reading the catalog image "{TAG}"'
AWAY_TEXT, BAD_TEXT = AWAY.message, BAD.message
DAMAGE = "all.jsonl is shorter than it was"
OFF_TEXT = "Catalog availability mode is set to Unavailable"
NO_SECRET = 'Secret "login" not found in namespace "the-suite": create it there, or name another one'
GIT = {"type": "git", "git": {"repository": "https://git.example/r", "ref": {"branch": "main"}}}
GIT_RECORD = Record(
    identity(GitSource("https://git.example/r", GitReference(RefKind.BRANCH, "main"))),
    *("https://git.example/r@abc", ONE, "2026-01-01T00:00:00Z"),
    {"type": "git", "git": {"repository": "https://git.example/r", "commit": "abc"}},
)
CONFIG_MAPS = DesiredSource("configMaps m:", "the catalog in ConfigMaps", config_map_versions="2")
FAILING_CONFIG_MAPS: dict[str, Any] = {
    **{"source": {"type": "configMaps", "configMaps": [{"configMap": {"name": "m"}}]}, "ready": True},
    **{"input_versions": {InputReference("ConfigMap", "m"): "2"}, "loaded_config_map_versions": "0"},
    **{"served": served(record(CONFIG_MAPS.identity)), "last_checked": NOW - MINUTE, "was_failing": True},
}
KEPT = Done(Plan(Keep()))
SYNC = Done(Plan(SyncPackages(WRITES)))

LISTED: dict[str, Any] = {"spec": {"packages": ["b", "z"]}, "ready": True, "last_checked": NOW - MINUTE}
"""A Catalog with a list of packages, one of which the content lacks."""
LACKING = (
    "spec.packages names 2 packages, of which the catalog lacks 1: z; they are offered as soon as its content has them"
)

REPORTS = [
    pytest.param(
        *(world(**LISTED, served=served(replace(record(), packages=("b", "z")))), KEPT, "Unpacked"),
        [
            *(UNPACKED, SERVING, VALID, ("PackagesSelected", "False", "PackagesNotFound", LACKING)),
            (
                *("Ready", "True", "Succeeded"),
                f"{CONTENTS}; spec.packages selects 1 package and names 1 that the catalog lacks: z",
            ),
        ],
        id="a name that the catalog lacks is reported and stops nothing",
    ),
    pytest.param(
        *(
            world(**{**LISTED, "spec": {"packages": ["b"]}}, served=served(replace(record(), packages=("b",)))),
            KEPT,
            "Unpacked",
        ),
        [
            *(UNPACKED, SERVING, VALID),
            (
                "PackagesSelected",
                "True",
                "PackagesFound",
                "spec.packages names 1 package, and the catalog has all of them",
            ),
            ("Ready", "True", "Succeeded", f"{CONTENTS}; spec.packages selects 1 package"),
        ],
        id="a list of packages that the catalog has",
    ),
    pytest.param(
        *(world(**LISTED, served=served()), KEPT, "Unpacked"),
        [*(UNPACKED, SERVING, VALID, READY), ("Reconciling", "True", "WritingPackages", "writing the Package objects")],
        id="a list that is not applied yet is in progress",
    ),
    pytest.param(
        *(world(spec={"packages": ["b"]}), Done(Plan(load())), "Pending"),
        [
            *not_unpacked("UnpackPending", PENDING_TEXT)[:3],
            ("PackagesSelected", "Unknown", "NotReadYet", "nothing has been unpacked yet"),
            ("Ready", "False", "UnpackPending", PENDING_TEXT),
            ("Reconciling", "True", "Unpacking", PENDING_TEXT),
        ],
        id="while nothing is served, nothing is known about the list",
    ),
    pytest.param(
        *(world(), Done(Plan(load())), "Pending"),
        [*not_unpacked("UnpackPending", PENDING_TEXT), ("Reconciling", "True", "Unpacking", PENDING_TEXT)],
        id="a new Catalog is pending",
    ),
    pytest.param(
        *(world(job=LoadRunning(TAG)), KEPT, "Unpacking"),
        [*not_unpacked("Unpacking", READING_TEXT), ("Reconciling", "True", "Unpacking", READING_TEXT)],
        id="one whose source is being read is unpacking",
    ),
    pytest.param(
        *(world(**CHECKED), KEPT, "Unpacked"), [UNPACKED, SERVING, VALID, READY], id="one that is served is ready"
    ),
    pytest.param(
        *(world(job=LoadRunning(TAG), **CHECKED), KEPT, "Unpacked"),
        [UNPACKED, SERVING, VALID, READY],
        id="a check of the tag changes nothing",
    ),
    pytest.param(
        *(world(**FAILING_CONFIG_MAPS, job=LoadFailed("an older version", BAD, timedelta(0))), KEPT, "Pending"),
        old_content("UnpackPending", "waiting to read"),
        id="new content is not reported as unpacked before a job reads it",
    ),
    pytest.param(
        *(world(**FAILING_CONFIG_MAPS, job=LoadRunning(CONFIG_MAPS.job_identity)), KEPT, "Unpacking"),
        old_content("Unpacking", "reading"),
        id="nor while a job reads it",
    ),
    pytest.param(
        *(world(**FAILING_CONFIG_MAPS, job=LoadFinished(CONFIG_MAPS.job_identity, "other", TWO)), KEPT, "Unpacking"),
        old_content("Unpacking", "reading"),
        id="nor before it is served",
    ),
    pytest.param(
        *(world(**FAILING_CONFIG_MAPS, job=LoadFinished(CONFIG_MAPS.job_identity, "other", "")), KEPT, "Unpacked"),
        [UNPACKED, SERVING, VALID, READY],
        id="content that was confirmed is unpacked",
    ),
    pytest.param(
        *(
            world(**FAILING_CONFIG_MAPS | {"loaded_config_map_versions": CONFIG_MAPS.config_map_versions}),
            KEPT,
            "Unpacked",
        ),
        [UNPACKED, SERVING, VALID, READY],
        id="content that was read is unpacked",
    ),
    pytest.param(
        *(world(package_diff=WRITES, **CHECKED), SYNC, "Unpacked"),
        [
            *(UNPACKED, SERVING, VALID, ("Ready", "False", "WritingPackages", "writing the Package objects")),
            ("Reconciling", "True", "WritingPackages", "writing the Package objects"),
        ],
        id="at first it is not ready before its Packages exist",
    ),
    pytest.param(
        *(world(ready=True, package_diff=WRITES, **CHECKED), SYNC, "Unpacked"),
        [UNPACKED, SERVING, VALID, READY, ("Reconciling", "True", "WritingPackages", "writing the Package objects")],
        id="later it stays ready while Packages change",
    ),
    pytest.param(
        *(world(package_diff=WRITES, **CHECKED), Unavailable(503, "", "the API server is busy"), "Unpacked"),
        [
            *(
                UNPACKED,
                SERVING,
                VALID,
                ("Ready", "False", "WritingPackages", "writing the Package objects: the API server is busy"),
            ),
            ("Reconciling", "True", "Retrying", "the API server is busy"),
        ],
        id="Packages that cannot be written are tried again",
    ),
    pytest.param(
        *(world(**CHECKED), ZeroDivisionError("x"), "Unpacked"),
        [
            *(UNPACKED, SERVING, VALID, READY),
            ("Reconciling", "True", "Retrying", "unexpected ZeroDivisionError; see the log of catalogd"),
        ],
        id="an unexpected error is named, not quoted",
    ),
    pytest.param(
        *(world(job=LoadFailed(TAG, AWAY, timedelta(0))), AWAY, "Failing"),
        [*not_unpacked("UnpackFailed", AWAY_TEXT), ("Reconciling", "True", "Retrying", AWAY_TEXT)],
        id="an unavailable registry is tried again",
    ),
    pytest.param(
        *(world(job=LoadRunning(TAG, previous_error=AWAY)), KEPT, "Failing"),
        [*not_unpacked("UnpackFailed", AWAY_TEXT), ("Reconciling", "True", "Retrying", AWAY_TEXT)],
        id="while it is tried again the failure is reported",
    ),
    pytest.param(
        *(
            world(ready=True, job=LoadFailed(TAG, BAD, timedelta(0)), **CHECKED),
            Waiting("x", BAD_TEXT, MINUTE),
            "Failing",
        ),
        [*failing(BAD_TEXT), ("Reconciling", "True", "Retrying", BAD_TEXT)],
        id="the old content is served while the new content of the tag is broken",
    ),
    pytest.param(
        *(world(DIGEST, ready=True, job=LoadFailed(DIGEST, BAD, timedelta(0)), **CHECKED), BAD, "Failing"),
        [*failing(BAD_TEXT), ("Stalled", "True", "Blocked", BAD_TEXT)],
        id="broken content by digest stalls",
    ),
    pytest.param(
        *(world(ready=True, job=LoadFailed(TAG, BAD_KEY, timedelta(0)), **CHECKED), BAD_KEY, "Failing"),
        [
            *failing(BAD_KEY.message, READ_BEFORE),
            ("Stalled", "True", "Blocked", BAD_KEY.message),
        ],
        id="with a key that cannot be used nobody knows if there is newer content",
    ),
    pytest.param(
        *(world(ready=True, job=LoadRunning(TAG, previous_error=BAD_KEY), **CHECKED), KEPT, "Failing"),
        [
            *failing(BAD_KEY.message, READ_BEFORE),
            ("Reconciling", "True", "Retrying", BAD_KEY.message),
        ],
        id="nor while it is tried again",
    ),
    pytest.param(
        *(
            world("registry.example/c:v2", ready=True, job=LoadRunning("registry.example/c:v2"), **CHECKED),
            KEPT,
            "Unpacking",
        ),
        [
            ("Unpacked", "False", "Unpacking", 'reading the catalog image "registry.example/c:v2"'),
            *(
                SERVING,
                VALID,
                ("Ready", "True", "ServingOldContent", OLD + 'reading the catalog image "registry.example/c:v2"'),
            ),
            ("Reconciling", "True", "Unpacking", 'reading the catalog image "registry.example/c:v2"'),
        ],
        id="the old content is served while a new reference is read",
    ),
    pytest.param(
        *(world(job=LoadFailed(TAG, WRONG, timedelta(0))), WRONG, "Failing"),
        [*not_unpacked("UnpackFailed", WRONG.message), ("Stalled", "True", "Blocked", WRONG.message)],
        id="an invalid reference stalls",
    ),
    pytest.param(
        *(world(ref=None), Blocked("Blocked", "set spec.source.image: a source of type image needs it"), "Failing"),
        [
            *not_unpacked("UnpackFailed", "set spec.source.image: a source of type image needs it"),
            ("Stalled", "True", "Blocked", "set spec.source.image: a source of type image needs it"),
        ],
        id="a spec without image stalls",
    ),
    pytest.param(
        *(world(served=served(problem_count=12, problems=("first", "second")), last_checked=NOW), KEPT, "Unpacked"),
        [UNPACKED, SERVING, ("Valid", "False", "ProblemsFound", "12 problems: first; second; and 10 more"), READY],
        id="blobs that cannot be read are counted and named, and the content is served",
    ),
    pytest.param(
        *(
            world(
                served=served(blob_count=1, problem_count=1, problems=("a\nb\x1b\u202e",)),
                package_diff=Difference(renamed=(("A\n\x1b[31m" + "y" * 10_000, "c-a-1234abcd"),)),
                last_checked=NOW,
            ),
            *(KEPT, "Unpacked"),
        ),
        [
            *(UNPACKED, SERVING, READY),
            (
                "Valid",
                "False",
                "ProblemsFound",
                'Packages whose objects have other names: "A\\n\\x1b[31m'
                + "y" * 89
                + '…" -> c-a-1234abcd; 1 problem: a\\nb\\x1b\\u202e',
            ),
        ],
        id="unprintable names are escaped, and long ones truncated",
    ),
    pytest.param(
        *(
            world(
                served=served(blob_count=1, notes=("too large",)),
                package_diff=Difference(renamed=(("A", "c-a-1234abcd"),)),
                last_checked=NOW,
            ),
            *(KEPT, "Unpacked"),
        ),
        [
            *(UNPACKED, SERVING, READY),
            (
                "Valid",
                "True",
                "AllBlobsRead",
                'all 1 blob could be read; Packages whose objects have other names: "A" -> c-a-1234abcd; too large',
            ),
        ],
        id="renamed objects and notes are reported",
    ),
    pytest.param(
        *(world(job=LoadRunning(TAG), corruption=DAMAGE), KEPT, "Unpacking"),
        [
            ("Unpacked", "False", "Unpacking", READING_TEXT),
            ("Serving", "False", "Unavailable", f"the content is damaged on disk and is read again: {DAMAGE}"),
            NOT_VALID_YET,
            ("Ready", "False", "Unpacking", READING_TEXT),
            ("Reconciling", "True", "Unpacking", READING_TEXT),
        ],
        id="content that was damaged on disk is reported until it is read again",
    ),
    pytest.param(
        *(world(**OFF), KEPT, None),
        [
            ("Unpacked", "False", "UserSpecifiedUnavailable", OFF_TEXT),
            ("Serving", "False", "UserSpecifiedUnavailable", OFF_TEXT),
            ("Valid", "Unknown", "UserSpecifiedUnavailable", OFF_TEXT),
            ("Ready", "True", "UserSpecifiedUnavailable", OFF_TEXT),
        ],
        id="an Unavailable Catalog that is not served is ready",
    ),
    pytest.param(
        *(world(**OFF, **CHECKED), Waiting("DiskFull", "the disk is full", MINUTE), None),
        [
            *(("Unpacked", "False", "UserSpecifiedUnavailable", OFF_TEXT), SERVING, VALID),
            ("Ready", "False", "UserSpecifiedUnavailable", OFF_TEXT),
            ("Reconciling", "True", "Retrying", "the disk is full"),
        ],
        id="an Unavailable Catalog reports that it is served as long as it is",
    ),
    pytest.param(
        *(
            world(ready=True, **WITH_SECRET, input_versions={SECRET: None}, **CHECKED),
            Blocked("Blocked", NO_SECRET),
            "Failing",
        ),
        [*failing(NO_SECRET, READ_BEFORE), ("Stalled", "True", "Blocked", NO_SECRET)],
        id="a missing pull secret stalls it, and the old content is served",
    ),
    pytest.param(
        *(world(served=served(GIT_RECORD), source=GIT, last_checked=NOW), KEPT, "Unpacked"),
        [
            ("Unpacked", "True", "UnpackSuccessful", 'successfully unpacked the catalog "https://git.example/r@abc"'),
            ("Serving", "True", "Available", 'serving "https://git.example/r@abc"'),
            VALID,
            ("Ready", "True", "Succeeded", 'serving 2 packages and 5 bundles of "https://git.example/r@abc"'),
        ],
        id="content of a git repository is named by its commit",
    ),
]


@pytest.mark.parametrize(("given", "outcome", "phase", "conditions"), REPORTS)
def test_reports(
    given: World, outcome: Done | Exception, phase: str | None, conditions: list[tuple[str, str, str, str]]
) -> None:
    status = report(given, outcome).status
    found = [(each.type, each.status, each.reason, each.message) for each in status.conditions]
    assert found == sorted(conditions)
    assert status.phase == phase
    assert status.observed_generation == 3
    assert {each.observed_generation for each in status.conditions} == {3}


REQUESTED: dict[str, Any] = {"refresh_requested": "now", "refresh_started": "now", "handled": "before"}
NEW_TAG = "registry.example/c:v2"


@pytest.mark.parametrize(
    ("given", "outcome", "handled"),
    [
        pytest.param(world(**CHECKED), KEPT, None, id="no request"),
        pytest.param(
            world(refresh_requested="now", handled="before", **CHECKED),
            Done(Plan(load())),
            "before",
            id="a check that starts is not handled",
        ),
        pytest.param(world(**REQUESTED, job=LoadRunning(TAG), **CHECKED), KEPT, "before", id="nor one that is running"),
        pytest.param(
            world(**REQUESTED, job=LoadRunning(TAG, is_queued=True), **CHECKED),
            KEPT,
            "before",
            id="nor one that is queued",
        ),
        pytest.param(
            world(**REQUESTED, job=LoadFinished(TAG, IMAGE_ONE, ONE), **CHECKED),
            Done(Plan(ConfirmUnchanged())),
            "now",
            id="one that found nothing new is",
        ),
        pytest.param(
            world(**REQUESTED, job=LoadFinished(TAG, IMAGE_ONE, TWO), **CHECKED),
            Done(Plan(Serve(record()))),
            "before",
            id="new content is served first",
        ),
        pytest.param(world(**REQUESTED, **CHECKED), KEPT, "now", id="and then reported in the same update"),
        pytest.param(
            world(**REQUESTED, job=LoadFailed(TAG, AWAY, timedelta(0)), **CHECKED),
            AWAY,
            "now",
            id="one that failed is handled",
        ),
        pytest.param(
            world(**REQUESTED, job=LoadFailed(TAG, WRONG, timedelta(0))),
            WRONG,
            "now",
            id="so is one that failed for good",
        ),
        pytest.param(
            world(**REQUESTED, job=LoadFinished(TAG, IMAGE_ONE, TWO), **CHECKED),
            Waiting("DiskFull", "the disk is full", MINUTE),
            "now",
            id="and one whose content cannot be served",
        ),
        pytest.param(
            world(refresh_requested="now", handled="before", **WITH_SECRET, input_versions={SECRET: None}, **CHECKED),
            Blocked("Blocked", NO_SECRET),
            "now",
            id="one that cannot be made is handled: the conditions report why",
        ),
        pytest.param(
            world(refresh_requested="now", handled="before", **OFF),
            KEPT,
            "now",
            id="there is nothing to check while it is Unavailable",
        ),
        pytest.param(
            world(refresh_requested="later", refresh_started="now", handled="before", **CHECKED),
            Done(Plan(Keep(), timedelta(0))),
            "now",
            id="the first request is handled, although another one was made meanwhile",
        ),
        pytest.param(
            world(NEW_TAG, **REQUESTED, job=LoadFinished(TAG, IMAGE_ONE, ONE), **CHECKED),
            Done(Plan(load(NEW_TAG))),
            "before",
            id="a check of an earlier source is made again",
        ),
        pytest.param(
            world(refresh_requested="", handled="before", **CHECKED),
            KEPT,
            "before",
            id="it stays when the annotation is removed",
        ),
    ],
)
def test_a_requested_check_is_handled_once_it_has_ended(
    given: World, outcome: Done | Exception, handled: str | None
) -> None:
    assert report(given, outcome).status.last_handled_refresh == handled


def test_the_status_names_what_is_served_and_nothing_else() -> None:
    status = report(
        world("registry.example/c:v2", job=LoadRunning("registry.example/c:v2"), **CHECKED), KEPT
    ).status.dump()
    assert status["resolvedSource"] == {"type": "image", "image": {"ref": IMAGE_ONE}}
    assert status["contentURL"] == "http://x/catalogs/c/all.json"
    assert status["lastUnpacked"] == "2026-01-01T00:00:00Z"
    assert (status["packageCount"], status["bundleCount"], status["packages"]) == (2, 5, "a,b")
    assert "resolvedSource" not in report(world(), Done(Plan(load()))).status.dump()


def test_content_that_replaces_another_is_worth_an_event() -> None:
    first = report(world(reported=TWO, ready=True, **CHECKED), KEPT)
    again = world(reported=ONE, ready=True, **CHECKED)
    conditions = first.status.conditions
    assert again.catalog is not None
    observed = World(
        **{
            **vars(world(reported=TWO, ready=True, **CHECKED)),
            "catalog": again.catalog.model_copy(
                update={"status": first.status.model_copy(update={"content_digest": TWO, "conditions": conditions})}
            ),
        }
    )
    (moved,) = report(observed, KEPT).transitions
    assert (moved.type, moved.reason, moved.message) == ("Serving", "Available", f'serving "{IMAGE_ONE}"')


LONG = Blocked("InvalidDocument", "load FBC from filesystem: a.yaml: " + "é" * 500_000)
LONG_BY_TYPE = {"Unpacked": 4096, "Ready": 1024, "Reconciling": 1024, "Stalled": 1024}


@pytest.mark.parametrize(
    "before", [pytest.param({}, id="nothing served"), pytest.param(CHECKED, id="something served")]
)
def test_messages_about_a_source_have_a_maximum_length(before: dict[str, Any]) -> None:
    conditions = report(world(job=LoadFailed(TAG, LONG, timedelta(0)), **before), LONG).status.conditions
    long = {each.type: each.message for each in conditions if each.type in LONG_BY_TYPE}
    assert long.keys() == {"Unpacked", "Ready", "Stalled"}
    for kind, message in long.items():
        assert len(message.encode()) <= LONG_BY_TYPE[kind]
        assert message.endswith("é…")


def test_names_of_packages_end_where_the_field_does() -> None:
    names = tuple(f"package-{number:05}" for number in range(10_000))
    listed = report(world(served=served(package_names=names), last_checked=NOW), KEPT).status.packages
    assert listed is not None
    assert len(listed) <= 65_536
    assert listed.split(",") == list(names[: listed.count(",") + 1])


def test_every_reason_is_used() -> None:
    used = {
        each.reason
        for row in REPORTS
        for each in report(row.values[0], row.values[1]).status.conditions  # type: ignore[arg-type]
    }
    assert used == set(Reason)


def test_nothing_is_reported_of_a_deleted_catalog() -> None:
    assert report(world(raw=None, catalog=None), Done(Plan(StopServing()))).transitions == ()


JOBS = st.sampled_from(
    [
        None,
        LoadRunning(TAG),
        LoadRunning(TAG, is_queued=True),
        LoadRunning(TAG, previous_error=AWAY),
        LoadRunning("o:1"),
        LoadFinished(TAG, IMAGE_ONE, ONE),
    ]
    + [LoadFailed(TAG, error, age) for error in (AWAY, BAD, WRONG) for age in (timedelta(0), timedelta(hours=1))]
)
SERVED = st.sampled_from([None, served(), served(record(digest=TWO)), served(record("o:1"))])
WORLDS = st.builds(
    lambda job, what, poll, ready, checked, packages, requested: world(
        poll=poll, ready=ready, job=job, served=what, last_checked=checked, package_diff=packages, **requested
    ),
    *(JOBS, SERVED, st.sampled_from([None, "0s", "1h"]), st.booleans(), st.sampled_from([None, NOW - MINUTE])),
    st.sampled_from([Difference(), WRITES]),
    st.sampled_from([{}, {"refresh_requested": "now"}, REQUESTED, {"refresh_requested": "now", "handled": "now"}]),
)


@settings(deadline=None)
@given(WORLDS)
def test_in_every_world_the_status_follows_the_contract(observed: World) -> None:
    """DESIGN 3: Ready always; Reconciling and Stalled only while True, never both; one that is not Ready is one of the two."""
    outcome: Done | Exception
    plan = decide(observed).plan
    outcome = plan if isinstance(plan, OlmError) else Done(plan)
    status = report(observed, outcome).status
    by_type = {each.type: each for each in status.conditions}
    assert {ConditionType.READY, ConditionType.UNPACKED, ConditionType.SERVING, ConditionType.VALID} <= set(by_type)
    progress = [by_type[kind] for kind in (ConditionType.RECONCILING, ConditionType.STALLED) if kind in by_type]
    assert len(progress) <= 1
    assert all(each.status == "True" for each in progress)
    if by_type[ConditionType.READY].status != "True":
        assert progress
    assert (by_type[ConditionType.SERVING].status == "True") == (status.resolved_source is not None)


@settings(deadline=None)
@given(WORLDS)
def test_a_second_pass_over_the_same_world_reports_the_same(observed: World) -> None:
    """A status that differs each pass is a hot loop."""
    outcome = Done(Plan(Keep()))
    first = report(observed, outcome)
    assert observed.catalog is not None
    again = report(
        World(**{**vars(observed), "catalog": observed.catalog.model_copy(update={"status": first.status})}), outcome
    )
    same_ready = {each.type: each.status for each in observed.catalog.status.conditions}.get("Ready") == "True"
    if same_ready or not observed.package_diff:
        assert again.status == first.status
        assert again.transitions == ()


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        pytest.param(("a", "b\n\x1b"), r"a,b\n\x1b", id="unprintable characters are escaped"),
        pytest.param(("a", "b" * 70_000), "a", id="a name that does not fit"),
        pytest.param(("b" * 70_000, "c"), "", id="a first name that does not fit"),
    ],
)
def test_names_of_packages_fit_into_their_field(names: tuple[str, ...], expected: str) -> None:
    status = report(world(served=served(package_names=names), last_checked=NOW), KEPT).status
    assert status.packages == expected


def test_a_world_that_cannot_be_evaluated_keeps_its_conditions_and_reports_the_failure() -> None:
    given = world(ready=True, **CHECKED)
    status = reports.report(given, None, ZeroDivisionError("x")).status
    assert [(each.type, each.status, each.reason) for each in status.conditions] == [
        ("Ready", "True", "Succeeded"),
        ("Reconciling", "True", "Retrying"),
    ]
    assert status.content_digest == ONE


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        pytest.param(AWAY, Waiting("Unauthorized", "no", MINUTE), [("Warning", "UnpackFailed")], id="another error"),
        pytest.param(AWAY, Waiting(AWAY.reason, "i/o timeout, port 4312", MINUTE), [], id="the same in other words"),
        pytest.param(
            Blocked("InvalidSecret", "missing", ["missing s"]),
            Blocked("InvalidSecret", "has no key", ["s: no username"]),
            [("Warning", "UnpackFailed")],
            id="something else is wrong with the same Secret",
        ),
        pytest.param(
            BAD,
            BadContent(BAD.reason, f"{BAD.message} of another image", IMAGE_ONE),
            [("Warning", "UnpackFailed")],
            id="the same is wrong with other content",
        ),
    ],
)
@pytest.mark.parametrize(
    "before", [pytest.param({}, id="nothing is served"), pytest.param(CHECKED, id="old content is")]
)
def test_a_second_failure_to_read_the_source(
    before: dict[str, Any], first: OlmError, second: OlmError, expected: list[tuple[str, str]]
) -> None:
    def pass_over(status: CatalogStatus | None, error: OlmError) -> StatusReport[CatalogStatus]:
        seen = world(job=LoadFailed(TAG, error, timedelta(0)), **before)
        assert seen.catalog is not None
        if status is not None:
            seen = replace(seen, catalog=seen.catalog.model_copy(update={"status": status}))
        return report(seen, error)

    published = PublishedReports(CatalogStatus())
    assert published.events(pass_over(None, first))[0] == ("Warning", "UnpackFailed")
    assert published.events(pass_over(published.status, second)) == expected
    assert published.events(pass_over(published.status, second)) == []


FULL = disk_error(OSError(errno.ENOSPC, "No space left on device"))
assert FULL is not None


@pytest.mark.parametrize(
    ("given", "outcome", "expected"),
    [
        pytest.param(world(job=LoadFailed(TAG, AWAY, timedelta(0))), AWAY, "SourceUnreadable", id="the source is away"),
        pytest.param(
            world(job=LoadFailed(TAG, FULL, timedelta(0))), FULL, "StorageFailed", id="the disk of the job is full"
        ),
        pytest.param(world(), FULL, "StorageFailed", id="the content cannot be moved to its place"),
        pytest.param(world(), Unavailable(503, "x", "y"), None, id="an object cannot be written"),
        pytest.param(world(**CHECKED), KEPT, None, id="nothing has failed"),
        pytest.param(world(**OFF), AWAY, None, id="nothing is to be read"),
    ],
)
def test_a_failure_has_a_reason_that_other_controllers_read(
    given: World, outcome: Done | Exception, expected: str | None
) -> None:
    assert report(given, outcome).status.failure_reason == expected
