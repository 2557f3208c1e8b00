"""API services that a bundle owns: what is refused, and what each mode of certificates changes."""

from typing import Any

import pytest

from rukpak.format import BadBundle
from rukpak.render.endpoints import CertificateMode
from rukpak.render.renderer import RenderOptions, render
from tests.unit.rukpak.builders import Body, bundle, csv, deployment


def service(kind: str = "Part", version: str = "v1", **more: Any) -> Body:
    named = {"name": kind.lower(), "group": "parts.example.com", "version": version, "kind": kind}
    return {**named, "deploymentName": "manager", **more}


def rendered(*owned: Body, mode: CertificateMode | None = None, upstream: bool = False) -> list[Body]:
    install = {"deployments": [deployment(serviceAccountName="sa")]}
    made = bundle(csv(install=install, apiservicedefinitions={"owned": list(owned)}))
    options = RenderOptions("ns", upstream=upstream, certificates=mode)
    return [dict(manifest.body) for manifest in render(made, options)]


def names(bodies: list[Body]) -> list[str]:
    return [f"{body['kind']} {body['metadata']['name']}" for body in bodies]


@pytest.mark.parametrize(
    ("owned", "message"),
    [
        pytest.param(
            [service(deploymentName="gone")],
            "API service v1.parts.example.com references non-existent deployment 'gone'",
            id="no such Deployment",
        ),
        pytest.param(
            [{**service(), "deploymentName": None}],
            "API service v1.parts.example.com references non-existent deployment ''",
            id="no Deployment is named",
        ),
        pytest.param(
            [service(), service("Box", containerPort=8443)],
            "API service v1.parts.example.com is defined twice, with different Deployments or ports",
            id="two ports for one version",
        ),
    ],
)
def test_api_services_that_cannot_be_rendered(owned: list[Body], message: str) -> None:
    with pytest.raises(BadBundle) as caught:
        rendered(*owned)
    assert caught.value.message == message


def test_one_api_service_per_version() -> None:
    found = names(rendered(service(), service("Box"), service(version="v2")))
    assert [name for name in found if name.startswith("APIService ")] == [
        "APIService v1.parts.example.com",
        "APIService v2.parts.example.com",
    ]
    assert found.count("Service manager-service") == 1
    assert found.count("RoleBinding manager-service-auth-reader") == 1


def test_cert_manager_injects_its_authority() -> None:
    found = rendered(service(), mode=CertificateMode.CERT_MANAGER)
    (api_service,) = [body for body in found if body["kind"] == "APIService"]
    assert api_service["metadata"]["annotations"] == {"cert-manager.io/inject-ca-from": "ns/manager-service-cert"}
    assert {"Issuer manager-service-cert-selfsigned-issuer", "Certificate manager-service-cert"} <= set(names(found))


def test_a_bundle_with_certificates_of_its_own_keeps_its_pods() -> None:
    found = rendered(service(), mode=CertificateMode.NONE)
    (workload,) = [body for body in found if body["kind"] == "Deployment"]
    assert "volumes" not in workload["spec"]["template"]["spec"]
    assert "Role manager-service-cert" not in names(found)
    assert "APIService v1.parts.example.com" in names(found)


def test_upstream_renders_no_api_services() -> None:
    assert names(rendered(service(), upstream=True)) == ["Deployment manager"]
