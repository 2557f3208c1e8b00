"""What OLM v1 leaves on an object is taken from it in one patch, and given back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from olmctl.migration.v1.objects import MARK, MARKS, Installation, OlmV1, installation_of
from olmkit.api.bundledeployment_status import KEEP_TEMPLATE_ANNOTATION
from tests.olm_v1 import DEPLOYMENTS, MANAGER, ROLES, Object, controller, extension, installed, release

LAMP = extension()
INSTALLATION = installation_of(LAMP)
LABEL: Object = {"f:metadata": {"f:labels": {"f:olm.operatorframework.io/owner-kind": {}}}}
HELM = {"meta.helm.sh/release-name": "lamp", "meta.helm.sh/release-namespace": "lamps"}


def live(obj: Object) -> Object:
    """The object as the API server has it."""
    fields: Object = {"f:spec": {"f:replicas": {}, "f:strategy": {}, "f:template": {"f:spec": {}}}}
    entry = {"manager": MANAGER, "operation": "Update", "time": "2026-01-01T00:00:00Z", "fieldsV1": fields}
    return {**obj, "metadata": {"uid": "1", "resourceVersion": "7", "managedFields": [entry], **obj["metadata"]}}


def applied(obj: Object, patch: Object | None) -> Object:
    """The object after a merge patch of its metadata."""
    metadata = {**obj["metadata"]}
    for name, value in (patch or {}).get("metadata", {}).items():
        merged = {**metadata.get(name, {}), **value} if isinstance(value, dict) else value
        metadata[name] = {k: v for k, v in merged.items() if v is not None} if isinstance(merged, dict) else merged
    return {**obj, "metadata": metadata}


@pytest.mark.parametrize(
    ("metadata", "is_owned"),
    [
        pytest.param({}, True, id="as it is installed"),
        pytest.param({"labels": {}}, True, id="somebody has removed its labels"),
        pytest.param({"ownerReferences": []}, True, id="somebody has removed its owner reference"),
        pytest.param({"labels": {MARK: "lamp"}, "ownerReferences": []}, True, id="it is taken already"),
        pytest.param({"labels": {}, "ownerReferences": []}, False, id="nothing names the ClusterExtension"),
        pytest.param({"labels": {MARK: "bulb"}, "ownerReferences": []}, False, id="it is taken for another one"),
    ],
)
def test_the_objects_of_a_cluster_extension_are_known(metadata: Object, is_owned: bool) -> None:
    assert INSTALLATION.owns(installed(ROLES, LAMP, **metadata)) is is_owned


def test_the_secret_of_a_release_is_not_what_was_installed() -> None:
    assert not INSTALLATION.owns(release(LAMP))


def test_what_is_taken_is_given_back() -> None:
    found = live(installed(ROLES, LAMP))
    taken = applied(found, INSTALLATION.detached(found))
    metadata = taken["metadata"]
    assert metadata["ownerReferences"] == []
    assert metadata["labels"] == {
        **{"olm.operatorframework.io/owner-kind": "ClusterExtension", "olm.operatorframework.io/owner-name": "lamp"},
        MARK: "lamp",
    }
    assert [*metadata["annotations"]] == [MARK]
    (entry,) = metadata["managedFields"]
    assert entry["fieldsV1"] == LABEL, "the bundle that follows removes what it does not have"
    assert INSTALLATION.detached(taken) is None
    back = applied(taken, MARKS.restored(taken, {"uid-lamp"}))["metadata"]
    for name in ("labels", "annotations", "ownerReferences"):
        assert back[name] == found["metadata"][name]


def test_the_pods_of_a_deployment_are_kept_and_only_its_template_stays_with_its_writer() -> None:
    found = live(installed(DEPLOYMENTS, LAMP, {"spec": {"template": {"spec": {"containers": []}}}}))
    taken = applied(found, INSTALLATION.detached(found))
    assert KEEP_TEMPLATE_ANNOTATION in taken["metadata"]["annotations"]
    (entry,) = taken["metadata"]["managedFields"]
    assert entry["fieldsV1"] == {**LABEL, "f:spec": {"f:template": {"f:spec": {}}}}
    record = MARKS.record_of(taken)
    assert record is not None
    assert record.template
    back = applied(taken, MARKS.restored(taken, {"uid-lamp"}))
    assert KEEP_TEMPLATE_ANNOTATION not in back["metadata"]["annotations"]


@pytest.mark.parametrize(
    ("annotations", "labels", "taken"),
    [
        pytest.param(HELM, {"app.kubernetes.io/managed-by": "kustomize"}, [*HELM], id="another label of a tool stays"),
        pytest.param(
            {**HELM, "meta.helm.sh/release-name": "other"},
            {"app.kubernetes.io/managed-by": "Helm"},
            [],
            id="what belongs to a release of a person stays",
        ),
        pytest.param(
            {
                "operator-sdk/primary-resource": "/lamp",
                "operator-sdk/primary-resource-type": "ClusterExtension.olm.operatorframework.io",
            },
            {},
            ["operator-sdk/primary-resource", "operator-sdk/primary-resource-type"],
            id="what an object that is to be kept has instead of an owner reference is taken",
        ),
    ],
)
def test_only_what_names_the_cluster_extension_is_taken(
    annotations: dict[str, str], labels: dict[str, str], taken: list[str]
) -> None:
    found = live(installed(ROLES, LAMP, annotations=annotations, labels=labels))
    record = MARKS.record_of(applied(found, INSTALLATION.detached(found)))
    assert record is not None
    assert (sorted(record.annotations), dict(record.labels)) == (sorted(taken), {})


def test_fields_of_others_stay_theirs() -> None:
    found = live(installed(ROLES, LAMP))
    other = {"manager": "kubectl-edit", "operation": "Update", "fieldsV1": {"f:rules": {}}}
    status = {"manager": MANAGER, "operation": "Update", "subresource": "status", "fieldsV1": {"f:status": {}}}
    found["metadata"]["managedFields"] += [other, status]
    patch = INSTALLATION.detached(found)
    assert patch is not None
    assert patch["metadata"]["managedFields"][1:] == [other, status]


FORGED: dict[str, Any] = {
    "labels": {"olm.owner": "x", "app.kubernetes.io/managed-by": "Helm"},
    "annotations": {"any": "x"},
    "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "uid-lamp"}],
}


def test_a_record_that_others_have_written_gives_back_nothing_but_what_olm_v1_writes() -> None:
    found = live(installed(ROLES, LAMP, annotations={MARK: json.dumps(FORGED)}, labels={MARK: "lamp"}))
    record = MARKS.record_of(found)
    assert record is not None
    assert (dict(record.labels), dict(record.annotations), record.references) == (
        {"app.kubernetes.io/managed-by": "Helm"},
        {},
        (),
    )


def test_releases_are_those_beside_the_controllers_and_the_newest_is_the_last() -> None:
    secrets = [release(LAMP, 10), release(LAMP, 9), release(LAMP, 11, namespace="tenant"), release(extension("bulb"))]
    secrets[0]["metadata"]["uid"] = "uid-release"
    part = release(LAMP, 10)
    part["metadata"] |= {"name": "part", "labels": {"type": "chunk"}, "ownerReferences": [{"uid": "uid-release"}]}
    found = OlmV1(releases=[*secrets, part], controllers=[controller("catalogd")])
    names = [each["metadata"]["name"] for each in found.releases_of(LAMP)]
    assert names == ["sh.helm.release.v1.lamp.v9", "sh.helm.release.v1.lamp.v10"]
    assert found.parts_of(secrets[0]) == [part]


def test_a_long_name_is_shortened_as_for_the_labels_of_what_is_installed() -> None:
    assert len(Installation("a" * 200, "uid", "lamps").label) <= 63
