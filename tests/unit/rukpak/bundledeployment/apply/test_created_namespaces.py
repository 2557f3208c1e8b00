"""Which Namespaces rukpak created, and when another BundleDeployment has to record it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from olmkit.api.bundledeployment_status import KEEP_ANNOTATION, CreatedNamespace
from rukpak.bundledeployment.apply.created_namespaces import observed, reported
from rukpak.bundledeployment.cluster.namespace_info import NamespaceInfo, member_label
from rukpak.bundledeployment.deletion.retention import Tenancy, tenancy
from rukpak.bundledeployment.plan import Done, Keep, Plan, RecordNamespaces
from rukpak.bundledeployment.world import World
from tests.unit.rukpak.bundledeployment.worlds import (
    ENTRY,
    MANAGER,
    NAME,
    NS,
    SECRET,
    UID,
    installed,
    namespace,
    recorded,
    rendered,
    unpacked,
)

OTHER, OTHER_UID, OTHER_MANAGER = "other", "uid-other", "rukpak:other"
LIVE_UID = f"uid-{NS.name}"
SAME, NAME_ALONE, EARLIER = (
    {"name": NS.name, "uid": LIVE_UID},
    {"name": NS.name},
    {"name": NS.name, "uid": "uid-earlier"},
)


def deployment(entry: Mapping[str, str] | None, name: str = NAME, uid: str = UID) -> dict[str, Any]:
    """A BundleDeployment with this entry in its record."""
    status = {"createdNamespaces": [entry]} if entry else {}
    return {"metadata": {"name": name, "uid": uid}, "status": status}


def live(
    *uids: str, managers: tuple[str, ...] = (MANAGER,), annotations: Mapping[str, str] | None = None
) -> NamespaceInfo:
    """A Namespace with the labels of these BundleDeployments, applied by these managers."""
    labels = {member_label(uid): "true" for uid in uids}
    fields = dict.fromkeys(managers, ENTRY)
    return NamespaceInfo(NS.name, LIVE_UID, "4", labels=labels, applied_fields=fields, annotations=annotations or {})


@pytest.mark.parametrize(
    ("seen", "entry", "is_member", "is_created"),
    [
        pytest.param(live(UID), SAME, True, True, id="it was created, and recorded"),
        pytest.param(live(UID), None, True, False, id="nothing is recorded: it was joined, whatever its labels say"),
        pytest.param(live(UID), EARLIER, True, False, id="another one of its name was created"),
        pytest.param(live(UID), NAME_ALONE, True, True, id="the process was killed before it recorded the uid"),
        pytest.param(live(UID, managers=()), NAME_ALONE, False, False, id="somebody else created it, with our label"),
        pytest.param(live(), NAME_ALONE, False, False, id="somebody else created it"),
        pytest.param(live(UID, managers=(OTHER_MANAGER,)), SAME, False, True, id="our entry was removed"),
    ],
)
def test_what_the_record_says(
    seen: NamespaceInfo, entry: dict[str, str] | None, is_member: bool, is_created: bool
) -> None:
    found = observed(seen, deployment(entry), ())
    assert (found.is_member, found.is_created) == (is_member, is_created)


BOTH = (MANAGER, OTHER_MANAGER)


@pytest.mark.parametrize(
    ("seen", "ours", "theirs", "expected"),
    [
        pytest.param(live(UID), SAME, None, Tenancy.OWN, id="it has no other member"),
        pytest.param(live(UID), None, None, Tenancy.SHARED, id="rukpak did not create it"),
        pytest.param(
            live(UID, annotations={KEEP_ANNOTATION: "true"}), SAME, None, Tenancy.SHARED, id="somebody keeps it"
        ),
        pytest.param(
            live(UID, OTHER_UID, managers=BOTH), SAME, None, Tenancy.UNSETTLED, id="the other one has no record"
        ),
        pytest.param(live(UID, OTHER_UID, managers=BOTH), SAME, SAME, Tenancy.SHARED, id="both have recorded it"),
        pytest.param(
            live(UID, OTHER_UID, managers=BOTH), None, SAME, Tenancy.SHARED, id="the other one has recorded it"
        ),
        pytest.param(
            live(UID, OTHER_UID, managers=BOTH),
            None,
            NAME_ALONE,
            Tenancy.SHARED,
            id="the other one has just created it",
        ),
        pytest.param(live(UID), SAME, SAME, Tenancy.UNSETTLED, id="the label of the other one is gone"),
        pytest.param(live(UID), SAME, EARLIER, Tenancy.UNSETTLED, id="the other one is to drop an old record"),
    ],
)
def test_whose_a_namespace_is(
    seen: NamespaceInfo, ours: dict[str, str] | None, theirs: dict[str, str] | None, expected: Tenancy
) -> None:
    is_known = OTHER_UID in seen.members or theirs is not None
    others = [deployment(theirs, OTHER, OTHER_UID)] if is_known else []
    assert tenancy(observed(seen, deployment(ours), others)) is expected


def test_a_bundle_deployment_that_does_not_exist_keeps_the_namespace_and_is_not_waited_for() -> None:
    assert tenancy(observed(live(UID, "uid-gone"), deployment(SAME), ())) is Tenancy.SHARED


@pytest.mark.parametrize(
    ("seen", "theirs", "expected"),
    [
        pytest.param(live(UID), None, Tenancy.SHARED, id="the last member does not take it along"),
        pytest.param(
            live(UID, OTHER_UID, managers=BOTH),
            None,
            Tenancy.UNSETTLED,
            id="another member records it before, as always",
        ),
        pytest.param(live(UID, OTHER_UID, managers=BOTH), SAME, Tenancy.SHARED, id="another member has recorded it"),
    ],
)
def test_a_created_namespace_that_is_required_belongs_to_somebody_else(
    seen: NamespaceInfo, theirs: dict[str, str] | None, expected: Tenancy
) -> None:
    others = [deployment(theirs, OTHER, OTHER_UID)] if OTHER_UID in seen.members else []
    found = observed(seen, deployment(SAME), others)
    assert tenancy(replace(found, is_required=True)) is expected


WANTED = unpacked()
JOINED = replace(installed(), namespaces={NS.name: namespace(created=False)})
LEFT = replace(installed(), namespaces={NS.name: namespace(is_member=False)})
NOT_OURS = replace(LEFT, content=rendered(SECRET, required_namespaces=frozenset({NS.name})))
NAMED, RECORDED = CreatedNamespace(name=NS.name), CreatedNamespace(name=NS.name, uid=LIVE_UID)


@pytest.mark.parametrize(
    ("seen", "plan", "expected"),
    [
        pytest.param(WANTED, Keep(), None, id="nothing is applied next"),
        pytest.param(WANTED, RecordNamespaces(), [NAMED], id="it is created next"),
        pytest.param(recorded(WANTED), Keep(), [NAMED], id="it is not there yet"),
        pytest.param(recorded(WANTED, uid="uid-earlier"), Keep(), None, id="it was deleted"),
        pytest.param(recorded(WANTED, uid="uid-earlier"), RecordNamespaces(), [NAMED], id="it is created again"),
        pytest.param(recorded(installed()), Keep(), [RECORDED], id="it was created"),
        pytest.param(recorded(JOINED), Keep(), None, id="another one created it"),
        pytest.param(recorded(NOT_OURS, uid=LIVE_UID), Keep(), None, id="it was created, and now it has to exist"),
        pytest.param(recorded(LEFT), RecordNamespaces(), None, id="another one created it, and it is joined next"),
        pytest.param(recorded(LEFT, uid=LIVE_UID), Keep(), [RECORDED], id="somebody removed our label"),
    ],
)
def test_what_is_recorded(seen: World, plan: Plan, expected: list[CreatedNamespace] | None) -> None:
    assert reported(seen, Done(plan)) == expected
