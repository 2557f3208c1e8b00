"""Whether a BundleDeployment applied an object."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.api.bundledeployments import OWNER_UID_LABEL
from olmkit.api.operators import INSTALLED_FOR_LABEL
from olmkit.api.ownership import has_applied, has_applied_since, is_applied_by, is_dependency, may_be_applied_by

OURS = {OWNER_UID_LABEL: "uid-1"}
OWNED: dict[str, Any] = {"f:metadata": {"f:labels": {f"f:{OWNER_UID_LABEL}": {}}}}
APPLY = {"manager": "rukpak:web", "operation": "Apply", "time": "2026-01-01T12:00:00Z", "fieldsV1": OWNED}
OF_A_USER = {"manager": "kubectl", "operation": "Apply"}
OF_A_LABEL = {**OF_A_USER, "operation": "Update", "fieldsV1": OWNED}


@pytest.mark.parametrize(
    ("labels", "entries", "is_ours"),
    [
        pytest.param(OURS, [APPLY], True, id="label and entry: applied"),
        pytest.param(OURS, [OF_A_USER, APPLY], True, id="others applied fields too: still applied"),
        pytest.param(OURS, [OF_A_USER], False, id="the label was copied"),
        pytest.param(OURS, None, False, id="the entries were removed"),
        pytest.param(OURS, [{}], False, id="an empty entry"),
        pytest.param(OURS, [{**APPLY, "operation": "Update"}], False, id="another kind of write under the same name"),
        pytest.param(OURS, [{**APPLY, "subresource": "status"}], False, id="an apply of the status alone"),
        pytest.param(OURS, [{**APPLY, "manager": "rukpak:web2"}], False, id="another BundleDeployment applied it"),
        pytest.param({OWNER_UID_LABEL: "uid-0"}, [APPLY], False, id="an earlier BundleDeployment of the same name"),
        pytest.param(None, [APPLY], False, id="it was released: the label is gone"),
        pytest.param(OURS, [{**APPLY, "time": "2026-01-02T12:00:00Z"}], True, id="it was applied again"),
        pytest.param(OURS, [{**APPLY, "time": "2026-01-01T11:59:59Z"}], True, id="the entry is made before the object"),
        pytest.param(
            OURS, [{**APPLY, "time": "2026-01-01T11:54:59Z"}], False, id="a copy with the entries of its original"
        ),
        pytest.param(OURS, [{**APPLY, "time": None}], False, id="an entry without a time"),
        pytest.param(
            OURS,
            [{**APPLY, "fieldsV1": {"f:spec": {"f:strategy": {}}}}],
            False,
            id="a copy with what its creator does not own of the entry of its original",
        ),
    ],
)
def test_an_object_is_applied_if_it_has_both_the_label_and_the_entry(
    labels: dict[str, str] | None, entries: list[dict[str, Any]] | None, is_ours: bool
) -> None:
    created = "2026-01-01T12:00:00Z"
    metadata = {"name": "one", "creationTimestamp": created, "labels": labels, "managedFields": entries}
    assert is_applied_by({"metadata": metadata}, "uid-1", "web") is is_ours


@pytest.mark.parametrize(
    ("entries", "is_guarded"),
    [
        pytest.param([APPLY], True, id="applied"),
        pytest.param([OF_A_LABEL, APPLY], True, id="others have applied the label too"),
        pytest.param(None, True, id="the entries were removed"),
        pytest.param([{}], True, id="an empty entry"),
        pytest.param([OF_A_USER], True, id="the entry was removed"),
        pytest.param(
            [OF_A_LABEL, {**OF_A_LABEL, "manager": "before-first-apply"}], True, id="applied after all were removed"
        ),
        pytest.param([{**APPLY, "time": "2025-01-01T12:00:00Z"}], True, id="restored with the entries of its original"),
        pytest.param([OF_A_LABEL], False, id="a copy: others have written the label"),
        pytest.param([{**APPLY, "fieldsV1": {"f:spec": {}}}, OF_A_LABEL], False, id="a copy with the entries left"),
    ],
)
def test_what_guards_an_object_needs_no_entry_that_can_be_removed(
    entries: list[dict[str, Any]] | None, is_guarded: bool
) -> None:
    metadata = {"creationTimestamp": "2026-01-01T12:00:00Z", "labels": OURS, "managedFields": entries}
    assert may_be_applied_by({"metadata": metadata}, "web", OWNER_UID_LABEL) is is_guarded


@pytest.mark.parametrize(
    ("changes", "is_made"),
    [
        pytest.param({}, True, id="applied"),
        pytest.param({"time": "2026-01-02T12:00:00Z"}, True, id="applied again"),
        pytest.param({"time": "2025-12-31T12:00:00Z"}, False, id="the entry of an original, patched into a copy"),
        pytest.param({"time": None}, False, id="no time"),
        pytest.param({"fieldsV1": {"f:metadata": {}}}, False, id="what the creator of a copy does not own"),
        pytest.param({"fieldsV1": None}, False, id="no fields"),
        pytest.param({"operation": "Update"}, False, id="another kind of write"),
        pytest.param({"subresource": "status"}, False, id="a status"),
    ],
)
def test_the_entry_of_an_original_proves_nothing_about_a_copy(changes: dict[str, Any], is_made: bool) -> None:
    entry = {**APPLY, "manager": "operator-controller", "fieldsV1": {"f:spec": {"f:template": {}}}, **changes}
    metadata = {
        "creationTimestamp": "2026-01-01T12:00:00Z",
        "labels": {INSTALLED_FOR_LABEL: ""},
        "managedFields": [entry],
    }
    assert has_applied({"metadata": metadata}, "operator-controller", "f:spec", "f:template") is is_made
    assert is_dependency({"metadata": metadata}) is is_made


@pytest.mark.parametrize(
    ("fields", "is_made"),
    [
        pytest.param({"f:excludedVersions": {'v:"1.0.0"': {}}}, True, id="versions alone are excluded"),
        pytest.param({".": {}, "f:excludedVersions": {}}, True, id="by an update"),
        pytest.param({"f:excludedVersions": {}, "f:channel": {}}, False, id="a channel is requested too"),
        pytest.param({}, False, id="no field is named"),
        pytest.param(None, False, id="the entry is forged"),
    ],
)
def test_who_excludes_versions_of_a_dependency_has_not_taken_it_over(fields: Any, is_made: bool) -> None:
    entries = [
        {**APPLY, "manager": "operator-controller", "fieldsV1": {"f:spec": {"f:packageName": {}}}},
        {**APPLY, "manager": "olm", "fieldsV1": {"f:spec": fields}},
    ]
    metadata = {
        "creationTimestamp": "2026-01-01T12:00:00Z",
        "labels": {INSTALLED_FOR_LABEL: ""},
        "managedFields": entries,
    }
    assert is_dependency({"metadata": metadata}) is is_made


@pytest.mark.parametrize(
    ("owner", "is_made"),
    [
        pytest.param({"kind": "ClusterExtension", "controller": True}, False, id="a ClusterExtension controls it"),
        pytest.param({"kind": "Team"}, True, id="an owner that controls nothing"),
    ],
)
def test_a_label_makes_no_dependency_of_what_others_control(owner: dict[str, Any], is_made: bool) -> None:
    metadata = {
        "creationTimestamp": "2026-01-01T12:00:00Z",
        "labels": {INSTALLED_FOR_LABEL: ""},
        "ownerReferences": [owner],
        "managedFields": [{**APPLY, "manager": "operator-controller", "fieldsV1": {"f:spec": {"f:packageName": {}}}}],
    }
    assert is_dependency({"metadata": metadata}) is is_made


@pytest.mark.parametrize(
    ("changes", "since", "is_own"),
    [
        pytest.param({}, "2026-01-01T11:59:59Z", True, id="it was applied when the BundleDeployment was there"),
        pytest.param({}, "2026-01-01T12:00:00Z", False, id="nobody knows what was first in that second"),
        pytest.param({"fieldsV1": {}}, "2026-01-01T11:00:00Z", True, id="the label was removed"),
        pytest.param({}, "2026-01-01T12:00:01Z", False, id="an earlier BundleDeployment of the name applied it"),
        pytest.param({"manager": "rukpak:web2"}, "2026-01-01T11:00:00Z", False, id="another one applied it"),
        pytest.param({"operation": "Update"}, "2026-01-01T11:00:00Z", False, id="another kind of write"),
        pytest.param({"time": "2026-01-01T11:50:00Z"}, "2026-01-01T11:00:00Z", False, id="the entry of an original"),
        pytest.param({}, "", False, id="nobody knows since when the BundleDeployment is there"),
    ],
)
def test_an_object_that_has_lost_its_label_was_applied_in_the_life_of_its_bundle_deployment(
    changes: dict[str, Any], since: str, is_own: bool
) -> None:
    obj = {"metadata": {"creationTimestamp": "2026-01-01T12:00:00Z", "managedFields": [{**APPLY, **changes}]}}
    assert has_applied_since(obj, "rukpak:web", since) is is_own
