"""What status.failed has: the objects because of which Healthy is False."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from olmkit.api.bundledeployment_status import MAX_REFERENCES
from olmkit.api.conditions import format_timestamp
from olmkit.api.deployed_objects import MAX_FAILED_OBJECTS, FailedObject, FailedObjects
from olmkit.errors import Waiting
from rukpak.bundledeployment.health.health_result import Health
from rukpak.bundledeployment.plan import Activate, Done, Keep, RollBack
from rukpak.bundledeployment.rendered_bundle import MissingContent, RenderedBundle
from rukpak.bundledeployment.world import LastApplied, World
from rukpak.format.objects import ObjectKey
from tests.unit.rukpak.bundledeployment.worlds import (
    ENTRY,
    MANAGER,
    SECRET,
    WORKLOAD,
    ago,
    crd,
    deleting,
    installed,
    long_installed,
    member,
    report_of,
    unwell,
)

CRASHES = Health("False", "crashes")
ROLLOUT = Health("Unknown", "0 of 1 run", timedelta(minutes=10))
ENGINE = FailedObject(group="apps", kind="Deployment", namespace="ship-system", name="engine")
LATE = ENGINE.model_copy(update={"late": True})


def failed(seen: World) -> FailedObjects | None:
    return report_of(seen, Done(Keep())).status.failed


def reported(seen: World, **healthy: str) -> World:
    """The same cluster with what was reported of it; `healthy` is said of its condition Healthy."""
    status = report_of(long_installed(seen), Done(Keep())).status
    conditions = [one.model_copy(update=healthy) if one.type == "Healthy" else one for one in status.conditions]
    status = status.model_copy(update={"conditions": conditions})
    return replace(seen, deployment=seen.deployment.model_copy(update={"status": status}))


def with_objects(seen: World, count: int, health: Health) -> World:
    """It has that many Deployments more."""
    keys = [ObjectKey("apps", "Deployment", "n", f"d{number:04}") for number in range(count)]
    return replace(seen, labeled={**seen.labeled, **{key: member(key, health=health) for key in keys}})


CONTESTED = replace(
    installed(),
    labeled={**installed().labeled, SECRET: member(SECRET, applied_fields={MANAGER: "else"})},
    last_applied={**installed().last_applied, SECRET: LastApplied("v1", ENTRY, installed().now, quick_reverts=3)},
)
ABSENT = replace(installed(), labeled={key: entry for key, entry in installed().labeled.items() if key != SECRET})
LONG_AGO = {"last_transition_time": format_timestamp(ago(minutes=10))}


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        pytest.param(installed(), None, id="nothing, while all are healthy"),
        pytest.param(unwell(ROLLOUT), None, id="nothing, while one is in progress"),
        pytest.param(unwell(CRASHES), [ENGINE], id="an object whose status says that it failed"),
        pytest.param(unwell(CRASHES, CONTESTED), [ENGINE], id="none that others change repeatedly"),
        pytest.param(CONTESTED, None, id="nothing, if others change objects repeatedly"),
        pytest.param(reported(unwell(ROLLOUT), **LONG_AGO), [LATE], id="an object that missed its deadline"),
        pytest.param(
            reported(ABSENT, **LONG_AGO),
            [FailedObject(group="", kind="Secret", namespace="ship-system", name="log", absent=True, late=True)],
            id="an object that was not created again in time",
        ),
        pytest.param(
            replace(unwell(CRASHES), unsynced=frozenset({WORKLOAD[:2]})),
            [ENGINE],
            id="an object that is known to have failed, while others are not known: Healthy is Unknown",
        ),
    ],
)
def test_what_it_has(seen: World, expected: list[FailedObject] | None) -> None:
    assert failed(seen) == (FailedObjects(objects=expected) if expected else None)
    assert report_of(reported(seen), Done(Keep())).status.failed == failed(seen), "a pass that changes nothing"


def unlisted(seen: World) -> World:
    """The kind of the workload cannot be listed any more."""
    labeled = {key: entry for key, entry in seen.labeled.items() if key != WORKLOAD}
    return replace(seen, labeled=labeled, unsynced=frozenset({WORKLOAD[:2]}))


LOST = reported(ABSENT, **LONG_AGO)


@pytest.mark.parametrize(
    ("seen", "unknown", "later", "expected"),
    [
        pytest.param(
            unwell(CRASHES), unlisted(unwell(CRASHES)), unwell(ROLLOUT), [ENGINE], id="its kind is not listed"
        ),
        pytest.param(unwell(CRASHES), unlisted(unwell(CRASHES)), installed(), None, id="it has recovered meanwhile"),
        pytest.param(
            LOST,
            replace(LOST, content=MissingContent()),
            ABSENT,
            [FailedObject(group="", kind="Secret", namespace="ship-system", name="log", absent=True, late=True)],
            id="it does not exist, and the content of the bundle is unavailable",
        ),
    ],
)
def test_an_object_that_is_not_known_for_a_while_has_no_second_deadline(
    seen: World, unknown: World, later: World, expected: list[FailedObject] | None
) -> None:
    before = failed(seen)
    assert before is not None
    away = replace(unknown, deployment=reported(seen, **LONG_AGO).deployment)
    status = report_of(away, Waiting("Retrying", "it cannot be read", timedelta(minutes=1))).status
    assert status.failed == before
    assert [one.status for one in status.conditions if one.type == "Healthy"] == ["Unknown"]
    back = replace(later, deployment=away.deployment.model_copy(update={"status": status}))
    assert failed(back) == (FailedObjects(objects=expected) if expected else None)


def test_the_next_revision_has_all_deadlines_again() -> None:
    seen = unlisted(unwell(CRASHES))
    away = replace(seen, deployment=reported(unwell(CRASHES)).deployment)
    for plan in (Activate(), RollBack()):
        assert report_of(away, Done(plan)).status.failed is None


def test_it_names_the_first_ones_and_any_other_object_may_have_failed() -> None:
    seen = with_objects(unwell(ROLLOUT), MAX_FAILED_OBJECTS, CRASHES)
    known = failed(seen)
    assert known is not None
    assert (len(known.objects), known.truncated) == (MAX_FAILED_OBJECTS, None)
    seen = with_objects(unwell(ROLLOUT), 1000, CRASHES)
    known = failed(seen)
    assert known is not None
    assert ([one.name for one in known.objects], known.truncated) == (
        [f"d{number:04}" for number in range(MAX_FAILED_OBJECTS)],
        True,
    )
    assert len(known.model_dump_json()) < 4096
    again = failed(reported(seen))
    assert again is not None
    assert again.objects == known.objects
    healed = replace(reported(seen), labeled=unwell(ROLLOUT).labeled)
    assert failed(healed) == FailedObjects(objects=[ENGINE]), "it may be one of those that were not named"


def test_it_stays_with_the_condition_while_it_is_deleted() -> None:
    seen = reported(unwell(CRASHES))
    gone = seen.deployment.metadata.model_copy(update={"deletion_timestamp": "2026-01-01T11:00:00Z"})
    seen = replace(deleting(seen), deployment=seen.deployment.model_copy(update={"metadata": gone}))
    assert failed(seen) == FailedObjects(objects=[ENGINE])


def test_the_status_names_as_many_objects_as_can_be_stored_and_says_if_there_are_more() -> None:
    keys = [ObjectKey("a.x", "Boat", "n", f"b{number:04}") for number in range(MAX_REFERENCES + 1)]
    crds = [crd(f"c{number:04}.x", owner_uid="", released_by="ship") for number in range(MAX_REFERENCES + 1)]
    seen = installed()
    assert isinstance(seen.content, RenderedBundle)
    for count, more in ((MAX_REFERENCES, None), (MAX_REFERENCES + 1, True)):
        content = replace(seen.content, left_out=tuple(keys[:count]))
        released = {each.name: each for each in crds[:count]}
        status = report_of(replace(seen, content=content, crds=released), Done(Keep())).status
        assert (len(status.left_out or ()), status.left_out_truncated) == (MAX_REFERENCES, more)
        assert (len(status.released or ()), status.released_truncated) == (MAX_REFERENCES, more)
