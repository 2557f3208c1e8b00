"""Webhooks as upstream renders them with cert-manager."""

from typing import Any

import pytest

from rukpak.format import BadBundle
from rukpak.render.endpoints import CertificateMode, name_with_suffix
from rukpak.render.renderer import RenderOptions, render
from tests.unit.rukpak.builders import Body, bundle, crd, csv, deployment

SERVING = "/tmp/k8s-webhook-server/serving-certs"


def hook(kind: str, name: str, **more: Any) -> Body:
    base = {"type": kind, "generateName": name, "deploymentName": "my.manager", "sideEffects": "None"}
    return base | {"admissionReviewVersions": ["v1"]} | more


def rendered(
    *hooks: Body, targets: tuple[str, ...] = ("",), pod: Body | None = None, preserve: bool = False
) -> list[Body]:
    owned = {"owned": [{"name": "things.example.com", "kind": "Thing", "version": "v1"}]}
    modes = ("AllNamespaces",) if targets == ("",) else ("SingleNamespace",)
    definition = crd()
    if preserve:
        definition["spec"]["preserveUnknownFields"] = True
    install = {"deployments": [deployment("my.manager", **(pod or {})), deployment("idle")]}
    made = csv(install=install, modes=modes, webhookdefinitions=list(hooks), customresourcedefinitions=owned)
    options = RenderOptions("ns", targets, upstream=True)
    return [dict(manifest.body) for manifest in render(bundle(made, definition), options)]


@pytest.mark.parametrize(
    ("upstream", "common_name"),
    [
        pytest.param(False, "my-manager-service", id="cert-manager accepts ours"),
        pytest.param(True, f"my-manager-service.{'n' * 60}", id="upstream's is the host name"),
    ],
)
def test_the_common_name_of_a_long_host_name(upstream: bool, common_name: str) -> None:
    made = csv(
        install={"deployments": [deployment("my.manager")]},
        webhookdefinitions=[hook("ValidatingAdmissionWebhook", "v")],
    )
    options = RenderOptions("n" * 60, ("",), upstream=upstream, certificates=CertificateMode.CERT_MANAGER)
    bodies = [dict(manifest.body) for manifest in render(bundle(made), options)]
    (found,) = of_kind(bodies, "Certificate")
    assert found["spec"]["commonName"] == common_name
    assert found["spec"]["dnsNames"][0] == f"my-manager-service.{'n' * 60}"


def of_kind(bodies: list[Body], kind: str) -> list[Body]:
    return [body for body in bodies if body["kind"] == kind]


def test_order_of_the_objects_of_webhooks() -> None:
    bodies = rendered(hook("MutatingAdmissionWebhook", "m"), hook("ValidatingAdmissionWebhook", "v"))
    assert [body["kind"] for body in bodies[3:]] == [
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
        "Service",
        "Issuer",
        "Certificate",
    ]


def test_a_configuration() -> None:
    made = hook(
        "MutatingAdmissionWebhook",
        "m.kb.io",
        webhookPath="/mutate",
        containerPort=8443,
        rules=[{"apiGroups": ["x"]}],
        reinvocationPolicy="Never",
        timeoutSeconds=5,
    )
    (found,) = of_kind(rendered(made, targets=("watched",)), "MutatingWebhookConfiguration")
    assert found["metadata"] == {
        "name": "m.kb.io",
        "namespace": "ns",
        "annotations": {"cert-manager.io/inject-ca-from": "ns/my-manager-service-cert"},
    }
    assert found["webhooks"] == [
        {
            "name": "m.kb.io",
            "clientConfig": {
                "service": {"namespace": "ns", "name": "my-manager-service", "path": "/mutate", "port": 8443}
            },
            "rules": [{"apiGroups": ["x"]}],
            "sideEffects": "None",
            "timeoutSeconds": 5,
            "admissionReviewVersions": ["v1"],
            "reinvocationPolicy": "Never",
            "namespaceSelector": {
                "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["watched"]}]
            },
        }
    ]


def test_ports_of_the_service_are_unique_and_sorted() -> None:
    kind = "ValidatingAdmissionWebhook"
    (found,) = of_kind(
        rendered(
            hook(kind, "a", containerPort=9443, targetPort=1),
            hook(kind, "b"),
            hook(kind, "c", targetPort="web"),
            hook(kind, "d"),
            hook(kind, "e", containerPort=9443, targetPort=0),
            hook(kind, "f", containerPort=9443, targetPort=10250),
            hook(kind, "g", containerPort=9443, targetPort=8443),
        ),
        "Service",
    )
    assert found["spec"] == {
        "ports": [
            {"name": "443", "port": 443, "targetPort": "web"},
            {"name": "443", "port": 443, "targetPort": 443},
            {"name": "9443", "port": 9443, "targetPort": 0},
            {"name": "9443", "port": 9443, "targetPort": 1},
            {"name": "9443", "port": 9443, "targetPort": 8443},
            {"name": "9443", "port": 9443, "targetPort": 10250},
        ],
        "selector": {"app": "my.manager"},
    }


def test_certificates_are_mounted_into_every_container_in_place_of_what_is_there() -> None:
    pod = {
        "containers": [
            {"name": "a", "volumeMounts": [{"name": "cert", "mountPath": SERVING}, {"name": "x", "mountPath": "/x"}]},
            {"name": "b"},
        ],
        "initContainers": [{"name": "i"}],
        "volumes": [{"name": "cert"}, {"name": "x"}, {"name": "apiservice-cert"}],
    }
    served, idle = of_kind(rendered(hook("ValidatingAdmissionWebhook", "v"), pod=pod), "Deployment")
    spec = served["spec"]["template"]["spec"]
    assert [volume["name"] for volume in spec["volumes"]] == ["x", "webhook-cert", "apiservice-cert"]
    assert spec["volumes"][1]["secret"]["secretName"] == "my-manager-service-cert"
    assert [mount["name"] for mount in spec["containers"][0]["volumeMounts"]] == [
        "x",
        "webhook-cert",
        "apiservice-cert",
    ]
    assert [mount["name"] for mount in spec["containers"][1]["volumeMounts"]] == ["webhook-cert", "apiservice-cert"]
    assert "volumeMounts" not in spec["initContainers"][0]
    assert "volumes" not in idle["spec"]["template"]["spec"]


def test_conversion() -> None:
    made = hook("ConversionWebhook", "c", conversionCRDs=["things.example.com"])
    (found,) = of_kind(rendered(made), "CustomResourceDefinition")
    service = {"namespace": "ns", "name": "my-manager-service", "path": "/", "port": 443}
    webhook = {"clientConfig": {"service": service}, "conversionReviewVersions": ["v1"]}
    assert found["spec"]["conversion"] == {"strategy": "Webhook", "webhook": webhook}
    assert found["metadata"]["annotations"] == {"cert-manager.io/inject-ca-from": "ns/my-manager-service-cert"}
    (found,) = of_kind(rendered(made | {"webhookPath": ""}), "CustomResourceDefinition")
    assert found["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["path"] == ""
    with pytest.raises(BadBundle, match=r"must have \.spec\.preserveUnknownFields set to false"):
        rendered(made, preserve=True)


@pytest.mark.parametrize(
    ("base", "suffix", "name"),
    [
        pytest.param("a", "service", "a-service", id="short"),
        pytest.param("a" * 56, "service", "a" * 56 + "-service", id="64 are let through"),
        pytest.param("a" * 57, "service", "a" * 55 + "-service", id="more are cut to 63"),
    ],
)
def test_names_are_truncated(base: str, suffix: str, name: str) -> None:
    assert name_with_suffix(base, suffix) == name
