"""The status of a ClusterCatalog, from the status of its Catalog."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from catalogd.clustercatalog.decide import decide
from catalogd.clustercatalog.report import report
from catalogd.clustercatalog.world import Done, Keep, ReleaseCatalog, StandAside, World
from olmkit.api.clustercatalogs import FINALIZER
from olmkit.api.foreign_leader import ForeignLeader
from olmkit.api.meta import Object
from olmkit.errors import Conflict, Forbidden, OlmError
from tests.unit.catalogd.clustercatalog.worlds import (
    BASE_URL,
    OWNER,
    RESOLVED,
    THEN,
    catalog,
    cluster_catalog,
    condition,
    serving,
    world,
)

Triples = dict[str, tuple[str, str, str]]
SERVED = ("True", "Available", "Serving desired content from resolved source")
NOT_SERVED = ("False", "Unavailable", "")
DONE = ("True", "Succeeded", "Successfully unpacked and stored content from resolved source")
OFF = "Catalog availability mode is set to Unavailable"
CONTENT = {
    "resolvedSource": {"type": "Image", "image": {"ref": RESOLVED}},
    "urls": {"base": f"{BASE_URL}/catalogs/c"},
    "lastUnpacked": THEN,
}
UNPACKED = condition("Unpacked", reason="UnpackSuccessful")
UNPACKING = condition("Unpacked", "False", "Unpacking", "reading registry.example/c:v1")
FAILED = condition("Unpacked", "False", "UnpackFailed", "the registry does not answer")
STALLED = condition("Stalled", reason="Blocked", message="the label is missing")
RETRYING = condition("Reconciling", reason="Retrying", message="the disk is full")
WRITING = condition("Ready", "False", "WritingPackages")
EMPTY = condition("Serving", "False", "Unavailable")
SUCCEEDED = condition("Progressing", message=DONE[2], seen=2)
BEFORE = cluster_catalog(conditions=[SUCCEEDED, condition("Serving", reason="Available", seen=2)])
UNAVAILABLE = cluster_catalog(availabilityMode="Unavailable")


def outcome_of(seen: World) -> tuple[Any, Any]:
    """The evaluation and the outcome of a pass in which every write succeeds."""
    decision = decide(seen)
    return decision.evaluation, decision.plan if isinstance(decision.plan, OlmError) else Done(decision.plan)


def status_of(seen: World) -> tuple[Triples, Object, dict[str, int]]:
    """The conditions, the other fields, and the generations of the conditions."""
    found = report(seen, *outcome_of(seen))
    assert found is not None
    status = found.status.dump()
    conditions = status.pop("conditions")
    triples = {each["type"]: (each["status"], each["reason"], each["message"]) for each in conditions}
    return triples, status, {each["type"]: each["observedGeneration"] for each in conditions}


@pytest.mark.parametrize(
    ("seen", "progressing", "serves"),
    [
        pytest.param(world(), None, False, id="no Catalog yet: nothing is served, and clients see that"),
        pytest.param(world(existing=catalog(observed=1)), None, False, id="nothing is known of the Catalog yet"),
        pytest.param(world(existing=serving(None, UNPACKED)), DONE, True, id="content is served"),
        pytest.param(
            world(existing=serving(None, UNPACKED, WRITING)), DONE, True, id="Package objects are not waited for"
        ),
        pytest.param(
            world(existing=catalog(conditions=[UNPACKING, EMPTY])), None, False, id="the first attempt is no condition"
        ),
        pytest.param(
            world(existing=catalog(conditions=[FAILED, EMPTY])),
            ("True", "Retrying", "source catalog content: the registry does not answer"),
            False,
            id="a source that cannot be read is tried again",
        ),
        pytest.param(
            world(existing=catalog(conditions=[{**FAILED, "message": f"source catalog content: {FAILED['message']}"}])),
            ("True", "Retrying", "source catalog content: the registry does not answer"),
            False,
            id="an error that names the step is not prefixed again",
        ),
        pytest.param(
            world(existing=serving(None, FAILED)),
            ("True", "Retrying", "source catalog content: the registry does not answer"),
            True,
            id="content that was read before is served meanwhile",
        ),
        pytest.param(
            world(existing=catalog(conditions=[FAILED, EMPTY], failureReason="StorageFailed")),
            ("True", "Retrying", "error storing fbc: the registry does not answer"),
            False,
            id="content that cannot be stored, by a field",
        ),
        pytest.param(
            world(existing=catalog(conditions=[UNPACKING, EMPTY, RETRYING], failureReason="StorageFailed")),
            ("True", "Retrying", "error storing fbc: the disk is full"),
            False,
            id="the disk is full when the content is moved to its place",
        ),
        pytest.param(
            world(existing=catalog(conditions=[FAILED, EMPTY, STALLED])),
            ("False", "Blocked", "source catalog content: the registry does not answer"),
            False,
            id="a source that nobody tries again",
        ),
        pytest.param(
            world(existing=catalog(conditions=[EMPTY, STALLED])),
            ("False", "Blocked", "source catalog content: the label is missing"),
            False,
            id="the same, before the first attempt",
        ),
        pytest.param(
            world(existing=catalog(owners=[OWNER | {"uid": "x"}])),
            ("True", "Retrying", 'Catalog "c" belongs to an earlier ClusterCatalog of the name and is being deleted'),
            False,
            id="a Catalog of an earlier ClusterCatalog is waited for",
        ),
    ],
)
def test_what_is_reported(seen: World, progressing: tuple[str, str, str] | None, serves: bool) -> None:
    conditions, status, generations = status_of(seen)
    wanted = {"Serving": SERVED if serves else NOT_SERVED, **({"Progressing": progressing} if progressing else {})}
    assert conditions == wanted
    assert status == (CONTENT if serves else {})
    assert set(generations.values()) == {3}


def test_while_new_content_is_read_progressing_stays_with_its_generation() -> None:
    conditions, status, generations = status_of(world(BEFORE, serving(BEFORE, UNPACKING)))
    assert (conditions, status) == ({"Progressing": DONE, "Serving": SERVED}, CONTENT)
    assert generations == {"Progressing": 2, "Serving": 3}, "nobody sees a success too early"


def test_what_is_blocked_keeps_what_is_served() -> None:
    broken = cluster_catalog("registry.example/c@md5:" + "a" * 32)
    conditions, status, _ = status_of(world(broken, serving(None, UNPACKED)))
    assert conditions["Progressing"][:2] == ("False", "Blocked")
    assert (conditions["Serving"], status) == (SERVED, CONTENT)


def test_what_is_blocked_serves_what_an_earlier_generation_said() -> None:
    refused = "registry.example/c@md5:" + "a" * 32
    known = BEFORE["status"]["conditions"]
    _, _, generations = status_of(world(cluster_catalog(refused, conditions=known), serving(None, UNPACKED)))
    assert generations == {"Progressing": 3, "Serving": 2}
    off = catalog(UNAVAILABLE, conditions=[condition("Serving", "False", "UserSpecifiedUnavailable")])
    blocked = cluster_catalog(
        refused, availabilityMode="Unavailable", conditions=known, metadata={"finalizers": []}, status=CONTENT
    )
    conditions, status, generations = status_of(world(blocked, off))
    assert conditions["Progressing"][:2] == ("False", "Blocked")
    assert (conditions["Serving"], status) == (("False", "UserSpecifiedUnavailable", OFF), {})
    assert generations == {"Progressing": 3, "Serving": 3}


def test_a_catalog_that_is_unavailable_has_no_content() -> None:
    off = catalog(UNAVAILABLE, conditions=[condition("Serving", "False", "UserSpecifiedUnavailable")])
    prepared = cluster_catalog(availabilityMode="Unavailable", metadata={"finalizers": []})
    conditions, status, _ = status_of(world(prepared, off))
    expected = {"Progressing": ("True", "Succeeded", OFF), "Serving": ("False", "UserSpecifiedUnavailable", OFF)}
    assert (conditions, status) == (expected, {})


def test_a_deletion_that_others_hold_says_that_nothing_is_served() -> None:
    held = cluster_catalog(deleting=True, conditions=[SUCCEEDED], metadata={"finalizers": ["other"]}, status=CONTENT)
    conditions, status, _ = status_of(world(held))
    assert (conditions, status) == ({"Progressing": DONE, "Serving": NOT_SERVED}, {})


@pytest.mark.parametrize(
    ("seen", "outcome"),
    [
        pytest.param(
            world(leader=ForeignLeader("n", "l", "h", timedelta(1))),
            Done(StandAside(timedelta(1))),
            id="upstream leads",
        ),
        pytest.param(world(BEFORE), Done(Keep()), id="the Catalog is not as it should be: the status stays"),
        pytest.param(world(BEFORE, catalog(observed=1)), Done(Keep()), id="the Catalog is not observed yet"),
        pytest.param(
            world(UNAVAILABLE, serving(UNAVAILABLE, UNPACKED), is_served=True),
            Done(Keep()),
            id="content is about to be removed",
        ),
        pytest.param(world(cluster_catalog(deleting=True), catalog()), Done(Keep()), id="a deletion waits"),
        pytest.param(world(), Conflict(409, "Conflict", "it has changed"), id="the next pass sees what has changed"),
    ],
)
def test_the_status_stays(seen: World, outcome: Any) -> None:
    assert report(seen, decide(seen).evaluation, outcome) is None


def test_a_write_that_fails_is_reported_and_tried_again() -> None:
    seen = world()
    found = report(seen, decide(seen).evaluation, Forbidden(403, "Forbidden", "a policy denies it"))
    assert found is not None
    (progressing, _) = found.status.conditions
    assert (progressing.status, progressing.reason, progressing.message) == ("True", "Retrying", "a policy denies it")
    assert [(each.type, each.reason) for each in found.events] == [("Warning", "Retrying")]


def test_an_unexpected_error_shows_its_type_only() -> None:
    found = report(world(), None, RuntimeError("/secret/path"))
    assert found is not None
    assert found.status.conditions[0].message == "unexpected RuntimeError; see the log of catalogd"


def test_content_that_is_served_is_an_event_once() -> None:
    seen = world(existing=serving(None, UNPACKED))
    first = report(seen, *outcome_of(seen))
    assert first is not None
    assert [(each.type, each.reason, each.action) for each in first.events] == [("Normal", "Available", "Serving")]
    again = world(cluster_catalog(status=first.status.dump()), serving(None, UNPACKED))
    second = report(again, *outcome_of(again))
    assert second is not None
    assert (second.status, second.events) == (first.status, ()), "and nothing is written again"


def test_a_catalog_that_stays_is_an_event() -> None:
    orphaned = cluster_catalog(deleting=True, metadata={"finalizers": ["orphan", FINALIZER]}, conditions=[SUCCEEDED])
    seen = world(orphaned, serving(None, UNPACKED))
    evaluation, outcome = outcome_of(seen)
    assert isinstance(outcome.plan, ReleaseCatalog)
    found = report(seen, evaluation, outcome)
    assert found is not None
    assert found.status == seen.cluster_catalog.status
    assert [(each.type, each.reason, each.message) for each in found.events] == [
        ("Normal", "Released", 'Catalog "c" stays, and belongs to no ClusterCatalog')
    ]
