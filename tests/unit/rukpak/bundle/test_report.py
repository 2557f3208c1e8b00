"""The status of a Bundle after a pass."""

from dataclasses import replace
from datetime import timedelta

import pytest

from olmkit.api.bundles import Bundle, BundleStatus
from olmkit.api.conditions import StatusReport, Transition
from olmkit.errors import Blocked, Waiting
from olmkit.sources.resolved_source import content_digest
from olmkit.sources.source import ImageSource
from rukpak.bundle.decide import decide
from rukpak.bundle.report import report
from rukpak.bundle.world import AwaitUpload, Done, Keep, Release, Unpack, UnpackState, World
from tests.causes import PublishedReports, assert_causes
from tests.unit.rukpak.bundle.worlds import (
    ARCHIVE,
    DIGEST,
    NOT_FOUND,
    NOW,
    QUEUED,
    RESOLVED_COMMIT,
    TAG,
    UNREADABLE,
    failed,
    finished,
    found_commit,
    of_git,
    of_upload,
    running,
    with_status,
    world,
)


def reported(seen: World, outcome: Done | Exception) -> StatusReport[BundleStatus]:
    """The report of an existing Bundle."""
    made = report(seen, decide(seen).evaluation, outcome)
    assert made is not None
    assert seen.bundle is not None
    assert_causes(seen.bundle.status, made)
    return made


GAVE_WAY = "Waiting in the queue to be unpacked: its registry is slow, so it gave way to Bundles that waited"
SUCCESS = "Successfully unpacked the image Bundle"


@pytest.mark.parametrize(
    ("seen", "outcome", "phase", "wanted"),
    [
        pytest.param(
            world(stored_type="registry+v1"),
            Done(Keep()),
            "Unpacked",
            {"Unpacked": ("True", "UnpackSuccessful", SUCCESS), "Ready": ("True", "Succeeded", SUCCESS)},
            id="unpacked",
        ),
        pytest.param(
            world(),
            Done(Unpack(ImageSource(TAG), "registry+v1"), QUEUED),
            "Pending",
            {
                "Unpacked": ("False", "UnpackPending", "Waiting in the queue to be unpacked"),
                "Ready": ("False", "NotUnpacked", "Waiting in the queue to be unpacked"),
                "Reconciling": ("True", "UnpackPending", "Waiting in the queue to be unpacked"),
            },
            id="not begun",
        ),
        pytest.param(
            world(),
            Done(Unpack(ImageSource(TAG), "registry+v1"), replace(QUEUED, gave_way=True)),
            "Pending",
            {
                "Unpacked": ("False", "UnpackPending", GAVE_WAY),
                "Ready": ("False", "NotUnpacked", GAVE_WAY),
                "Reconciling": ("True", "UnpackPending", GAVE_WAY),
            },
            id="begun, and ended for others",
        ),
        pytest.param(
            world(),
            Done(Unpack(ImageSource(TAG), "registry+v1"), running("pulling layer 1 of 2")),
            "Unpacking",
            {
                "Unpacked": ("False", "Unpacking", "Unpacking the image Bundle: pulling layer 1 of 2"),
                "Ready": ("False", "NotUnpacked", "Unpacking the image Bundle: pulling layer 1 of 2"),
                "Reconciling": ("True", "Unpacking", "Unpacking the image Bundle: pulling layer 1 of 2"),
            },
            id="in progress",
        ),
        pytest.param(
            world(),
            Done(Unpack(ImageSource(TAG), "registry+v1"), failed(NOT_FOUND)),
            "Failing",
            {
                "Unpacked": ("False", "UnpackFailed", NOT_FOUND.message),
                "Ready": ("False", "NotUnpacked", NOT_FOUND.message),
                "Reconciling": ("True", "Retrying", NOT_FOUND.message),
            },
            id="a missing image fails and is retried",
        ),
        pytest.param(
            world(),
            Blocked("UnpackFailed", "no CSV"),
            "Failing",
            {
                "Unpacked": ("False", "UnpackFailed", "no CSV"),
                "Ready": ("False", "NotUnpacked", "no CSV"),
                "Stalled": ("True", "Blocked", "no CSV"),
            },
            id="invalid content is stalled",
        ),
        pytest.param(
            world(),
            Done(Unpack(ImageSource(TAG), "registry+v1"), failed(Blocked("X", "bad"))),
            "Failing",
            {
                "Unpacked": ("False", "UnpackFailed", "bad"),
                "Ready": ("False", "NotUnpacked", "bad"),
                "Stalled": ("True", "Blocked", "bad"),
            },
            id="a task that is rejected",
        ),
        pytest.param(
            world(),
            RuntimeError("oh"),
            "Failing",
            {
                "Unpacked": ("False", "UnpackFailed", "unexpected error: oh"),
                "Ready": ("False", "NotUnpacked", "unexpected error: oh"),
                "Reconciling": ("True", "Retrying", "unexpected error: oh"),
            },
            id="an unexpected error",
        ),
    ],
)
def test_conditions(
    seen: World, outcome: Done | Exception, phase: str, wanted: dict[str, tuple[str, str, str]]
) -> None:
    found = reported(seen, outcome)
    assert found.status.phase == phase
    assert found.status.observed_generation == 1
    assert {each.type: (each.status, each.reason, each.message) for each in found.status.conditions} == wanted
    assert all(each.observed_generation == 1 for each in found.status.conditions)


