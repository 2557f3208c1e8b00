"""Who manages an object that exists already."""

from typing import Any

import pytest

from olmkit.api.bundledeployments import OWNER_UID_LABEL
from rukpak.bundledeployment.adoption import owner_of

APPLIED = {"manager": "rukpak:ship", "operation": "Apply", "apiVersion": "v1", "fieldsV1": {}}
OWNER = {"kind": "Fleet", "name": "north", "controller": True}


@pytest.mark.parametrize(
    ("metadata", "owner"),
    [
        pytest.param({}, "", id="nobody"),
        pytest.param({"labels": {"app.kubernetes.io/managed-by": "kustomize"}}, "", id="it was built by a tool"),
        pytest.param({"labels": {OWNER_UID_LABEL: "uid-ship"}}, "BundleDeployment ship", id="a BundleDeployment"),
        pytest.param({"labels": {OWNER_UID_LABEL: "gone"}}, "", id="a BundleDeployment that does not exist"),
        pytest.param({"ownerReferences": [OWNER]}, "Fleet north", id="a controller"),
        pytest.param({"ownerReferences": [{**OWNER, "controller": False}]}, "", id="an owner that controls nothing"),
        pytest.param({"annotations": {"meta.helm.sh/release-name": "ship"}}, "Helm", id="Helm"),
        pytest.param({"labels": {"kustomize.toolkit.fluxcd.io/name": "fleet"}}, "Flux", id="Flux"),
        pytest.param({"annotations": {"argocd.argoproj.io/tracking-id": "a"}}, "Argo CD", id="Argo CD"),
        pytest.param({"labels": {"olm.owner": "ship.v1"}}, "OLM v0", id="OLM v0"),
        pytest.param({"labels": {"kubernetes.io/bootstrapping": "rbac-defaults"}}, "Kubernetes", id="a default role"),
        pytest.param({"name": "system:auth-delegator"}, "Kubernetes", id="a reserved name"),
        pytest.param({"name": "coredns", "namespace": "kube-system"}, "Kubernetes", id="in a Namespace of Kubernetes"),
        pytest.param(
            {"name": "reader", "namespace": "kube-system", "managedFields": [APPLIED]}, "", id="rukpak had it there"
        ),
        pytest.param({"name": "kube-root-ca.crt", "namespace": "n"}, "Kubernetes", id="the CA of the API server"),
        pytest.param({"labels": {"provider": "kubernetes"}}, "Kubernetes", id="the Service of the API server"),
        pytest.param({"labels": {"app.kubernetes.io/part-of": "olm-suite"}}, "olm-suite", id="a part of the suite"),
        pytest.param({"labels": {"app.kubernetes.io/part-of": "ship"}}, "", id="a part of something else"),
    ],
)
def test_owner_of(metadata: dict[str, Any], owner: str) -> None:
    assert owner_of(metadata, lambda uid: {"uid-ship": "ship"}.get(uid, "")) == owner
