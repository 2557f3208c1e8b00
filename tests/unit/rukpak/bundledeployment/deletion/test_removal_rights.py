"""The permissions that an account needs to remove what is installed."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import Any

import pytest

from olmkit.api.bundledeployments import ABANDON_ANNOTATION, BundleDeployment
from olmkit.errors import Waiting, api_error
from rukpak.bundledeployment.deletion.removal_rights import (
    Lacking,
    lacking,
    lacking_to_remove,
    listing_rights,
    right_of,
)
from rukpak.bundledeployment.plan import CheckRemovalPermissions, DeleteObjects, Done, RemoveFinalizer
from rukpak.bundledeployment.world import ListFailure, World
from rukpak.permissions.rules import Right
from tests.unit.rukpak.bundledeployment.worlds import (
    DEFINITION,
    NOW,
    ROLE,
    SECRET,
    WORKLOAD,
    crd,
    deleting,
    instance,
    member,
    namespace,
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
            as_account("KeepCRDs"),
            {"secrets log delete", "clusterroles captain delete", "crds patch"},
            id="definitions are kept, and what becomes of Namespaces is not known",
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
    assert isinstance(plan_of(replace(seen, permitted=check_of(seen).identity)), DeleteObjects)
    assert isinstance(plan_of(replace(seen, labeled={}, namespaces={})), RemoveFinalizer), "nothing is left to remove"


def test_custom_resources_that_can_be_listed_no_more_are_asked_about_once() -> None:
    seen = replace(as_account(**UNLISTED), permitted=check_of(as_account()).identity)
    again = replace(seen, permitted=check_of(seen).identity)
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
    left = replace(seen, permitted=check_of(seen).identity, undeletable=frozenset({f"uid-{SECRET.name}"}))
    plan = plan_of(left)
    assert isinstance(plan, DeleteObjects)
    assert [[entry.key for entry in group] for group in plan.groups] == [[ROLE]]


def test_what_may_not_be_released_is_left_as_it_is() -> None:
    seen = as_account("Orphan", abandoned=True, namespaces={})
    uids = frozenset(entry.uid for entry in seen.owned.values())
    assert isinstance(plan_of(replace(seen, permitted=check_of(seen).identity, undeletable=uids)), RemoveFinalizer)
