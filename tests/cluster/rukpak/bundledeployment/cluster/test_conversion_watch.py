"""What a BundleDeployment reports about the conversion webhooks of its CustomResourceDefinitions, on the real API server."""

from __future__ import annotations

from olmkit.api.meta import Kind
from olmkit.runtime.api_server_addresses import ENDPOINT_SLICES
from olmkit.runtime.client import Client
from tests.cluster.rukpak.harness import READY, Harness, Object, definition, namespace, plain, says
from tests.conditions import triple

SERVICES = Kind("", "v1", "Service", "services", namespaced=True)
SERVICE = "hooks"


def converted(at: Harness, kind: str, *versions: str) -> Object:
    """A CRD whose custom resources a Service of the Namespace `at.name` converts."""
    crd = definition(at.group, kind, *versions)
    service = {"namespace": at.name, "name": SERVICE, "path": "/convert"}
    webhook = {"clientConfig": {"service": service}, "conversionReviewVersions": ["v1"]}
    crd["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    return crd


def endpoint(at: Harness, *, is_ready: bool) -> Object:
    labels = {"kubernetes.io/service-name": SERVICE, "endpointslice.kubernetes.io/managed-by": "test"}
    return {
        "apiVersion": ENDPOINT_SLICES.api_version,
        "kind": ENDPOINT_SLICES.kind,
        "metadata": {"name": f"{SERVICE}-test", "namespace": at.name, "labels": labels},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["198.18.0.1"], "conditions": {"ready": is_ready}}],
        "ports": [{"name": "", "port": 9443, "protocol": "TCP"}],
    }


async def test_a_definition_whose_conversion_webhook_is_not_there_is_not_ready(at: Harness, running: Client) -> None:
    unneeded = at.push(plain(namespace(at.name), converted(at, "Raft", "v1")), "raft")
    await at.install(unneeded, f"{at.name}-raft")
    await at.until(READY, f"{at.name}-raft")
    objects = (namespace(at.name), converted(at, "Boat", "v1", "v2"))
    await at.install(at.push(plain(*objects)))
    name = f"boats.{at.group}"
    raw = await at.until(says("Ready", "False", "Progressing", f"Service {at.name}/{SERVICE}"))
    assert triple(raw, "Healthy") == (
        "Unknown",
        "Progressing",
        f"CustomResourceDefinition.apiextensions.k8s.io {name}: nobody converts its custom resources between v1 and v2: "
        f"its webhook is at Service {at.name}/{SERVICE}, which does not exist; create the Service, or install what brings it",
    )
    assert triple(raw, "Installed")[0] == "True"
    ports = [{"port": 443, "targetPort": 9443}]
    await at.client.create(
        SERVICES,
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": SERVICE, "namespace": at.name},
            "spec": {"ports": ports},
        },
    )
    await at.until(
        says("Healthy", "Unknown", "Progressing", "which has no ready endpoint; see to the pods that it selects")
    )
    await at.client.create(ENDPOINT_SLICES, endpoint(at, is_ready=True))
    await at.until(READY)
    await at.client.apply(ENDPOINT_SLICES, endpoint(at, is_ready=False), "test")
    await at.until(says("Ready", "False", "Progressing", "which has no ready endpoint"))
    await at.client.delete(SERVICES, SERVICE, at.name)
    await at.until(says("Ready", "False", "Progressing", "which does not exist"))
    assert READY(at.deployments.get(f"{at.name}-raft")), "of one version, nothing is ever converted"
