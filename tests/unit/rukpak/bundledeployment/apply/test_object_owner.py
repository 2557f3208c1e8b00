"""Who manages an object that exists already."""

from typing import Any

import pytest

from olmkit.api.bundledeployments import OWNER_UID_LABEL
from rukpak.bundledeployment.apply.object_owner import claims_of, owner_of

LABEL: dict[str, Any] = {"f:metadata": {"f:labels": {f"f:{OWNER_UID_LABEL}": {}}}}
APPLIED = {"manager": "rukpak:ship", "operation": "Apply", "apiVersion": "v1", "fieldsV1": LABEL}
OURS = {"labels": {OWNER_UID_LABEL: "uid-ship"}}
HELM = {"annotations": {"meta.helm.sh/release-name": "ship", "meta.helm.sh/release-namespace": "sea"}}
COMPONENT = {"operators.coreos.com/ship.sea": ""}
OWNER = {"kind": "Fleet", "name": "north", "controller": True}


@pytest.mark.parametrize(
    ("metadata", "owner"),
    [
        pytest.param({}, "", id="nobody"),
        pytest.param({"labels": {"app.kubernetes.io/managed-by": "kustomize"}}, "", id="it was built by a tool"),
        pytest.param({**OURS, "managedFields": [APPLIED]}, "BundleDeployment ship", id="a BundleDeployment"),
        pytest.param(OURS, "", id="a label that was copied"),
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


def test_a_tool_that_has_gone_leaves_the_object_to_the_next_one() -> None:
    marked = {**HELM, "labels": {"olm.managed": "true"}}
    assert [claim.tool for claim in claims_of(marked)] == ["Helm", "OLM v0"]
    assert owner_of(marked, lambda uid: "", {"Helm"}) == "OLM v0"
    assert owner_of(marked, lambda uid: "", {"Helm", "OLM v0"}) == ""


@pytest.mark.parametrize(
    ("metadata", "owners"),
    [
        pytest.param({"labels": {"olm.managed": "true"}}, ["/!olm.copiedFrom"], id="any ClusterServiceVersion"),
        pytest.param(
            {"namespace": "sea", "labels": {"olm.managed": "true"}},
            ["sea/!olm.copiedFrom"],
            id="one of the same Namespace",
        ),
        pytest.param(
            {"labels": {"olm.managed": "true", **COMPONENT}},
            ["/operators.coreos.com/ship.sea", "/operators.coreos.com/ship.sea"],
            id="those of the component",
        ),
        pytest.param({"labels": {"olm.owner": "a.v1", "olm.owner.namespace": "sea"}}, ["sea/a.v1"], id="by its name"),
        pytest.param({"labels": {"olm.owner": "a.v1"}}, [], id="by its name without a Namespace"),
        pytest.param({"namespace": "sea", "labels": {"olm.owner": "a.v1"}}, ["sea/a.v1"], id="in the same Namespace"),
        pytest.param({"labels": {"olm.owner": ""}}, [], id="an empty name"),
        pytest.param(
            {"labels": {"olm.owner": "a.v1", "olm.owner.kind": "Ship", "olm.owner.namespace": "sea"}},
            [],
            id="of a kind that is not known",
        ),
        pytest.param(
            {"annotations": {"operatorframework.io/installed-alongside-1": "sea/a.v1"}},
            ["sea/a.v1"],
            id="what came with it",
        ),
        pytest.param({"annotations": {"operatorframework.io/installed-alongside-1": "a.v1"}}, [], id="without a name"),
        pytest.param(
            {"annotations": {"operatorframework.io/installed-alongside-1": "sea/../x"}}, [], id="a name that is a path"
        ),
        pytest.param(HELM, ["sea/owner=helm,name=ship"] * 2, id="the records of a release"),
        pytest.param({"annotations": {"meta.helm.sh/release-name": "ship"}}, [], id="a release without a Namespace"),
        pytest.param(
            {"annotations": {**HELM["annotations"], "meta.helm.sh/release-name": "a,name!=ship"}},
            [],
            id="a release whose name is another selector",
        ),
        pytest.param({"annotations": {"argocd.argoproj.io/tracking-id": "a"}}, [], id="Argo CD, of which cluster ever"),
        pytest.param({"labels": {"kustomize.toolkit.fluxcd.io/name": "a"}}, [], id="Flux, of which cluster ever"),
    ],
)
def test_what_has_to_exist_for_a_claim(metadata: dict[str, Any], owners: list[str]) -> None:
    (claim,) = claims_of(metadata)
    assert [f"{owner.namespace}/{owner.name or owner.selector}" for owner in claim.owners] == owners