@pytest.mark.parametrize(
    ("seen", "outcome", "ref"),
    [
        pytest.param(world(), Done(Unpack(ImageSource(TAG), "x"), running()), "", id="nothing at first"),
        pytest.param(
            world(job=finished(DIGEST), stored_type="registry+v1"), Done(Keep()), DIGEST, id="the digest of the job"
        ),
        pytest.param(world(resolved=DIGEST, stored_type="registry+v1"), Done(Keep()), DIGEST, id="the first digest"),
        pytest.param(
            world(resolved=DIGEST),
            Done(Unpack(ImageSource(DIGEST), "x"), failed(NOT_FOUND)),
            DIGEST,
            id="the digest is kept through every failure",
        ),
        pytest.param(
            world(job=finished(DIGEST, "bad")), Blocked("UnpackFailed", "bad"), DIGEST, id="also of invalid content"
        ),
        pytest.param(world(job=finished("other@sha256:2"), resolved=DIGEST), Done(Keep()), DIGEST, id="first wins"),
    ],
)
def test_resolved_source(seen: World, outcome: Done | Exception, ref: str) -> None:
    source = reported(seen, outcome).status.resolved_source
    assert (source.image.ref if source and source.image else "") == ref


UNPACKED = world(stored_type="registry+v1", resolved=DIGEST)
URL = "https://rukpak.olm-suite-system.svc/bundles/a.tgz"


@pytest.mark.parametrize(
    ("seen", "outcome", "url"),
    [
        pytest.param(replace(UNPACKED, content_url=URL), Done(Keep()), URL, id="unpacked"),
        pytest.param(UNPACKED, Done(Keep()), None, id="unpacked, where nothing is served"),
        pytest.param(replace(UNPACKED, content_url=URL), Blocked("UnpackFailed", "bad"), None, id="not unpacked"),
    ],
)
def test_the_address_of_the_files(seen: World, outcome: Done | Exception, url: str | None) -> None:
    assert reported(seen, outcome).status.content_url == url


def test_a_commit_is_reported_with_the_digest_of_its_content() -> None:
    found = reported(of_git(job=found_commit(), stored_type="registry+v1"), Done(Keep())).status
    assert found.resolved_source is not None
    assert found.resolved_source.dump() == RESOLVED_COMMIT
    assert found.content_digest == content_digest(RESOLVED_COMMIT)
    assert found.conditions[0].message == "Successfully unpacked the git Bundle"


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (running("writing the files"), "Unpacking the git Bundle: writing the files"),
        (replace(QUEUED, gave_way=True), GAVE_WAY.replace("registry", "server")),
    ],
)
def test_the_type_of_the_source_is_named(state: UnpackState, message: str) -> None:
    found = reported(of_git(), Done(Unpack(ImageSource(TAG), "registry+v1"), state)).status
    assert {each.message for each in found.conditions} == {message}


def test_the_report_is_idempotent() -> None:
    seen = world(stored_type="registry+v1", resolved=DIGEST)
    first = reported(seen, Done(Keep()))
    assert first.transitions[0] == Transition("Unpacked", "True", "UnpackSuccessful", SUCCESS)
    later = replace(with_status(seen, first.status), now=NOW + timedelta(days=1))
    second = reported(later, Done(Keep()))
    assert second.status == first.status
    assert second.transitions == ()


def test_a_new_attempt_keeps_the_report_until_it_ends() -> None:
    seen = world()
    first = reported(seen, Done(Unpack(ImageSource(TAG), "registry+v1"), failed(NOT_FOUND)))
    again = with_status(seen, first.status)
    trying = reported(again, Done(Unpack(ImageSource(TAG), "registry+v1"), running("looking up the image")))
    assert trying.status == first.status
    assert trying.transitions == ()
    changed = replace(again, bundle=Bundle.load({**(seen.raw or {}), "metadata": {"name": "a", "generation": 2}}))
    assert reported(changed, Done(Unpack(ImageSource(TAG), "registry+v1"), running())).status.phase == "Unpacking"


