"""What a BundleDeployment that is being deleted leaves in the cluster by its deletion policy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from olmkit.api.bundledeployments import BundleDeployment
from olmkit.errors import ApiError, Waiting
from rukpak.bundledeployment.cluster.namespace_info import NamespaceInfo
from rukpak.bundledeployment.deletion.retention import Retention
from rukpak.bundledeployment.evaluate import evaluate
from rukpak.bundledeployment.plan import DeleteObjects, Done, ListForeignObjects, Prune, ReadUsage, RemoveFinalizer
from rukpak.bundledeployment.world import ForeignObjects, LabeledObject, Usage, World
from tests.unit.rukpak.bundledeployment.worlds import (
    BOAT,
    DEFINITION,
    NS,
    ROLE,
    SECRET,
    WORKLOAD,
    ago,
    deleting,
    installed,
    member,
    namespace,
    plan_of,
    raw,
    report_of,
)

LEFT = (member(DEFINITION), member(SECRET), member(WORKLOAD), member(ROLE))
OWN, SHARED = namespace(), namespace("harbour", "uid-ship", "uid-boat")


def leaving(
    policy: str, *members: LabeledObject, namespaces: tuple[NamespaceInfo, ...] = (OWN,), **facts: Any
) -> World:
    """Being deleted with that policy; these objects are left."""
    obj = raw()
    obj["spec"]["deletionPolicy"] = policy
    seen = deleting(replace(installed(), raw=obj, deployment=BundleDeployment.load(obj)))
    known = {entry.name: entry for entry in namespaces}
    return replace(seen, labeled={entry.key: entry for entry in members}, namespaces=known, **facts)


def kept(seen: World) -> list[tuple[str, str]]:
    """The names of what is released or left next, and of the Namespaces that are deleted if they are not in use."""
    plan = plan_of(seen)
    assert isinstance(plan, Prune)
    assert not plan.delete + plan.delete_crds
    return [(entry.key.name, "release") for entry in plan.release] + [
        (removal.namespace.name, removal.retention.value) for removal in plan.namespaces
    ]


def test_keep_crds_deletes_the_other_objects_first() -> None:
    plan = plan_of(leaving("KeepCRDs", *LEFT))
    assert isinstance(plan, DeleteObjects)
    assert [entry.key for group in plan.groups for entry in group] == [WORKLOAD, ROLE, SECRET]


def test_keep_crds_deletes_custom_resources_of_the_bundle() -> None:
    plan = plan_of(leaving("KeepCRDs", member(DEFINITION), member(BOAT)))
    assert isinstance(plan, DeleteObjects)
    assert [entry.key for group in plan.groups for entry in group] == [BOAT]


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        pytest.param(
            leaving("KeepCRDs", member(DEFINITION)),
            [(DEFINITION.name, "release")],
            id="KeepCRDs: then CRDs are released",
        ),
        pytest.param(
            leaving("KeepCRDs", usage={OWN.uid: Usage.IN_USE}),
            [(NS.name, Retention.RELEASE)],
            id="KeepCRDs: a Namespace with objects of others stays",
        ),
        pytest.param(
            leaving("KeepCRDs", usage={OWN.uid: Usage.UNUSED}),
            [(NS.name, Retention.DELETE)],
            id="KeepCRDs: an empty Namespace is deleted",
        ),
        pytest.param(
            leaving("KeepCRDs", namespaces=(SHARED,)),
            [("harbour", Retention.LEAVE)],
            id="KeepCRDs: a shared Namespace is left",
        ),
        pytest.param(
            leaving("Orphan", *LEFT),
            [(key.name, "release") for key in sorted([DEFINITION, SECRET, WORKLOAD, ROLE])],
            id="Orphan: all objects are released",
        ),
        pytest.param(
            leaving("Orphan", member(WORKLOAD, deletion_timestamp=ago(minutes=1)), namespaces=(OWN, SHARED)),
            [("harbour", Retention.LEAVE), (NS.name, Retention.RELEASE)],
            id="Orphan: then Namespaces, whatever is in them",
        ),
    ],
)
def test_what_stays(seen: World, expected: list[tuple[str, str]]) -> None:
    assert kept(seen) == expected


@pytest.mark.parametrize("policy", ["KeepCRDs", "Orphan"])
def test_the_finalizer_is_removed_when_nothing_is_left_to_release(policy: str) -> None:
    assert plan_of(leaving(policy, namespaces=())) == RemoveFinalizer()


def test_a_namespace_whose_objects_cannot_be_listed_is_waited_for() -> None:
    seen = leaving("KeepCRDs", usage={OWN.uid: ApiError(0, "NoAnswer", "no answer")})
    with pytest.raises(Waiting, match="cannot be listed: Namespace ship-system"):
        plan_of(seen)


@pytest.mark.parametrize(
    ("policy", "members", "plan"),
    [
        pytest.param("KeepCRDs", (), ReadUsage, id="KeepCRDs reads whether its own Namespace is in use"),
        pytest.param("KeepCRDs", (member(DEFINITION),), Prune, id="not before its objects are gone"),
        pytest.param("Orphan", (), Prune, id="Orphan reads nothing"),
        pytest.param("Cascade", (), ListForeignObjects, id="Cascade lists what is deleted with the Namespace"),
    ],
)
def test_what_is_read_of_namespaces(policy: str, members: tuple[LabeledObject, ...], plan: type) -> None:
    found = plan_of(replace(leaving(policy, *members), usage={}))
    assert isinstance(found, plan)
    if isinstance(found, ReadUsage | ListForeignObjects):
        assert [entry.name for entry in found.namespaces] == [NS.name]


@pytest.mark.parametrize("policy", ["KeepCRDs", "Orphan"])
def test_nobody_is_warned_of_objects_that_stay(policy: str) -> None:
    seen = leaving(policy, foreign_objects={OWN.uid: ForeignObjects(("ConfigMap ship-system/log",), 1)})
    assert evaluate(seen).foreign_objects == ""


def test_what_stays_is_not_called_removed() -> None:
    seen = leaving("Orphan", *LEFT)
    status = report_of(seen, Done(plan_of(seen))).status
    ready = next(each for each in status.conditions if each.type == "Ready")
    assert (ready.status, ready.reason) == ("False", "Removing")
    assert ready.message.startswith("releasing ")
    assert {*ready.message.removeprefix("releasing ").split(", ")} == {str(entry.key) for entry in LEFT}
