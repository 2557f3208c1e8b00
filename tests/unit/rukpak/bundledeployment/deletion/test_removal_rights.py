"""The permissions that an account needs to remove what is installed."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import Any

import pytest

from olmkit.api.bundledeployments import ABANDON_ANNOTATION, BundleDeployment
from olmkit.errors import Waiting, api_error
from rukpak.bundledeployment.deletion.prune import prune
from rukpak.bundledeployment.deletion.removal_rights import (
    Lacking,
    check_prune,
    lacking,
    lacking_to_remove,
    listing_rights,
    right_of,
)
from rukpak.bundledeployment.plan import (
    CheckRemovalPermissions,
    DeleteObjects,
    Done,
    ListForeignObjects,
    Prune,
    RemoveFinalizer,
)
from rukpak.bundledeployment.rendered_bundle import RenderedBundle
from rukpak.bundledeployment.world import CRD, ForeignObjects, ListFailure, Usage, World
from rukpak.format.objects import ObjectKey
from rukpak.permissions.rules import Right
from tests.unit.rukpak.bundledeployment.worlds import (
    DEFINITION,
    NOW,
    ROLE,
    SECRET,
    WORKLOAD,
    crd,
    deleting,
    installed,
    instance,
    member,
    namespace,
    of_chart,
    plan_of,
    report_of,
)

PLURALS = {
    SECRET[:2]: "secrets",
    ROLE[:2]: "clusterroles",
    DEFINITION[:2]: "customresourcedefinitions",
    ("", "Namespace"): "namespaces",
    ("example.com", "Boat"): "boats",
}


def resource_of(group_kind: tuple[str, str]) -> str:
    return PLURALS.get(group_kind, "")


def as_account(policy: str = "Cascade", **facts: Any) -> World:
    """A BundleDeployment with an account is deleted; a Secret, a ClusterRole, a definition and a Namespace are left."""
    seen = deleting(annotations={ABANDON_ANNOTATION: "true"} if facts.pop("abandoned", False) else {})
    spec = {"serviceAccount": {"namespace": "team", "name": "installer"}, "deletionPolicy": policy}
    obj = {**seen.raw, "spec": {**seen.raw["spec"], **spec}}
    entries = [member(key) for key in (SECRET, ROLE, DEFINITION)]
    left = {"labeled": {entry.key: entry for entry in entries}, "namespaces": {"ship-system": namespace()}}
    return replace(seen, raw=obj, deployment=BundleDeployment.load(obj), **{**left, **facts})


def check_of(seen: World) -> CheckRemovalPermissions:
    plan = plan_of(seen)
    assert isinstance(plan, CheckRemovalPermissions)
    return plan


SPACE = "uid-ship-system"
UNLISTED: dict[str, Any] = {
    "custom_resources": None,
    "list_failure": ListFailure(crd(), api_error(HTTPStatus.FORBIDDEN, "Forbidden", "no")),
}


@pytest.mark.parametrize(
    ("seen", "rights"),
    [
        pytest.param(
            as_account(),
            {"secrets log delete", "clusterroles captain delete", "crds delete", "namespaces ship-system delete"},
            id="everything is deleted",
        ),
        pytest.param(
            as_account("Orphan"),
            {"secrets log patch", "clusterroles captain patch", "crds patch", "namespaces ship-system patch"},
            id="everything is kept",
        ),
        pytest.param(
            as_account("KeepCRDs", foreign_objects={SPACE: ForeignObjects()}),
            {"secrets log delete", "clusterroles captain delete", "crds patch", "namespaces ship-system delete"},
            id="definitions are kept, and a Namespace has objects of the bundle alone",
        ),
        pytest.param(
            as_account("KeepCRDs", foreign_objects={SPACE: ForeignObjects(("Secret a/b",), 1)}),
            {"secrets log delete", "clusterroles captain delete", "crds patch", "namespaces ship-system patch"},
            id="definitions are kept, and a Namespace with objects of others",
        ),
        pytest.param(
            of_chart(as_account("KeepCRDs", labeled={SECRET: member(SECRET, is_kept=True)})),
            {"secrets log patch", "namespaces ship-system patch"},
            id="a Namespace is kept with an object of a chart",
        ),
        pytest.param(
            as_account(labeled={}, namespaces={}, custom_resources=(instance(), instance("x", deletion_timestamp=NOW))),
            {"boats yacht delete"},
            id="a custom resource that is not being deleted",
        ),
        pytest.param(
            as_account(labeled={SECRET: member(SECRET, deletion_timestamp=NOW), ROLE: member(ROLE)}, namespaces={}),
            {"clusterroles captain delete"},
            id="what is being deleted needs nothing",
        ),
        pytest.param(
            as_account(labeled={ROLE: member(ROLE)}, namespaces={"a": namespace("a", created=False)}),
            {"clusterroles captain delete"},
            id="rukpak itself leaves Namespaces of others",
        ),
        pytest.param(
            as_account(labeled={DEFINITION: member(DEFINITION)}, namespaces={}, **UNLISTED),
            {"crds delete", "boats  delete", "boats  list"},
            id="custom resources cannot be listed",
        ),
        pytest.param(
            as_account(labeled={WORKLOAD: member(WORKLOAD), ROLE: member(ROLE)}, namespaces={}),
            {"clusterroles captain delete"},
            id="a kind that is not served",
        ),
    ],
)
def test_all_that_a_removal_needs_is_asked_for(seen: World, rights: set[str]) -> None:
    plan = check_of(seen)
    needed = {right_of(each, resource_of) for each in plan.removals} | listing_rights(plan.unlisted)
    found = {f"{each.resource} {each.name} {each.verb}" for each in needed if each is not None}
    short = f"customresourcedefinitions {DEFINITION.name}"
    assert {each.replace(short, "crds") for each in found} == rights


def test_the_deletion_begins_when_the_account_has_all_permissions() -> None:
    seen = as_account()
    assert isinstance(plan_of(replace(seen, permitted=frozenset({check_of(seen).identity}))), DeleteObjects)
    assert isinstance(plan_of(replace(seen, labeled={}, namespaces={})), RemoveFinalizer), "nothing is left to remove"


def test_custom_resources_that_can_be_listed_no_more_are_asked_about_once() -> None:
    seen = replace(as_account(**UNLISTED), permitted=frozenset({check_of(as_account()).identity}))
    again = replace(seen, permitted=frozenset({check_of(seen).identity}))
    with pytest.raises(Waiting, match="does not list"):
        plan_of(again)


def test_all_that_is_missing_is_in_the_status_and_custom_resources_have_no_names() -> None:
    seen = as_account(custom_resources=(instance(),))
    plan = check_of(seen)
    missing = frozenset(
        {
            Right("ship-system", "", "secrets", "log", "delete"),
            Right("harbour", "example.com", "boats", "yacht", "delete"),
        }
    )
    found = lacking(plan, missing, resource_of)
    assert found.names == ["custom resources of Boat.example.com", "Secret ship-system/log"]
    error = lacking_to_remove(seen, found)
    assert (
        error.message.startswith(
            "ServiceAccount team/installer lacks permissions to remove what is installed, so that the deletion waits: "
            "delete secrets log in namespace ship-system; delete boats.example.com in namespace harbour; "
        )
        or "delete boats.example.com in namespace harbour" in error.message
    )
    assert f"kubectl annotate bundledeployment ship {ABANDON_ANNOTATION}=true" in error.message
    written = report_of(seen, error).status
    assert written.missing_permissions is not None
    assert [each.resource_names for each in written.missing_permissions.rules] == [None, ["log"]]
    ready = next(each for each in written.conditions if each.type == "Ready")
    assert (ready.status, ready.reason, ready.message) == ("False", "Removing", error.message)


def test_what_is_left_behind_is_in_an_event() -> None:
    seen = as_account(abandoned=True)
    found = Lacking(tuple(each for each in check_of(seen).removals if each.key == SECRET), frozenset())
    events = report_of(seen, Done(check_of(seen), left=tuple(found.names))).events
    text = (
        "the deletion continues without what ServiceAccount team/installer may not remove: Secret ship-system/log; "
        "nothing manages what stays of it"
    )
    assert [(each.type, each.reason, each.message) for each in events] == [("Warning", "LeftBehind", text)]
    left = replace(seen, permitted=frozenset({check_of(seen).identity}), undeletable=frozenset({f"uid-{SECRET.name}"}))
    plan = plan_of(left)
    assert isinstance(plan, DeleteObjects)
    assert [[entry.key for entry in group] for group in plan.groups] == [[ROLE]]


def test_what_may_not_be_released_is_left_as_it_is() -> None:
    seen = as_account("Orphan", abandoned=True, namespaces={})
    uids = frozenset(entry.uid for entry in seen.owned.values())
    assert isinstance(
        plan_of(replace(seen, permitted=frozenset({check_of(seen).identity}), undeletable=uids)), RemoveFinalizer
    )


def test_objects_of_others_are_listed_before_it_is_asked_what_becomes_of_their_namespace() -> None:
    plan = plan_of(as_account("KeepCRDs"))
    assert isinstance(plan, ListForeignObjects)
    assert [each.name for each in plan.namespaces] == ["ship-system"]


@pytest.mark.parametrize("policy", ["KeepCRDs", "Orphan"])
def test_a_namespace_that_may_not_be_removed_is_left_as_it_is(policy: str) -> None:
    seen = as_account(policy, abandoned=True, labeled={}, foreign_objects={SPACE: ForeignObjects()})
    seen = replace(seen, permitted=frozenset({check_of(seen).identity}), undeletable=frozenset({SPACE}))
    assert isinstance(plan_of(seen), RemoveFinalizer)


OLD = ObjectKey("", "ConfigMap", "ship-system", "old")
OLD_CRD = ObjectKey(*CRD, "", "cups.example.com")


def obsolete(key: ObjectKey, usage: Usage = Usage.UNUSED, *, is_kept: bool = False) -> World:
    """An object is no longer in the bundle of an account."""
    seen = installed()
    spec = {**seen.raw["spec"], "serviceAccount": {"namespace": "team", "name": "installer"}}
    obj = {**seen.raw, "spec": spec}
    seen = replace(seen, raw=obj, deployment=BundleDeployment.load(obj), inventory=seen.inventory | {key[:2]})
    seen = of_chart(seen) if is_kept else seen
    labeled = {**seen.labeled, key: member(key, is_kept=is_kept)}
    return replace(seen, labeled=labeled, usage={f"uid-{key.name}": usage})


@pytest.mark.parametrize(
    ("seen", "rights"),
    [
        pytest.param(obsolete(OLD), ["ConfigMap old delete"], id="an object"),
        pytest.param(obsolete(OLD, is_kept=True), ["ConfigMap old patch"], id="an object of a chart that is kept"),
        pytest.param(obsolete(OLD_CRD), [f"{CRD[1]} {OLD_CRD.name} delete"], id="a CRD"),
        pytest.param(obsolete(OLD_CRD, Usage.IN_USE), [f"{CRD[1]} {OLD_CRD.name} patch"], id="a CRD in use"),
    ],
)
def test_a_prune_is_asked_about_first_and_goes_on_when_it_is_permitted(seen: World, rights: list[str]) -> None:
    plan = next_of(seen)
    assert isinstance(plan, CheckRemovalPermissions)
    assert [f"{each.key.kind} {each.key.name} {each.verb}" for each in plan.removals] == rights
    assert isinstance(next_of(replace(seen, permitted=frozenset({plan.identity}))), Prune)
    seen = replace(seen, permitted=frozenset({plan.identity.replace("installer", "another")}))
    assert isinstance(next_of(seen), CheckRemovalPermissions)


def next_of(seen: World) -> object:
    """The next removal of what is no longer in the bundle, or the check before it."""
    assert isinstance(seen.content, RenderedBundle)
    return check_prune(seen, prune(seen, seen.content))


def test_permissions_for_a_prune_that_are_missing_are_in_the_status_and_what_is_installed_stays() -> None:
    seen = obsolete(OLD)
    right = frozenset({Right("ship-system", "", "configmaps", "old", "delete")})
    error = lacking_to_remove(seen, Lacking(check_of(seen).removals, right))
    written = report_of(seen, error).status
    assert written.missing_permissions is not None
    shown = {each.type: (each.status, each.reason, each.message) for each in written.conditions}
    text = (
        "ServiceAccount team/installer lacks permissions to remove what is no longer in the bundle: "
        "delete configmaps old in namespace ship-system; status.missingPermissions has the rules; "
        "it is checked again when a role or a binding changes, and at least every 60 seconds"
    )
    assert shown["Ready"] == ("False", "Blocked", text)
    assert shown["Stalled"] == ("True", "Blocked", text)
    assert shown["Installed"][0] == "True"
