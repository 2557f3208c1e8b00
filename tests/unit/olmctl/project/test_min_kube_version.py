"""The version of Kubernetes that a bundle needs."""

from __future__ import annotations

import pytest

from olmctl.project.min_kube_version import minimum, version_text
from tests.project_input import CRD, collection, deployment


def other(api: str, kind: str) -> str:
    return f"apiVersion: {api}\nkind: {kind}\nmetadata: {{name: a}}\n"


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param([deployment()], "", id="nothing needs a version"),
        pytest.param([CRD], "1.16.0 CustomResourceDefinition of apiextensions.k8s.io/v1", id="a definition"),
        pytest.param(
            [CRD, other("policy/v1", "PodDisruptionBudget")],
            "1.21.0 PodDisruptionBudget of policy/v1",
            id="the highest need",
        ),
        pytest.param(
            [other("networking.k8s.io/v1", "NetworkPolicy")], "", id="a kind that is older than the version of its API"
        ),
        pytest.param(
            [CRD.replace("{type: object}}}\n", "{type: object, x-kubernetes-validations: [{rule: a}]}}}\n", 1)],
            "1.25.0 x-kubernetes-validations of kettles.tea.example.com",
            id="rules in a schema",
        ),
        pytest.param(
            [deployment(pod="securityContext: {seccompProfile: {type: RuntimeDefault}}\n")],
            "1.19.0 seccompProfile of the Deployment kettle",
            id="a field of the pod",
        ),
        pytest.param(
            [deployment(pod="initContainers: [{name: a, image: a, restartPolicy: Always}]\n")],
            "1.29.0 restartPolicy of an init container of the Deployment kettle",
            id="a sidecar",
        ),
        pytest.param(
            [deployment(container="livenessProbe: {grpc: {port: 1}}\n")],
            "1.24.0 a probe by gRPC of the Deployment kettle",
            id="a probe",
        ),
    ],
)
def test_needs(objects: list[str], expected: str) -> None:
    need = minimum(collection(*objects))
    assert (f"{version_text(need)} {need[1]}" if need else "") == expected
