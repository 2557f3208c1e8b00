"""Services that a bundle contains under the name of the Service of its webhooks."""

from collections.abc import Mapping
from typing import Any

import pytest

from rukpak.format import BadBundle
from rukpak.render.endpoints import CertificateMode, endpoints_of
from rukpak.render.renderer import RenderOptions, render
from rukpak.render.serving import services
from tests.unit.rukpak.builders import Body, bundle, csv, deployment, obj

CONTAINER = {"name": "c", "ports": [{"name": "hooks", "containerPort": 9443}]}


def hook(port: int, target: int | str) -> Body:
    return {
        "type": "ValidatingAdmissionWebhook",
        "generateName": f"v{port}.kb.io",
        "deploymentName": "manager",
        "containerPort": port,
        "targetPort": target,
    }


def found(given: Body | None, *, target: int | str = 9443) -> list[Mapping[str, Any]]:
    install = {"deployments": [deployment(containers=[CONTAINER])]}
    made = bundle(csv(install=install, webhookdefinitions=[hook(443, target), hook(8443, target)]))
    endpoints = endpoints_of(made, "ns", CertificateMode.SELF)
    return list(services(endpoints.values(), made.install_spec["deployments"], [given] if given else []))


def service(name: str = "manager-service", *, ports: Any = None, **spec: Any) -> Body:
    ports = [{"port": 443, "targetPort": 9443}, {"port": 8443, "targetPort": "hooks"}] if ports is None else ports
    return obj("v1", "Service", name, spec={"selector": {"app": "manager"}, "ports": ports, **spec})


@pytest.mark.parametrize(
    ("given", "target", "count"),
    [
        pytest.param(None, 9443, 1, id="none: one is rendered"),
        pytest.param(service("other"), 9443, 1, id="one of another name"),
        pytest.param(service(), 9443, 0, id="one that leads to the pods is used"),
        pytest.param(service(), "hooks", 0, id="a port of the pods is named in the webhook"),
    ],
)
def test_a_service_of_the_bundle_is_used(given: Body | None, target: int | str, count: int) -> None:
    assert [body["metadata"]["name"] for body in found(given, target=target)] == ["manager-service"] * count


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        pytest.param(service(selector={"app": "x"}), "its selector does not match the pods", id="other pods"),
        pytest.param(service(selector={}), "its selector does not match the pods", id="no selector"),
        pytest.param(service(clusterIP="None"), "it has no address of its own", id="headless"),
        pytest.param(service(type="ExternalName"), "it has no address of its own", id="an external name"),
        pytest.param(
            service(ports=[{"port": 443, "targetPort": 9443}]),
            "it does not have port 8443 with the target port 9443",
            id="a port is missing",
        ),
        pytest.param(
            service(ports=[{"port": 443}, {"port": 8443, "targetPort": 9443}]),
            "it does not have port 443 with the target port 9443",
            id="another target port",
        ),
        pytest.param(
            service(ports=[{"port": number, "targetPort": 9443, "protocol": "UDP"} for number in (443, 8443)]),
            "it does not have port 443 with the target port 9443",
            id="another protocol",
        ),
    ],
)
def test_a_service_of_the_bundle_that_does_not_lead_to_the_deployment(given: Body, problem: str) -> None:
    with pytest.raises(BadBundle, match=problem) as caught:
        found(given)
    assert "Service manager-service" in caught.value.message
    assert "Deployment manager" in caught.value.message


SERVING, AUTHENTICATION = "/tmp/k8s-webhook-server/serving-certs", "/apiserver.local.config/certificates"
MINE = {"name": "apiservice-cert", "mountPath": "/etc/certificates", "readOnly": True}


@pytest.mark.parametrize(
    ("upstream", "expected"),
    [
        pytest.param(False, [MINE], id="it is kept"),
        pytest.param(True, [{"name": "apiservice-cert", "mountPath": AUTHENTICATION}], id="upstream replaces it"),
    ],
)
def test_a_bundle_mounts_the_certificate_where_it_reads_it(upstream: bool, expected: list[Body]) -> None:
    """OLM v0 keeps the mount of a container that names the volume of the certificate, at any path."""
    containers = [{"name": "own", "volumeMounts": [MINE]}, {"name": "other"}]
    volumes = [{"name": "apiservice-cert", "emptyDir": {}}]
    install = {"deployments": [deployment(containers=containers, volumes=volumes)]}
    made = bundle(csv(install=install, webhookdefinitions=[hook(443, 9443)]))
    options = RenderOptions("ns", upstream=upstream, certificates=CertificateMode.SELF)
    (workload,) = [manifest.body for manifest in render(made, options) if manifest.kind == "Deployment"]
    pod = workload["spec"]["template"]["spec"]
    own, other = (container["volumeMounts"] for container in pod["containers"])
    assert [mount for mount in own if mount["name"] == "apiservice-cert"] == expected
    assert {mount["name"]: mount["mountPath"] for mount in own if mount["name"] == "webhook-cert"} == {
        "webhook-cert": SERVING
    }
    assert [mount["mountPath"] for mount in other] == [SERVING, AUTHENTICATION]
    assert {volume["name"]: volume["secret"]["secretName"] for volume in pod["volumes"]} == dict.fromkeys(
        ("webhook-cert", "apiservice-cert"), "manager-service-cert"
    )


def test_with_upstream_the_mounts_of_a_config_come_after_the_certificate() -> None:
    """Ours stay where they were, so that nothing that is installed rolls out again."""
    webhook = {"type": "ValidatingAdmissionWebhook", "generateName": "v.example.com", "deploymentName": "manager"}
    more = {"admissionReviewVersions": ["v1"], "sideEffects": "None", "containerPort": 443}
    given = bundle(csv(webhookdefinitions=[{**webhook, **more}]))
    config = {"volumes": [{"name": "own", "emptyDir": {}}], "volumeMounts": [{"name": "own", "mountPath": "/own"}]}
    found = {}
    for upstream in (True, False):
        (made,) = [
            each
            for each in render(given, RenderOptions("ns", upstream=upstream, config=config))
            if each.kind == "Deployment"
        ]
        pod = made.body["spec"]["template"]["spec"]
        found[upstream] = [mount["name"] for mount in pod["containers"][0]["volumeMounts"]]
    assert found == {
        True: ["webhook-cert", "apiservice-cert", "own"],
        False: ["own", "webhook-cert", "apiservice-cert"],
    }