def test_an_attempt_after_a_failure_that_was_not_retried_is_reported() -> None:
    seen = world()
    stalled = with_status(seen, reported(seen, Blocked("UnpackFailed", "Secret not found")).status)
    trying = reported(stalled, Done(Unpack(ImageSource(TAG), "registry+v1"), running()))
    assert trying.status.phase == "Unpacking"
    assert "Stalled" not in {each.type for each in trying.status.conditions}


def test_an_unreadable_store_keeps_the_status_of_unpacked_bundles_only() -> None:
    seen = world(resolved=DIGEST, stored_type="registry+v1")
    unpacked = reported(seen, Done(Keep())).status
    error = Waiting("UnpackFailed", UNREADABLE.message, UNREADABLE.after)
    later = replace(with_status(seen, unpacked), stored_type="", unreadable=UNREADABLE)
    assert reported(later, error).status == unpacked
    assert reported(replace(seen, stored_type="", unreadable=UNREADABLE), error).status.phase == "Failing"


def test_the_status_is_kept_during_deletion() -> None:
    going = world(deletionTimestamp="2026-01-01T00:00:00Z", resolved=DIGEST)
    assert reported(going, Done(Keep())).status == BundleStatus.model_validate((going.raw or {})["status"])


def test_nothing_is_reported_for_a_deleted_bundle() -> None:
    deleted = World("a", NOW)
    assert report(deleted, decide(deleted).evaluation, Done(Release())) is None


def test_the_resolved_source_is_reported_when_decide_failed() -> None:
    made = report(world(resolved=DIGEST), None, RuntimeError("oh"))
    assert made is not None
    source = made.status.resolved_source
    assert source is not None
    assert source.image is not None
    assert source.image.ref == DIGEST


REFUSED = Waiting("Unauthorized", "refuses the login of Secret s", timedelta(seconds=5), ["s"])


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        pytest.param(NOT_FOUND, REFUSED, [("Warning", "UnpackFailed")], id="another error"),
        pytest.param(
            REFUSED,
            Waiting(REFUSED.reason, "refuses the login of Secret t", REFUSED.after, ["t"]),
            [("Warning", "UnpackFailed")],
            id="the same error of another Secret",
        ),
        pytest.param(
            REFUSED,
            Waiting(REFUSED.reason, "refuses the login of s (401), port 4312", REFUSED.after, ["s"]),
            [],
            id="the same error in other words",
        ),
        pytest.param(NOT_FOUND, Blocked(NOT_FOUND.reason, "not found"), [], id="the same error, no longer retried"),
    ],
)
def test_a_second_failure_to_unpack(first: Waiting, second: Waiting | Blocked, expected: list[tuple[str, str]]) -> None:
    seen = world(job=failed(first))
    assert seen.bundle is not None
    published = PublishedReports(seen.bundle.status)
    assert published.events(reported(seen, Done(Keep(), failed(first)))) == [("Warning", "UnpackFailed")]
    for _ in range(2):
        seen = with_status(world(job=failed(second)), published.status)
        assert published.events(reported(seen, Done(Keep(), failed(second)))) == expected
        expected = []
    plan = decide(seen).plan
    assert isinstance(plan, Blocked | Waiting)
    assert published.events(reported(seen, plan)) == [], "the next pass reports the error that decide makes of it"


@pytest.mark.parametrize(
    ("seen", "outcome", "phase", "message"),
    [
        pytest.param(
            of_upload(ARCHIVE),
            Done(AwaitUpload()),
            "Pending",
            f"waiting for bundle to be uploaded: `olm bundle upload a DIRECTORY` sends it, an archive with the digest {ARCHIVE}",
            id="awaited",
        ),
        pytest.param(
            of_upload(),
            Done(AwaitUpload()),
            "Pending",
            "waiting for bundle to be uploaded: `olm bundle upload a DIRECTORY` sends it",
            id="awaited, whatever it is",
        ),
        pytest.param(
            of_upload(ARCHIVE, ARCHIVE),
            Done(Unpack(None, "registry+v1"), QUEUED),
            "Pending",
            "received bundle upload, waiting for provisioner to unpack it.",
            id="received",
        ),
        pytest.param(
            of_upload(ARCHIVE, ARCHIVE, stored_type="registry+v1"),
            Done(Keep()),
            "Unpacked",
            "Successfully unpacked the upload Bundle",
            id="unpacked",
        ),
    ],
)
def test_uploads(seen: World, outcome: Done, phase: str, message: str) -> None:
    status = reported(seen, outcome).status
    assert (status.phase, {each.message for each in status.conditions}) == (phase, {message})
    is_done = phase == "Unpacked"
    assert [(each.type, each.reason) for each in status.conditions if each.type == "Reconciling"] == (
        [] if is_done else [("Reconciling", "UnpackPending")]
    )
