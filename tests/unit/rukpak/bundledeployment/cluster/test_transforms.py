"""What is kept of the objects that informers show."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from olmkit.api.customresourcedefinitions import definition_of
from olmkit.sources.resolved_source import content_digest
from rukpak.bundledeployment.cluster import transforms

Object = dict[str, Any]
COMMIT: Object = {"type": "git", "git": {"repository": "https://git.example/r", "commit": "c" * 40}}


def entry(manager: str, fields: Object, operation: str = "Apply", **other: str) -> Object:
    label: Object = {"f:metadata": {"f:labels": {"f:core.rukpak.io/owner-uid": {}}}}
    return {"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsV1": label | fields, **other}


def obj(kind: str = "Deployment", api_version: str = "apps/v1", **other: Any) -> Object:
    metadata = {
        "name": "engine",
        "namespace": "n",
        "uid": "u",
        "resourceVersion": "9",
        "labels": {"core.rukpak.io/owner-uid": "owner", "app": "x"},
        "annotations": {"long": "x" * 100},
        **other.pop("metadata", {}),
    }
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **other}


def test_a_member_is_what_it_is_and_who_applied_it() -> None:
    kept = transforms.labeled_object(
        obj(
            metadata={
                "deletionTimestamp": "2026-01-01T11:00:00Z",
                "finalizers": ["a/b"],
                "managedFields": [entry("rukpak:ship", {"f:spec": {}})],
            }
        )
    )
    assert kept["metadata"] == {
        "name": "engine",
        "namespace": "n",
        "uid": "u",
        "resourceVersion": "9",
        "labels": {"core.rukpak.io/owner-uid": "owner"},
    }
    member = kept["labeled"]
    assert str(member.key) == "Deployment.apps n/engine"
    assert (member.deletion_timestamp, member.finalizers) == (datetime(2026, 1, 1, 11, tzinfo=UTC), ("a/b",))
    assert member.applied_fields.keys() == {"rukpak:ship"}
    assert not member.is_scaled_by_others
    assert list(transforms.owner_uid_index(kept)) == ["owner"]


@pytest.mark.parametrize(
    ("one", "two", "is_same"),
    [
        pytest.param(
            entry("rukpak:a", {"f:x": {}, "f:y": {}}),
            entry("rukpak:a", {"f:y": {}, "f:x": {}}),
            True,
            id="the order of fields is no news",
        ),
        pytest.param(
            entry("rukpak:a", {"f:x": {}}, time="2026-01-01T12:00:00Z"),
            entry("rukpak:a", {"f:x": {}}, time="2026-01-01T12:00:01Z"),
            False,
            id="another apply that changed something is, also if it set the same fields",
        ),
        pytest.param(
            entry("rukpak:a", {"f:x": {}, "f:y": {}}),
            entry("rukpak:a", {"f:x": {}}),
            False,
            id="a field that somebody took is",
        ),
    ],
)
def test_the_hash_of_our_fields_tells_drift(one: Object, two: Object, is_same: bool) -> None:
    first, second = (transforms.applied_fields(obj(metadata={"managedFields": [each]})) for each in (one, two))
    assert (first == second) is is_same


@pytest.mark.parametrize(
    "foreign",
    [
        pytest.param(entry("kubectl", {}), id="another manager"),
        pytest.param(entry("rukpak:a", {}, operation="Update"), id="an update"),
        pytest.param(entry("rukpak:a", {}, subresource="status"), id="a status"),
    ],
)
def test_what_others_wrote_is_not_ours(foreign: Object) -> None:
    assert transforms.applied_fields(obj(metadata={"managedFields": [foreign]})) == {}


@pytest.mark.parametrize(
    ("manager", "fields", "replicas", "is_scaled"),
    [
        pytest.param("kube-controller-manager", {"f:spec": {"f:replicas": {}}}, 3, True, id="an autoscaler"),
        pytest.param("kubectl", {"f:spec": {"f:paused": {}}}, 1, False, id="somebody who changed something else"),
        pytest.param(
            "kubectl",
            {"f:spec": {"f:paused": {}}},
            0,
            True,
            id="somebody who scaled to 0, as the API server records it",
        ),
        pytest.param("rukpak:ship", {"f:spec": {"f:replicas": {}}}, 0, False, id="we ourselves"),
    ],
)
def test_who_owns_the_replicas(manager: str, fields: Object, replicas: int, is_scaled: bool) -> None:
    owned = entry(manager, fields, operation="Update", subresource="scale")
    kept = transforms.labeled_object(obj(metadata={"managedFields": [owned]}, spec={"replicas": replicas}))
    assert kept["labeled"].is_scaled_by_others is is_scaled


@pytest.mark.parametrize(
    ("managed", "expected"),
    [
        pytest.param([], "", id="nobody"),
        pytest.param([entry("rukpak:a", {}, time="9")], "", id="we ourselves"),
        pytest.param(
            [entry("kubectl-edit", {}, time="2"), entry("kubectl-patch", {}, time="1")],
            "kubectl-edit",
            id="the last one",
        ),
        pytest.param(
            [entry("kube-controller-manager", {}, subresource="status", time="3")], "", id="who writes its status"
        ),
    ],
)
def test_who_changed_it_last(managed: list[Object], expected: str) -> None:
    assert transforms.labeled_object(obj(metadata={"managedFields": managed}))["labeled"].last_changed_by == expected


def test_kinds_that_have_a_rule_have_health() -> None:
    budget = transforms.labeled_object(
        obj("PodDisruptionBudget", "policy/v1", status={"currentHealthy": 0, "desiredHealthy": 1})
    )
    assert budget["labeled"].health.status == "Unknown"
    assert transforms.labeled_object(obj("Secret", "v1"))["labeled"].health is None


def test_a_crd_is_one_of_the_objects_and_what_it_defines() -> None:
    kept = transforms.crd(
        obj(
            "CustomResourceDefinition",
            "apiextensions.k8s.io/v1",
            metadata={"name": "boats.example.com", "namespace": None},
            spec={"group": "example.com", "names": {"kind": "Boat", "plural": "boats"}},
        )
    )
    assert str(kept["labeled"].key) == "CustomResourceDefinition.apiextensions.k8s.io boats.example.com"
    assert list(transforms.owner_uid_index(kept)) == ["owner"]
    definition = definition_of(kept)
    assert definition is not None
    assert (definition.name, definition.group_kind) == ("boats.example.com", ("example.com", "Boat"))


def test_a_namespace_is_its_labels_and_members() -> None:
    labels = {"member.core.rukpak.io/one": "true", "member.core.rukpak.io/two": "true", "team": "red"}
    facts = transforms.namespace(obj("Namespace", "v1", metadata={"labels": labels}))["namespace"]
    assert facts.members == {"one", "two"}
    assert facts.labels == labels
    assert facts.deletion_timestamp is None


@pytest.mark.parametrize(
    ("spec", "status", "remote"),
    [
        pytest.param({"group": "apps"}, {}, None, id="the API server's own"),
        pytest.param({"group": "g", "service": {"name": "s"}}, {}, ("g", False), id="another server, not seen yet"),
        pytest.param(
            {"group": "g", "service": {"name": "s"}},
            {"conditions": [{"type": "Available", "status": "True"}]},
            ("g", True),
            id="another server that answers",
        ),
    ],
)
def test_an_api_service_is_who_answers(spec: Object, status: Object, remote: Any) -> None:
    kept = transforms.api_service(obj("APIService", "apiregistration.k8s.io/v1", spec=spec, status=status))
    assert kept["remote"] == remote


@pytest.mark.parametrize(
    ("resolved", "image", "other"),
    [
        pytest.param({"type": "image", "image": {"ref": "r/a@sha256:1"}}, "r/a@sha256:1", {}, id="an image"),
        pytest.param(COMMIT, "", COMMIT, id="a commit"),
        pytest.param(None, "", {}, id="nothing yet"),
    ],
)
def test_a_bundle_is_what_its_content_was_read_from(resolved: Any, image: str, other: Object) -> None:
    source = {"type": "image", "image": {"ref": "r/a:v1"}}
    spec = {"provisionerClassName": "core-rukpak-io-plain", "source": source}
    status = {"resolvedSource": resolved} if resolved else {}
    info = transforms.bundle_info({"metadata": {"name": "a", "uid": "u"}, "spec": spec, "status": status})
    assert (info.image, info.resolved_source) == (image, other)
    assert info.digest == content_digest(resolved or {})
