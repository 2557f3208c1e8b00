"""What is done for a Bundle and what is said of it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from olmkit.api.bundles import IMAGE_BY_DIGEST_ANNOTATION, Bundle
from olmkit.api.conditions import Transition
from olmkit.errors import Blocked, OlmError, Waiting
from olmkit.store.store import unreadable_error
from rukpak.bundle.decide import Broke, Done, Ended, Job, Keep, Plan, Unpack, Working, World, decide, report

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TAG = "registry.example.com/bundles/a:v1"
DIGEST = "registry.example.com/bundles/a@sha256:" + "1" * 64
RECORDED = {IMAGE_BY_DIGEST_ANNOTATION: DIGEST}
UNREADABLE = unreadable_error("Too many open files")
NOT_FOUND = Waiting("ImageNotFound", f"image {TAG} not found", timedelta(seconds=5))


def world(
    *,
    job: Job = None,
    present: bool = False,
    rival: str = "",
    unreadable: Waiting | None = None,
    resolved: str = "",
    observed: int = 1,
    recorded: str = "",
    **metadata: Any,
) -> World:
    status: dict[str, Any] = {"observedGeneration": observed, "conditions": []}
    if resolved:
        status["resolvedSource"] = {"type": "image", "image": {"ref": resolved}}
    raw = {
        "metadata": {"name": "a", "generation": 1, **metadata},
        "spec": {"provisionerClassName": "core-rukpak-io-registry", "source": {"type": "image", "image": {"ref": TAG}}},
        "status": status,
    }
    return World(NOW, raw, Bundle.load(raw), present, job, rival, unreadable, recorded)


def spec(seen: World, **changes: Any) -> World:
    return replace(seen, bundle=Bundle.load({**seen.raw, "spec": {**seen.raw["spec"], **changes}}))


@pytest.mark.parametrize(
    ("seen", "plan"),
    [
        pytest.param(world(), Unpack(TAG, "registry+v1"), id="a new Bundle is unpacked from what it names"),
        pytest.param(
            spec(world(), provisionerClassName="core-rukpak-io-plain"), Unpack(TAG, "plain+v0"), id="as its class says"
        ),
        pytest.param(world(job=Working("x")), Unpack(TAG, "registry+v1"), id="a job that runs is kept"),
        pytest.param(world(job=Broke(NOT_FOUND)), Unpack(TAG, "registry+v1"), id="what may pass is tried again"),
        pytest.param(
            world(resolved=DIGEST), Unpack(DIGEST, "registry+v1"), id="content that got lost is fetched by its digest"
        ),
        pytest.param(
            world(resolved=DIGEST, observed=0), Unpack(TAG, "registry+v1"), id="a digest of another spec does not count"
        ),
        pytest.param(
            world(observed=0, annotations=RECORDED, recorded=DIGEST),
            Unpack(DIGEST, "registry+v1"),
            id="a Bundle made again has its digest",
        ),
        pytest.param(
            world(observed=0, annotations=RECORDED),
            Unpack(TAG, "registry+v1"),
            id="a digest that the BundleDeployment does not record is what anybody may have written",
        ),
        pytest.param(
            world(observed=0, annotations=RECORDED, recorded=DIGEST[:-1] + "2"),
            Unpack(TAG, "registry+v1"),
            id="a digest that is another one in the record does not count",
        ),
        pytest.param(
            world(observed=0, recorded=DIGEST),
            Unpack(TAG, "registry+v1"),
            id="a Bundle that was not made again resolves its tag",
        ),
        pytest.param(
            world(observed=0, annotations=RECORDED, recorded=DIGEST, generation=2),
            Unpack(TAG, "registry+v1"),
            id="the digest it was made again with does not count for another spec",
        ),
        pytest.param(world(resolved=DIGEST, present=True), Keep(), id="content that is here is kept"),
        pytest.param(world(job=Ended(DIGEST), present=True), Keep(), id="content that has just come"),
        pytest.param(
            world(job=Ended(DIGEST)),
            Unpack(TAG, "registry+v1", replace=True),
            id="what another Bundle left behind is replaced",
        ),
        pytest.param(world(deletionTimestamp="2026-01-01T00:00:00Z"), Keep(), id="nothing is begun for what goes"),
    ],
)
def test_plans(seen: World, plan: Plan) -> None:
    assert decide(seen) == plan


@pytest.mark.parametrize(
    ("seen", "kind", "words"),
    [
        pytest.param(world(job=Ended(DIGEST, "no CSV")), Blocked, "no CSV", id="content that is wrong"),
        pytest.param(
            world(job=Broke(Blocked("X", "bad reference"))), Blocked, "bad reference", id="a reference that is wrong"
        ),
        pytest.param(
            spec(world(), provisionerClassName="helm"),
            Blocked,
            'provisioner class "helm" does not exist: set',
            id="a class that does not exist",
        ),
        pytest.param(
            spec(world(), source={"type": "image"}),
            Blocked,
            'bundle.spec.source.image must be set for source type "image"',
            id="no image",
        ),
        pytest.param(
            world(rival="b"),
            Waiting,
            "Bundle b has the same image unpacked by another provisioner",
            id="another Bundle has it",
        ),
        pytest.param(
            world(resolved=DIGEST, unreadable=UNREADABLE),
            Waiting,
            "cannot be read now (Too many open files)",
            id="content that may be here is not fetched again",
        ),
    ],
)
def test_obstacles(seen: World, kind: type[OlmError], words: str) -> None:
    with pytest.raises(kind) as caught:
        decide(seen)
    assert caught.value.reason == "UnpackFailed"
    assert words in caught.value.message


SUCCESS = "Successfully unpacked the image Bundle"


@pytest.mark.parametrize(
    ("seen", "outcome", "phase", "wanted"),
    [
        pytest.param(
            world(present=True),
            Done(Keep()),
            "Unpacked",
            {"Unpacked": ("True", "UnpackSuccessful", SUCCESS), "Ready": ("True", "Succeeded", SUCCESS)},
            id="unpacked",
        ),
        pytest.param(
            world(),
            Done(Unpack(TAG, "registry+v1"), Working(started=False)),
            "Pending",
            {
                "Unpacked": ("False", "UnpackPending", "Waiting for its turn to be unpacked"),
                "Ready": ("False", "NotUnpacked", "Waiting for its turn to be unpacked"),
                "Reconciling": ("True", "UnpackPending", "Waiting for its turn to be unpacked"),
            },
            id="not begun",
        ),
        pytest.param(
            world(),
            Done(Unpack(TAG, "registry+v1"), Working("pulling layer 1 of 2")),
            "Unpacking",
            {
                "Unpacked": ("False", "Unpacking", "Unpacking the image Bundle: pulling layer 1 of 2"),
                "Ready": ("False", "NotUnpacked", "Unpacking the image Bundle: pulling layer 1 of 2"),
                "Reconciling": ("True", "Unpacking", "Unpacking the image Bundle: pulling layer 1 of 2"),
            },
            id="under way, with its progress",
        ),
        pytest.param(
            world(),
            Done(Unpack(TAG, "registry+v1"), Broke(NOT_FOUND)),
            "Failing",
            {
                "Unpacked": ("False", "UnpackFailed", NOT_FOUND.message),
                "Ready": ("False", "NotUnpacked", NOT_FOUND.message),
                "Reconciling": ("True", "Retrying", NOT_FOUND.message),
            },
            id="a missing image fails, and goes on being looked for",
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
            id="content that is wrong is for people",
        ),
        pytest.param(
            world(),
            Done(Unpack(TAG, "registry+v1"), Broke(Blocked("X", "bad"))),
            "Failing",
            {
                "Unpacked": ("False", "UnpackFailed", "bad"),
                "Ready": ("False", "NotUnpacked", "bad"),
                "Stalled": ("True", "Blocked", "bad"),
            },
            id="a job that was refused at once",
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
            id="what nobody foresaw",
        ),
    ],
)
def test_what_is_said(
    seen: World, outcome: Done | Exception, phase: str, wanted: dict[str, tuple[str, str, str]]
) -> None:
    told = report(seen, outcome)
    assert told.status.phase == phase
    assert told.status.observed_generation == 1
    assert {each.type: (each.status, each.reason, each.message) for each in told.status.conditions} == wanted
    assert all(each.observed_generation == 1 for each in told.status.conditions)


@pytest.mark.parametrize(
    ("seen", "outcome", "ref"),
    [
        pytest.param(world(), Done(Unpack(TAG, "x"), Working()), "", id="nothing before it is known"),
        pytest.param(world(job=Ended(DIGEST), present=True), Done(Keep()), DIGEST, id="what the job found"),
        pytest.param(world(resolved=DIGEST, present=True), Done(Keep()), DIGEST, id="what was found first"),
        pytest.param(
            world(resolved=DIGEST), Done(Unpack(DIGEST, "x"), Broke(NOT_FOUND)), DIGEST, id="through every failure"
        ),
        pytest.param(
            world(job=Ended(DIGEST, "bad")), Blocked("UnpackFailed", "bad"), DIGEST, id="also of wrong content"
        ),
        pytest.param(world(job=Ended("other@sha256:2"), resolved=DIGEST), Done(Keep()), DIGEST, id="first wins"),
    ],
)
def test_the_source_that_is_said_to_be_resolved(seen: World, outcome: Done | Exception, ref: str) -> None:
    source = report(seen, outcome).status.resolved_source
    assert (source.image.ref if source and source.image else "") == ref


def test_saying_it_again_changes_nothing() -> None:
    seen = world(present=True, resolved=DIGEST)
    first = report(seen, Done(Keep()))
    assert first.transitions[0] == Transition("Unpacked", "True", "UnpackSuccessful", SUCCESS)
    later = replace(seen, now=NOW + timedelta(days=1), bundle=seen.bundle.model_copy(update={"status": first.status}))
    second = report(later, Done(Keep()))
    assert second.status == first.status
    assert second.transitions == ()


def test_another_attempt_says_nothing_new_until_it_ends() -> None:
    seen = world()
    failed = report(seen, Done(Unpack(TAG, "registry+v1"), Broke(NOT_FOUND)))
    again = replace(seen, bundle=seen.bundle.model_copy(update={"status": failed.status}))
    trying = report(again, Done(Unpack(TAG, "registry+v1"), Working("looking up the image")))
    assert trying.status == failed.status
    assert trying.transitions == ()
    changed = replace(again, bundle=Bundle.load({**seen.raw, "metadata": {"name": "a", "generation": 2}}))
    assert report(changed, Done(Unpack(TAG, "registry+v1"), Working())).status.phase == "Unpacking"


def test_what_is_unpacked_stays_so_while_it_cannot_be_read_and_what_is_not_says_why() -> None:
    seen = world(resolved=DIGEST, present=True)
    unpacked = report(seen, Done(Keep())).status
    error = Waiting("UnpackFailed", UNREADABLE.message, UNREADABLE.after)
    later = replace(
        seen, present=False, unreadable=UNREADABLE, bundle=seen.bundle.model_copy(update={"status": unpacked})
    )
    assert report(later, error).status == unpacked
    assert report(replace(seen, present=False, unreadable=UNREADABLE), error).status.phase == "Failing"


def test_what_goes_keeps_its_status() -> None:
    going = world(deletionTimestamp="2026-01-01T00:00:00Z", resolved=DIGEST)
    assert report(going, Done(Keep())).status == going.bundle.status
